//! A stage: a log in memory with a gateway, agents and people, that plays whatever a message is to be about. Something to try
//! messages on, to test with and to make vectors from. It signs lies as well: no verifier relies on it.

use super::send::{self, Claim, Draft, Intent, Proof, Reveal};
use super::wire::Sender;
use crate::opening::{arguments_digest, content_digest, salt};
use crate::write::{self, Binding, Draft as RecordDraft, Place, Written, number, text};
use crate::{Commitment, Error, Position, SIGNER_RUN, SIGNER_TENANT, leaf, spelled};
use canon::{Digest, Value};
use env::{Duration, Env, Timestamp};
use keys::{PublicKey, Signer};
use ledger::merkle::MemoryTree;
use ledger::note::{Checkpoint, KeyName, KeyType, Note, VerifierKey};
use std::collections::BTreeMap;

pub const TENANT: &str = "acme";
pub const AGENT: &str = "token:agent";
pub const EXECUTOR: &str = "token:executor";

/// Who runs a call, and so what its records weigh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Custody {
    /// An executor that the agent cannot speak for.
    Executor,
    /// The agent's own process.
    Agent,
}

/// The log so far. A record is named by its place.
#[expect(missing_debug_implementations, reason = "it holds signers")]
pub struct Stage<'a> {
    env: Env,
    log: &'a dyn Signer,
    signer: &'a dyn Signer,
    at: Timestamp,
    log_id: String,
    run_id: String,
    secret: [u8; 32],
    policy: Digest,
    tree: MemoryTree,
    records: BTreeMap<u64, Written>,
    last: Digest,
    keys: Vec<Written>,
    reveals: BTreeMap<u64, Reveal<'static>>,
    /// Records of each run, and the hash of its last.
    runs: BTreeMap<(String, String), (u64, Digest)>,
    calls: u64,
}

/// A call that was decided.
#[derive(Debug, Clone)]
pub struct Decided {
    pub seq: u64,
    /// As the agent named it.
    pub call: String,
    pub decision_id: String,
    custody: Custody,
    tool: String,
    arguments: Value<'static>,
}

/// An approval that was asked for.
#[derive(Debug, Clone)]
pub struct Asked {
    pub seq: u64,
    pub approval_id: String,
    pub call: String,
}

/// What a message is to say: claims as (id, predicate, arguments as JSON, records).
#[derive(Debug, Clone)]
pub struct Order<'o> {
    pub to: &'o str,
    pub claims: Vec<(&'o str, &'o str, String, Vec<u64>)>,
    pub grants: Vec<Value<'static>>,
    pub intent: Option<(&'o str, Digest, String)>,
    /// Further records to show: of grants.
    pub shown: Vec<u64>,
    /// Records that are shown and not opened.
    pub closed: Vec<u64>,
    pub text: Option<&'o str>,
}

impl Default for Order<'_> {
    fn default() -> Self {
        Self {
            to: "receiver",
            claims: Vec::new(),
            grants: Vec::new(),
            intent: None,
            shown: Vec::new(),
            closed: Vec::new(),
            text: None,
        }
    }
}

impl<'a> Stage<'a> {
    /// A new log, with its first key and one registered run of [`AGENT`].
    pub fn new(env: Env, log: &'a dyn Signer, signer: &'a dyn Signer) -> Result<Self, Error> {
        Self::certified(env, log, signer, |_| Ok(None))
    }

    /// The same, with a certificate of its first key for the log of this id.
    pub fn certified(
        mut env: Env,
        log: &'a dyn Signer,
        signer: &'a dyn Signer,
        certify: impl FnOnce(&str) -> Result<Option<Value<'static>>, Error>,
    ) -> Result<Self, Error> {
        let (at, log_id) = (env.now(), hex::encode(env.bytes16()));
        let (secret, policy) = (env.bytes32(), Digest::of(b"the policy of the stage"));
        let mut stage = Self {
            env,
            log,
            signer,
            at,
            log_id,
            run_id: String::new(),
            secret,
            policy,
            tree: MemoryTree::new(),
            records: BTreeMap::new(),
            last: Digest::ZERO,
            keys: Vec::new(),
            reveals: BTreeMap::new(),
            runs: BTreeMap::new(),
            calls: 0,
        };
        let mut epoch = write::epoch(&[signer.public()])?;
        if let Some(certificate) = certify(&stage.log_id)?
            && let Some(Value::Array(keys)) = epoch.get_mut("keys")
            && let Some(Value::Object(key)) = keys.first_mut()
        {
            key.or_insert("cert", || certificate);
        }
        stage.own("signer.epoch", epoch)?;
        stage.register("agent", true)?;
        Ok(stage)
    }

