//! What a command comes to: records to sign and an answer, or a refusal (spec 3.15). Checks come in the order in which the RPC
//! names them: request, run and token, closing, `client_seq`, the call.

use super::asking::{self, Answered};
use super::identity::{Acting, Identity, Secrets};
use super::policy::{self, Judged, Policy};
use super::rpc::{Answer, ApprovalConsume, ArgsSource, Decide, Id, Name, Request, Ruling};
use super::state::{Run, State};
use super::{Fault, FaultCode, runs};
use crate::Position;
use crate::opening::arguments_digest;
use crate::write::{self, Draft, Place, epoch, retirement};
use canon::{Digest, Value};
use env::{Duration, Env, Timestamp};
use keys::PublicKey;
use std::borrow::Cow;

/// What a signer is set up with.
#[derive(Debug, Clone)]
pub struct House {
    pub secrets: Secrets,
    /// [`Policy::hash`], `sha256:…`.
    pub policy: String,
    /// `name@version` of what judges.
    pub engine: String,
    /// How long a decision and an approval are good.
    pub decision_lasts: Duration,
    pub approval_lasts: Duration,
    pub limits: Limits,
}

/// How much one identity may have at a time (spec 3.16).
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub open_runs: usize,
    pub pending_approvals: usize,
    pub streams_a_run: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { open_runs: 100, pending_approvals: 100, streams_a_run: 64 }
    }
}

/// What the signer is to do.
#[derive(Debug, Clone)]
pub enum Command {
    /// A client's call that changes something.
    Call(Box<Called>),
    /// A person's answer to an approval; who they are was verified.
    Answer(Box<Answered>),
    /// A record of the signer's own in a run: a message or a grant it signed.
    Note(Note),
    /// This key signs from here on. `retires` signed until here.
    Key { key: PublicKey, retires: Option<PublicKey> },
    /// Time has passed.
    Tick,
}

/// A call, with all that needs no state done: the request's digest, the arguments read, the policy asked.
#[derive(Debug, Clone)]
pub struct Called {
    pub(super) who: Identity,
    pub(super) request: Request,
    pub(super) digest: Digest,
    pub(super) arguments: Option<Arguments>,
    pub(super) judged: Option<Judged>,
    /// A run of the name that is asked for was registered before.
    pub taken: bool,
}

