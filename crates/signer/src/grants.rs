//! Grants (spec 4.6, 4.12): a person's recorded approval of exact terms, links that only narrow it, and what takes them back.

use crate::book::Opened;
use crate::service::{Service, stream, typed, unavailable};
use crate::writer::noted_key;
use canon::{Digest, Value};
use ledger::Entry;
use pcm::message::{GRANT_RECORD, GRANT_TOOL, Grant, REVOKED_RECORD};
use pcm::signer::rpc::{
    Answer, ApprovalConsume, ApprovalRequest, ApprovalStanding, ApprovalState, ArgsSource, Complete, Decide,
    Decided, GrantDelegate, GrantRequest, GrantRevoke, Id, MessageStatus, Request, Ruling, Status, Text,
};
use pcm::signer::{Asked, Fault, FaultCode, Identity, Note};
use pcm::write::{number, object, text};
use std::borrow::Cow;

/// A grant as it was issued: its terms, and what makes it good.
#[derive(Debug, Clone)]
pub(crate) struct Issued {
    pub grant: Value<'static>,
    /// Where it was logged, and of a root where its approval is: decision, request, answer.
    pub logged: u64,
    pub approval: Vec<u64>,
    pub parent: Option<String>,
}

impl Service {
    /// Asks for a root. Asked again with the same call once a person has approved, it issues the grant.
    pub(crate) async fn grant_request(&self, who: &Identity, of: GrantRequest) -> Result<Answer, Fault> {
        let asked = Grant::read(&of.grant).map_err(|code| invalid(code.as_str()))?;
        if of.grant.get("root").is_some() || of.grant.get("parent").is_some() {
            return Err(invalid("a root is asked for without root and parent"));
        }
        let request = Digest::of(&Request::GrantRequest(of.clone()).frame()?);
        if let Some(answered) = self.answered(who, &of.request_id, request).await? {
            return answered;
        }
        let sub = |part: &str| part_of(&of.request_id, part);
        let tool = Text::new(GRANT_TOOL).ok_or_else(|| invalid("the tool's name"))?;
        let decide = Decide {
            request_id: sub("d")?,
            run_id: of.run_id.clone(),
            run_token: of.run_token.clone(),
            stream: of.stream.clone(),
            client_seq: of.client_seq,
            caller: of.caller.clone(),
            tool_call_id: of.tool_call_id.clone(),
            attempt: 0,
            tool: tool.clone(),
            tool_class_hint: None,
            args_source: ArgsSource::Parsed,
            args: of.grant.clone(),
        };
        let decided: Decided = typed(&self.plain(who, Request::Decide(decide)).await?)?;
        if decided.decision != Ruling::Ask {
            return Err(Fault::new(FaultCode::Conflict, "a grant is asked of a person, always"));
        }
        let ask = ApprovalRequest {
            request_id: sub("a")?,
            run_id: of.run_id.clone(),
            run_token: of.run_token.clone(),
            caller: of.caller.clone(),
            tool_call_id: of.tool_call_id.clone(),
            attempt: 0,
            reason: of.reason.clone(),
        };
        let standing: ApprovalStanding = typed(&self.plain(who, Request::ApprovalRequest(ask)).await?)?;
        let (by, id, now) = (who.clone(), standing.approval_id.clone(), self.inner().source.now());
        let state = self.look(move |state| state.standing(&by, &id, now)).await??.state;
        if !matches!(state, ApprovalState::Approved | ApprovalState::Consumed) {
            return Ok(Answer::Approval(ApprovalStanding { state, ..standing }));
        }
        let approval = standing.approval_id;
        let (places, person) = self.approved(of.run_id.as_str(), &approval).await?;
        if person != asked.issuer() {
            return Err(Fault::new(
                FaultCode::Conflict,
                "somebody else than the issuer it names has approved it",
            ));
        }
        let consume = ApprovalConsume {
            request_id: sub("c")?,
            run_id: of.run_id.clone(),
            run_token: of.run_token.clone(),
            caller: of.caller.clone(),
            tool_call_id: of.tool_call_id.clone(),
            attempt: 0,
            tool,
            args_source: ArgsSource::Parsed,
            args: of.grant.clone(),
            approval_id_hint: None,
        };
        match self.plain(who, Request::ApprovalConsume(consume)).await? {
            Answer::Consumed(used) if !used.ok => {
                return Err(Fault::new(FaultCode::Conflict, used.rule_ids.join(", ")));
            }
            _ => {}
        }
        let grant = with(&of.grant, "root", object(vec![("approval_id", text(approval))])?)?;
        let kept = object(vec![
            ("grant", grant.clone()),
            ("approval", Value::Array(places.iter().map(|seq| number(*seq)).collect::<Result<_, _>>()?)),
        ])?;
        let hash = Digest::of(&canon::to_vec(&grant).map_err(pcm::Error::from)?);
        self.complete_grant(who, &of, &decided, &hash, sub("r")?).await?;
        self.issue(who, &of.run_id, &of.request_id, request, grant, kept).await
    }

