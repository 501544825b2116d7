//! The files by which others check what was done under a mandate: its whole log, and what is said of it. A log is also
//! exported line by line, as any stream (`ledger::export`).

use crate::authorization::Record;
use crate::brief::Brief;
use crate::log::{self, LogHead, RunId, link};
use crate::receipt::{Entries, Receipt};
use crate::replay::Replay;
use crate::text::{Hex, Id, TxHash, present};
use crate::transaction::Transaction;
use crate::{Hashed, Mandate, Refusal};
use canon::{Digest, Raw};
use env::Timestamp;
use keys::Signer;
use ledger::export::{Header, Rule};
use ledger::{Entry, Fault, Head};
use serde::{Deserialize, Serialize};

/// A log with a claim about it. Of `brief`, `receipt` and `run` at most one is there; without any it is the log itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub brief: Option<BriefClaim>,
    /// Every entry of the stream.
    pub entries: Vec<Stored>,
    /// The first line of the stream's export: its head, signed, and its place in the server's log.
    pub export: Header,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub receipt: Option<ReceiptClaim>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub run: Option<RunClaim>,
    /// The release with its auxiliary data, hex of its CBOR, as any reader of the chain has it.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub transaction: Option<String>,
    #[serde(rename = "type")]
    pub kind: String,
}

/// An entry as it is stored and streamed (spec 1.12): the body's members, its hash, and the hash before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stored {
    pub action_id: Option<Id>,
    pub created_at: Timestamp,
    pub hash: Digest,
    pub payload: Raw,
    pub prev_hash: Digest,
    pub run_id: RunId,
    pub seq: u64,
    #[serde(rename = "type")]
    pub kind: String,
}

/// That a run ended so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunClaim {
    /// The first settled release that commits to the run's last entry, or a later one.
    pub anchor: Option<Anchor>,
    pub closing: Option<Closing>,
    pub run_id: RunId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Anchor {
    pub hash: Digest,
    pub seq: u64,
    pub tx_hash: TxHash,
}

/// The engine's signature over the last entry of a finished run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Closing {
    pub hash: Digest,
    pub seq: u64,
    pub signature: Hex<64>,
}

/// `GET /v1/receipts/{id}` (spec 1.12).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiptClaim {
    pub authorization: Option<Record>,
    pub mandate: Hashed<Mandate>,
    pub receipt: Hashed<Receipt>,
    pub receipt_hash: Digest,
}

/// That this brief was shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BriefClaim {
    pub brief: Hashed<Brief>,
    pub brief_hash: Digest,
}

/// `GET /v1/runs/{id}/log`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunLog {
    pub anchor: Option<Anchor>,
    pub closing: Option<Closing>,
    pub events: Vec<Stored>,
    pub run: RunId,
}

impl Stored {
    pub fn of(entry: &Entry) -> Result<Self, Refusal> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Body {
            action_id: Option<Id>,
            created_at: Timestamp,
            payload: Raw,
            run_id: RunId,
            seq: u64,
            #[serde(rename = "type")]
            kind: String,
        }
        let Body { action_id, created_at, payload, run_id, seq, kind } = canon::from_slice(&entry.bytes)?;
        Ok(Self {
            action_id,
            created_at,
            hash: entry.hash,
            payload,
            prev_hash: entry.prev,
            run_id,
            seq,
            kind,
        })
    }

    /// The entry, with the canonical bytes its hash is over.
    pub fn entry(&self) -> Result<Entry, canon::Error> {
        #[derive(Serialize)]
        struct Body<'a> {
            action_id: &'a Option<Id>,
            created_at: Timestamp,
            payload: &'a Raw,
            run_id: &'a RunId,
            seq: u64,
            #[serde(rename = "type")]
            kind: &'a str,
        }
        let Self { action_id, created_at, hash, payload, prev_hash, run_id, seq, kind } = self;
        let body = Body { action_id, created_at: *created_at, payload, run_id, seq: *seq, kind };
        let bytes = canon::to_vec(&body)?;
        Ok(Entry { seq: *seq, prev: *prev_hash, hash: *hash, bytes, payload: None })
    }
}

impl Proof {
    pub const TYPE: &str = "urn:countersign:mandate-proof:1";

    /// The log alone.
    pub fn of(export: Header, entries: &[Entry]) -> Result<Self, Refusal> {
        let entries = entries.iter().map(Stored::of).collect::<Result<_, _>>()?;
        let kind = Self::TYPE.to_owned();
        Ok(Self { brief: None, entries, export, receipt: None, run: None, transaction: None, kind })
    }

    /// With what is said of a run. `engine` closes it, if it has finished.
    pub fn of_run(
        export: Header,
        entries: &[Entry],
        run: &RunId,
        engine: Option<&dyn Signer>,
    ) -> Result<Self, Refusal> {
        let RunLog { anchor, closing, run: run_id, .. } = run_log(entries, run, engine)?;
        let run = Some(RunClaim { anchor, closing, run_id });
        Ok(Self { run, ..Self::of(export, entries)? })
    }

