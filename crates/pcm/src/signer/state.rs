//! What the signer knows: the fold of its log. Runs that are over are forgotten.

use super::decide::{FINAL, Said, Whose};
use super::rpc::{Answer, ApprovalState, ArgsSource, Ruling};
use crate::write::{self, Draft, Place};
use crate::{Commitment, Error, Event, SIGNER_RUN, SIGNER_TENANT};
use canon::{Digest, Value};
use env::Timestamp;
use keys::{Kid, Signer};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

/// The state of a signer.
#[derive(Debug, Clone)]
pub struct State {
    /// 32 hex digits.
    pub(super) log_id: String,
    /// The place of the next record, and the hash of the last.
    pub(super) seq: u64,
    pub(super) prev: Digest,
    /// The signer's own run.
    pub(super) own: Chain,
    /// Where the records of its keys are.
    pub(super) keys: BTreeSet<u64>,
    pub(super) runs: HashMap<String, Run>,
    /// Approvals that may still change, and the run of each.
    pub(super) asked: BTreeMap<String, String>,
    pub(super) closing: BTreeSet<String>,
    pub(super) requests: Requests,
}

/// The next place in a run, and the hash of the run's last record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chain {
    pub seq: u64,
    pub prev: Digest,
}

impl Default for Chain {
    fn default() -> Self {
        Self { seq: 0, prev: Digest::ZERO }
    }
}

/// A run that is not over.
#[derive(Debug, Clone)]
pub struct Run {
    pub(super) id: String,
    pub(super) tenant: String,
    /// Where in the log it begins.
    pub(super) first: u64,
    /// Whose it is, `scheme:subject`, and through which gateway it was registered.
    pub(super) owner: String,
    pub(super) person: Option<String>,
    pub(super) chain: Chain,
    /// The next `client_seq` of each stream.
    pub(super) streams: BTreeMap<String, u64>,
    pub(super) calls: HashMap<(String, u64), Call>,
    pub(super) approvals: BTreeMap<String, Approval>,
    /// Until when it waits for calls that are held, once it closes.
    pub(super) closing: Option<Timestamp>,
}

/// A call that was decided.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Call {
    Open(Box<Open>),
    /// It has its result. Its name is not given away again.
    Done,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Open {
    pub decision_id: String,
    pub tool: String,
    pub ruling: Ruling,
    /// `None`: the arguments were no strict JSON.
    pub arguments: Option<Commitment>,
    pub source: ArgsSource,
    pub policy: String,
    pub rules: Vec<String>,
    pub via: Option<String>,
    pub approval: Option<String>,
    /// The arguments of a call that is asked about, until it is.
    pub args: Option<Value<'static>>,
    /// It may be run: allowed, or approved and that approval used.
    pub cleared: bool,
}

/// Something a person was asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Approval {
    pub id: String,
    pub tenant: String,
    pub run_id: String,
    pub tool_call_id: String,
    pub attempt: u64,
    pub decision_id: String,
    pub tool: String,
    pub rules: Vec<String>,
    pub policy: String,
    /// Whose call it is.
    pub requester: String,
    /// The person behind the requester, where one is known.
    pub person: Option<String>,
    pub via: Option<String>,
    pub source: ArgsSource,
    pub(super) arguments: Commitment,
    pub(super) salt_id: String,
    pub binding: Digest,
    pub asked_at: Timestamp,
    pub expires_at: Timestamp,
    pub state: ApprovalState,
    /// What the agent says it is for, and once it is settled why.
    pub reason: Option<String>,
    /// The exact arguments; gone once it cannot be used any more.
    pub args: Option<Value<'static>>,
}

/// A record that has its place and its hash, and not yet its signature.
#[derive(Debug)]
pub struct Sealed {
    sealed: write::Sealed,
    pub prev: Digest,
    pub tenant: String,
    pub run_id: String,
    pub kind: &'static str,
    /// Where its run begins.
    pub first: u64,
    /// The approval it is about.
    pub approval: Option<String>,
    /// What was signed, where it says so: its hash in hex.
    pub noted: Option<String>,
    /// Kept sealed beside the record: what it commits to, and the request that made it.
    pub kept: Option<Vec<u8>>,
}