    /// Passes a grant on, narrower, to another holder. Refused: by whoever does not hold it, and what allows more.
    pub(crate) async fn grant_delegate(&self, who: &Identity, of: GrantDelegate) -> Result<Answer, Fault> {
        let request = Digest::of(&Request::GrantDelegate(of.clone()).frame()?);
        if let Some(answered) = self.answered(who, &of.request_id, request).await? {
            return answered;
        }
        let holder = self.speaks_for(who, &of.run_id, &of.run_token, of.caller.as_ref())?;
        let chain = self.chain(of.parent.as_str()).await?;
        let parent = chain.last().ok_or_else(|| invalid("no such grant"))?;
        let parent = Grant::read(&parent.grant).map_err(|code| invalid(code.as_str()))?;
        if parent.holder() != holder {
            return Err(Fault::new(FaultCode::Forbidden, "only its holder passes a grant on"));
        }
        let grant = with(&of.grant, "parent", text(of.parent.to_string()))?;
        Grant::read(&grant).and_then(|read| read.within(&parent)).map_err(|code| {
            Fault::new(FaultCode::Conflict, format!("not within its parent: {}", code.as_str()))
        })?;
        let kept = object(vec![
            ("grant", grant.clone()),
            ("approval", Value::Array(Vec::new())),
            ("parent", text(of.parent.to_string())),
        ])?;
        self.issue(who, &of.run_id, &of.request_id, request, grant, kept).await
    }

    /// Takes a grant back: the signer shows neither it nor what was passed on from it any more. Whoever has a message that was sent
    /// before keeps it: a receiver offline learns nothing of this.
    pub(crate) async fn grant_revoke(&self, who: &Identity, of: GrantRevoke) -> Result<Answer, Fault> {
        let request = Digest::of(&Request::GrantRevoke(of.clone()).frame()?);
        if let Some(answered) = self.answered(who, &of.request_id, request).await? {
            return answered;
        }
        let by = self.speaks_for(who, &of.run_id, &of.run_token, of.caller.as_ref())?;
        let chain = self.chain(of.grant.as_str()).await?;
        let held = chain.iter().any(|link| Grant::read(&link.grant).is_ok_and(|grant| grant.holder() == by));
        if !who.operator && !held {
            return Err(Fault::new(
                FaultCode::Forbidden,
                "only who holds it, or held what it comes from, takes it back",
            ));
        }
        let hash = digest(of.grant.as_str())?;
        let answer = object(vec![("revoked", text(hash.prefixed()))])?;
        let asked = Asked { by: who.name.clone(), id: of.request_id, request, answer };
        let run_id = of.run_id.to_string();
        self.note(Note { run_id, name: REVOKED_RECORD, hash, asked: Some(asked), kept: None }).await
    }

