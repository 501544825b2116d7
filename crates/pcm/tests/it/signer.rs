//! The signer's core against a naive twin, and against its own log read back.

use canon::Value;
use env::{Duration, Env, Timestamp};
use keys::{Algorithm, Signer, SoftwareSigner};
use pcm::opening::arguments_digest;
use pcm::signer::rpc::*;
use pcm::signer::{
    Answered, Command, Fault, FaultCode, House, Identity, Limits, Person, Policy, Secrets, State, decide,
};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// A signer in one thread: what it decides is sealed and signed at once.
struct Play {
    state: State,
    house: House,
    policy: Policy,
    key: SoftwareSigner,
    lines: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    at: Timestamp,
    drawn: u8,
}

impl Play {
    fn new() -> Self {
        let policy: Policy = canon::from_slice(
            br#"{"default":"allow","rule":[{"id":"R-ASK","tools":["ask"],"then":"ask"},{"id":"R-NO","tools":["no"],"then":"deny"}]}"#,
        )
        .unwrap();
        let house = House {
            secrets: Secrets::new(&[3; 32]),
            policy: policy.hash().prefixed(),
            engine: "countersign@0".to_owned(),
            decision_lasts: Duration::from_secs(300),
            approval_lasts: Duration::from_secs(3600),
            limits: Limits::default(),
        };
        let key = SoftwareSigner::from_seed(Algorithm::Ed25519, &[1; 32]).unwrap();
        let state = State::new(&"a".repeat(32));
        let at = Timestamp::from_secs(1_800_000_000);
        let mut play = Self { state, house, policy, key, lines: Vec::new(), at, drawn: 0 };
        let first = Command::Key { key: play.key.public(), retires: None };
        play.perform(&first).unwrap();
        play
    }

    fn perform(&mut self, command: &Command) -> Result<Answer, Fault> {
        self.drawn = self.drawn.wrapping_add(1);
        let mut env = Env::new(self.at, [self.drawn; 32]);
        let decision = decide(&self.state, &self.house, command, &mut env)?;
        for said in decision.records {
            let sealed = self.state.seal(said, self.at, &self.key.public().spki_kid()).unwrap();
            self.lines.push((sealed.sign(&self.key).unwrap(), sealed.kept.clone()));
        }
        Ok(decision.answer)
    }

    fn call(&mut self, who: &Identity, request: Request) -> Result<Answer, Fault> {
        let command = Command::call(who, request, &self.policy, &self.house.secrets)?;
        self.perform(&command)
    }

    /// The same signer after a restart: from the beginning of the oldest open run.
    fn restarted(&self) -> Self {
        let from = self.state.runs().map(pcm::signer::Run::first).min().unwrap_or(self.state.size());
        let at = usize::try_from(from).unwrap();
        let hash = |at: usize| {
            let line = canon::parse(&self.lines[at].0).unwrap();
            line.get("hash").unwrap().as_str().unwrap().strip_prefix("sha256:").unwrap().parse().unwrap()
        };
        let prev = if at == 0 { canon::Digest::ZERO } else { hash(at - 1) };
        let mut state = State::resume(self.state.log_id(), from, prev, Some((0, hash(0))), [0]);
        for (line, kept) in &self.lines[at..] {
            state.evolve(line, kept.as_deref()).unwrap();
        }
        Self {
            state,
            house: self.house.clone(),
            policy: self.policy.clone(),
            key: SoftwareSigner::from_seed(Algorithm::Ed25519, &[1; 32]).unwrap(),
            lines: self.lines.clone(),
            at: self.at,
            drawn: self.drawn,
        }
    }
}

fn who(gateway: bool) -> Identity {
    let name = if gateway { "token:gate" } else { "token:agent" };
    Identity {
        name: name.to_owned(),
        tenant: "acme".to_owned(),
        gateway,
        observer: false,
        operator: false,
        person: None,
        rate: None,
    }
}

fn id(text: impl Into<String>) -> Id {
    Id::new(text).unwrap()
}