impl Sealed {
    pub const fn seq(&self) -> u64 {
        self.sealed.seq
    }
    pub const fn hash(&self) -> Digest {
        self.sealed.hash
    }
    /// The record's line.
    pub fn sign(&self, signer: &dyn Signer) -> Result<Vec<u8>, Error> {
        self.sealed.sign(signer).map(|written| written.line)
    }
}

impl State {
    /// Of a log without a record.
    pub fn new(log_id: &str) -> Self {
        Self {
            log_id: log_id.to_owned(),
            seq: 0,
            prev: Digest::ZERO,
            own: Chain::default(),
            keys: BTreeSet::new(),
            runs: HashMap::new(),
            asked: BTreeMap::new(),
            closing: BTreeSet::new(),
            requests: Requests::default(),
        }
    }

    /// Ready to fold on from record `seq`: no open run began before it. `prev` is the hash before it, `own` the last record of
    /// the signer's own run (`run_seq`, hash), `keys` the places of its key records.
    pub fn resume(
        log_id: &str,
        seq: u64,
        prev: Digest,
        own: Option<(u64, Digest)>,
        keys: impl IntoIterator<Item = u64>,
    ) -> Self {
        let own = own.map_or_else(Chain::default, |(seq, prev)| Chain { seq: seq.saturating_add(1), prev });
        Self { seq, prev, own, keys: keys.into_iter().collect(), ..Self::new(log_id) }
    }

    pub fn log_id(&self) -> &str {
        &self.log_id
    }
    /// How many records the log has.
    pub const fn size(&self) -> u64 {
        self.seq
    }
    /// The hash of the last.
    pub const fn head(&self) -> Digest {
        self.prev
    }
    /// Where the key records are, in order.
    pub fn keys(&self) -> impl Iterator<Item = u64> {
        self.keys.iter().copied()
    }
    pub fn run(&self, id: &str) -> Option<&Run> {
        self.runs.get(id)
    }
    pub fn runs(&self) -> impl Iterator<Item = &Run> {
        self.runs.values()
    }
    pub fn approval(&self, id: &str) -> Option<&Approval> {
        self.runs.get(self.asked.get(id)?)?.approvals.get(id)
    }
    /// Approvals of runs that are not over, in the order of their names.
    pub fn approvals(&self) -> impl Iterator<Item = &Approval> {
        self.asked.iter().filter_map(|(id, run)| self.runs.get(run)?.approvals.get(id))
    }

    /// Gives what was decided its place, and folds it in.
    pub fn seal(&mut self, said: Said, at: Timestamp, kid: &Kid) -> Result<Sealed, Error> {
        let (tenant, run_id, chain, first) = match &said.whose {
            Whose::Own => (SIGNER_TENANT.to_owned(), SIGNER_RUN.to_owned(), self.own, 0),
            Whose::Begins { tenant, run_id } => (tenant.clone(), run_id.clone(), Chain::default(), self.seq),
            Whose::Run(id) => {
                let run = self.runs.get(id).ok_or(Error::Structure("a record of no open run"))?;
                (run.tenant.clone(), run.id.clone(), run.chain, run.first)
            }
        };
        let data = if said.kind == FINAL { ends(chain)? } else { said.data };
        let draft = Draft {
            id: said.id,
            ts: at,
            tenant: &tenant,
            run_id: &run_id,
            agent_id: "main",
            parent_id: None,
            source: said.source,
            kind: said.kind,
            data,
            more: said.more,
        };
        let place = Place {
            log_id: &self.log_id,
            seq: self.seq,
            prev: self.prev,
            run_seq: chain.seq,
            run_prev: chain.prev,
        };
        let prev = self.prev;
        let (value, sealed) = draft.seal(&place, kid)?;
        let event = Event::unchecked(&value)?;
        let approval = event.data_text("approval_id").map(str::to_owned);
        let noted = event.data_text("hash").filter(|_| said.kind == "ext");
        let noted = noted.and_then(|hash| hash.strip_prefix("sha256:")).map(str::to_owned);
        self.fold(&event, &sealed.hash, said.kept.as_ref());
        let kept = said.kept.as_ref().map(canon::to_vec).transpose()?;
        Ok(Sealed { sealed, prev, kind: said.kind, first, approval, noted, kept, tenant, run_id })
    }
}