/// The arguments of a call as they are committed to. `None`: no strict JSON.
#[derive(Debug, Clone)]
pub(super) struct Arguments {
    pub read: Option<(Value<'static>, Digest)>,
}

/// Says in a run that something was signed: `name` is what, `hash` which.
#[derive(Debug, Clone)]
pub struct Note {
    pub run_id: String,
    pub name: &'static str,
    pub hash: Digest,
    /// The request it answers.
    pub asked: Option<Asked>,
    /// To be kept beside it: what was signed.
    pub kept: Option<Value<'static>>,
}

/// A request that is answered from elsewhere than the state, and its answer.
#[derive(Debug, Clone)]
pub struct Asked {
    pub by: String,
    pub id: Id,
    pub request: Digest,
    pub answer: Value<'static>,
}

/// What was decided.
#[derive(Debug)]
pub struct Decision {
    /// In their order, to be sealed at once.
    pub records: Vec<Said>,
    pub answer: Answer,
}

/// A record that has no place yet.
#[derive(Debug)]
pub struct Said {
    pub(super) whose: Whose,
    pub(super) id: [u8; 16],
    pub(super) source: &'static str,
    pub(super) kind: &'static str,
    pub(super) data: Value<'static>,
    pub(super) more: Vec<(&'static str, Value<'static>)>,
    pub(super) kept: Option<Value<'static>>,
}

#[derive(Debug)]
pub(super) enum Whose {
    Own,
    Begins { tenant: String, run_id: String },
    Run(String),
}

/// The type of the record after which a run has none.
pub(super) const FINAL: &str = "run.final";

/// How long a run that closes waits for what its gateway still runs (spec 3.10).
pub(super) const WAIT: Duration = Duration::from_secs(600);

impl Command {
    /// A client's call. Refused: a token that is not the run's, or not its caller's, and a caller named by whoever is no gateway.
    pub fn call(who: &Identity, request: Request, policy: &Policy, secrets: &Secrets) -> Result<Self, Fault> {
        spoken_for(who, &request, secrets)?;
        let digest = Digest::of(&request.frame()?);
        let arguments = match &request {
            Request::Decide(Decide { tool, args, args_source, .. })
            | Request::ApprovalConsume(ApprovalConsume { tool, args, args_source, .. }) => {
                Some(Arguments::read(tool.as_str(), args, *args_source)?)
            }
            _ => None,
        };
        let judged = match (&request, &arguments) {
            (Request::Decide(call), Some(arguments)) => Some(match &arguments.read {
                Some((value, _)) => policy.judge(call.tool.as_str(), value),
                None => Judged {
                    ruling: Ruling::Deny,
                    rules: vec![policy::ARGS_INVALID.to_owned()],
                    reason: Some("the arguments are no strict JSON".to_owned()),
                },
            }),
            _ => None,
        };
        Ok(Self::Call(Box::new(Called {
            who: who.clone(),
            request,
            digest,
            arguments,
            judged,
            taken: false,
        })))
    }
}

impl Called {
    /// The name it asks for, of a call that registers a run.
    pub fn registers(&self) -> Option<&str> {
        match &self.request {
            Request::RegisterRun(of) => of.run_id.as_ref().map(Id::as_str),
            _ => None,
        }
    }
}

impl Arguments {
    fn read(tool: &str, args: &Value<'static>, source: ArgsSource) -> Result<Self, Fault> {
        let value = match (source, args) {
            (ArgsSource::Raw, Value::String(text)) => {
                canon::parse(text.as_bytes()).ok().map(Value::into_static)
            }
            (ArgsSource::Raw, _) => return Err(Fault::invalid("raw arguments are a text")),
            (_, value) => Some(value.clone()),
        };
        let with_digest = |value: Value<'static>| {
            let digest = arguments_digest(tool, &value)?;
            Ok::<_, crate::Error>((value, digest))
        };
        Ok(Self { read: value.map(with_digest).transpose()? })
    }
}

/// Decides. Nothing is changed by it: what it gives is sealed by [`State::seal`].
pub fn decide(state: &State, house: &House, command: &Command, env: &mut Env) -> Result<Decision, Fault> {
    match command {
        Command::Call(called) => call(state, house, called, env),
        Command::Answer(answered) => asking::answer(state, answered, env),
        Command::Note(note) => self::note(state, note, env),
        Command::Key { key, retires } => rotate(state, key, retires.as_ref(), env),
        Command::Tick => tick(state, env),
    }
}

fn call(state: &State, house: &House, called: &Called, env: &mut Env) -> Result<Decision, Fault> {
    let who = &called.who;
    let id = match &called.request {
        Request::RegisterRun(of) => &of.request_id,
        Request::Decide(of) => &of.request_id,
        Request::Complete(of) => &of.request_id,
        Request::Observe(of) => &of.request_id,
        Request::ApprovalRequest(of) => &of.request_id,
        Request::ApprovalConsume(of) => &of.request_id,
        Request::ApprovalAbandon(of) => &of.request_id,
        Request::ApprovalRevoke(of) => &of.request_id,
        Request::CloseRun(of) => &of.request_id,
        Request::ObserveEffect(of) => &of.request_id,
        _ => return Err(Fault::invalid("this call decides nothing")),
    };
    if let Some(answered) = state.answered(&who.name, id.as_str(), &called.digest) {
        return Ok(Decision { records: Vec::new(), answer: answered? });
    }
    let at = At { state, house, who };
    let arguments = called.arguments.as_ref();
    let mut decision = match (&called.request, arguments, &called.judged) {
        (Request::RegisterRun(of), ..) => runs::register(&at, of, called.taken, env),
        (Request::Decide(of), Some(arguments), Some(judged)) => runs::decide(&at, of, arguments, judged, env),
        (Request::Complete(of), ..) => runs::complete(&at, of, env),
        (Request::Observe(of), ..) => runs::observe(&at, of, env),
        (Request::ApprovalRequest(of), ..) => asking::request(&at, of, env),
        (Request::ApprovalConsume(of), Some(arguments), _) => asking::consume(&at, of, arguments, env),
        (Request::ApprovalAbandon(of), ..) => asking::abandon(&at, of, env),
        (Request::ApprovalRevoke(of), ..) => asking::revoke(&at, of, env),
        (Request::CloseRun(of), ..) => runs::close(&at, of, env),
        (Request::ObserveEffect(of), ..) => runs::effects(&at, of, env),
        _ => Err(Fault::invalid("this call decides nothing")),
    }?;
    decision.remember(&who.name, id, &called.digest)?;
    Ok(decision)
}

