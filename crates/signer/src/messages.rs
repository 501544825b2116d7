//! Messages that carry their proofs (spec 4.12): built from the run's own records, signed as the run's own agent, and logged before
//! they are released.

use crate::book::written;
use crate::service::{Service, unavailable};
use canon::{Digest, Value};
use env::Duration;
use ledger::note::Note as Checkpoint;
use pcm::message::{Claim, Draft, Intent, MESSAGE_RECORD, Message, Proof, Reveal, Sender};
use pcm::signer::rpc::{Answer, MessageSend, Request};
use pcm::signer::{Asked, Fault, FaultCode, Identity, Note};
use pcm::write::{Written, object, text};
use std::collections::BTreeMap;

/// How long a message may be accepted unless told otherwise, and at most.
const LASTS: u64 = 300;
const LONGEST: u64 = 7 * 86_400;

impl Service {
    pub(crate) async fn message_send(&self, who: &Identity, of: &MessageSend) -> Result<Answer, Fault> {
        let request = Digest::of(&Request::MessageSend(of.clone()).frame()?);
        let (by, id) = (who.name.clone(), of.request_id.to_string());
        let asked = move |state: &pcm::signer::State| state.answered(&by, &id, &request);
        if let Some(answered) = self.look(asked).await? {
            return answered;
        }
        let sender = self.sender(who, of).await?;
        let story = self.story(&sender.run_id).await?;
        let mut shown: BTreeMap<u64, (String, Written)> = BTreeMap::new();
        let mut openings = Vec::new();
        let cited = of.claims.iter().flat_map(|claim| claim.evidence.iter().copied());
        // Its registration shows that the run is the sender's.
        for run_seq in cited.chain([0]) {
            if shown.contains_key(&run_seq) {
                continue;
            }
            let entry = usize::try_from(run_seq).ok().and_then(|at| story.records.get(at));
            let entry = entry.ok_or_else(|| {
                Fault::new(FaultCode::InvalidRequest, format!("the run has no record {run_seq}"))
            })?;
            let rid = format!("r{run_seq}");
            if let Some(opened) = self.opened(entry)? {
                let reveal = match opened.arguments {
                    true => Reveal::Arguments(opened.salt, opened.value),
                    false => Reveal::Content(opened.salt, opened.value),
                };
                openings.push((rid.clone(), reveal));
            }
            shown.insert(run_seq, (rid, written(entry)));
        }
        let last = shown.values().map(|(_, record)| record.seq).max().unwrap_or_default();
        let published = self.inner().log.covering(last.saturating_add(1)).await.map_err(unavailable)?;
        let keys = self.key_records(published.size).await?;
        let places = keys.iter().chain(shown.values().map(|(_, record)| record)).map(|record| record.seq);
        let nodes = self.proving(published.size, places).await?;
        let note = Checkpoint::parse(published.note.as_bytes()).map_err(pcm::Error::from)?;
        let named: Vec<Vec<String>> = of
            .claims
            .iter()
            .map(|claim| claim.evidence.iter().map(|seq| format!("r{seq}")).collect())
            .collect();
        let claims = of.claims.iter().zip(&named).map(|(claim, evidence)| Claim {
            id: claim.id.as_str(),
            predicate: claim.pred.as_str(),
            args: claim.args.clone(),
            evidence: evidence.iter().map(String::as_str).collect(),
        });
        let mut env = self.inner().source.env();
        let lasts = of.lasts.unwrap_or(LASTS).clamp(1, LONGEST);
        let draft = Draft {
            id: env.bytes16(),
            from: &sender,
            to: of.to.as_str(),
            iat: env.now(),
            exp: env.now() + Duration::from_secs(lasts),
            in_reply_to: of.in_reply_to.as_ref().map(replied).transpose()?,
            intent: of.intent.as_ref().map(intended).transpose()?,
            text: of.text.as_ref().map(|text| text.as_str()),
            claims: claims.collect(),
            grants: Vec::new(),
        };
        let proof = Proof {
            note: &note,
            nodes: &nodes,
            records: shown.values().map(|(rid, record)| (rid.as_str(), record)).collect(),
            openings: openings.iter().map(|(rid, reveal)| (rid.as_str(), reveal.clone())).collect(),
            keys: &keys,
        };
        let bytes = draft.sign(&proof, &*self.inner().key).map_err(refused)?;
        let hash = Message::read(&bytes).map_err(|fault| invalid(&fault.detail))?.hash();
        let message = canon::parse(&bytes).map_err(pcm::Error::from)?.into_static();
        let answer = object(vec![("message", message), ("hash", text(hash.prefixed()))])?;
        let asked = Asked { by: who.name.clone(), id: of.request_id.clone(), request, answer };
        self.note(Note { run_id: sender.run_id, name: MESSAGE_RECORD, hash, asked: Some(asked) }).await
    }

    /// As whom a run's agent sends. Refused: another's token, a run that is over.
    async fn sender(&self, who: &Identity, of: &MessageSend) -> Result<Sender, Fault> {
        let (run, owner) = self.inner().house.secrets.owner(of.run_token.as_str())?;
        let caller = of.caller.as_ref().map_or(who.name.as_str(), |caller| caller.as_str());
        if run != of.run_id.as_str() || owner != caller || (of.caller.is_some() && !who.gateway) {
            let why = "the token is not this run's, or not its caller's";
            return Err(Fault::new(FaultCode::RunTokenInvalid, why));
        }
        let origin = self.inner().log.origin().to_string();
        let found = self.look(move |state| {
            state.run(&run).map(|open| Sender {
                origin,
                log_id: state.log_id().to_owned(),
                tenant: open.tenant().to_owned(),
                run_id: run.clone(),
                agent: open.owner().to_owned(),
            })
        });
        found.await?.ok_or_else(|| Fault::new(FaultCode::RunClosed, "the run is over"))
    }
}

fn replied<'v>(of: &'v Value<'_>) -> Result<(&'v str, Digest), Fault> {
    let told = |name: &str| of.get(name).and_then(Value::as_str);
    let hash = told("hash").and_then(|hash| hash.strip_prefix("sha256:")?.parse().ok());
    told("id").zip(hash).ok_or_else(|| invalid("in_reply_to is {id, hash}"))
}

fn intended<'v>(of: &'v Value<'static>) -> Result<Intent<'v>, Fault> {
    let told = |name: &str| of.get(name).and_then(Value::as_str);
    let schema = told("schema").and_then(|hash| hash.strip_prefix("sha256:")?.parse().ok());
    match (told("type"), schema, of.get("args")) {
        (Some(kind), Some(schema), Some(args)) => Ok(Intent { kind, schema, args: args.clone() }),
        _ => Err(invalid("an intent is {type, schema, args}")),
    }
}

/// What contradicts its own records is not signed; the sentence says where.
fn refused(error: pcm::Error) -> Fault {
    match &error {
        pcm::Error::Message { code, place } => {
            invalid(&format!("the message is not signed: {code} at {place}"))
        }
        _ => error.into(),
    }
}

fn invalid(why: &str) -> Fault {
    Fault::new(FaultCode::InvalidRequest, why)
}