    /// Whether a message or a grant of this hash was signed here, and where that is logged.
    pub(crate) async fn message_status(&self, of: &MessageStatus) -> Result<Answer, Fault> {
        let found = self.noted(of.hash.as_str()).await?;
        let mut members = vec![("known", Value::Bool(!found.is_empty()))];
        for (name, entry) in &found {
            let seq = number(entry.seq.saturating_sub(1))?;
            match name.as_str() {
                REVOKED_RECORD => members.push(("revoked_seq", seq)),
                _ if members.iter().all(|(name, _)| *name != "seq") => {
                    members.push(("seq", seq));
                    members.push(("name", text(name.clone())));
                }
                _ => {}
            }
        }
        Ok(Answer::Other(object(members)?))
    }

    /// The links down to a grant, root first. Refused: one that is not there, or was taken back.
    pub(crate) async fn chain(&self, last: &str) -> Result<Vec<Issued>, Fault> {
        let mut links = Vec::new();
        let mut next = Some(last.to_owned());
        while let Some(hash) = next {
            if links.len() == MOST {
                return Err(invalid("a chain of grants has at most 8 links"));
            }
            let found = self.noted(&hash).await?;
            if found.iter().any(|(name, _)| name == REVOKED_RECORD) {
                return Err(Fault::new(FaultCode::Conflict, "the grant was taken back"));
            }
            let entry = found.into_iter().find(|(name, _)| name == GRANT_RECORD).map(|(_, entry)| entry);
            let entry = entry.ok_or_else(|| invalid("no such grant"))?;
            let link = issued(&entry)?;
            next = link.parent.clone();
            links.push(link);
        }
        links.reverse();
        Ok(links)
    }

    /// The records that name this hash, and what each says it is.
    async fn noted(&self, hash: &str) -> Result<Vec<(String, Entry)>, Fault> {
        let key = noted_key(&digest(hash)?.to_string());
        let mut found = Vec::new();
        for (item, _) in self.inner().journal.find(&key, "", 16).await.map_err(unavailable)? {
            let seq = item.parse().map_err(|_| invalid("a place of the log"))?;
            for entry in self.inner().journal.read(&stream(), seq, 1).await.map_err(unavailable)? {
                let record = canon::parse(&entry.bytes).map_err(pcm::Error::from)?;
                let name = record.pointer("/event/data/name").and_then(Value::as_str).unwrap_or_default();
                found.push((name.to_owned(), entry));
            }
        }
        Ok(found)
    }

    async fn issue(
        &self,
        who: &Identity,
        run_id: &Id,
        id: &Id,
        request: Digest,
        grant: Value<'static>,
        kept: Value<'static>,
    ) -> Result<Answer, Fault> {
        let hash = Digest::of(&canon::to_vec(&grant).map_err(pcm::Error::from)?);
        let answer = object(vec![("grant", grant), ("hash", text(hash.prefixed()))])?;
        let asked = Asked { by: who.name.clone(), id: id.clone(), request, answer };
        let run_id = run_id.to_string();
        self.note(Note { run_id, name: GRANT_RECORD, hash, asked: Some(asked), kept: Some(kept) }).await
    }

    async fn complete_grant(
        &self,
        who: &Identity,
        of: &GrantRequest,
        decided: &Decided,
        hash: &Digest,
        request_id: Id,
    ) -> Result<(), Fault> {
        let digest = pcm::opening::arguments_digest(GRANT_TOOL, &of.grant)?.prefixed();
        let complete = Complete {
            request_id,
            run_id: of.run_id.clone(),
            run_token: of.run_token.clone(),
            stream: of.stream.clone(),
            client_seq: of.client_seq.saturating_add(1),
            caller: of.caller.clone(),
            tool_call_id: of.tool_call_id.clone(),
            attempt: 0,
            decision_id: Id::new(decided.decision_id.clone()).ok_or_else(|| invalid("a decision's id"))?,
            args_digest: Text::new(digest).ok_or_else(|| invalid("a digest"))?,
            status: Status::Ok,
            result: Some(object(vec![("grant", text(hash.prefixed()))])?),
            error: None,
            redacted: None,
            redaction: None,
        };
        self.plain(who, Request::Complete(complete)).await.map(drop)
    }

