//! The gate before a signer: each call decided, asked about, sent at most once, completed.

use crate::Error;
use crate::gate::{Asked, Call, Decision, Denial, Gate, Outcome, Ticket};
use crate::slot::{Found, Held, Parked, Sent, Slot};
use async_trait::async_trait;
use canon::Value;
use env::{Source, System};
use pcm::opening::arguments_digest;
use signer::rpc::{
    Agent, ApprovalConsume, ApprovalRequest, ApprovalStanding, ApprovalState, ApprovalWait, ArgsSource,
    CloseRun, Complete, Decide, Id, Name, Observe, Recorded, RegisterRun, Ruling, Status, Text, Trusted,
};
use signer::{Attest, Fault, FaultCode};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How long a call is held for a person who answers at once, milliseconds.
const HELD: u64 = 2_500;
/// When another try makes sense, milliseconds.
const RETRY: u64 = 15_000;
/// How often an answer that was lost is asked for again.
const TRIES: u32 = 3;

/// Who the calls are of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// The agent's name in its run.
    pub agent: String,
    /// `scheme:subject` of the host, as a gateway names it (spec 3.10).
    pub caller: String,
}

#[expect(missing_debug_implementations, reason = "what it holds is private to agents")]
pub struct Custody {
    signer: Arc<dyn Attest>,
    run: Running,
    calls: AtomicU64,
    state: Mutex<Known>,
}

/// The run, and what every event of it carries.
struct Running {
    held: Held,
    /// Makes ids unique over restarts.
    life: String,
    seq: AtomicU64,
}

struct Known {
    slot: Slot,
    /// Calls of an earlier life that were sent and never answered, by digest: the next like it hears of that once.
    unknown: BTreeMap<String, Sent>,
    /// Calls that wait for a person, by digest.
    parked: HashMap<String, Parked>,
    /// Those that are being looked at.
    busy: HashSet<String>,
}

impl Custody {
    /// Goes on from the run of a gateway that was killed, or registers a new one. What that gateway sent without hearing of
    /// it is recorded as unknown. Where the signer does not know us as a gateway, what we record is the agent's own word
    /// (T1): [`Custody::is_gateway`].
    pub async fn open(signer: Arc<dyn Attest>, folder: &Path, client: &Client) -> Result<Self, Error> {
        let (mut slot, found) = Slot::take(folder)?;
        let life = System.env().id(12);
        let mut parked = HashMap::new();
        let mut sent = found.sent;
        let mut before = None;
        if let Some(held) = found.run {
            let run = Running::new(held, &life);
            for one in sent.values() {
                let outcome = Outcome::Unknown("the gateway ended before it was answered".to_owned());
                // What is refused is recorded already, or is of a run that is over.
                settled(run.complete(&*signer, &one.call, &one.decision, &one.digest, &outcome).await)?;
            }
            for one in found.parked.into_values() {
                if settled(run.wait(&*signer, &one.approval, 0).await)?.is_some() {
                    parked.insert(one.digest.clone(), one);
                }
            }
            // A run is gone on with only where somebody may still answer.
            if parked.is_empty() {
                settled(run.close(&*signer).await)?;
            } else {
                before = Some(run);
            }
        } else {
            sent.clear();
        }
        let run = match before {
            Some(run) => run,
            None => Running::new(register(&*signer, client).await?, &life),
        };
        slot.rewrite(&Found {
            run: Some(run.held.clone()),
            sent: sent.clone(),
            parked: parked.values().map(|one| (one.call.clone(), one.clone())).collect(),
        })?;
        let unknown = sent.into_values().map(|one| (one.digest.clone(), one)).collect();
        let known = Known { slot, unknown, parked, busy: HashSet::new() };
        Ok(Self { signer, run, calls: AtomicU64::new(0), state: Mutex::new(known) })
    }

    /// Whether what we record counts as run by a gateway (T2).
    pub const fn is_gateway(&self) -> bool {
        self.run.held.caller.is_some()
    }

    /// The run that is written to.
    pub fn run(&self) -> &str {
        &self.run.held.run
    }