#[derive(Debug, Clone)]
enum Act {
    Register { run: u8 },
    Decide { run: u8, call: u8, tool: u8, via: bool },
    Complete { run: u8, call: u8, via: bool, honest: bool },
    Ask { run: u8, call: u8, via: bool },
    Answer { run: u8, call: u8, approve: bool },
    Consume { run: u8, call: u8, via: bool, honest: bool },
    Close { run: u8 },
    Wait { seconds: u16 },
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let (run, call, flag) = (0..2_u8, 0..3_u8, any::<bool>());
    let mostly = || prop::bool::weighted(0.8);
    let act = prop_oneof![
        1 => run.clone().prop_map(|run| Act::Register { run }),
        4 => (run.clone(), call.clone(), 0..3_u8, flag)
            .prop_map(|(run, call, tool, via)| Act::Decide { run, call, tool, via }),
        4 => (run.clone(), call.clone(), flag, mostly())
            .prop_map(|(run, call, via, honest)| Act::Complete { run, call, via, honest }),
        3 => (run.clone(), call.clone(), flag).prop_map(|(run, call, via)| Act::Ask { run, call, via }),
        3 => (run.clone(), call.clone(), mostly())
            .prop_map(|(run, call, approve)| Act::Answer { run, call, approve }),
        3 => (run.clone(), call, flag, mostly())
            .prop_map(|(run, call, via, honest)| Act::Consume { run, call, via, honest }),
        1 => run.prop_map(|run| Act::Close { run }),
        1 => (1..4000_u16).prop_map(|seconds| Act::Wait { seconds }),
    ];
    prop::collection::vec(act, 1..40)
}

/// The rules as simply as they can be said.
#[derive(Default)]
struct Twin {
    seen: BTreeSet<u8>,
    runs: BTreeMap<u8, TwinRun>,
    now: u64,
}

#[derive(Default)]
struct TwinRun {
    seq: u64,
    closing: Option<u64>,
    calls: BTreeMap<u8, TwinCall>,
}

struct TwinCall {
    tool: u8,
    via: bool,
    done: bool,
    used: bool,
    /// Until when, and the answer.
    approval: Option<(u64, Option<bool>)>,
}

impl TwinCall {
    fn may_run(&self) -> bool {
        self.tool == 0 || self.used
    }
    fn is_held(&self, now: u64) -> bool {
        let may = self.approval.is_some_and(|(end, answer)| now < end && answer != Some(false));
        self.via && !self.done && (self.may_run() || may)
    }
}

impl Twin {
    fn run(&mut self, run: u8) -> Result<&mut TwinRun, FaultCode> {
        self.runs.get_mut(&run).ok_or(FaultCode::RunClosed)
    }