impl Decision {
    /// Keeps the request and its answer beside the last of its records.
    fn remember(&mut self, by: &str, id: &Id, request: &Digest) -> Result<(), Fault> {
        let Some(last) = self.records.last_mut() else { return Ok(()) };
        let answer = canon::to_vec(&self.answer).map_err(|error| Fault::invalid(error.to_string()))?;
        let answer = canon::parse(&answer).map_err(|error| Fault::invalid(error.to_string()))?.into_static();
        let asked = write::object(vec![
            ("by", write::text(by.to_owned())),
            ("id", write::text(id.to_string())),
            ("request", write::text(request.prefixed())),
            ("answer", answer),
        ])?;
        last.keep("asked", asked)?;
        Ok(())
    }
}

impl Said {
    /// Refuses what is not of the schema, before any record of the decision is sealed.
    pub(super) fn check(&self, at: Timestamp) -> Result<(), Fault> {
        let draft = Draft {
            id: self.id,
            ts: at,
            tenant: "-",
            run_id: "-",
            agent_id: "main",
            parent_id: None,
            source: self.source,
            kind: self.kind,
            data: self.data.clone(),
            more: self.more.clone(),
        };
        let none = Digest::ZERO;
        let log_id = "00000000000000000000000000000000";
        draft.event(&Place { log_id, seq: 0, prev: none, run_seq: 0, run_prev: none }).map(drop)?;
        Ok(())
    }

    /// Adds to what is kept beside the record.
    pub(super) fn keep(&mut self, name: &'static str, value: Value<'static>) -> Result<(), Fault> {
        let mut members: Vec<_> = match self.kept.take() {
            Some(Value::Object(kept)) => {
                kept.iter().map(|(name, value)| (Cow::Owned(name.to_owned()), value.to_owned())).collect()
            }
            _ => Vec::new(),
        };
        members.push((Cow::Borrowed(name), value));
        let object = canon::Object::new(members).map_err(|error| Fault::invalid(error.to_string()))?;
        self.kept = Some(Value::Object(object));
        Ok(())
    }
}

impl State {
    /// The answer to a request of this identity that was answered before. Refused: another request under the same id.
    pub fn answered(&self, by: &str, id: &str, request: &Digest) -> Option<Result<Answer, Fault>> {
        let (before, answer) = self.requests.find(by, id)?;
        Some(if before == request {
            Ok(answer.as_ref().clone())
        } else {
            Err(Fault::new(FaultCode::Conflict, "this request_id was used for another request"))
        })
    }
}

/// Where a call is decided.
pub(super) struct At<'a> {
    pub state: &'a State,
    pub house: &'a House,
    pub who: &'a Identity,
}

impl<'a> At<'a> {
    /// The run of a call whose token was checked. Refused: a run that is over.
    pub fn run(&self, id: &Id, caller: Option<&'a Name>) -> Result<(&'a Run, Acting<'a>), Fault> {
        let over = || Fault::new(FaultCode::RunClosed, "the run is over");
        let run = self.state.runs.get(id.as_str()).ok_or_else(over)?;
        Ok((run, self.who.acting(caller)?))
    }

    /// The same, for what begins something: a run that closes begins nothing.
    pub fn open_run(&self, id: &Id, caller: Option<&'a Name>) -> Result<(&'a Run, Acting<'a>), Fault> {
        let (run, acting) = self.run(id, caller)?;
        if run.is_closing() {
            return Err(Fault::new(FaultCode::RunClosed, "the run closes"));
        }
        Ok((run, acting))
    }
}

