//! The gate before a signer: each call decided, asked about, sent at most once, completed.

use crate::gate::{Asked, Call, Decision, Denial, Gate, Outcome, Ticket};
use crate::signer::{Came, Ruling, Run, Signer, Standing, State};
use crate::slot::{Found, Parked, Sent, Slot};
use crate::{Error, wire};
use async_trait::async_trait;
use canon::Value;
use env::{Source, System};
use pcm::opening::arguments_digest;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How long a call is held for a person who answers at once.
const HELD: u64 = 2_500;
/// When another try makes sense.
const RETRY: u64 = 15_000;

#[expect(missing_debug_implementations, reason = "what it holds is private to agents")]
pub struct Custody<S> {
    signer: S,
    run: Run,
    /// Makes ids of calls unique over restarts.
    life: String,
    calls: AtomicU64,
    state: Mutex<Known>,
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

impl<S: Signer> Custody<S> {
    /// Goes on from the run of a gateway that was killed, or registers a new one. What that gateway sent without hearing of
    /// it is recorded as unknown.
    pub async fn open(signer: S, folder: &Path, agent: &str) -> Result<Self, Error> {
        let (mut slot, found) = Slot::take(folder)?;
        let mut unknown = BTreeMap::new();
        let mut run = found.run;
        if let Some(known) = &run {
            for sent in found.sent.values() {
                let came = Came {
                    call: &sent.call,
                    decision: &sent.decision,
                    digest: &sent.digest,
                    ok: false,
                    result: None,
                    error: Some("unknown: the gateway ended before it was answered"),
                };
                match signer.complete(known, came).await {
                    // What it refuses is recorded already, or is of a run that is over.
                    Ok(()) | Err(Error::Signer { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            unknown = found.sent.values().map(|sent| (sent.digest.clone(), sent.clone())).collect();
        }
        let mut parked = HashMap::new();
        for one in found.parked.into_values() {
            let Some(known) = &run else { break };
            match signer.wait(known, &one.approval, 0).await {
                Ok(_) => drop(parked.insert(one.digest.clone(), one)),
                Err(Error::Signer { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        // A run is gone on with only where something of it is open.
        if parked.is_empty() {
            if let Some(known) = run.take() {
                let _ = signer.close(&known).await;
            }
        }
        let run = match run {
            Some(run) => run,
            None => signer.register(agent).await?,
        };
        slot.rewrite(&Found {
            run: Some(run.clone()),
            sent: unknown.values().map(|sent| (sent.call.clone(), sent.clone())).collect(),
            parked: parked.values().map(|one| (one.call.clone(), one.clone())).collect(),
        })?;
        let known = Known { slot, unknown, parked, busy: HashSet::new() };
        let life = System.env().id(12);
        Ok(Self { signer, run, life, calls: AtomicU64::new(0), state: Mutex::new(known) })
    }

    fn state(&self) -> MutexGuard<'_, Known> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn ask(&self, parked: Parked, tool: &str, arguments: &Value<'_>) -> Result<Decision, Error> {
        self.state().busy.insert(parked.digest.clone());
        let decision = self.ask_alone(&parked, tool, arguments).await;
        self.state().busy.remove(&parked.digest);
        decision
    }

    async fn ask_alone(&self, parked: &Parked, tool: &str, arguments: &Value<'_>) -> Result<Decision, Error> {
        let standing = self.signer.wait(&self.run, &parked.approval, HELD).await?;
        let denied = |code: &str, text: String| {
            let decision = Some(parked.decision.clone());
            Ok(Decision::Deny(Denial { code: code.to_owned(), text, decision }))
        };
        match standing.state {
            State::Requested => Ok(Decision::Ask(asked(parked, Some(&standing)))),
            State::Approved => {
                match self.signer.consume(&self.run, &parked.call, tool, arguments).await {
                    Ok(()) => {}
                    Err(Error::Signer { code, message }) => {
                        self.state().unpark(parked)?;
                        return denied(&code, message);
                    }
                    Err(error) => return Err(error),
                }
                let sent = Sent {
                    call: parked.call.clone(),
                    decision: parked.decision.clone(),
                    digest: parked.digest.clone(),
                };
                let mut state = self.state();
                state.parked.remove(&parked.digest);
                state.slot.sent(&sent)?;
                Ok(Decision::Allow(ticket(sent, Some(parked.approval.clone()))))
            }
            State::Rejected => {
                self.state().unpark(parked)?;
                let reason = standing.reason.map(|reason| format!(": {reason}")).unwrap_or_default();
                denied("TK-APPROVAL-REJECTED", format!("the person who was asked said no{reason}."))
            }
            State::Expired => {
                self.state().unpark(parked)?;
                denied("TK-APPROVAL-EXPIRED", "nobody answered in time. The same call asks again.".to_owned())
            }
            // Used, and not by this gateway as it runs: whether the call was sent is not known.
            State::Consumed => {
                self.state().unpark(parked)?;
                let outcome = Outcome::Unknown("the gateway ended when it was to be sent".to_owned());
                self.record(&parked.call, &parked.decision, &parked.digest, &outcome).await.or_else(refused)?;
                denied("unknown", UNKNOWN.to_owned())
            }
        }
    }

    async fn record(&self, call: &str, decision: &str, digest: &str, outcome: &Outcome) -> Result<(), Error> {
        let came = Came { call, decision, digest, ok: false, result: None, error: None };
        match outcome {
            Outcome::Answered { content, ok } => {
                let value = canon::parse(content.as_bytes()).map_err(|error| unreadable(&error))?;
                let error = value.get("error").map(canon::to_vec).transpose().map_err(|error| unreadable(&error))?;
                let error = error.map(|bytes| clipped(&String::from_utf8_lossy(&bytes)));
                let came = Came { ok: *ok, result: value.get("result"), error: error.as_deref(), ..came };
                self.signer.complete(&self.run, came).await
            }
            Outcome::NotSent(why) => {
                let why = clipped(&format!("not sent: {why}"));
                self.signer.complete(&self.run, Came { error: Some(&why), ..came }).await
            }
            Outcome::Unknown(why) => {
                let why = clipped(&format!("unknown: {why}"));
                self.signer.complete(&self.run, Came { error: Some(&why), ..came }).await
            }
        }
    }
}

const UNKNOWN: &str = "this call was sent before the gateway was started again, and its outcome is unknown. It is not sent again \
    by itself; look at what it may have done, then call again to have it decided anew.";

impl Known {
    fn unpark(&mut self, parked: &Parked) -> Result<(), Error> {
        self.parked.remove(&parked.digest);
        self.slot.over(&parked.call)
    }
}

#[async_trait]
impl<S: Signer> Gate for Custody<S> {
    async fn decide(&self, call: &Call) -> Result<Decision, Error> {
        let arguments = canon::parse(call.arguments.as_bytes()).map_err(|error| unreadable(&error))?;
        let digest = arguments_digest(&call.tool, &arguments).map_err(|error| unreadable(&error))?.prefixed();
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
                return Ok(Decision::Ask(asked(parked, None)));
            }
            parked
        };
        if let Some(parked) = parked {
            return self.ask(parked, &call.tool, &arguments).await;
        }
        let id = format!("{}.{}", self.life, self.calls.fetch_add(1, Ordering::Relaxed));
        let ruled = self.signer.decide(&self.run, &id, &call.tool, &arguments).await?;
        match ruled.ruling {
            Ruling::Allow => {
                let sent = Sent { call: id, decision: ruled.decision, digest };
                self.state().slot.sent(&sent)?;
                Ok(Decision::Allow(ticket(sent, None)))
            }
            Ruling::Deny => {
                let code = ruled.rules.first().cloned().unwrap_or_else(|| "TK-DENY".to_owned());
                let text = ruled.reason.unwrap_or_else(|| "policy forbids this call.".to_owned());
                Ok(Decision::Deny(Denial { code, text, decision: Some(ruled.decision) }))
            }
            Ruling::Ask => {
                let standing = self.signer.request_approval(&self.run, &id).await?;
                let parked = Parked {
                    call: id,
                    decision: ruled.decision,
                    digest: digest.clone(),
                    approval: standing.approval,
                    url: standing.url,
                    expires_at: standing.expires_at,
                };
                {
                    let mut state = self.state();
                    state.slot.parked(&parked)?;
                    state.parked.insert(digest, parked.clone());
                }
                self.ask(parked, &call.tool, &arguments).await
            }
        }
    }

    async fn complete(&self, ticket: &Ticket, outcome: &Outcome) -> Result<(), Error> {
        self.record(&ticket.call, &ticket.decision, &ticket.digest, outcome).await?;
        self.state().slot.over(&ticket.call)
    }

    async fn observe(&self, source: &str, content: &str) -> Result<(), Error> {
        let content = canon::parse(content.as_bytes()).map_err(|error| unreadable(&error))?;
        self.signer.observe(&self.run, source, &content).await
    }

    /// Closes the run, unless somebody may still answer: the next gateway goes on with it then.
    async fn close(&self) {
        if !self.state().parked.is_empty() {
            return;
        }
        if self.signer.close(&self.run).await.is_ok() {
            let mut state = self.state();
            let sent = state.unknown.values().map(|sent| (sent.call.clone(), sent.clone())).collect();
            let _ = state.slot.rewrite(&Found { run: None, sent, parked: BTreeMap::new() });
        }
    }
}

fn ticket(sent: Sent, approval: Option<String>) -> Ticket {
    Ticket { call: sent.call, decision: sent.decision, digest: sent.digest, approval }
}

fn asked(parked: &Parked, standing: Option<&Standing>) -> Asked {
    let url = standing.and_then(|standing| standing.url.clone()).or_else(|| parked.url.clone());
    let expires_at = standing.and_then(|standing| standing.expires_at.clone()).or_else(|| parked.expires_at.clone());
    Asked {
        approval: parked.approval.clone(),
        decision: parked.decision.clone(),
        url,
        who: None,
        expires_at,
        retry_after: RETRY,
    }
}

/// What the signer refuses is no failure here.
fn refused(error: Error) -> Result<(), Error> {
    if matches!(error, Error::Signer { .. }) { Ok(()) } else { Err(error) }
}

/// A text for the record's `error`, at most 4,096 characters.
fn clipped(text: &str) -> String {
    text.chars().take(4_000).collect()
}

fn unreadable(error: &impl ToString) -> Error {
    Error::Signer { code: "TK-ARGS-INVALID".to_owned(), message: wire::quoted(&error.to_string()) }
}
