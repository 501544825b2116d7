//! A room's proofs besides its bundle: the brief as a file of its own, and the ledger as lines.

use crate::rooms::room_stream;
use crate::views::may_not;
use crate::{App, Caller, Error};
use axum::body::{Body, Bytes};
use ledger::export::{Header, Rule, TYPE, line};
use ledger::log::LogProof;
use ledger::{Head, StreamId};
use pxp::bundle::{Attested, BriefProof};
use pxp::{RoomId, Viewer};
use std::io;

/// Entries read at once.
const PAGE: usize = 500;

/// A room's ledger as an export: the header's line, then a line an entry, read as they are taken.
pub struct LedgerExport {
    app: App,
    stream: StreamId,
    head: Head,
    header: Vec<u8>,
}

impl std::fmt::Debug for LedgerExport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LedgerExport").field("stream", &self.stream).finish_non_exhaustive()
    }
}

impl App {
    /// The brief of an ended room as a file that verifies alone; for whoever may read the brief.
    pub async fn brief_proof(&self, caller: &Caller, room: &RoomId) -> Result<Vec<u8>, Error> {
        let viewer = self.viewer(caller, room).await?;
        self.brief_proof_for(viewer, room).await
    }

    /// The same for a viewer; for whoever runs the server.
    pub async fn brief_proof_for(&self, viewer: Viewer, room: &RoomId) -> Result<Vec<u8>, Error> {
        if !viewer.reads_brief() {
            return Err(may_not("this link does not show the brief"));
        }
        let stream = room_stream(room)?;
        let (state, head) = self.room_state(room).await?;
        let not_ended = || Error::Conflict {
            code: "no_brief",
            text: "the room has not ended; there is no brief yet".to_owned(),
        };
        let recorded = state.brief.as_ref().and_then(|recorded| recorded.brief.as_ref());
        // The brief's own entry follows the head that it describes.
        let mut after = recorded.ok_or_else(not_ended)?.ledger_head.n;
        let mut entries = Vec::new();
        while after < head.seq {
            let page = self.journal().read(&stream, after, PAGE).await?;
            entries.extend(page.into_iter().take_while(|entry| entry.seq <= head.seq));
            let last = entries.last().map_or(after, |entry| entry.seq);
            if last == after {
                return Err(Error::Bug(format!("{stream} ends before entry {}", head.seq)));
            }
            after = last;
        }
        let log = self.proof(&stream, head).await?;
        let attested = Attested { key: self.signer().public(), head: self.sign_head(&stream, head)?, log };
        let proof = BriefProof::assemble(&state, &entries, attested).map_err(|error| Error::of(&error))?;
        proof.to_vec().map_err(|error| Error::of(&error))
    }

    /// The ledger up to its present head; for whoever may read the ledger.
    pub async fn ledger_export(&self, caller: &Caller, room: &RoomId) -> Result<LedgerExport, Error> {
        let viewer = self.viewer(caller, room).await?;
        self.ledger_export_for(viewer, room).await
    }

    /// The same for a viewer; for whoever runs the server.
    pub async fn ledger_export_for(&self, viewer: Viewer, room: &RoomId) -> Result<LedgerExport, Error> {
        if !viewer.reads_ledger() {
            return Err(may_not("this link does not show the ledger"));
        }
        let stream = room_stream(room)?;
        let (_, head) = self.room_state(room).await?;
        if head == Head::EMPTY {
            return Err(Error::Missing);
        }
        let header = Header {
            kind: TYPE.to_owned(),
            stream: stream.clone(),
            rule: Rule::PrevHex,
            head: self.sign_head(&stream, head)?,
            key: self.signer().public(),
            log: self.proof(&stream, head).await?,
        };
        Ok(LedgerExport { app: self.clone(), stream, head, header: header.line()? })
    }

    /// Where the log has the head, if it has it yet.
    pub(crate) async fn proof(&self, stream: &StreamId, head: Head) -> Result<Option<LogProof>, Error> {
        match self.log() {
            Some(log) => Ok(log.proof(stream, head.seq).await?),
            None => Ok(None),
        }
    }
}

impl LedgerExport {
    /// The next lines; the header's first. `None` after the last entry.
    pub async fn lines(&mut self, after: &mut Option<u64>) -> Result<Option<Vec<u8>>, Error> {
        let Some(seq) = *after else {
            *after = Some(0);
            return Ok(Some(std::mem::take(&mut self.header)));
        };
        if seq >= self.head.seq {
            return Ok(None);
        }
        let page = self.app.journal().read(&self.stream, seq, PAGE).await?;
        let mut lines = Vec::new();
        for entry in page.iter().take_while(|entry| entry.seq <= self.head.seq) {
            lines.extend(line(entry));
            *after = Some(entry.seq);
        }
        if *after == Some(seq) {
            return Err(Error::Bug(format!("{} ends before entry {}", self.stream, self.head.seq)));
        }
        Ok(Some(lines))
    }

    /// The lines as a body that is sent while it is read.
    pub fn into_body(self) -> Body {
        let lines = futures::stream::try_unfold((self, None), |(mut export, mut after)| async move {
            let next = export.lines(&mut after).await.map_err(|error| io::Error::other(error.to_string()))?;
            Ok::<_, io::Error>(next.map(|lines| (Bytes::from(lines), (export, after))))
        });
        Body::from_stream(lines)
    }
}
