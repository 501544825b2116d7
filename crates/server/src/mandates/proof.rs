//! Files by which others check what was done under a mandate: its whole log, and what is said of it. For its parties: a log
//! holds every run.

use super::kept::Shelf;
use super::{Known, Refused, bug};
use crate::App;
use ::http::StatusCode;
use ledger::Entry;
use ledger::export::{Header, Rule, TYPE};
use mandate::log::RunId;
use mandate::proofs::{Proof, ReceiptClaim};
use mandate::text::TxHash;

/// Entries read at a time.
const PAGE: usize = 512;
/// The most entries of one file.
const LONGEST: u64 = 200_000;

impl App {
    /// A mandate's log with nothing said of it.
    pub(crate) async fn mandate_proof(&self, known: &Known) -> Result<Proof, Refused> {
        let (export, entries) = self.whole_log(known).await?;
        Ok(Proof::of(export, &entries)?)
    }

    /// The log with a receipt of it.
    pub(crate) async fn receipt_proof(&self, known: &Known, id: &str) -> Result<Proof, Refused> {
        let made = self.receipt(id).await?;
        let (export, entries) = self.whole_log(known).await?;
        let claim = ReceiptClaim {
            authorization: made.authorization.clone(),
            mandate: made.mandate.clone(),
            receipt_hash: made.receipt.hash(),
            receipt: made.receipt.clone(),
        };
        let release = match &made.receipt.settlement {
            Some(settled) => self.sent_release(settled.tx_hash).await?,
            None => None,
        };
        Ok(Proof::of_receipt(export, &entries, claim, release.as_deref())?)
    }

    /// A release as it was sent, while it is kept; its hash is what the chain has.
    async fn sent_release(&self, tx_hash: TxHash) -> Result<Option<Vec<u8>>, Refused> {
        let name = tx_hash.to_string();
        let tx = match self.kept::<String>(Shelf::Witnessed, &name).await? {
            None => self.kept::<String>(Shelf::Built, &name).await?,
            witnessed => witnessed,
        };
        tx.map(|tx| ::hex::decode(&tx).map_err(bug)).transpose()
    }

    /// The log with what is said of a run, closed by the engine where it has finished.
    pub(crate) async fn run_proof(&self, known: &Known, run: &RunId) -> Result<Proof, Refused> {
        let (export, entries) = self.whole_log(known).await?;
        Ok(Proof::of_run(export, &entries, run, Some(self.mandates()?.setup.engine.as_ref()))?)
    }

    /// Every entry up to the present head, which is signed, with its place in the server's log once it has one.
    async fn whole_log(&self, known: &Known) -> Result<(Header, Vec<Entry>), Refused> {
        let (stream, head) = (&known.stream, known.head);
        if head.seq > LONGEST {
            let text = format!("a log of more than {LONGEST} entries is exported line by line");
            return Err(Refused::new(StatusCode::CONFLICT, "log_too_long", text));
        }
        let mut entries: Vec<Entry> = Vec::new();
        loop {
            let after = entries.last().map_or(0, |entry| entry.seq);
            if after == head.seq {
                break;
            }
            let page = self.journal().read(stream, after, PAGE).await?;
            if page.is_empty() {
                return Err(bug(format!("{stream} ends before entry {}", head.seq)));
            }
            entries.extend(page.into_iter().take_while(|entry| entry.seq <= head.seq));
        }
        let export = Header {
            kind: TYPE.to_owned(),
            stream: stream.clone(),
            rule: Rule::PrevRaw,
            head: self.sign_head(stream, head)?,
            key: self.signer().public(),
            log: self.proof(stream, head).await?,
        };
        Ok((export, entries))
    }
}