    /// With a receipt, and the release it names if the chain has been read.
    pub fn of_receipt(
        export: Header,
        entries: &[Entry],
        receipt: ReceiptClaim,
        transaction: Option<&[u8]>,
    ) -> Result<Self, Refusal> {
        let transaction = transaction.map(hex::encode);
        Ok(Self { receipt: Some(receipt), transaction, ..Self::of(export, entries)? })
    }

    pub fn of_brief(export: Header, entries: &[Entry], brief: Hashed<Brief>) -> Result<Self, Refusal> {
        let brief = Some(BriefClaim { brief_hash: brief.hash(), brief });
        Ok(Self { brief, ..Self::of(export, entries)? })
    }

    pub fn to_vec(&self) -> Result<Vec<u8>, canon::Error> {
        canon::to_vec(self)
    }

    /// Reads every entry, and then what is said of them. Who signed the head, and its place in a log, is not looked at.
    pub fn check(&self) -> Result<Replay, Fault> {
        let mut replay = match &self.receipt {
            Some(claim) => Replay::looking_for(claim.receipt.evidence),
            None => Replay::default(),
        };
        let mut head = Head::EMPTY;
        for stored in &self.entries {
            let place = || format!("entry {}", head.seq.saturating_add(1));
            let entry = stored.entry().map_err(|_| Fault::new("bad_event", place()))?;
            head = next(head, &entry)?;
            replay.read(&entry)?;
        }
        ends(&self.export, head)?;
        named(&self.export, &replay)?;
        Ok(replay)
    }

    /// Whether the log bears the claim out. To be asked after [`check`](Self::check).
    pub fn check_claim(&self, replay: &Replay) -> Result<(), Fault> {
        if let Some(claim) = &self.brief {
            claim.check(replay)?;
        }
        if let Some(claim) = &self.receipt {
            claim.check(replay)?;
        }
        if let Some(claim) = &self.run {
            claim.check(replay)?;
        }
        match &self.transaction {
            Some(text) => self.check_transaction(text, replay),
            None => Ok(()),
        }
    }

    /// The release is one of this log, and of the receipt's authorization if there is a receipt; and the head it commits
    /// to is a place of this log.
    fn check_transaction(&self, text: &str, replay: &Replay) -> Result<(), Fault> {
        let fault = |code| Fault::new(code, "/transaction");
        let transaction = Transaction::read_hex(text).ok_or_else(|| fault("bad_transaction"))?;
        let release = replay.release(&transaction.hash).ok_or_else(|| fault("transaction_mismatch"))?;
        if let Some(claim) = &self.receipt {
            let receipt = &claim.receipt;
            let of_it = receipt.authorization.as_ref().is_some_and(|one| one.digest == release.digest)
                && receipt.settlement.as_ref().is_none_or(|settled| settled.tx_hash == transaction.hash);
            if !of_it {
                return Err(fault("transaction_mismatch"));
            }
        }
        let note = transaction.note.ok_or_else(|| fault("metadata_missing"))?;
        let held = replay.state().authorization(&release.digest);
        let fits = held.is_some_and(|held| note.fits(held, &release.log_head)) && replay.has(&note.log_head);
        if fits { Ok(()) } else { Err(fault("log_head_mismatch")) }
    }
}

/// The entry's number, link and hash, after the head before it. Gives the head.
pub fn next(head: Head, entry: &Entry) -> Result<Head, Fault> {
    let seq = head.seq.saturating_add(1);
    let fault = |code| Err(Fault::new(code, format!("entry {seq}")));
    if entry.seq != seq {
        return fault("bad_number");
    }
    if entry.prev != head.hash {
        return fault("bad_prev");
    }
    if link(&entry.prev, &entry.bytes) != entry.hash {
        return fault("bad_hash");
    }
    Ok(Head { seq, hash: entry.hash })
}

/// The chain ends where its header says.
pub fn ends(export: &Header, end: Head) -> Result<(), Fault> {
    if end.seq < export.head.n {
        return Err(Fault::new("tail_missing", format!("entry {}", end.seq.saturating_add(1))));
    }
    if (end.seq, end.hash) == (export.head.n, export.head.hash) {
        Ok(())
    } else {
        Err(Fault::new("head_mismatch", "/head"))
    }
}

/// The stream is the mandate's, under the rule of mandates.
pub fn named(export: &Header, replay: &Replay) -> Result<(), Fault> {
    if export.rule != Rule::PrevRaw {
        return Err(Fault::new("bad_rule", "/rule"));
    }
    let id = replay.state().anchored().map(|anchored| anchored.mandate.id.as_str());
    let stream = &export.stream;
    if stream.kind() == "mandate" && Some(stream.id()) == id {
        Ok(())
    } else {
        Err(Fault::new("bad_stream", "/stream"))
    }
}

