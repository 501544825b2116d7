//! A mandate's log as it is read: figures, runs, their entries. Folded once and carried on from there.

use super::who::{Role, Who};
use super::{Known, Refused, bug};
use crate::App;
use canon::{Digest, Raw};
use env::{Duration, Timestamp};
use ledger::{Aggregate, Entry, Head, StreamId};
use mandate::authorization::AuthorizationDigest;
use mandate::log::{Event, Fact, LogHead, RunId, closing_bytes};
use mandate::metrics::{Metrics, Tally};
use mandate::text::{Hex, Id, Text, TxHash};
use mandate::{Authority, Mandate};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

/// The views of this server's mandates.
#[derive(Debug, Default)]
pub(crate) struct Views(Mutex<HashMap<StreamId, Arc<tokio::sync::Mutex<View>>>>);

#[derive(Debug)]
struct View {
    head: Head,
    tally: Tally,
    runs: BTreeMap<RunId, RunLine>,
    built: HashMap<AuthorizationDigest, LogHead>,
    /// Heads that a transaction in a block commits to, in order of landing.
    committed: Vec<Commitment>,
    /// Fees of what spent a bond by itself, which the log does not have.
    fees: HashMap<TxHash, u64>,
}

/// A run, as it is listed.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct RunLine {
    pub finished: bool,
    pub first_seq: u64,
    pub goal: Text<0, 2000>,
    pub kind: Text<1, 32>,
    pub last_hash: Digest,
    pub last_seq: u64,
    pub mandate_id: Id,
    pub run_id: RunId,
    pub started_at: Timestamp,
}

/// A head of the log that a transaction on chain commits to (label 1694).
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Commitment {
    pub hash: Digest,
    pub seq: u64,
    pub tx_hash: TxHash,
}

/// `GET /v1/runs/{id}/log`.
#[derive(Debug, Serialize)]
pub(crate) struct RunLog {
    /// The first release that covers the run's last entry.
    pub anchor: Option<Commitment>,
    pub closing: Option<Closing>,
    pub events: Vec<Raw>,
    pub run: RunLine,
}

/// The engine's signature over the end of a finished run.
#[derive(Debug, Serialize)]
pub(crate) struct Closing {
    pub hash: Digest,
    pub seq: u64,
    pub signature: Hex<64>,
}

/// What opens one run to whoever has it, for a while (D39).
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunPass {
    pub mandate: Id,
    pub run: RunId,
    pub until: Timestamp,
}

const DOMAIN: &str = "countersign.mandate-run.v1";
/// How long an `events_url` is good for.
const PASS: Duration = Duration::from_secs(24 * 3600);
/// Entries read at a time.
pub(super) const PAGE: usize = 512;

impl View {
    fn new() -> Self {
        Self {
            head: Head::EMPTY,
            tally: Tally::default(),
            runs: BTreeMap::new(),
            built: HashMap::new(),
            committed: Vec::new(),
            fees: HashMap::new(),
        }
    }

    fn fold(&mut self, mandate: &Id, event: &Event) {
        self.tally.fold(event);
        let Head { seq, hash } = self.head;
        match &event.fact {
            Fact::RunStarted(started) => {
                let line = RunLine {
                    finished: false,
                    first_seq: seq,
                    goal: started.goal.clone(),
                    kind: started.kind.clone(),
                    last_hash: hash,
                    last_seq: seq,
                    mandate_id: mandate.clone(),
                    run_id: event.run_id.clone(),
                    started_at: event.at,
                };
                self.runs.entry(event.run_id.clone()).or_insert(line);
            }
            Fact::TransactionBuilt(built) => {
                self.built.insert(built.digest, built.log_head);
            }
            Fact::TransactionConfirmed { digest, tx_hash, .. } => {
                if let Some(LogHead { hash, seq }) = self.built.get(digest).copied() {
                    self.committed.push(Commitment { hash, seq, tx_hash: *tx_hash });
                }
            }
            _ => {}
        }
        if let Some(line) = self.runs.get_mut(&event.run_id) {
            (line.last_seq, line.last_hash) = (seq, hash);
            line.finished |= matches!(event.fact, Fact::RunCompleted {});
        }
    }
}

impl App {
    pub(crate) async fn metrics_of(&self, mandate: &Id) -> Result<Metrics, Refused> {
        let known = self.mandate(mandate).await?;
        let unknown = |view: &mut View| {
            let spends = view.tally.bond_spends().filter(|(tx_hash, _)| !view.fees.contains_key(*tx_hash));
            spends.map(|(tx_hash, id)| (*tx_hash, id.clone())).collect::<Vec<_>>()
        };
        let mut found = HashMap::new();
        for (tx_hash, id) in self.viewed(&known, unknown).await? {
            let kept = self.bond_txs(&known.stream, &id).await?;
            let kept = kept.iter().find(|tx| tx.tx_hash == tx_hash);
            let fee = kept.and_then(|tx| mandate::transaction::Transaction::read_hex(&tx.tx)?.fee);
            found.insert(tx_hash, fee.unwrap_or(0));
        }
        self.viewed(&known, |view| {
            view.fees.extend(found);
            let mut metrics = view.tally.metrics();
            metrics.fees.lovelace += view.fees.values().sum::<u64>();
            metrics
        })
        .await
    }

    /// Newest first.
    pub(crate) async fn runs_of(&self, known: &Known) -> Result<Vec<RunLine>, Refused> {
        let mut runs = self.viewed(known, |view| view.runs.values().cloned().collect::<Vec<_>>()).await?;
        runs.sort_by_key(|run| std::cmp::Reverse(run.first_seq));
        Ok(runs)
    }

