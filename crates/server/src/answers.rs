//! What a room's people decide: answers, confirmations, claims they vouch for, and how they enrol. Evidence is verified
//! here with crate `approvals`; the room is then told who answered and how that is known.

use crate::once::Once;
use crate::people::Ceremony;
use crate::{App, Caller, Error};
use approvals::{
    Answer, Ask, Audience, Credentials, Decided, Evidence, Outcome, Person, PlainKey, Statement,
};
use keys::webauthn::{Challenge as WebChallenge, Registration};
use pxp::command::{self, Standing};
use pxp::state::Question;
use pxp::{
    Actor, AnswerInput, By, ClaimId, Command, Proof, QuestionId, Refusal, Reply, RoomId, Ruling, SeatId,
    State,
};
use serde::{Deserialize, Serialize};

/// What a person is about to sign, byte for byte, and what signs it.
#[derive(Debug, Clone, Serialize)]
pub struct Prepared {
    pub ask: Ask,
    pub decision: Decided,
    /// Canonical JSON of the answer: `answer_hash` of the statement covers it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    pub nonce: String,
    pub statement: Statement,
    /// SHA-256 of the statement's canonical bytes: a passkey's challenge (base64url), a key's message.
    pub challenge: String,
    pub rp_id: String,
    /// The passkeys that may sign.
    pub credentials: Vec<String>,
}

/// How the sender shows that it is the person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum EvidenceInput {
    Passkey {
        credential_id: String,
        authenticator_data: String,
        client_data_json: String,
        signature: String,
    },
    Ed25519 {
        thumbprint: String,
        signature: String,
    },
    /// The session or link the request itself comes with, and nothing more.
    Session {},
}

/// What became of an answer.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AnswerOutcome {
    pub question_id: String,
    /// `direct`, `relayed` or `confirmed`; `relayed` without a `card_hash` waits for the person.
    pub standing: String,
    /// The card with the answer as an amendment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub card_hash: Option<String>,
}

/// What a person answers: a question, a relayed answer, a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Matter {
    Question(AnswerInput),
    Relayed { question: QuestionId, accept: bool },
    Claim { claim: ClaimId, accept: bool },
}

/// A person who takes a seat's principal link: by a passkey, a key, or as the member they are signed in as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Enrolment {
    Member,
    Passkey {
        ticket: String,
        registration: Registration,
    },
    Key(keys::PublicKey),
    /// The link alone becomes a session for this room.
    Link,
}

impl App {
    /// What waits for this person in the room now.
    pub async fn asks(&self, caller: &Caller, room: &RoomId) -> Result<Vec<Ask>, Error> {
        let at = self.standpoint(caller, room, None).await?;
        let Actor::Principal { seat, .. } = &at.actor else { return Err(only_the_person()) };
        let (state, _) = self.room_state(room).await?;
        let audience = state.seat(*seat).and_then(|seat| seat.principal.audience.clone());
        let mut asks = state.asks();
        asks.retain(|ask| Some(&ask.audience) == audience.as_ref());
        Ok(asks)
    }

    /// The statement to sign for an answer, with a fresh nonce.
    pub async fn prepare(&self, caller: &Caller, room: &RoomId, matter: &Matter) -> Result<Prepared, Error> {
        let (state, seat, credentials) = self.person_in(caller, room).await?;
        let (ask, decision, body) = asked(&state, seat, matter)?;
        let nonce = self.env().secret();
        let statement = ask.statement(decision, body.as_deref(), &nonce);
        let now = self.now();
        Ok(Prepared {
            decision,
            nonce,
            challenge: statement.hash().base64url(),
            rp_id: self.config().rp_id(),
            credentials: credentials
                .passkeys
                .iter()
                .filter(|passkey| passkey.is_active(now))
                .map(|passkey| passkey.credential_id.clone())
                .collect(),
            statement,
            body,
            ask,
        })
    }