    fn state(&self) -> MutexGuard<'_, Known> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn ask(&self, parked: Parked, tool: &str, arguments: Value<'static>) -> Result<Decision, Error> {
        self.state().busy.insert(parked.digest.clone());
        let decision = self.ask_alone(&parked, tool, arguments).await;
        self.state().busy.remove(&parked.digest);
        decision
    }

    async fn ask_alone(
        &self,
        parked: &Parked,
        tool: &str,
        arguments: Value<'static>,
    ) -> Result<Decision, Error> {
        let standing = self.run.wait(&*self.signer, &parked.approval, HELD).await?;
        let denied = |code: &str, text: String| {
            let decision = Some(parked.decision.clone());
            Ok(Decision::Deny(Denial { code: code.to_owned(), text, decision }))
        };
        match standing.state {
            ApprovalState::Requested => Ok(Decision::Ask(asked(parked))),
            ApprovalState::Approved => {
                let used = self.run.consume(&*self.signer, &parked.call, tool, arguments).await?;
                if !used.ok {
                    self.state().unpark(parked)?;
                    let code = used.rule_ids.first().map_or("TK-APPROVAL-REQUIRED", String::as_str);
                    return denied(
                        code,
                        used.reason.unwrap_or_else(|| "the approval is of no use".to_owned()),
                    );
                }
                let sent = parked.sent();
                let mut state = self.state();
                state.parked.remove(&parked.digest);
                state.slot.sent(&sent)?;
                Ok(Decision::Allow(ticket(sent, Some(parked.approval.clone()))))
            }
            ApprovalState::Rejected => {
                self.state().unpark(parked)?;
                let reason = standing.reason.map(|reason| format!(": {reason}")).unwrap_or_default();
                denied("TK-APPROVAL-REJECTED", format!("the person who was asked said no{reason}"))
            }
            ApprovalState::Expired => {
                self.state().unpark(parked)?;
                denied("TK-APPROVAL-EXPIRED", "nobody answered in time; the same call asks again".to_owned())
            }
            // Used, and not by this gateway since it was started: whether the call was sent is not known.
            ApprovalState::Consumed => {
                self.state().unpark(parked)?;
                let outcome = Outcome::Unknown("the gateway ended when it was to be sent".to_owned());
                let done = self.run.complete(
                    &*self.signer,
                    &parked.call,
                    &parked.decision,
                    &parked.digest,
                    &outcome,
                );
                settled(done.await)?;
                denied("unknown", UNKNOWN.to_owned())
            }
        }
    }
}

const UNKNOWN: &str = "this call was sent before the gateway was started again, and its outcome is unknown. It is not sent again \
    by itself; look at what it may have done, then call again to have it decided anew";

#[async_trait]
impl Gate for Custody {
    async fn decide(&self, call: &Call) -> Result<Decision, Error> {
        let arguments = canon::parse(call.arguments.as_bytes()).map_err(|error| unreadable(&error))?;
        let digest = arguments_digest(&call.tool, &arguments).map_err(|error| unreadable(&error))?.prefixed();
        let arguments = arguments.into_static();
        let parked = {
            let mut state = self.state();
            if let Some(sent) = state.unknown.remove(&digest) {
                state.slot.over(&sent.call)?;
                let decision = Some(sent.decision);
                let denial = Denial { code: "unknown".to_owned(), text: UNKNOWN.to_owned(), decision };
                return Ok(Decision::Deny(denial));
            }
            let parked = state.parked.get(&digest).cloned();
            if let Some(parked) = parked.as_ref().filter(|_| state.busy.contains(&digest)) {
                return Ok(Decision::Ask(asked(parked)));
            }
            parked
        };
        if let Some(parked) = parked {
            return self.ask(parked, &call.tool, arguments).await;
        }
        let id = format!("{}.{}", self.run.life, self.calls.fetch_add(1, Ordering::Relaxed));
        let ruled = self.run.decide(&*self.signer, &id, &call.tool, arguments.clone()).await?;
        match ruled.decision {
            Ruling::Allow => {
                let sent = Sent { call: id, decision: ruled.decision_id, digest };
                self.state().slot.sent(&sent)?;
                Ok(Decision::Allow(ticket(sent, None)))
            }
            Ruling::Deny => {
                let code = ruled.rule_ids.first().cloned().unwrap_or_else(|| "TK-DENY".to_owned());
                let text = ruled.reason.unwrap_or_else(|| "policy forbids this call".to_owned());
                Ok(Decision::Deny(Denial { code, text, decision: Some(ruled.decision_id) }))
            }
            Ruling::Ask => {
                let standing = self.run.request(&*self.signer, &id).await?;
                let parked = Parked {
                    call: id,
                    decision: ruled.decision_id,
                    digest: digest.clone(),
                    approval: standing.approval_id,
                    url: standing.url,
                    expires_at: standing.expires_at,
                };
                {
                    let mut state = self.state();
                    state.slot.parked(&parked)?;
                    state.parked.insert(digest, parked.clone());
                }
                self.ask(parked, &call.tool, arguments).await
            }
        }
    }