    fn expect(&mut self, act: &Act) -> Result<&'static str, FaultCode> {
        let now = self.now;
        match *act {
            Act::Register { run } => {
                if !self.seen.insert(run) {
                    return Err(FaultCode::RunExists);
                }
                self.runs.insert(run, TwinRun::default());
                Ok("registered")
            }
            Act::Decide { run, call, tool, via } => {
                let run = self.run(run)?;
                if run.closing.is_some() {
                    return Err(FaultCode::RunClosed);
                }
                if run.calls.contains_key(&call) {
                    return Err(FaultCode::Conflict);
                }
                run.seq += 1;
                run.calls.insert(call, TwinCall { tool, via, done: false, used: false, approval: None });
                Ok(["allow", "ask", "deny"][usize::from(tool)])
            }
            Act::Complete { run, call, via, honest } => {
                let run = self.run(run)?;
                let call = run.calls.get_mut(&call).ok_or(FaultCode::UnknownToolCall)?;
                if call.done {
                    return Err(FaultCode::Conflict);
                }
                if call.via != via {
                    return Err(FaultCode::Forbidden);
                }
                if !call.may_run() {
                    return Err(FaultCode::Conflict);
                }
                if !honest {
                    return Err(FaultCode::ArgsMismatch);
                }
                (call.done, run.seq) = (true, run.seq + 1);
                Ok("recorded")
            }
            Act::Ask { run, call, via } => {
                let run = self.run(run)?;
                if run.closing.is_some() {
                    return Err(FaultCode::RunClosed);
                }
                let call = run.calls.get_mut(&call).ok_or(FaultCode::UnknownToolCall)?;
                if call.done {
                    return Err(FaultCode::Conflict);
                }
                if call.via != via {
                    return Err(FaultCode::Forbidden);
                }
                if call.tool != 1 {
                    return Err(FaultCode::Conflict);
                }
                call.approval.get_or_insert((now + 3600, None));
                Ok("asked")
            }
            Act::Answer { run, call, approve } => {
                let run = self.runs.get_mut(&run).ok_or(FaultCode::UnknownApproval)?;
                let call = run.calls.get_mut(&call).ok_or(FaultCode::UnknownApproval)?;
                let (end, answer) = call.approval.as_mut().ok_or(FaultCode::UnknownApproval)?;
                if answer.is_some() || *end <= now {
                    return Err(FaultCode::ApprovalNotPending);
                }
                *answer = Some(approve);
                Ok("answered")
            }
            Act::Consume { run, call, via, honest } => {
                let run = self.run(run)?;
                let Some(call) = run.calls.get_mut(&call).filter(|call| !call.done) else {
                    return Ok("TK-APPROVAL-REQUIRED");
                };
                if call.via != via {
                    return Err(FaultCode::Forbidden);
                }
                Ok(match call.approval {
                    None if call.tool == 0 && honest => "allowed",
                    None => "TK-APPROVAL-REQUIRED",
                    Some(_) if !honest => "TK-APPROVAL-MISMATCH",
                    Some(_) if call.used => "TK-APPROVAL-CONSUMED",
                    Some((_, Some(false))) => "TK-APPROVAL-REJECTED",
                    Some((end, _)) if end <= now => "TK-APPROVAL-EXPIRED",
                    Some((_, None)) => "TK-APPROVAL-REQUESTED",
                    Some((_, Some(true))) => {
                        call.used = true;
                        "TK-APPROVED"
                    }
                })
            }
            Act::Close { run: name } => {
                let run = self.run(name)?;
                if run.closing.is_some() {
                    return Err(FaultCode::RunClosed);
                }
                run.closing = Some(now + 600);
                if !run.calls.values().any(|call| call.is_held(now)) {
                    self.runs.remove(&name);
                }
                Ok("closed")
            }
            Act::Wait { seconds } => {
                self.now += u64::from(seconds);
                let now = self.now;
                self.runs.retain(|_, run| {
                    // Whoever ends by the same look of the clock is still held then.
                    let held = run.calls.values().any(|call| call.is_held(now - u64::from(seconds)));
                    !run.closing.is_some_and(|until| until <= now || !held)
                });
                Ok("waited")
            }
        }
    }
}

