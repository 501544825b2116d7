//! Messages that carry their proofs (spec 4.12): built from the run's own records, signed as the run's own agent, and logged before
//! they are released.

use crate::book::written;
use crate::grants::{Issued, reveal};
use crate::service::{Service, unavailable};
use canon::{Digest, Value};
use env::Duration;
use ledger::note::Note as Checkpoint;
use pcm::message::{Claim, Draft, Grant, Intent, MESSAGE_RECORD, Message, Proof, Sender, link};
use pcm::signer::rpc::{Answer, Id, MessageSend, Name, Request, SentClaim, Text};
use pcm::signer::{Asked, Fault, FaultCode, Identity, Note};
use pcm::write::{object, text};
use std::collections::{BTreeMap, BTreeSet};

/// How long a message may be accepted unless told otherwise, and at most.
const LASTS: u64 = 300;
const LONGEST: u64 = 7 * 86_400;

impl Service {
    pub(crate) async fn message_send(&self, who: &Identity, of: &MessageSend) -> Result<Answer, Fault> {
        let request = Digest::of(&Request::MessageSend(of.clone()).frame()?);
        if let Some(answered) = self.answered(who, &of.request_id, request).await? {
            return answered;
        }
        let sender = self.sender(who, of).await?;
        let story = self.story(&sender.run_id).await?;
        let chain = match &of.grant {
            Some(last) => self.chain(last.as_str()).await?,
            None => Vec::new(),
        };
        // Where in the log the records of the run are that claims cite. Its registration shows that the run is the sender's.
        let mut places = BTreeMap::new();
        for run_seq in of.claims.iter().flat_map(|claim| claim.evidence.iter().copied()).chain([0]) {
            let entry = usize::try_from(run_seq).ok().and_then(|at| story.records.get(at));
            let entry = entry.ok_or_else(|| invalid(&format!("the run has no record {run_seq}")))?;
            places.insert(run_seq, entry.seq.saturating_sub(1));
        }
        let granted = chain.iter().flat_map(|link| link.approval.iter().copied().chain([link.logged]));
        let (mut shown, mut openings) = (Vec::new(), Vec::new());
        for seq in places.values().copied().chain(granted).collect::<BTreeSet<_>>() {
            let entry = self.entry(seq).await?;
            openings.extend(self.opened(&entry)?.map(|opened| (rid(seq), reveal(opened))));
            shown.push((rid(seq), written(&entry)));
        }
        let last = shown.iter().map(|(_, record)| record.seq).max().unwrap_or_default();
        let published = self.inner().log.covering(last.saturating_add(1)).await.map_err(unavailable)?;
        let keys = self.key_records(published.size).await?;
        let proven = keys.iter().chain(shown.iter().map(|(_, record)| record)).map(|record| record.seq);
        let nodes = self.proving(published.size, proven).await?;
        let note = Checkpoint::parse(published.note.as_bytes()).map_err(pcm::Error::from)?;
        let cited = |claim: &SentClaim| {
            claim.evidence.iter().filter_map(|run_seq| places.get(run_seq)).map(|seq| rid(*seq)).collect()
        };
        let named: Vec<Vec<String>> = of.claims.iter().map(cited).collect();
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
            grants: self.links(&chain)?,
        };
        let proof = Proof {
            note: &note,
            nodes: &nodes,
            records: shown.iter().map(|(rid, record)| (rid.as_str(), record)).collect(),
            openings: openings.iter().map(|(rid, reveal)| (rid.as_str(), reveal.clone())).collect(),
            keys: &keys,
        };
        let bytes = draft.sign(&proof, &*self.inner().key).map_err(refused)?;
        let hash = Message::read(&bytes).map_err(|fault| invalid(&fault.detail))?.hash();
        let message = canon::parse(&bytes).map_err(pcm::Error::from)?.into_static();
        let answer = object(vec![("message", message), ("hash", text(hash.prefixed()))])?;
        let asked = Asked { by: who.name.clone(), id: of.request_id.clone(), request, answer };
        self.note(Note { run_id: sender.run_id, name: MESSAGE_RECORD, hash, asked: Some(asked), kept: None })
            .await
    }

    /// As whom a run's agent sends. Refused: another's token, a run that is over.
    async fn sender(&self, who: &Identity, of: &MessageSend) -> Result<Sender, Fault> {
        self.speaks_for(who, &of.run_id, &of.run_token, of.caller.as_ref())?;
        let run = of.run_id.to_string();
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

impl Service {
    /// For whom a call is made that shows a run's token. Refused: another's token, a caller named by whoever is no gateway.
    pub(crate) fn speaks_for(
        &self,
        who: &Identity,
        run_id: &Id,
        token: &Text<1024>,
        caller: Option<&Name>,
    ) -> Result<String, Fault> {
        let (run, owner) = self.inner().house.secrets.owner(token.as_str())?;
        let named = caller.map_or(who.name.as_str(), Name::as_str);
        if run != run_id.as_str() || owner != named || (caller.is_some() && !who.gateway) {
            let why = "the token is not this run's, or not its caller's";
            return Err(Fault::new(FaultCode::RunTokenInvalid, why));
        }
        Ok(owner)
    }

    /// The links of a chain, signed for a message in which their records have these names.
    fn links(&self, chain: &[Issued]) -> Result<Vec<Value<'static>>, Fault> {
        let mut parent: Option<Grant> = None;
        let mut links = Vec::new();
        for issued in chain {
            let approval: Vec<String> = issued.approval.iter().map(|seq| rid(*seq)).collect();
            let approval: Vec<&str> = approval.iter().map(String::as_str).collect();
            let logged = rid(issued.logged);
            let signed = link(&issued.grant, parent.as_ref(), &logged, &approval, &*self.inner().key);
            links.push(signed.map_err(refused)?);
            parent = Grant::read(&issued.grant).ok();
        }
        Ok(links)
    }
}

/// What a record is called in a message.
fn rid(seq: u64) -> String {
    format!("r{seq}")
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