    async fn complete(&self, ticket: &Ticket, outcome: &Outcome) -> Result<(), Error> {
        self.run.complete(&*self.signer, &ticket.call, &ticket.decision, &ticket.digest, outcome).await?;
        self.state().slot.over(&ticket.call)
    }

    async fn observe(&self, source: &str, content: &str) -> Result<(), Error> {
        let value = canon::parse(content.as_bytes()).map_err(|error| unreadable(&error))?.into_static();
        self.run.observe(&*self.signer, source, value).await
    }

    /// Closes the run, unless somebody may still answer: the next gateway goes on with it then.
    async fn close(&self) {
        if !self.state().parked.is_empty() {
            return;
        }
        match self.run.close(&*self.signer).await {
            Ok(()) => {
                let mut state = self.state();
                let _ = state.slot.rewrite(&Found::default());
            }
            Err(error) => crate::warn(&format!("the run {} is not closed: {error}", self.run.held.run)),
        }
    }
}

impl Known {
    fn unpark(&mut self, parked: &Parked) -> Result<(), Error> {
        self.parked.remove(&parked.digest);
        self.slot.over(&parked.call)
    }
}

/// Every answer of the signer is of something durable; one that was lost is asked for again, as it was.
impl Running {
    fn new(held: Held, life: &str) -> Self {
        Self { held, life: life.to_owned(), seq: AtomicU64::new(0) }
    }

    async fn decide(
        &self,
        signer: &dyn Attest,
        call: &str,
        tool: &str,
        args: Value<'static>,
    ) -> Result<signer::rpc::Decided, Error> {
        let of = Decide {
            request_id: id(&format!("{call}.d"))?,
            run_id: id(&self.held.run)?,
            run_token: text(&self.held.token)?,
            stream: id(&self.life)?,
            client_seq: self.seq.fetch_add(1, Ordering::SeqCst),
            caller: self.caller()?,
            tool_call_id: id(call)?,
            attempt: 0,
            tool: text(tool)?,
            tool_class_hint: None,
            args_source: ArgsSource::Parsed,
            args,
        };
        again(|| signer.decide(of.clone())).await
    }

    async fn complete(
        &self,
        signer: &dyn Attest,
        call: &str,
        decision: &str,
        digest: &str,
        outcome: &Outcome,
    ) -> Result<(), Error> {
        let (status, result, error) = told(outcome)?;
        let of = Complete {
            request_id: id(&format!("{call}.c"))?,
            run_id: id(&self.held.run)?,
            run_token: text(&self.held.token)?,
            stream: id(&self.life)?,
            client_seq: self.seq.fetch_add(1, Ordering::SeqCst),
            caller: self.caller()?,
            tool_call_id: id(call)?,
            attempt: 0,
            decision_id: id(decision)?,
            args_digest: text(digest)?,
            status,
            result,
            error,
            redacted: None,
            redaction: None,
        };
        again(|| signer.complete(of.clone())).await.map(drop::<Recorded>)
    }

    async fn observe(&self, signer: &dyn Attest, source: &str, value: Value<'static>) -> Result<(), Error> {
        let seq = self.seq.fetch_add(1, Ordering::SeqCst);
        let of = Observe {
            request_id: id(&format!("{}.o{seq}", self.life))?,
            run_id: id(&self.held.run)?,
            run_token: text(&self.held.token)?,
            stream: id(&self.life)?,
            client_seq: seq,
            caller: self.caller()?,
            source: text(source)?,
            trust: Trusted::Untrusted,
            value,
        };
        again(|| signer.observe(of.clone())).await.map(drop::<Recorded>)
    }

    async fn request(&self, signer: &dyn Attest, call: &str) -> Result<ApprovalStanding, Error> {
        let of = ApprovalRequest {
            request_id: id(&format!("{call}.a"))?,
            run_id: id(&self.held.run)?,
            run_token: text(&self.held.token)?,
            caller: self.caller()?,
            tool_call_id: id(call)?,
            attempt: 0,
            reason: None,
        };
        again(|| signer.approval_request(of.clone())).await
    }

    async fn wait(
        &self,
        signer: &dyn Attest,
        approval: &str,
        millis: u64,
    ) -> Result<ApprovalStanding, Error> {
        let of = ApprovalWait {
            run_id: id(&self.held.run)?,
            run_token: text(&self.held.token)?,
            caller: self.caller()?,
            approval_id: id(approval)?,
            timeout_ms: Some(millis),
        };
        again(|| signer.approval_wait(of.clone())).await
    }