    /// Begins a run of an agent whose token names it. Gives the place of its registration.
    pub fn register(&mut self, agent: &str, attested: bool) -> Result<u64, Error> {
        self.run_id = hex::encode(self.env.bytes16());
        let data = format!(
            r#"{{"agent":{{"name":"{agent}","version":"1.0"}},"identity":{{"scheme":"token","subject":"{agent}",
                "attested":{attested}}},"signer_isolation":"remote"}}"#
        );
        self.say("run.registered", "sdk", &data, None)
    }

    /// The sender of this moment's run.
    pub fn sender(&self) -> Sender {
        Sender {
            origin: self.origin(),
            log_id: self.log_id.clone(),
            tenant: TENANT.to_owned(),
            run_id: self.run_id.clone(),
            agent: AGENT.to_owned(),
        }
    }
    pub fn origin(&self) -> String {
        format!("countersign.local/{}", self.log_id)
    }
    /// The key its checkpoints are checked with.
    pub fn vkey(&self) -> Result<VerifierKey, Error> {
        match self.log.public() {
            PublicKey::Ed25519(key) => Ok(VerifierKey::new(self.origin().parse()?, KeyType::Log, key)),
            PublicKey::P256(_) => Err(Error::Signer("a checkpoint is signed with ed25519 only".to_owned())),
        }
    }
    pub const fn now(&self) -> Timestamp {
        self.at
    }
    pub fn run_id(&self) -> &str {
        &self.run_id
    }
    /// Goes on with an earlier run.
    pub fn resume(&mut self, run_id: &str) {
        run_id.clone_into(&mut self.run_id);
    }
    pub fn wait(&mut self, by: Duration) {
        self.at = self.at + by;
    }
    /// As many records of others, of which only the leaves are kept: none of them can be shown.
    pub fn crowd(&mut self, records: u64) {
        for _ in 0..records {
            self.last = Digest::of(self.last.as_bytes());
            self.tree.push(leaf(&self.last));
        }
    }
    pub fn size(&self) -> u64 {
        self.tree.size()
    }

    /// A call that was decided and run, with success.
    pub fn call(
        &mut self,
        custody: Custody,
        tool: &str,
        arguments: &str,
        content: &str,
    ) -> Result<(u64, u64), Error> {
        let decided = self.decide(custody, tool, arguments, "allow")?;
        let result = self.result(&decided, content, true)?;
        Ok((decided.seq, result))
    }

    pub fn decide(
        &mut self,
        custody: Custody,
        tool: &str,
        arguments: &str,
        decision: &str,
    ) -> Result<Decided, Error> {
        self.calls += 1;
        let call = format!("call-{}", self.calls);
        self.decide_as(custody, &call, tool, arguments, decision)
    }

    /// The same for a call that the agent named.
    pub fn decide_as(
        &mut self,
        custody: Custody,
        call: &str,
        tool: &str,
        arguments: &str,
        decision: &str,
    ) -> Result<Decided, Error> {
        let arguments = json(arguments)?;
        let decision_id = format!("dec-{}", hex::encode(self.env.bytes16()));
        let salt = salt(&self.secret, &decision_id);
        let commitment = Commitment::of(&salt, &arguments_digest(tool, &arguments)?);
        let by = match custody {
            Custody::Executor => format!(r#","via":"{EXECUTOR}","caller":"{AGENT}""#),
            Custody::Agent => String::new(),
        };
        let data = format!(
            r#"{{"tool_use_id":"{call}","tool":"{tool}","policy_hash":"{}","decision_id":"{decision_id}","decision":"{decision}",
                "rule_ids":[],"args_commitment":"{commitment}"{by}}}"#,
            self.policy.prefixed(),
        );
        let seq = self.by(custody, "policy.decision", &data, call)?;
        self.reveals.insert(seq, Reveal::Arguments(salt, arguments.clone()));
        Ok(Decided { seq, call: call.to_owned(), decision_id, custody, tool: tool.to_owned(), arguments })
    }

    pub fn result(&mut self, of: &Decided, content: &str, ok: bool) -> Result<u64, Error> {
        self.result_with(of, content, ok, "")
    }

    /// With further members of `data`, each after a comma.
    pub fn result_with(&mut self, of: &Decided, content: &str, ok: bool, more: &str) -> Result<u64, Error> {
        let content = json(content)?;
        let salt = salt(&self.secret, &format!("result:{}", of.decision_id));
        let (digest, size) = content_digest(&content)?;
        let by = match of.custody {
            Custody::Executor => format!(r#","via":"{EXECUTOR}""#),
            Custody::Agent => String::new(),
        };
        let data = format!(
            r#"{{"tool_use_id":"{}","ok":{ok},"output":{{"hash":"{}","size":{size},"redacted":false}},
                "decision_id":"{}"{by}{more}}}"#,
            of.call,
            Commitment::of(&salt, &digest),
            of.decision_id,
        );
        let seq = self.by(of.custody, "tool.result", &data, &of.call.clone())?;
        self.reveals.insert(seq, Reveal::Content(salt, content));
        Ok(seq)
    }

    /// Asks for a decided call to be approved within an hour.
    pub fn ask(&mut self, of: &Decided) -> Result<Asked, Error> {
        let arguments = of.arguments.clone();
        self.ask_for(of, &of.tool.clone(), &arguments, &of.call.clone())
    }

    /// The same with other words than were decided.
    pub fn ask_for(
        &mut self,
        of: &Decided,
        tool: &str,
        arguments: &Value<'static>,
        call: &str,
    ) -> Result<Asked, Error> {
        let approval_id = format!("apr-{}", hex::encode(self.env.bytes16()));
        let salt_id = hex::encode(self.env.bytes16());
        let salt = salt(&self.secret, &format!("approval.request:{salt_id}"));
        let expires_at = self.at + Duration::from_secs(3600);
        let binding = Binding {
            approval_id: &approval_id,
            tenant: TENANT,
            run_id: &self.run_id,
            tool_call_id: call,
            attempt: 0,
            tool,
            arguments: Commitment::of(&salt, &arguments_digest(tool, arguments)?),
            args_source: "parsed",
            policy: self.policy,
            nonce: self.env.bytes16(),
            expires_at,
        };
        let binding = binding.value()?;
        let data = format!(
            r#"{{"approval_id":"{approval_id}","decision_id":"{}","policy_hash":"{}","rule_ids":[],"expires_at":"{}",
                "requester":"{AGENT}","binding":{},"binding_digest":"{}","salt_id":"{salt_id}"}}"#,
            of.decision_id,
            self.policy.prefixed(),
            spelled(expires_at),
            String::from_utf8(canon::to_vec(&binding)?).unwrap_or_default(),
            crate::approval::binding_digest(&binding)?.prefixed(),
        );
        let seq = self.by(of.custody, "approval.request", &data, call)?;
        self.reveals.insert(seq, Reveal::Arguments(salt, arguments.clone()));
        Ok(Asked { seq, approval_id, call: call.to_owned() })
    }

    /// A person's answer; `more` are further members, each after a comma.
    pub fn answer(&mut self, asked: &Asked, decision: &str, person: &str, more: &str) -> Result<u64, Error> {
        let data = format!(
            r#"{{"tool_use_id":"{}","approval_id":"{}","decision":"{decision}","approver":"token:{person}",
                "approver_identity":{{"scheme":"token","subject":"{person}","attested":true}},"channel":"rpc",
                "person":"{person}"{more}}}"#,
            asked.call, asked.approval_id,
        );
        self.say("approval", "sdk", &data, Some(&asked.call.clone()))
    }

    pub fn consume(&mut self, asked: &Asked) -> Result<u64, Error> {
        let data = format!(r#"{{"approval_id":"{}"}}"#, asked.approval_id);
        self.say("approval.consumed", "signer", &data, Some(&asked.call.clone()))
    }

    /// Any record of this moment's run.
    pub fn say(&mut self, kind: &str, source: &str, data: &str, call: Option<&str>) -> Result<u64, Error> {
        let run_id = self.run_id.clone();
        self.write(TENANT, &run_id, source, kind, json(data)?, call, &[])
    }

    /// A record of another tenant's run.
    pub fn say_for(&mut self, tenant: &str, run_id: &str, kind: &str, data: &str) -> Result<u64, Error> {
        self.write(tenant, run_id, "signer", kind, json(data)?, None, &[])
    }

    /// Another record key takes over.
    pub fn rotate(&mut self, next: &'a dyn Signer) -> Result<(), Error> {
        let (old, last) = (self.signer.public(), Position(self.tree.size().saturating_sub(1)));
        self.signer = next;
        self.own("signer.epoch", write::epoch(&[next.public()])?)?;
        self.own("key.retire", write::retirement(&old, last)?)
    }

    pub fn note(&self) -> Result<Note, Error> {
        let origin: KeyName = self.origin().parse()?;
        Ok(Note::sign(Checkpoint { origin, size: self.tree.size(), root: self.tree.root() }, self.log)?)
    }

    /// Base64 of the hashes beside these records in the tree of this moment.
    pub fn beside(&self, seqs: &[u64]) -> Result<String, Error> {
        send::inclusion(&self.tree, seqs.iter().copied(), self.tree.size())
    }

    /// A grant under the key of this moment, logged; its records are to be shown. A `parent` is held against it, as the signer does.
    pub fn grant(
        &mut self,
        grant: &str,
        parent: Option<&super::Grant>,
        approval: &[u64],
    ) -> Result<(Value<'static>, u64), Error> {
        let grant = json(grant)?;
        let hash = Digest::of(&canon::to_vec(&grant)?);
        let data = send::grant_record(&hash)?;
        let run_id = self.run_id.clone();
        let seq = self.write(TENANT, &run_id, "signer", "ext", data, None, &[])?;
        let names: Vec<String> = approval.iter().map(|seq| rid(*seq)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let link = match parent {
            Some(_) => send::link(&grant, parent, &rid(seq), &names, self.signer)?,
            None => send::seal_link(&grant, &rid(seq), &names, self.signer)?,
        };
        Ok((link, seq))
    }

    /// The message, refused if the signer's own rules refuse it.
    pub fn send(&mut self, order: &Order<'_>, note: &Note) -> Result<Vec<u8>, Error> {
        self.with(order, note, |draft, proof, signer| draft.sign(proof, signer))
    }

    /// The message without its signature, whatever it says.
    pub fn draft(&mut self, order: &Order<'_>, note: &Note) -> Result<Value<'static>, Error> {
        self.with(order, note, |draft, proof, signer| {
            draft.unsigned(proof, &signer.public().spki_kid().to_string())
        })
    }

    /// Signs whatever it is given.
    pub fn seal(&self, message: &Value<'_>) -> Result<Vec<u8>, Error> {
        send::seal(message, self.signer)
    }

    fn with<T>(
        &mut self,
        order: &Order<'_>,
        note: &Note,
        then: impl FnOnce(&Draft<'_>, &Proof<'_, MemoryTree>, &dyn Signer) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let from = self.sender();
        let registered = self.registered();
        let mut seqs: Vec<u64> =
            order.claims.iter().flat_map(|(.., seqs)| seqs).chain(&order.shown).copied().collect();
        seqs.extend(registered);
        seqs.sort_unstable();
        seqs.dedup();
        let names: Vec<(u64, String)> = seqs.iter().map(|seq| (*seq, rid(*seq))).collect();
        let records = names
            .iter()
            .filter_map(|(seq, name)| self.records.get(seq).map(|written| (name.as_str(), written)));
        let openings = names
            .iter()
            .filter(|(seq, _)| !order.closed.contains(seq))
            .filter_map(|(seq, name)| self.reveals.get(seq).map(|reveal| (name.as_str(), reveal.clone())));
        let proof = Proof {
            note,
            nodes: &self.tree,
            records: records.collect(),
            openings: openings.collect(),
            keys: &self.keys,
        };
        let cited: Vec<Vec<String>> =
            order.claims.iter().map(|(.., seqs)| seqs.iter().map(|seq| rid(*seq)).collect()).collect();
        let claims = order.claims.iter().zip(&cited).map(|((id, predicate, args, _), rids)| {
            let evidence = rids.iter().map(String::as_str).collect();
            Ok(Claim { id, predicate, args: json(args)?, evidence })
        });
        let intent = match &order.intent {
            Some((kind, schema, args)) => Some(Intent { kind, schema: *schema, args: json(args)? }),
            None => None,
        };
        let draft = Draft {
            id: self.env.bytes16(),
            from: &from,
            to: order.to,
            iat: self.at,
            exp: self.at + Duration::from_secs(600),
            in_reply_to: None,
            intent,
            text: order.text,
            claims: claims.collect::<Result<_, Error>>()?,
            grants: order.grants.clone(),
        };
        then(&draft, &proof, self.signer)
    }

    /// Where this moment's run was registered.
    fn registered(&self) -> Option<u64> {
        let own = |written: &&Written| {
            let value = canon::parse(&written.line).ok();
            let told = |pointer| value.as_ref()?.pointer(pointer)?.as_str().map(str::to_owned);
            told("/event/type").as_deref() == Some("run.registered")
                && told("/event/run_id").as_deref() == Some(self.run_id.as_str())
        };
        self.records.values().find(own).map(|written| written.seq)
    }

    fn by(&mut self, custody: Custody, kind: &str, data: &str, call: &str) -> Result<u64, Error> {
        let run_id = self.run_id.clone();
        let data = json(data)?;
        match custody {
            Custody::Executor => {
                self.write(TENANT, &run_id, "gateway", kind, data, Some(call), &[("tier", text("T2"))])
            }
            Custody::Agent => self.write(TENANT, &run_id, "sdk", kind, data, Some(call), &[]),
        }
    }

    fn own(&mut self, kind: &str, data: Value<'static>) -> Result<(), Error> {
        let seq = self.write(SIGNER_TENANT, SIGNER_RUN, "signer", kind, data, None, &[])?;
        self.keys.extend(self.records.get(&seq).cloned());
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "a record has as many parts")]
    fn write(
        &mut self,
        tenant: &str,
        run_id: &str,
        source: &str,
        kind: &str,
        data: Value<'static>,
        call: Option<&str>,
        more: &[(&'static str, Value<'static>)],
    ) -> Result<u64, Error> {
        self.at = self.at + Duration::from_millis(1);
        let mut members: Vec<(&str, Value<'_>)> = more.to_vec();
        if let Some(call) = call {
            members.push(("tool_call_id", text(call)));
            members.push(("attempt", number(0)?));
        }
        let (run_seq, run_prev) =
            self.runs.get(&(tenant.to_owned(), run_id.to_owned())).copied().unwrap_or((0, Digest::ZERO));
        let draft = RecordDraft {
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
        };
        let place = Place { log_id: &self.log_id, seq: self.tree.size(), prev: self.last, run_seq, run_prev };
        let written = draft.sign(&place, self.signer)?;
        self.tree.push(leaf(&written.hash));
        self.runs.insert((tenant.to_owned(), run_id.to_owned()), (run_seq + 1, written.hash));
        let seq = written.seq;
        self.last = written.hash;
        self.records.insert(seq, written);
        Ok(seq)
    }
}

/// How a record is named in the messages of a stage.
pub fn rid(seq: u64) -> String {
    format!("r{seq}")
}

fn json(text: &str) -> Result<Value<'static>, Error> {
    Ok(canon::parse(text.as_bytes())?.into_static())
}