    /// A person's own answer, with their own evidence.
    pub async fn decide(
        &self,
        caller: &Caller,
        room: &RoomId,
        matter: Matter,
        nonce: String,
        evidence: EvidenceInput,
        once: Option<Once>,
    ) -> Result<AnswerOutcome, Error> {
        let at = self.standpoint(caller, room, None).await?;
        let (state, seat, credentials) = self.person_in(caller, room).await?;
        let (ask, decision, body) = asked(&state, seat, &matter)?;
        let Actor::Principal { by, .. } = &at.actor else { return Err(only_the_person()) };
        let evidence = evidence.spelled(&credentials)?;
        let answer = Answer {
            ask_id: ask.id.clone(),
            decision,
            body,
            nonce: nonce.clone(),
            by: credentials.person.member().cloned(),
            evidence: evidence.clone(),
        };
        let outcome =
            approvals::check(&ask, &answer, &credentials, self.now()).map_err(|error| Error::of(&error))?;
        let Outcome::Settled(answered) = outcome else {
            return Err(Error::Bug("a person's own answer was held".to_owned()));
        };
        let proof = Proof {
            by: by.clone(),
            nonce,
            statement: Some(answered.statement_hash),
            key: key_of(&evidence, &credentials),
            site: matches!(evidence, Evidence::Passkey { .. }).then(|| self.site()),
            evidence,
        };
        self.settle(room, at.actor, seat, matter, proof, once).await
    }

    /// An answer that the seat's agent passes on. The room's policy says what it is worth.
    pub async fn relay(
        &self,
        caller: &Caller,
        room: &RoomId,
        answer: AnswerInput,
        once: Option<Once>,
    ) -> Result<AnswerOutcome, Error> {
        let at = self.standpoint(caller, room, None).await?;
        let Actor::Seat { seat } = at.actor else { return Err(only_the_person()) };
        let (state, _) = self.room_state(room).await?;
        let of = state.seat(seat).ok_or(Error::Missing)?;
        let by = match &of.principal.audience {
            Some(Audience::Member { org, member }) => {
                By::Member { org: org.clone(), member: member.clone(), acting_for: None }
            }
            _ => By::Holder,
        };
        let agent = of.agent.clone().unwrap_or_else(|| format!("seat {seat}"));
        let proof = Proof {
            by,
            nonce: self.env().secret(),
            evidence: Evidence::Relayed { agent },
            statement: None,
            key: None,
            site: None,
        };
        self.settle(room, at.actor, seat, Matter::Question(answer), proof, once).await
    }

    /// Begins to enrol a passkey with a seat's principal link.
    pub async fn begin_principal(&self, caller: &Caller, room: &RoomId) -> Result<Ceremony, Error> {
        let at = self.standpoint(caller, room, None).await?;
        let Actor::Link { seat } = at.actor else { return Err(only_the_link()) };
        let (challenge, ticket) =
            self.seals().challenge(&mut self.env(), &format!("principal {room}/{seat}"));
        let (state, _) = self.room_state(room).await?;
        let name = state.seat(seat).map(|seat| seat.name.clone()).unwrap_or_default();
        Ok(Ceremony::to_enrol(self, ticket, challenge.nonce, &format!("{room}/{seat}"), name))
    }