    async fn consume(
        &self,
        signer: &dyn Attest,
        call: &str,
        tool: &str,
        args: Value<'static>,
    ) -> Result<signer::rpc::Consumed, Error> {
        let of = ApprovalConsume {
            request_id: id(&format!("{call}.u"))?,
            run_id: id(&self.held.run)?,
            run_token: text(&self.held.token)?,
            caller: self.caller()?,
            tool_call_id: id(call)?,
            attempt: 0,
            tool: text(tool)?,
            args_source: ArgsSource::Parsed,
            args,
            approval_id_hint: None,
        };
        again(|| signer.approval_consume(of.clone())).await
    }

    async fn close(&self, signer: &dyn Attest) -> Result<(), Error> {
        let of = CloseRun {
            request_id: id(&format!("{}.close", self.life))?,
            run_id: id(&self.held.run)?,
            run_token: text(&self.held.token)?,
            reason: None,
            caller: self.caller()?,
            last_client_seq: Vec::new(),
        };
        again(|| signer.close_run(of.clone())).await.map(drop::<signer::rpc::Closed>)
    }

    fn caller(&self) -> Result<Option<Name>, Error> {
        self.held.caller.as_deref().map(text).transpose()
    }
}

async fn register(signer: &dyn Attest, client: &Client) -> Result<Held, Error> {
    let mut caller = Some(client.caller.clone());
    loop {
        let of = RegisterRun {
            request_id: id(&System.env().id(20))?,
            run_id: None,
            tenant: None,
            caller: caller.as_deref().map(text).transpose()?,
            agent: Agent { name: text(&client.agent)?, version: None },
        };
        match signer.register_run(of).await {
            Ok(run) => return Ok(Held { run: run.run_id, token: run.run_token, caller }),
            // It does not know us as a gateway: what we record is the agent's own.
            Err(fault) if fault.code == FaultCode::Forbidden && caller.is_some() => caller = None,
            Err(fault) => return Err(Error::from(fault)),
        }
    }
}

/// What a record says of an outcome.
type Told = (Status, Option<Value<'static>>, Option<Text<4096>>);

fn told(outcome: &Outcome) -> Result<Told, Error> {
    let clipped = |text: &str| Text::new(text.chars().take(4096).collect::<String>());
    match outcome {
        Outcome::Answered { content, ok } => {
            let value = canon::parse(content.as_bytes()).map_err(|error| unreadable(&error))?;
            let error =
                value.get("error").map(canon::to_vec).transpose().map_err(|error| unreadable(&error))?;
            let error = error.and_then(|bytes| clipped(&String::from_utf8_lossy(&bytes)));
            let status = if *ok { Status::Ok } else { Status::Error };
            Ok((status, value.get("result").map(Value::to_owned), error))
        }
        Outcome::NotSent(why) => Ok((Status::Error, None, clipped(&format!("not sent: {why}")))),
        Outcome::Unknown(why) => Ok((Status::Error, None, clipped(&format!("unknown: {why}")))),
    }
}

async fn again<T, F: Future<Output = Result<T, Fault>>>(mut call: impl FnMut() -> F) -> Result<T, Error> {
    let mut tries = 1;
    loop {
        match call().await {
            Err(fault) if fault.code == FaultCode::Unavailable && tries < TRIES => tries += 1,
            outcome => return outcome.map_err(Error::from),
        }
    }
}

/// What the signer refuses of an earlier life needs no more thought.
fn settled<T>(outcome: Result<T, Error>) -> Result<Option<T>, Error> {
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(Error::Signer { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn ticket(sent: Sent, approval: Option<String>) -> Ticket {
    Ticket { call: sent.call, decision: sent.decision, digest: sent.digest, approval }
}

fn asked(parked: &Parked) -> Asked {
    Asked {
        approval: parked.approval.clone(),
        decision: parked.decision.clone(),
        url: parked.url.clone(),
        who: None,
        expires_at: parked.expires_at.clone(),
        retry_after: RETRY,
    }
}

fn id(text: &str) -> Result<Id, Error> {
    Id::new(text).ok_or_else(|| unreadable(&format!("{text:?} is no id")))
}

fn text<const MOST: usize>(text: &str) -> Result<Text<MOST>, Error> {
    Text::new(text).ok_or_else(|| unreadable(&format!("{text:?} is longer than {MOST} characters")))
}

fn unreadable(error: &impl ToString) -> Error {
    Error::Signer { code: "TK-ARGS-INVALID".to_owned(), message: error.to_string() }
}
