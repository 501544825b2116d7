//! The signer of this server on the wire: its calls as one HTTP route, its log, and the people it asks.

pub(crate) mod http;

use crate::session::Session;
use crate::{App, Error, EvidenceInput, Prepared};
use approvals::{Answer, Ask, Decided, Evidence, Outcome};
use canon::{Digest, Value};
use ledger::StreamId;
use pcm::signer::{Answered, Identity, Person, State};
use signer::Service;
use std::collections::HashMap;

/// The signer, and who may call it with which bearer token.
#[derive(Debug)]
pub struct Attesting {
    pub service: Service,
    /// SHA-256 of each token.
    pub tokens: HashMap<Digest, Identity>,
}

/// The longest reason a person may give.
const REASON: usize = 1000;

impl App {
    /// Serves this signer. Once; later ones are dropped.
    pub fn attest(&self, attesting: Attesting) {
        let _ = self.attesting_cell().set(attesting);
    }

    pub(crate) fn attesting(&self) -> Result<&Attesting, Error> {
        self.attesting_cell().get().ok_or(Error::Missing)
    }

    /// The signer, where this server has one.
    pub fn signer_service(&self) -> Option<&Service> {
        self.attesting_cell().get().map(|attesting| &attesting.service)
    }

    /// What the signer waits for people to answer.
    pub(crate) async fn evidence_asks(&self) -> Result<Vec<Ask>, Error> {
        let Some(service) = self.signer_service() else { return Ok(Vec::new()) };
        let (org, now) = (service.org().to_owned(), self.now());
        let open = move |state: &State| {
            let requested = state.approvals().filter(|approval| !approval.standing(now).state.is_settled());
            requested.map(|approval| signer::ask(approval, &org)).collect()
        };
        service.look(open).await.map_err(|fault| Error::of(&fault))
    }

    /// One of them, for a member who may answer it.
    pub async fn evidence_ask(&self, session: &Session, id: &str) -> Result<Ask, Error> {
        let person = self.person(&session.org, &session.member).await?;
        let asks = self.evidence_asks().await?;
        let found = asks.into_iter().find(|ask| ask.id == id && person.right(&ask.audience).is_some());
        found.ok_or_else(|| Error::Conflict {
            code: "question_closed",
            text: "this question is no longer open: it was answered, or its time ran out".to_owned(),
        })
    }

    /// The statement to sign for an answer, with a fresh nonce.
    pub async fn prepare_evidence(
        &self,
        session: &Session,
        id: &str,
        approve: bool,
        reason: Option<&str>,
    ) -> Result<Prepared, Error> {
        let ask = self.evidence_ask(session, id).await?;
        let credentials = self.member_credentials(session).await?;
        let (decision, body) = (decided(approve), body(reason)?);
        let nonce = self.env().secret();
        let statement = ask.statement(decision, body.as_deref(), &nonce);
        let now = self.now();
        let active = credentials.passkeys.iter().filter(|passkey| passkey.is_active(now));
        Ok(Prepared {
            decision,
            nonce,
            challenge: statement.hash().base64url(),
            rp_id: self.config().rp_id(),
            credentials: active.map(|passkey| passkey.credential_id.clone()).collect(),
            statement,
            body,
            ask,
        })
    }

    /// A member's own answer, with their own evidence.
    pub async fn answer_evidence(
        &self,
        session: &Session,
        id: &str,
        (approve, reason): (bool, Option<String>),
        nonce: String,
        evidence: EvidenceInput,
    ) -> Result<(), Error> {
        let ask = self.evidence_ask(session, id).await?;
        let credentials = self.member_credentials(session).await?;
        let evidence = evidence.spelled(&credentials)?;
        let answer = Answer {
            ask_id: ask.id.clone(),
            decision: decided(approve),
            body: body(reason.as_deref())?,
            nonce,
            by: Some(session.member.clone()),
            evidence,
        };
        let outcome =
            approvals::check(&ask, &answer, &credentials, self.now()).map_err(|error| Error::of(&error))?;
        let Outcome::Settled(_) = outcome else {
            return Err(Error::Bug("a person's own answer was held".to_owned()));
        };
        let name = format!("{}/{}", session.org, session.member);
        let passkey = match &answer.evidence {
            Evidence::Passkey { credential_id, .. } => Some(credential_id.clone()),
            _ => None,
        };
        let answered = Answered {
            approval_id: ask.id.clone(),
            approve,
            by: Person { identity: format!("{SCHEME}:{name}"), name },
            channel: "console",
            reason,
            passkey,
            evidence: kept(&ask, &answer)?,
        };
        self.attesting()?.service.answer(answered).await.map(drop).map_err(|fault| Error::of(&fault))
    }

    async fn member_credentials(&self, session: &Session) -> Result<approvals::Credentials, Error> {
        let org = self.organization(&session.org).await?;
        let known = org.credentials(&session.member, Some(self.site()), self.now());
        let known = known.map_err(|error| Error::of(&error))?;
        Ok(approvals::Credentials { session: Some(session.name.clone()), ..known })
    }

    /// The question of an ask of the signer's stream, while it may be answered.
    pub(crate) async fn open_evidence(&self, id: &str) -> Result<Option<Ask>, Error> {
        Ok(self.evidence_asks().await?.into_iter().find(|ask| ask.id == id))
    }
}

/// The scheme of people in the signer's records.
const SCHEME: &str = "countersign";

/// Whether a stream is the signer's.
pub(crate) fn is_evidence(stream: &StreamId) -> bool {
    *stream == signer::stream()
}

const fn decided(approve: bool) -> Decided {
    if approve { Decided::Approve } else { Decided::Decline }
}

/// What is signed with the decision: the reason, as canonical JSON.
fn body(reason: Option<&str>) -> Result<Option<String>, Error> {
    let Some(reason) = reason else { return Ok(None) };
    if reason.chars().count() > REASON {
        return Err(Error::malformed("too_long", "/reason", "a reason is at most 1000 characters"));
    }
    let reason = canon::to_vec(&Value::String(reason.into()))?;
    Ok(Some(format!("{{\"reason\":{}}}", String::from_utf8(reason).unwrap_or_default())))
}

/// What was shown and signed, to stand beside the record of the answer.
fn kept(ask: &Ask, answer: &Answer) -> Result<Value<'static>, Error> {
    let written = |bytes: Vec<u8>| canon::parse(&bytes).map(Value::into_static);
    let ask = written(canon::to_vec(ask)?)?;
    let answer = written(canon::to_vec(answer)?)?;
    let members = vec![("ask".into(), ask), ("answer".into(), answer)];
    Ok(Value::Object(canon::Object::new(members)?))
}
