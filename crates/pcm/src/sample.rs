//! A log that plays a short story: something to try the verifier on, to test with and to measure by.

use crate::opening::{arguments_digest, content_digest, salt};
use crate::write::{self, Binding, Draft, Place, Written};
use crate::{Commitment, Error, SIGNER_RUN, SIGNER_TENANT, leaf, spelled};
use canon::{Digest, Salt, Value};
use env::{Duration, Env, Timestamp};
use keys::{PublicKey, Signer};
use ledger::merkle::MemoryTree;
use ledger::note::{Checkpoint, KeyName, KeyType, Note, VerifierKey};

/// A bundle, the key it is checked with, and what opens its records.
#[derive(Debug)]
pub struct Sample {
    pub bundle: Vec<u8>,
    pub log: VerifierKey,
    pub openings: Vec<Revealed>,
}

/// What one record's commitment commits to, and its salt.
#[derive(Debug, Clone)]
pub struct Revealed {
    pub seq: u64,
    pub kind: &'static str,
    /// Whose arguments the value is; none for a result.
    pub tool: Option<&'static str>,
    pub salt: Salt,
    pub value: Value<'static>,
}

const TENANT: &str = "acme";
const AGENT: &str = "token:agent";
const EXECUTOR: &str = "token:executor";

/// One run: an agent's `calls` calls of a tool, each decided and run by an executor, and one refund that Ana approves. The
/// arguments say of each call which it is. With `rotate`, another record key takes over before the refund.
pub fn story(
    env: &mut Env,
    log: &dyn Signer,
    record: &dyn Signer,
    rotate: Option<&dyn Signer>,
    calls: u64,
) -> Result<Sample, Error> {
    let mut play = Play::new(env, record)?;
    for call in 0..calls {
        play.call(call)?;
    }
    if let Some(next) = rotate {
        play.rotate(next)?;
    }
    play.refund(calls)?;
    play.end(log)
}

struct Play<'a> {
    env: &'a mut Env,
    signer: &'a dyn Signer,
    at: Timestamp,
    log_id: String,
    run_id: String,
    secret: [u8; 32],
    policy: Digest,
    tree: MemoryTree,
    seq: u64,
    prev: Digest,
    own: Line,
    run: Line,
    openings: Vec<Revealed>,
}

/// The records of one run of the log.
#[derive(Default)]
struct Line {
    records: Vec<Written>,
}