/// One act on the core. The clock is looked at twice, so that what ended by the first look is over by the second.
fn perform(play: &mut Play, twin_seq: u64, act: &Act, step: usize) -> Result<&'static str, FaultCode> {
    let caller = |via: bool| via.then(|| Name::new("token:agent").unwrap());
    let run_id = |run: u8| id(format!("run-{run}"));
    let token = |play: &Play, run: u8| {
        Text::new(play.house.secrets.token(&format!("run-{run}"), "token:agent", "acme").unwrap()).unwrap()
    };
    let args = |call: u8, honest: bool| {
        canon::parse(format!("{{\"call\":{call},\"honest\":{honest}}}").as_bytes()).unwrap().into_static()
    };
    let tools = ["run", "ask", "no"];
    let decided = |play: &Play, run: u8, call: u8| -> (String, usize) {
        let name = format!("call-{call}");
        for (line, _) in play.lines.iter().rev() {
            let record = canon::parse(line).unwrap();
            let told = |pointer: &str| record.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
            if told("/event/type").as_deref() == Some("policy.decision")
                && told("/event/run_id") == Some(format!("run-{run}"))
                && told("/event/tool_call_id").as_deref() == Some(&name)
            {
                let tool = told("/event/data/tool").unwrap();
                let tool = tools.iter().position(|known| *known == tool).unwrap();
                return (told("/event/data/decision_id").unwrap(), tool);
            }
        }
        ("dec-none".to_owned(), 0)
    };
    let request_id = id(format!("q-{step}"));
    let outcome = match *act {
        Act::Register { run } => {
            let of = RegisterRun {
                request_id,
                run_id: Some(run_id(run)),
                tenant: None,
                caller: None,
                agent: Agent { name: Text::new("a").unwrap(), version: None },
            };
            let known = play.lines.iter().any(|(line, _)| {
                let record = canon::parse(line).unwrap();
                record.pointer("/event/run_id").and_then(Value::as_str) == Some(&format!("run-{run}"))
            });
            let mut command =
                Command::call(&who(false), Request::RegisterRun(of), &play.policy, &play.house.secrets)
                    .unwrap();
            if let Command::Call(called) = &mut command {
                called.taken = known;
            }
            play.perform(&command)
        }
        Act::Decide { run, call, tool, via } => {
            let of = Decide {
                request_id,
                run_id: run_id(run),
                run_token: token(play, run),
                stream: id("s"),
                client_seq: twin_seq,
                caller: caller(via),
                tool_call_id: id(format!("call-{call}")),
                attempt: 0,
                tool: Text::new(tools[usize::from(tool)]).unwrap(),
                tool_class_hint: None,
                args_source: ArgsSource::Parsed,
                args: args(call, true),
            };
            play.call(&who(via), Request::Decide(of))
        }
        Act::Complete { run, call, via, honest } => {
            let (decision, tool) = decided(play, run, call);
            let digest = arguments_digest(tools[tool], &args(call, honest)).unwrap().prefixed();
            let of = Complete {
                request_id,
                run_id: run_id(run),
                run_token: token(play, run),
                stream: id("s"),
                client_seq: twin_seq,
                caller: caller(via),
                tool_call_id: id(format!("call-{call}")),
                attempt: 0,
                decision_id: id(decision),
                args_digest: Text::new(digest).unwrap(),
                status: Status::Ok,
                result: Some(Value::Null),
                error: None,
                redacted: None,
                redaction: None,
            };
            play.call(&who(via), Request::Complete(of))
        }
        Act::Ask { run, call, via } => {
            let of = ApprovalRequest {
                request_id,
                run_id: run_id(run),
                run_token: token(play, run),
                caller: caller(via),
                tool_call_id: id(format!("call-{call}")),
                attempt: 0,
                reason: None,
            };
            play.call(&who(via), Request::ApprovalRequest(of))
        }
        Act::Answer { run, call, approve } => {
            let (run, call) = (format!("run-{run}"), format!("call-{call}"));
            let found =
                play.state.approvals().find(|found| found.run_id == run && found.tool_call_id == call);
            let approval_id = found.map_or("apr-none".to_owned(), |found| found.id.clone());
            play.perform(&Command::Answer(Box::new(Answered {
                approval_id,
                approve,
                by: Person { identity: "countersign:home/ana".to_owned(), name: "home/ana".to_owned() },
                channel: "console",
                reason: None,
                passkey: None,
                evidence: Value::Null,
            })))
        }
        Act::Consume { run, call, via, honest } => {
            let (_, tool) = decided(play, run, call);
            let of = ApprovalConsume {
                request_id,
                run_id: run_id(run),
                run_token: token(play, run),
                caller: caller(via),
                tool_call_id: id(format!("call-{call}")),
                attempt: 0,
                tool: Text::new(tools[tool]).unwrap(),
                args_source: ArgsSource::Parsed,
                args: args(call, honest),
                approval_id_hint: None,
            };
            play.call(&who(via), Request::ApprovalConsume(of))
        }
        Act::Close { run } => {
            let of = CloseRun {
                request_id,
                run_id: run_id(run),
                run_token: token(play, run),
                reason: None,
                caller: None,
                last_client_seq: Vec::new(),
            };
            play.call(&who(false), Request::CloseRun(of))
        }
        Act::Wait { seconds } => {
            play.perform(&Command::Tick).map_err(|fault| fault.code)?;
            play.at = play.at + Duration::from_secs(u64::from(seconds));
            play.perform(&Command::Tick)
        }
    };
    match outcome {
        Err(fault) => Err(fault.code),
        Ok(Answer::Registered(_)) => Ok("registered"),
        Ok(Answer::Decided(decided)) => Ok(decided.decision.as_str()),
        Ok(Answer::Recorded(_)) => Ok("recorded"),
        Ok(Answer::Closed(_)) => Ok("closed"),
        Ok(Answer::Other(_)) => Ok("waited"),
        Ok(Answer::Approval(_)) => Ok(if matches!(act, Act::Ask { .. }) { "asked" } else { "answered" }),
        Ok(Answer::Consumed(consumed)) if consumed.ok && consumed.approval_id.is_none() => Ok("allowed"),
        Ok(Answer::Consumed(consumed)) => {
            let known = [
                "TK-APPROVED",
                "TK-APPROVAL-REQUIRED",
                "TK-APPROVAL-MISMATCH",
                "TK-APPROVAL-CONSUMED",
                "TK-APPROVAL-REJECTED",
                "TK-APPROVAL-EXPIRED",
                "TK-APPROVAL-REQUESTED",
            ];
            Ok(known.into_iter().find(|known| *known == consumed.rule_ids[0]).unwrap())
        }
        Ok(other) => panic!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// What is decided is what the twin expects; a signer that was restarted half way goes on as the one that was not, byte for byte;
    /// and its whole log is a chain whose records hold.
    #[test]
    fn a_signer_does_as_its_twin_and_as_its_log(acts in acts(), half in 0..40_usize) {
        let (mut play, mut twin) = (Play::new(), Twin::default());
        let mut again: Option<Play> = None;
        for (step, act) in acts.iter().enumerate() {
            if step == half {
                again = Some(play.restarted());
            }
            let name = match act {
                Act::Register { run } | Act::Decide { run, .. } | Act::Complete { run, .. } | Act::Ask { run, .. }
                | Act::Answer { run, .. } | Act::Consume { run, .. } | Act::Close { run } => *run,
                Act::Wait { .. } => 0,
            };
            let seq = twin.runs.get(&name).map_or(0, |run| run.seq);
            let expected = twin.expect(act);
            let found = perform(&mut play, seq, act, step);
            prop_assert_eq!(found, expected, "step {} {:?}", step, act);
            if let Some(again) = &mut again {
                let other = perform(again, seq, act, step);
                prop_assert_eq!(other, expected, "restarted, step {} {:?}", step, act);
                prop_assert_eq!(again.state.head(), play.state.head());
            }
        }
        let mut whole = State::resume(play.state.log_id(), 0, canon::Digest::ZERO, None, []);
        for (line, kept) in &play.lines {
            pcm::Unverified::parse(line).unwrap().hashed().unwrap();
            whole.evolve(line, kept.as_deref()).unwrap();
        }
        prop_assert_eq!((whole.size(), whole.head()), (play.state.size(), play.state.head()));
        let open = |state: &State| state.runs().map(|run| (run.id().to_owned(), run.records())).collect::<BTreeMap<_, _>>();
        prop_assert_eq!(open(&whole), open(&play.state));
    }
}

/// Runs that are over leave nothing but what was lately asked.
#[test]
fn runs_that_are_over_take_no_memory() {
    let mut play = Play::new();
    for run in 0..2000 {
        let of = RegisterRun {
            request_id: id(format!("r-{run}")),
            run_id: Some(id(format!("run-{run}"))),
            tenant: None,
            caller: None,
            agent: Agent { name: Text::new("a").unwrap(), version: None },
        };
        play.call(&who(false), Request::RegisterRun(of)).unwrap();
        let token = play.house.secrets.token(&format!("run-{run}"), "token:agent", "acme").unwrap();
        let close = CloseRun {
            request_id: id(format!("c-{run}")),
            run_id: id(format!("run-{run}")),
            run_token: Text::new(token).unwrap(),
            reason: None,
            caller: None,
            last_client_seq: Vec::new(),
        };
        play.call(&who(false), Request::CloseRun(close)).unwrap();
        play.lines.clear();
        assert_eq!(play.state.runs().count(), 0);
        assert_eq!(play.state.approvals().count(), 0);
    }
}