/// What the server tells of a run. Every entry is read on the way.
pub fn run_log(entries: &[Entry], run: &RunId, engine: Option<&dyn Signer>) -> Result<RunLog, Refusal> {
    let replay = replayed(entries, Replay::default())?;
    let head = replay.run(run).ok_or(Refusal::RunUnknown)?;
    let of_run = |event: &Stored| event.run_id == *run;
    let events = entries.iter().map(Stored::of).filter(|read| read.as_ref().map_or(true, of_run));
    let events = events.collect::<Result<_, _>>()?;
    let finished = replay.state().run(run).is_some_and(|run| run.finished);
    let closing = match engine {
        Some(engine) if finished => {
            let signature = engine.sign(&log::closing_bytes(run, &head)).map_err(Refusal::Keys)?;
            let signature = Hex::from_bytes(*signature.as_bytes());
            Some(Closing { hash: head.hash, seq: head.seq, signature })
        }
        _ => None,
    };
    Ok(RunLog { anchor: anchor(&replay, &head), closing, events, run: run.clone() })
}

/// The receipt of the proposal recorded in `first`, as of the last entry about its action: the answer of
/// `GET /v1/receipts/{id}`. Every entry is read on the way.
pub fn receipt(entries: &[Entry], first: &Digest) -> Result<ReceiptClaim, Refusal> {
    let missing = || Refusal::BadValue { place: "/evidence/first_event_hash".to_owned() };
    let events: Vec<Stored> = entries.iter().map(Stored::of).collect::<Result<_, _>>()?;
    let proposed = events.iter().find(|event| event.hash == *first).ok_or_else(missing)?;
    let about = |event: &&Stored| event.action_id == proposed.action_id && event.run_id == proposed.run_id;
    let last = events.iter().rev().find(about).ok_or_else(missing)?;
    let wanted = Entries { first_event_hash: *first, last_event_hash: last.hash };
    let replay = replayed(entries, Replay::looking_for(wanted))?;
    let receipt = replay.receipt().cloned().ok_or_else(missing)?;
    let digest = receipt.authorization.as_ref().map(|authorization| authorization.digest);
    let held = digest.and_then(|digest| replay.state().authorization(&digest));
    let mandate = replay.mandate_named(&receipt.mandate.hash).ok_or_else(missing)?;
    let authorization = held.map(|held| held.record.clone());
    Ok(ReceiptClaim { authorization, mandate, receipt_hash: receipt.hash(), receipt })
}

fn replayed(entries: &[Entry], mut replay: Replay) -> Result<Replay, Refusal> {
    let mut head = Head::EMPTY;
    for entry in entries {
        head = next(head, entry)?;
        replay.read(entry)?;
    }
    Ok(replay)
}

fn anchor(replay: &Replay, last: &LogHead) -> Option<Anchor> {
    let release = replay.covers(last.seq)?;
    Some(Anchor { hash: release.log_head.hash, seq: release.log_head.seq, tx_hash: release.tx_hash })
}

impl RunClaim {
    fn check(&self, replay: &Replay) -> Result<(), Fault> {
        let head = replay.run(&self.run_id).ok_or_else(|| Fault::new("run_unknown", "/run/run_id"))?;
        if self.anchor != anchor(replay, &head) {
            return Err(Fault::new("bad_anchor", "/run/anchor"));
        }
        let Some(closing) = &self.closing else { return Ok(()) };
        let finished = replay.state().run(&self.run_id).is_some_and(|run| run.finished);
        let named = LogHead { hash: closing.hash, seq: closing.seq };
        if !finished || named != head {
            return Err(Fault::new("bad_closing", "/run/closing"));
        }
        let key =
            replay.state().anchored().map(|anchored| anchored.mandate.authority_engine.public_key.key());
        let signature = keys::Signature::from_bytes(*closing.signature.as_bytes());
        let message = log::closing_bytes(&self.run_id, &head);
        match key {
            Some(Ok(key)) if key.verify(&message, &signature).is_ok() => Ok(()),
            _ => Err(Fault::new("bad_closing_signature", "/run/closing/signature")),
        }
    }
}

impl ReceiptClaim {
    fn check(&self, replay: &Replay) -> Result<(), Fault> {
        let fault = |code, place| Err(Fault::new(code, place));
        if self.receipt_hash != self.receipt.hash() {
            return fault("bad_receipt_hash", "/receipt/receipt_hash");
        }
        if replay.receipt() != Some(&self.receipt) {
            return fault("bad_receipt", "/receipt/receipt");
        }
        if self.mandate.hash() != self.receipt.mandate.hash {
            return fault("bad_mandate_hash", "/receipt/mandate");
        }
        let digest = self.receipt.authorization.as_ref().map(|authorization| authorization.digest);
        let held = digest.and_then(|digest| replay.state().authorization(&digest));
        if self.authorization.as_ref() != held.map(|held| &held.record) {
            return fault("bad_authorization", "/receipt/authorization");
        }
        Ok(())
    }
}

impl BriefClaim {
    fn check(&self, replay: &Replay) -> Result<(), Fault> {
        if self.brief_hash != self.brief.hash() {
            return Err(Fault::new("bad_brief_hash", "/brief/brief_hash"));
        }
        if replay.showed(&self.brief_hash) {
            Ok(())
        } else {
            Err(Fault::new("brief_not_shown", "/brief/brief"))
        }
    }
}