impl<'a> Play<'a> {
    fn new(env: &'a mut Env, signer: &'a dyn Signer) -> Result<Self, Error> {
        let at = env.now();
        let (log_id, run_id) = (hex::encode(env.bytes16()), hex::encode(env.bytes16()));
        let (secret, policy) = (env.bytes32(), Digest::of(b"the policy of the story"));
        let mut play = Self {
            env,
            signer,
            at,
            log_id,
            run_id,
            secret,
            policy,
            tree: MemoryTree::new(),
            seq: 0,
            prev: Digest::ZERO,
            own: Line::default(),
            run: Line::default(),
            openings: Vec::new(),
        };
        play.own("signer.epoch", write::epoch(&[play.signer.public()])?)?;
        let data = r#"{"agent":{"name":"story","version":"1.0"},"identity":{"scheme":"token","subject":"agent","attested":true},
            "signer_isolation":"remote","fail_modes":{"default":"closed"}}"#;
        play.say("run.registered", "sdk", json(data)?, None, &[])?;
        Ok(play)
    }

    fn call(&mut self, number: u64) -> Result<(), Error> {
        let arguments = json(&format!(r#"{{"url":"https://api.example.com/orders/{number}"}}"#))?;
        let content = json(&format!(r#"{{"result":{{"status":200,"order":{number}}}}}"#))?;
        let call = format!("call-{number}");
        let decision = self.decide(&call, "http_get", "allow", &arguments)?;
        self.result(&call, &decision, &content)
    }

    /// The call that needs a person: asked, approved, used once, run.
    fn refund(&mut self, number: u64) -> Result<(), Error> {
        let call = format!("call-{number}");
        let arguments = json(r#"{"order":81,"cents":12000}"#)?;
        let decision = self.decide(&call, "refund", "ask", &arguments)?;
        let approval = format!("apr-{}", hex::encode(self.env.bytes16()));
        let salt_id = hex::encode(self.env.bytes16());
        let salt = salt(&self.secret, &format!("approval.request:{salt_id}"));
        let expires_at = self.at + Duration::from_secs(3600);
        let binding = Binding {
            approval_id: &approval,
            tenant: TENANT,
            run_id: &self.run_id,
            tool_call_id: &call,
            attempt: 0,
            tool: "refund",
            arguments: Commitment::of(&salt, &arguments_digest("refund", &arguments)?),
            args_source: "parsed",
            policy: self.policy,
            nonce: self.env.bytes16(),
            expires_at,
        }
        .value()?;
        let bound = crate::approval::binding_digest(&binding)?;
        let bytes = canon::to_vec(&binding)?;
        let data = format!(
            r#"{{"approval_id":"{approval}","decision_id":"{decision}","policy_hash":"{}","rule_ids":["R-REFUND"],
                "expires_at":"{}","requester":"{AGENT}","binding":{},"binding_digest":"{}","salt_id":"{salt_id}",
                "via":"{EXECUTOR}","executor":"t2"}}"#,
            self.policy.prefixed(),
            spelled(expires_at),
            String::from_utf8(bytes).unwrap_or_default(),
            bound.prefixed(),
        );
        let seq = self.seq;
        self.say("approval.request", "gateway", json(&data)?, Some(&call), &[("tier", write::text("T2"))])?;
        self.openings.push(Revealed {
            seq,
            kind: "approval.request",
            tool: Some("refund"),
            salt,
            value: arguments,
        });
        let data = format!(
            r#"{{"tool_use_id":"{call}","approval_id":"{approval}","decision":"approve","approver":"token:ana",
                "approver_identity":{{"scheme":"token","subject":"ana","attested":true}},"channel":"rpc","self_approved":false,
                "person":"ana"}}"#
        );
        self.say("approval", "sdk", json(&data)?, Some(&call), &[])?;
        let data = format!(r#"{{"approval_id":"{approval}"}}"#);
        self.say("approval.consumed", "signer", json(&data)?, Some(&call), &[])?;
        self.result(&call, &decision, &json(r#"{"result":{"status":201,"refund":"re_1"}}"#)?)
    }

    fn decide(
        &mut self,
        call: &str,
        tool: &'static str,
        decision: &str,
        arguments: &Value<'static>,
    ) -> Result<String, Error> {
        let id = format!("dec-{}", hex::encode(self.env.bytes16()));
        let salt = salt(&self.secret, &id);
        let commitment = Commitment::of(&salt, &arguments_digest(tool, arguments)?);
        let rules = if decision == "ask" { r#"["R-REFUND"]"# } else { "[]" };
        let data = format!(
            r#"{{"tool_use_id":"{call}","tool":"{tool}","policy_hash":"{}","engine":"countersign@0.1","expires_at":"{}",
                "via":"{EXECUTOR}","caller":"{AGENT}","decision_id":"{id}","nonce":"{}","decision":"{decision}",
                "rule_ids":{rules},"args_commitment":"{commitment}"}}"#,
            self.policy.prefixed(),
            spelled(self.at + Duration::from_secs(300)),
            hex::encode(self.env.bytes16()),
        );
        let seq = self.seq;
        let more = [("tier", write::text("T2")), ("args_source", write::text("parsed"))];
        self.say("policy.decision", "gateway", json(&data)?, Some(call), &more)?;
        self.openings.push(Revealed {
            seq,
            kind: "policy.decision",
            tool: Some(tool),
            salt,
            value: arguments.clone(),
        });
        Ok(id)
    }

    fn result(&mut self, call: &str, decision: &str, content: &Value<'static>) -> Result<(), Error> {
        let salt = salt(&self.secret, &format!("result:{decision}"));
        let (digest, size) = content_digest(content)?;
        let commitment = Commitment::of(&salt, &digest);
        let data = format!(
            r#"{{"tool_use_id":"{call}","ok":true,"output":{{"hash":"{commitment}","size":{size},"redacted":false}},
                "decision_id":"{decision}","redaction":{{"rules":[],"count":0,"client_claimed":false}},"via":"{EXECUTOR}"}}"#
        );
        let seq = self.seq;
        self.say("tool.result", "gateway", json(&data)?, Some(call), &[("tier", write::text("T2"))])?;
        self.openings.push(Revealed { seq, kind: "tool.result", tool: None, salt, value: content.clone() });
        Ok(())
    }

    fn rotate(&mut self, next: &'a dyn Signer) -> Result<(), Error> {
        let old: PublicKey = self.signer.public();
        let last = crate::Position(self.seq.saturating_sub(1));
        self.signer = next;
        self.own("signer.epoch", write::epoch(&[next.public()])?)?;
        self.own("key.retire", write::retirement(&old, last)?)
    }

    fn end(mut self, log: &dyn Signer) -> Result<Sample, Error> {
        self.say("run.closing", "sdk", json(r#"{"reason":"close_run"}"#)?, None, &[])?;
        let head = self.run.records.last().map_or(Digest::ZERO, |record| record.hash);
        let count = self.run.records.len().saturating_sub(1);
        let data = format!(
            r#"{{"head_run_seq":{count},"head_hash":"{}","coverage":{{"layers":["L2"],"unreconciled":{{}},"reconciled":0}}}}"#,
            head.prefixed()
        );
        self.say("run.final", "signer", json(&data)?, None, &[])?;
        let origin: KeyName = format!("countersign.local/{}", self.log_id).parse()?;
        let checkpoint =
            Checkpoint { origin: origin.clone(), size: self.tree.size(), root: self.tree.root() };
        let note = Note::sign(checkpoint, log)?;
        let run = write::Run { tenant: TENANT, run_id: &self.run_id, records: &self.run.records };
        let bundle = write::bundle(&run, &self.own.records, &note, &self.tree)?;
        let PublicKey::Ed25519(key) = log.public() else {
            return Err(Error::Signer("a checkpoint is signed with ed25519 only".to_owned()));
        };
        Ok(Sample { bundle, log: VerifierKey::new(origin, KeyType::Log, key), openings: self.openings })
    }

    /// A record of the signer's own run.
    fn own(&mut self, kind: &str, data: Value<'static>) -> Result<(), Error> {
        let draft = self.draft(SIGNER_TENANT, SIGNER_RUN, "signer", kind, data, None, &[]);
        let written = sign(&draft, self.seq, self.prev, &self.log_id, &self.own, self.signer)?;
        self.took(&written);
        self.own.records.push(written);
        Ok(())
    }

    /// A record of the agent's run.
    fn say(
        &mut self,
        kind: &str,
        source: &str,
        data: Value<'static>,
        call: Option<&str>,
        more: &[(&'static str, Value<'static>)],
    ) -> Result<(), Error> {
        let run_id = self.run_id.clone();
        let draft = self.draft(TENANT, &run_id, source, kind, data, call, more);
        let written = sign(&draft, self.seq, self.prev, &self.log_id, &self.run, self.signer)?;
        self.took(&written);
        self.run.records.push(written);
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "a draft has as many parts")]
    fn draft<'d>(
        &mut self,
        tenant: &'d str,
        run_id: &'d str,
        source: &'d str,
        kind: &'d str,
        data: Value<'static>,
        call: Option<&'d str>,
        more: &[(&'static str, Value<'static>)],
    ) -> Draft<'d> {
        self.at = self.at + Duration::from_millis(1);
        let mut members: Vec<(&'d str, Value<'d>)> = more.to_vec();
        if let Some(call) = call {
            members.push(("tool_call_id", write::text(call)));
            if kind != "approval" {
                members.extend(write::number(0).map(|zero| ("attempt", zero)));
            }
        }
        Draft {
            id: self.env.bytes16(),
            ts: self.at,
            tenant,
            run_id,
            agent_id: "main",
            parent_id: None,
            source,
            kind,
            data,
            more: members,
        }
    }

    fn took(&mut self, written: &Written) {
        self.tree.push(leaf(&written.hash));
        self.prev = written.hash;
        self.seq += 1;
    }
}

fn sign(
    draft: &Draft<'_>,
    seq: u64,
    prev: Digest,
    log_id: &str,
    line: &Line,
    signer: &dyn Signer,
) -> Result<Written, Error> {
    let run_seq = u64::try_from(line.records.len()).unwrap_or(u64::MAX);
    let run_prev = line.records.last().map_or(Digest::ZERO, |record| record.hash);
    draft.sign(&Place { log_id, seq, prev, run_seq, run_prev }, signer)
}

fn json(text: &str) -> Result<Value<'static>, Error> {
    Ok(canon::parse(text.as_bytes())?.into_static())
}