    /// Burns a seat's principal link. Gives the holder's own secret for this room, unless a member enrolled.
    pub async fn enrol_principal(
        &self,
        caller: &Caller,
        signed_in: Option<&Caller>,
        room: &RoomId,
        enrolment: Enrolment,
        once: Option<Once>,
    ) -> Result<Option<String>, Error> {
        if let Some(reply) = Once::repeated(once.as_ref())? {
            return enrolled(reply);
        }
        let at = self.standpoint(caller, room, None).await?;
        let Actor::Link { seat } = at.actor else { return Err(only_the_link()) };
        let mut enrol = command::Enrol { actor: at.actor, seat, as_member: None, passkey: None, key: None };
        match enrolment {
            Enrolment::Link => {}
            Enrolment::Key(key) => enrol.key = Some(key),
            Enrolment::Member => match signed_in {
                Some(Caller::Member { session, .. }) => {
                    enrol.as_member =
                        Some(Audience::Member { org: session.org.clone(), member: session.member.clone() });
                }
                _ => return Err(Error::Unauthenticated),
            },
            Enrolment::Passkey { ticket, registration } => {
                let purpose = format!("principal {room}/{seat}");
                let challenge = self.seals().open_challenge(&ticket, &purpose, self.now())?;
                let refused =
                    |error: keys::Error| Error::malformed(error.code.as_str(), "/registration", error.detail);
                let challenge: WebChallenge = challenge.nonce.parse().map_err(refused)?;
                let credential = self.relying_party().register(&challenge, &registration).map_err(refused)?;
                enrol.passkey = Some(approvals::Passkey {
                    credential_id: credential.id.to_string(),
                    key: credential.key,
                    since: self.now(),
                    until: None,
                });
            }
        }
        enrolled(self.execute(room, Command::Enrol(enrol), once).await?)
    }

    async fn settle(
        &self,
        room: &RoomId,
        actor: Actor,
        seat: SeatId,
        matter: Matter,
        proof: Proof,
        once: Option<Once>,
    ) -> Result<AnswerOutcome, Error> {
        let (question, command) = match matter {
            Matter::Question(answer) => (
                answer.question_id.to_string(),
                Command::Answer(command::Answer { actor, seat, answer, proof }),
            ),
            Matter::Relayed { question, accept } => (
                question.to_string(),
                Command::Confirm(command::Confirm { actor, seat, question, accept, proof }),
            ),
            Matter::Claim { claim, accept } => (
                claim.to_string(),
                Command::ConfirmClaim(command::ConfirmClaim { actor, seat, claim, accept, proof }),
            ),
        };
        Ok(match self.execute(room, command, once).await? {
            Reply::Answered { question_id, standing, card_hash } => AnswerOutcome {
                question_id: question_id.to_string(),
                standing: spelled(standing).to_owned(),
                card_hash: card_hash.map(|hash| hash.to_string()),
            },
            _ => AnswerOutcome { question_id: question, standing: "direct".to_owned(), card_hash: None },
        })
    }

    /// The state, the seat, and everything by which this caller could prove to be the seat's person.
    async fn person_in(
        &self,
        caller: &Caller,
        room: &RoomId,
    ) -> Result<(std::sync::Arc<State>, SeatId, Credentials), Error> {
        let at = self.standpoint(caller, room, None).await?;
        let Actor::Principal { seat, .. } = at.actor else { return Err(only_the_person()) };
        let (state, _) = self.room_state(room).await?;
        let site = Some(self.site());
        let credentials = match caller {
            Caller::Member { session, .. } => {
                let org = self.organization(&session.org).await?;
                let known =
                    org.credentials(&session.member, site, self.now()).map_err(|error| Error::of(&error))?;
                Credentials { session: Some(session.name.clone()), ..known }
            }
            _ => {
                let principal = &state.seat(seat).ok_or(Error::Missing)?.principal;
                let Some(Audience::Holder { stream, role }) = principal.audience.clone() else {
                    return Err(only_the_person());
                };
                let since = state.room.as_ref().map_or(env::Timestamp::EPOCH, |opened| opened.at);
                Credentials {
                    passkeys: principal.passkey.iter().cloned().collect(),
                    plain_keys: principal
                        .key
                        .iter()
                        .map(|key| PlainKey { key: *key, since, until: None })
                        .collect(),
                    site,
                    session: (!principal.has_key()).then(|| format!("{room}.{seat}")),
                    ..Credentials::of(Person::Holder { stream, role })
                }
            }
        };
        Ok((state, seat, credentials))
    }
}