    /// The three records of an approval, and who approved.
    async fn approved(&self, run: &str, approval: &str) -> Result<(Vec<u64>, String), Fault> {
        let story = self.story(run).await?;
        let (mut places, mut person, mut decision) = (Vec::new(), String::new(), String::new());
        for entry in &story.records {
            let record = canon::parse(&entry.bytes).map_err(pcm::Error::from)?;
            let told = |pointer: &str| record.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            if told("/event/data/approval_id") != approval {
                continue;
            }
            match told("/event/type") {
                "approval.request" => {
                    told("/event/data/decision_id").clone_into(&mut decision);
                    places.push(entry.seq.saturating_sub(1));
                }
                "approval" => {
                    told("/event/data/person").clone_into(&mut person);
                    places.push(entry.seq.saturating_sub(1));
                }
                _ => {}
            }
        }
        for entry in &story.records {
            let record = canon::parse(&entry.bytes).map_err(pcm::Error::from)?;
            let told = |pointer: &str| record.pointer(pointer).and_then(Value::as_str);
            if told("/event/type") == Some("policy.decision")
                && told("/event/data/decision_id") == Some(decision.as_str())
            {
                places.insert(0, entry.seq.saturating_sub(1));
            }
        }
        Ok((places, person))
    }

    pub(crate) async fn answered(
        &self,
        who: &Identity,
        id: &Id,
        request: Digest,
    ) -> Result<Option<Result<Answer, Fault>>, Fault> {
        let (by, id) = (who.name.clone(), id.to_string());
        self.look(move |state| state.answered(&by, &id, &request)).await
    }
}

/// Links of a chain (spec 4.10).
const MOST: usize = 8;

fn issued(entry: &Entry) -> Result<Issued, Fault> {
    let lost = || Fault::new(FaultCode::Unavailable, "what the grant rests on is gone");
    let payload = entry.payload.as_ref().ok_or_else(lost)?;
    let kept = canon::parse(&payload.bytes).map_err(pcm::Error::from)?;
    let signed = kept.get("signed").ok_or_else(lost)?;
    let approval = signed.get("approval").and_then(Value::as_array).unwrap_or_default();
    Ok(Issued {
        grant: signed.get("grant").ok_or_else(lost)?.to_owned(),
        logged: entry.seq.saturating_sub(1),
        approval: approval.iter().filter_map(Value::as_u64).collect(),
        parent: signed.get("parent").and_then(Value::as_str).map(str::to_owned),
    })
}

/// The object with one more member.
fn with(of: &Value<'static>, name: &'static str, value: Value<'static>) -> Result<Value<'static>, Fault> {
    let members = of.as_object().map(canon::Object::iter).into_iter().flatten();
    let mut members: Vec<_> =
        members.map(|(name, value)| (Cow::Owned(name.to_owned()), value.to_owned())).collect();
    members.push((Cow::Borrowed(name), value));
    canon::Object::new(members).map(Value::Object).map_err(|error| invalid(&error.to_string()))
}

/// The id of a part of a request: the same for the same request.
fn part_of(id: &Id, part: &str) -> Result<Id, Fault> {
    let name = format!("part-{part}-{}", Digest::of(id.as_str().as_bytes()));
    Id::new(name).ok_or_else(|| invalid("a request's id"))
}

fn digest(text: &str) -> Result<Digest, Fault> {
    let found = text.strip_prefix("sha256:").and_then(|hex| hex.parse().ok());
    found.ok_or_else(|| invalid("a hash is sha256: and 64 hex digits"))
}

fn invalid(why: &str) -> Fault {
    Fault::new(FaultCode::InvalidRequest, why)
}

/// What opens a record, as a message shows it.
pub(crate) fn reveal(opened: Opened) -> pcm::message::Reveal<'static> {
    match opened.arguments {
        true => pcm::message::Reveal::Arguments(opened.salt, opened.value),
        false => pcm::message::Reveal::Content(opened.salt, opened.value),
    }
}