    pub(crate) async fn run_log(&self, known: &Known, run: &RunId) -> Result<RunLog, Refused> {
        let found = self
            .viewed(known, |view| {
                let line = view.runs.get(run)?.clone();
                let anchor = view.committed.iter().find(|anchor| anchor.seq >= line.last_seq).cloned();
                Some((line, anchor))
            })
            .await?;
        let (line, anchor) = found.ok_or_else(run_unknown)?;
        let mut events = Vec::new();
        let mut seen = line.first_seq.saturating_sub(1);
        while seen < line.last_seq {
            let page = self.journal().read(&known.stream, seen, PAGE).await?;
            let Some(last) = page.last() else { break };
            seen = last.seq;
            for entry in page.iter().filter(|entry| entry.seq <= line.last_seq) {
                events.extend(event_of(entry, run)?);
            }
        }
        let closing = line.finished.then(|| self.closing(run, &line)).transpose()?;
        Ok(RunLog { anchor, closing, events, run: line })
    }

    fn closing(&self, run: &RunId, line: &RunLine) -> Result<Closing, Refused> {
        let head = LogHead { hash: line.last_hash, seq: line.last_seq };
        let signature = self.mandates()?.setup.engine.sign(&closing_bytes(run, &head));
        let signature = signature.map_err(bug)?;
        Ok(Closing { hash: head.hash, seq: head.seq, signature: Hex::from_bytes(*signature.as_bytes()) })
    }

    /// The mandate of a run, for whoever may read it: its parties, and who has a pass.
    pub(crate) async fn run_for(
        &self,
        who: &Who,
        run: &RunId,
        mandate: Option<&Id>,
        pass: Option<&str>,
    ) -> Result<Known, Refused> {
        if let Some(pass) = pass.and_then(|pass| self.opened(pass)) {
            if pass.run == *run {
                return self.mandate(&pass.mandate).await;
            }
            return Err(Refused::nobody());
        }
        if matches!(who, Who::Nobody) || pass.is_some() {
            return Err(Refused::nobody());
        }
        let candidates = match mandate {
            Some(id) => vec![self.mandate(id).await?],
            None => self.all_mandates().await?,
        };
        for known in candidates.into_iter().filter(|known| known.state.run(run).is_some()) {
            if reads_run(who.role(&known.anchored.mandate)) {
                return Ok(known);
            }
            if who.role(&known.anchored.mandate) == Role::Masumi && self.is_masumis(&known, run).await? {
                return Ok(known);
            }
        }
        Err(run_unknown())
    }

    async fn is_masumis(&self, known: &Known, run: &RunId) -> Result<bool, Refused> {
        self.viewed(known, |view| view.runs.get(run).is_some_and(|line| line.kind.as_str() == "masumi")).await
    }

    /// `events_url` of a run.
    pub(crate) fn events_url(&self, known: &Known, run: &RunId) -> String {
        let pass = self.pass(&known.anchored.mandate, run, PASS);
        self.config().link(&format!("/v1/runs/{run}/events?token={pass}"))
    }

    /// A pass to one run.
    pub(crate) fn pass(&self, mandate: &Mandate, run: &RunId, life: Duration) -> String {
        let pass = RunPass { mandate: mandate.id.clone(), run: run.clone(), until: self.now() + life };
        self.seals().seal(DOMAIN, &pass)
    }

    /// A pass that is ours and not over.
    pub(crate) fn opened(&self, token: &str) -> Option<RunPass> {
        self.seals().unseal::<RunPass>(DOMAIN, token).filter(|pass| self.now() < pass.until)
    }

    async fn viewed<T>(&self, known: &Known, read: impl FnOnce(&mut View) -> T) -> Result<T, Refused> {
        let view = {
            let mut views = self.mandates()?.views.0.lock().unwrap_or_else(PoisonError::into_inner);
            let fresh = || Arc::new(tokio::sync::Mutex::new(View::new()));
            Arc::clone(views.entry(known.stream.clone()).or_insert_with(fresh))
        };
        let mut view = view.lock().await;
        while view.head.seq < known.head.seq {
            let page = self.journal().read(&known.stream, view.head.seq, PAGE).await?;
            if page.is_empty() {
                break;
            }
            for entry in &page {
                let event = Authority::open(entry, view.head).map_err(bug)?;
                view.head = Head { seq: entry.seq, hash: entry.hash };
                view.fold(&known.anchored.mandate.id, &event);
            }
        }
        Ok(read(&mut view))
    }
}

/// Who reads any run of a mandate.
pub(crate) const fn reads_run(role: Role) -> bool {
    role.reads()
}

/// An entry of a run as it is shown: the body with its hash and the hash before.
pub(crate) fn event_of(entry: &Entry, run: &RunId) -> Result<Option<Raw>, Refused> {
    let body = canon::parse(&entry.bytes)?;
    if body.get("run_id").and_then(canon::Value::as_str) != Some(run.as_str()) {
        return Ok(None);
    }
    let text = std::str::from_utf8(&entry.bytes).map_err(bug)?;
    let open = text.strip_suffix('}').ok_or_else(|| bug("an entry is no object"))?;
    let stored = format!(r#"{open},"hash":"{}","prev_hash":"{}"}}"#, entry.hash, entry.prev);
    Ok(Some(Raw::from_slice(stored.as_bytes())?))
}

pub(crate) fn run_unknown() -> Refused {
    Refused::missing("run_unknown", "no such run")
}