impl EvidenceInput {
    pub(crate) fn spelled(self, credentials: &Credentials) -> Result<Evidence, Error> {
        Ok(match self {
            Self::Passkey { credential_id, authenticator_data, client_data_json, signature } => {
                Evidence::Passkey { credential_id, authenticator_data, client_data_json, signature }
            }
            Self::Ed25519 { thumbprint, signature } => Evidence::Ed25519 { thumbprint, signature },
            Self::Session {} => {
                let weaker = || Error::of(&Refusal::EvidenceNotAccepted);
                Evidence::Session { session: credentials.session.clone().ok_or_else(weaker)? }
            }
        })
    }
}

/// The ask a matter answers, the decision it is, and the body that is signed with it.
fn asked(state: &State, seat: SeatId, matter: &Matter) -> Result<(Ask, Decided, Option<String>), Error> {
    let refuse = |refusal: Refusal| Error::of(&refusal);
    let decided = |accept: bool| if accept { Decided::Approve } else { Decided::Decline };
    match matter {
        Matter::Claim { claim, accept } => {
            let ask = state.claim_ask(seat, claim).map_err(refuse)?;
            Ok((ask, decided(*accept), None))
        }
        Matter::Relayed { question, accept } => {
            let ask = state.confirm_ask(pending(state, seat, question)?);
            let ask = ask.ok_or_else(|| refuse(Refusal::NothingToConfirm))?;
            Ok((ask, decided(*accept), None))
        }
        Matter::Question(answer) => {
            let ask = state.question_ask(pending(state, seat, &answer.question_id)?);
            let ask = ask.ok_or_else(|| refuse(Refusal::QuestionAnswered))?;
            let body = answer.body().map_err(refuse)?;
            Ok((ask, decided(answer.ruling != Ruling::Deny), Some(body)))
        }
    }
}

/// The question is this seat's and not answered yet.
fn pending<'a>(state: &'a State, seat: SeatId, question: &QuestionId) -> Result<&'a Question, Error> {
    let asked = state.question(question).ok_or_else(|| Error::of(&Refusal::QuestionUnknown))?;
    if asked.seat != seat {
        return Err(Error::of(&Refusal::WrongPerson));
    }
    match state.pending() {
        Some(waiting) if waiting.id == *question => Ok(waiting),
        _ => Err(Error::of(&Refusal::QuestionAnswered)),
    }
}

fn key_of(evidence: &Evidence, credentials: &Credentials) -> Option<keys::PublicKey> {
    match evidence {
        Evidence::Passkey { credential_id, .. } => credentials
            .passkeys
            .iter()
            .rev()
            .find(|passkey| passkey.credential_id == *credential_id)
            .map(|passkey| passkey.key),
        Evidence::Ed25519 { thumbprint, .. } => credentials
            .plain_keys
            .iter()
            .rev()
            .find(|plain| plain.key.thumbprint().to_string() == *thumbprint)
            .map(|plain| plain.key),
        Evidence::Wallet { .. } | Evidence::Session { .. } | Evidence::Relayed { .. } => None,
    }
}

const fn spelled(standing: Standing) -> &'static str {
    match standing {
        Standing::Direct => "direct",
        Standing::Relayed => "relayed",
        Standing::Confirmed => "confirmed",
    }
}

fn only_the_person() -> Error {
    Error::Forbidden { code: "not_permitted", text: "only the seat's own person may do that".to_owned() }
}

fn enrolled(reply: Reply) -> Result<Option<String>, Error> {
    match reply {
        Reply::Enrolled { principal_secret, .. } => {
            Ok(principal_secret.map(|secret| secret.expose().to_owned()))
        }
        _ => Err(Error::Bug("an enrolment gave another reply".to_owned())),
    }
}

fn only_the_link() -> Error {
    Error::Forbidden {
        code: "not_permitted",
        text: "this takes the seat's one-time principal link".to_owned(),
    }
}