/// The data of `run.final`: what it closes.
fn ends(chain: Chain) -> Result<Value<'static>, Error> {
    let coverage = write::object(vec![
        ("layers", Value::Array(vec![write::text("L2")])),
        ("unreconciled", write::object(Vec::new())?),
        ("reconciled", write::number(0)?),
    ])?;
    write::object(vec![
        ("head_run_seq", write::number(chain.seq.saturating_sub(1))?),
        ("head_hash", write::text(chain.prev.prefixed())),
        ("coverage", coverage),
    ])
}

impl Run {
    pub fn id(&self) -> &str {
        &self.id
    }
    pub fn tenant(&self) -> &str {
        &self.tenant
    }
    /// Whose it is, `scheme:subject`.
    pub fn owner(&self) -> &str {
        &self.owner
    }
    /// Where in the log it begins.
    pub const fn first(&self) -> u64 {
        self.first
    }
    /// How many records it has.
    pub const fn records(&self) -> u64 {
        self.chain.seq
    }
    pub const fn is_closing(&self) -> bool {
        self.closing.is_some()
    }

    /// Whether a gateway may still run something of it.
    pub(super) fn is_held(&self) -> bool {
        self.calls.values().any(|call| match call {
            Call::Done => false,
            Call::Open(open) => {
                let approval = open.approval.as_ref().and_then(|id| self.approvals.get(id));
                let may = approval.is_some_and(|approval| {
                    matches!(approval.state, ApprovalState::Requested | ApprovalState::Approved)
                });
                open.via.is_some() && (open.cleared || may)
            }
        })
    }
}

/// Requests that were answered, the newest of each identity.
#[derive(Debug, Clone, Default)]
pub(super) struct Requests {
    lanes: HashMap<String, Lane>,
    total: usize,
}

#[derive(Debug, Clone, Default)]
struct Lane {
    known: HashMap<String, (Digest, Arc<Answer>)>,
    /// The oldest first, each with about how many bytes it takes.
    order: VecDeque<(String, usize)>,
    weight: usize,
}

/// Requests remembered of one identity, and of all (spec 3.16); bytes of answers of one identity.
const REMEMBERED: usize = 10_000;
const REMEMBERED_IN_ALL: usize = 100_000;
const HEAVIEST: usize = 16 << 20;

impl Requests {
    /// The digest of what was asked under this id, and the answer to it.
    pub fn find(&self, by: &str, id: &str) -> Option<&(Digest, Arc<Answer>)> {
        self.lanes.get(by)?.known.get(id)
    }

    pub fn remember(&mut self, by: &str, id: &str, request: Digest, answer: Value<'static>) {
        let lane = self.lanes.entry(by.to_owned()).or_default();
        let heavy = weight(&answer);
        if lane.known.insert(id.to_owned(), (request, Arc::new(Answer::Other(answer)))).is_none() {
            lane.order.push_back((id.to_owned(), heavy));
            lane.weight += heavy;
            self.total += 1;
        }
        // The newest is always remembered.
        while lane.order.len() > 1
            && (lane.order.len() > REMEMBERED || self.total > REMEMBERED_IN_ALL || lane.weight > HEAVIEST)
        {
            let Some((oldest, light)) = lane.order.pop_front() else { return };
            lane.known.remove(&oldest);
            lane.weight = lane.weight.saturating_sub(light);
            self.total = self.total.saturating_sub(1);
        }
    }
}

/// About how many bytes a value takes.
fn weight(value: &Value<'_>) -> usize {
    let inner = match value {
        Value::Null | Value::Bool(_) => 0,
        Value::Number(number) => number.token().len(),
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(weight).sum(),
        Value::Object(object) => object.iter().map(|(name, value)| name.len() + 24 + weight(value)).sum(),
    };
    inner + 32
}