/// Whether the caller speaks for the run it names: by the run's token, which names whose the run is.
fn spoken_for(who: &Identity, request: &Request, secrets: &Secrets) -> Result<(), Fault> {
    let (run, token, caller) = match request {
        Request::Decide(of) => (&of.run_id, &of.run_token, of.caller.as_ref()),
        Request::Complete(of) => (&of.run_id, &of.run_token, of.caller.as_ref()),
        Request::Observe(of) => (&of.run_id, &of.run_token, of.caller.as_ref()),
        Request::ApprovalRequest(of) => (&of.run_id, &of.run_token, of.caller.as_ref()),
        Request::ApprovalConsume(of) => (&of.run_id, &of.run_token, of.caller.as_ref()),
        Request::CloseRun(of) => (&of.run_id, &of.run_token, of.caller.as_ref()),
        // It names no caller: a gateway gives up in the name of whoever the token names.
        Request::ApprovalAbandon(of) if who.gateway => {
            let (run, _) = secrets.owner(of.run_token.as_str())?;
            let other = || Fault::new(FaultCode::RunTokenInvalid, "the token is another run's");
            return (run == of.run_id.as_str()).then_some(()).ok_or_else(other);
        }
        Request::ApprovalAbandon(of) => (&of.run_id, &of.run_token, None),
        _ => return Ok(()),
    };
    secrets.check(token.as_str(), run.as_str(), who.acting(caller)?.of, &who.tenant)
}

/// A record of a run.
pub(super) fn said(
    run: &Run,
    source: &'static str,
    kind: &'static str,
    data: Value<'static>,
    env: &mut Env,
) -> Said {
    Said {
        whose: Whose::Run(run.id.clone()),
        id: env.bytes16(),
        source,
        kind,
        data,
        more: Vec::new(),
        kept: None,
    }
}

fn note(state: &State, note: &Note, env: &mut Env) -> Result<Decision, Fault> {
    let closed = || Fault::new(FaultCode::RunClosed, "the run is over");
    let run = state.run(&note.run_id).ok_or_else(closed)?;
    let data =
        write::object(vec![("name", write::text(note.name)), ("hash", write::text(note.hash.prefixed()))])?;
    let recorded = Answer::Recorded(super::rpc::Recorded { run_seq: run.chain.seq });
    let answer = note.asked.as_ref().map_or(recorded, |asked| Answer::Other(asked.answer.clone()));
    let mut record = said(run, "signer", "ext", data, env);
    if let Some(kept) = &note.kept {
        record.keep("signed", kept.clone())?;
    }
    let mut decision = Decision { records: vec![record], answer };
    if let Some(asked) = &note.asked {
        decision.remember(&asked.by, &asked.id, &asked.request)?;
    }
    Ok(decision)
}

fn rotate(
    state: &State,
    key: &PublicKey,
    retires: Option<&PublicKey>,
    env: &mut Env,
) -> Result<Decision, Fault> {
    let own = |kind, data, env: &mut Env| Said {
        whose: Whose::Own,
        id: env.bytes16(),
        source: "signer",
        kind,
        data,
        more: Vec::new(),
        kept: None,
    };
    let mut records = vec![own("signer.epoch", epoch(&[*key])?, env)];
    if let Some(old) = retires {
        let last = Position(state.seq.checked_sub(1).ok_or_else(|| Fault::invalid("no key signs yet"))?);
        records.push(own("key.retire", retirement(old, last)?, env));
    }
    Ok(Decision { records, answer: Answer::Recorded(super::rpc::Recorded { run_seq: state.own.seq }) })
}

/// Approvals end by their time, and runs that waited long enough.
fn tick(state: &State, env: &mut Env) -> Result<Decision, Fault> {
    let now = env.now();
    let mut records = Vec::new();
    for approval in state.approvals().filter(|approval| asking::is_over(approval, now)) {
        if let Some(run) = state.run(&approval.run_id) {
            records.push(asking::expired(run, approval, "ttl", env)?);
        }
    }
    for run in state.closing.iter().filter_map(|id| state.runs.get(id)) {
        let late = run.closing.is_some_and(|until| until <= now);
        if late || !run.is_held() {
            // An approval that ended just now ends once.
            runs::end(run, |approval| !asking::is_over(approval, now), &mut records, env)?;
        }
    }
    Ok(Decision { records, answer: Answer::Other(Value::Null) })
}

/// An instant as records spell it.
pub(super) fn when(at: Timestamp) -> Value<'static> {
    write::text(crate::spelled(at))
}
