//! People: enrolling passkeys, signing in, agent keys, the inbox, and the organization's own acts.

use crate::caller::org_stream;
use crate::once::Once;
use crate::session::Session;
use crate::{App, Caller, Error};
use approvals::people::{Act, By, Command, Reply, Revealed, State, Target};
use approvals::{Audience, MemberId, OrgId, Organization, Power, Site};
use env::Timestamp;
use keys::webauthn::{
    Assertion, Attestation, Challenge as WebChallenge, Credential, Registration, RelyingParty, Verification,
};
use ledger::StreamId;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use store::Reply as Executed;

/// A one-time link for the first owner of an organization that was just founded.
#[derive(Debug, Clone)]
pub struct FirstLink {
    pub org: OrgId,
    pub link: String,
}

/// What a browser needs to make a passkey or to use one, and the sealed challenge it brings back.
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
pub struct Ceremony {
    /// Sealed by this server; bring it back unchanged.
    pub ticket: String,
    /// 32 bytes, base64url.
    pub challenge: String,
    pub rp_id: String,
    pub rp_name: String,
    /// The person to enrol; absent when signing in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<CeremonyUser>,
    /// Credential ids: for enrolment those to exclude, for an answer those to use.
    pub credentials: Vec<String>,
}

#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
pub struct CeremonyUser {
    /// Base64url.
    pub id: String,
    pub name: String,
}

/// What an act on the organization gave. Secrets appear here once.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Done {
    Done,
    Member {
        member: String,
    },
    Link {
        member: String,
        link: String,
        #[schemars(with = "String")]
        expires_at: Timestamp,
    },
    Codes {
        codes: Vec<String>,
    },
    Vouched {
        missing: usize,
    },
    AgentKey {
        key: String,
        secret: String,
    },
}

/// A pending question in an inbox.
#[derive(Debug, Clone, Serialize)]
pub struct Waiting {
    pub ask: approvals::Ask,
    pub brief_hash: canon::Digest,
    /// Where it is answered.
    pub link: String,
    /// Whose right it is, if not the reader's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acting_for: Option<MemberId>,
}

/// Challenges already used to sign in, until they would have run out anyway.
#[derive(Debug, Default)]
pub(crate) struct Spent(Mutex<HashMap<String, Timestamp>>);

impl Spent {
    pub(crate) fn spend(&self, nonce: &str, until: Timestamp, now: Timestamp) -> Result<(), Error> {
        let mut spent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        spent.retain(|_, until| now < *until);
        match spent.insert(nonce.to_owned(), until) {
            None => Ok(()),
            Some(_) => {
                Err(Error::Conflict { code: "challenge_used", text: "this challenge was used".to_owned() })
            }
        }
    }
}

impl App {
    /// Founds each configured organization whose stream is empty. Gives the first owner's enrolment link of each.
    pub async fn found_organizations(&self) -> Result<Vec<FirstLink>, Error> {
        let mut links = Vec::new();
        for name in &self.config().organizations {
            let stream = org_stream(name)?;
            if self.journal().head(&stream).await?.seq > 0 {
                continue;
            }
            let org = OrgId(name.clone());
            let act = Act::Found { org: org.clone(), name: name.clone(), owner: "Owner".to_owned() };
            let command = Command { by: By::Server, act };
            let executed = self.runtime().execute::<Organization>(&stream, &command, None).await?;
            if let Executed::Fresh(Reply::Invite { secret, .. }) = executed.reply {
                links.push(FirstLink { link: self.enrol_link(&org, &secret), org });
            }
        }
        Ok(links)
    }

    /// A new enrolment link for a member, for whoever runs the server.
    pub async fn invite_by_server(&self, org: &OrgId, member: &MemberId) -> Result<String, Error> {
        let command = Command { by: By::Server, act: Act::Invite { member: member.clone() } };
        let executed = self.runtime().execute::<Organization>(&org_stream(&org.0)?, &command, None).await?;
        match executed.reply {
            Executed::Fresh(Reply::Invite { secret, .. }) => Ok(self.enrol_link(org, &secret)),
            _ => Err(Error::Bug("an invitation gave no link".to_owned())),
        }
    }

    /// The organization's state, for its pages.
    pub async fn organization(&self, org: &OrgId) -> Result<Arc<State>, Error> {
        Ok(self.runtime().state::<Organization>(&org_stream(&org.0)?).await?.0)
    }

    /// Begins to enrol a passkey: with a one-time link, or as a signed-in member who adds one.
    pub async fn begin_enrolment(
        &self,
        org: &OrgId,
        invite: Option<&str>,
        caller: &Caller,
    ) -> Result<Ceremony, Error> {
        let state = self.organization(org).await?;
        let member = enrolling(&state, org, invite, caller, self.now())?;
        let (challenge, ticket) = self.seals().challenge(&mut self.env(), &format!("enrol {org}/{member}"));
        let known = state.member(&member).map_err(|error| Error::of(&error))?;
        let name = known.name.clone().unwrap_or_else(|| member.0.clone());
        let mut ceremony =
            Ceremony::to_enrol(self, ticket, challenge.nonce, &format!("{org}/{member}"), name);
        ceremony.credentials =
            known.active_passkeys(self.now()).map(|passkey| passkey.credential_id.clone()).collect();
        Ok(ceremony)
    }

    /// Enrols the passkey and signs its owner in. Gives the session and its `Set-Cookie` value.
    pub async fn finish_enrolment(
        &self,
        org: &OrgId,
        invite: Option<&str>,
        caller: &Caller,
        ticket: &str,
        registration: &Registration,
    ) -> Result<(Session, String), Error> {
        let state = self.organization(org).await?;
        let member = enrolling(&state, org, invite, caller, self.now())?;
        let challenge = self.seals().open_challenge(ticket, &format!("enrol {org}/{member}"), self.now())?;
        let challenge: WebChallenge = challenge.nonce.parse().map_err(|error| passkey_refused(&error))?;
        let credential = self
            .relying_party()
            .register(&challenge, registration)
            .map_err(|error| passkey_refused(&error))?;
        let by = if invite.is_some() { By::Server } else { By::Member(member.clone()) };
        let act = Act::Enrol {
            invite: invite.map(Revealed::new),
            credential_id: credential.id.to_string(),
            key: credential.key,
        };
        let executed =
            self.runtime().execute::<Organization>(&org_stream(&org.0)?, &Command { by, act }, None).await?;
        let epoch = executed.state.member(&member).map_err(|error| Error::of(&error))?.epoch;
        Ok(self.seals().begin(&mut self.env(), org.clone(), member, epoch))
    }

    /// Begins to sign in with any enrolled passkey.
    pub fn begin_sign_in(&self) -> Ceremony {
        let (challenge, ticket) = self.seals().challenge(&mut self.env(), "sign-in");
        Ceremony {
            ticket,
            challenge: challenge.nonce,
            rp_id: self.config().rp_id(),
            rp_name: "Countersign".to_owned(),
            user: None,
            credentials: Vec::new(),
        }
    }

    /// Signs in. Gives the session and its `Set-Cookie` value.
    pub async fn finish_sign_in(
        &self,
        ticket: &str,
        assertion: &Assertion,
    ) -> Result<(Session, String), Error> {
        let now = self.now();
        let challenge = self.seals().open_challenge(ticket, "sign-in", now)?;
        let web: WebChallenge = challenge.nonce.parse().map_err(|error| passkey_refused(&error))?;
        let id = assertion.credential_id.to_string();
        for name in &self.config().organizations {
            let org = OrgId(name.clone());
            let state = self.organization(&org).await?;
            let Some((member, passkey)) = state.passkey(&id, now) else { continue };
            let credential = Credential {
                id: assertion.credential_id.clone(),
                key: passkey.key,
                count: 0,
                backed_up: false,
                attestation: Attestation::None,
            };
            self.relying_party()
                .verify(&web, &credential, assertion)
                .map_err(|error| passkey_refused(&error))?;
            self.spent().spend(&challenge.nonce, challenge.until, now)?;
            return Ok(self.seals().begin(&mut self.env(), org, member.id.clone(), member.epoch));
        }
        Err(Error::Unauthenticated)
    }

    /// Spends a printed recovery code for an enrolment link.
    pub async fn spend_code(&self, org: &OrgId, code: &str, once: Option<Once>) -> Result<Done, Error> {
        let command = Command { by: By::Server, act: Act::SpendCode { code: Revealed::new(code) } };
        let keep = once.map(|once| once.keep::<Organization>(wire_bytes));
        let executed = self.runtime().execute::<Organization>(&org_stream(&org.0)?, &command, keep).await?;
        self.reveal(org, executed.reply)
    }

    /// An act of a signed-in member on their organization. The organization decides whether they may.
    pub async fn act(&self, session: &Session, act: Act, once: Option<Once>) -> Result<Done, Error> {
        self.check_targets(session, &act).await?;
        self.check_switch(session, &act).await?;
        let command = Command { by: By::Member(session.member.clone()), act };
        let keep = once.map(|once| once.keep::<Organization>(wire_bytes));
        let executed =
            self.runtime().execute::<Organization>(&org_stream(&session.org.0)?, &command, keep).await?;
        self.reveal(&session.org, executed.reply)
    }

    /// Every question this member may answer, the most urgent first.
    pub async fn inbox(&self, session: &Session) -> Result<Vec<Waiting>, Error> {
        let person = self.person(&session.org, &session.member).await?;
        let mut streams = std::collections::BTreeSet::new();
        for key in inbox_keys(&session.org, &person) {
            let mut after = String::new();
            loop {
                let page = self.journal().find(&key, &after, 200).await?;
                let Some((last, _)) = page.last() else { break };
                after = last.clone();
                streams.extend(page.into_iter().map(|(_, stream)| stream));
            }
        }
        let mut asks = Vec::new();
        for stream in streams.into_iter().filter(|stream| stream.kind() == "room") {
            let Ok(room) = stream.id().parse::<pxp::RoomId>() else { continue };
            let (state, _) = self.room_state(&room).await?;
            asks.extend(state.asks());
        }
        asks.extend(self.evidence_asks().await?);
        let waiting = approvals::inbox(&asks, &person, self.now());
        Ok(waiting
            .into_iter()
            .map(|waiting| Waiting {
                brief_hash: waiting.ask.brief_hash(),
                link: self.ask_link(waiting.ask),
                acting_for: match waiting.right {
                    approvals::Right::Own => None,
                    approvals::Right::For(member) => Some(member),
                },
                ask: waiting.ask.clone(),
            })
            .collect())
    }

    /// The page where an ask is answered: `/asks/<room>/<ask>`, or `/asks/evidence/<ask>`.
    pub fn ask_link(&self, ask: &approvals::Ask) -> String {
        if ask.protocol == "pcm" {
            return self.config().link(&format!("/asks/evidence/{}", ask.id));
        }
        let stream = ask.stream.split_once('/').map_or(ask.stream.as_str(), |(_, id)| id);
        self.config().link(&format!("/asks/{stream}/{}", ask.id))
    }

    /// The site for which passkeys of this server sign.
    pub fn site(&self) -> Site {
        Site { id: self.config().rp_id(), origins: self.config().page_origins() }
    }

    pub(crate) fn relying_party(&self) -> RelyingParty {
        let Site { id, origins } = self.site();
        RelyingParty { id, origins, verification: Verification::Required }
    }

    /// An organization stops what concerns it, and learns of nothing else whether it is there.
    async fn check_switch(&self, session: &Session, act: &Act) -> Result<(), Error> {
        let Act::Pause { target: Target::Stream { stream }, .. } = act else { return Ok(()) };
        let Ok(stream) = stream.parse::<StreamId>() else { return Ok(()) };
        if self.concerned(&stream).await?.contains(&session.org) { Ok(()) } else { Err(Error::Missing) }
    }

    fn enrol_link(&self, org: &OrgId, secret: &Revealed) -> String {
        self.config().link(&format!("/enrol/{org}#i={}", secret.expose()))
    }

    fn reveal(&self, org: &OrgId, reply: Executed<Reply>) -> Result<Done, Error> {
        let wire = match reply {
            Executed::Fresh(reply) => Wire::from(&reply),
            Executed::Repeated(bytes) => canon::from_slice(&bytes)?,
        };
        Ok(match wire {
            Wire::Done => Done::Done,
            Wire::Member { member } => Done::Member { member },
            Wire::Invite { member, secret, expires_at } => {
                Done::Link { member, link: self.enrol_link(org, &Revealed::new(secret)), expires_at }
            }
            Wire::Codes { codes } => Done::Codes { codes },
            Wire::Vouched { missing } => Done::Vouched { missing },
            Wire::AgentKey { key, secret } => Done::AgentKey { key, secret },
        })
    }
}

impl Ceremony {
    /// Enrols `name`; `user` is hashed, so that an authenticator learns no id of ours.
    pub(crate) fn to_enrol(app: &App, ticket: String, challenge: String, user: &str, name: String) -> Self {
        let id = canon::Digest::of(user.as_bytes()).base64url();
        Self {
            ticket,
            challenge,
            rp_id: app.config().rp_id(),
            rp_name: "Countersign".to_owned(),
            user: Some(CeremonyUser { id, name }),
            credentials: Vec::new(),
        }
    }
}

/// The pointers under which a person's questions are found: their own, their organization's if they may answer for it,
/// and those of whom they act for.
fn inbox_keys(org: &OrgId, person: &approvals::Person) -> Vec<String> {
    let approvals::Person::Member { member, roles, acts_for, .. } = person else { return Vec::new() };
    let mut keys = vec![format!("inbox/{org}/{member}")];
    keys.extend(acts_for.iter().map(|(other, _)| format!("inbox/{org}/{other}")));
    if person.right(&Audience::Approvers { org: org.clone() }).is_some()
        || approvals::may(roles, Power::Answer)
    {
        keys.push(format!("inbox/{org}/approvers"));
    }
    keys
}

fn enrolling(
    state: &State,
    org: &OrgId,
    invite: Option<&str>,
    caller: &Caller,
    now: Timestamp,
) -> Result<MemberId, Error> {
    match (invite, caller) {
        (Some(secret), _) => {
            state.invite(secret, now).map(|invite| invite.member.clone()).map_err(|error| Error::of(&error))
        }
        (None, Caller::Member { session, .. }) if session.org == *org => Ok(session.member.clone()),
        (None, _) => Err(Error::Unauthenticated),
    }
}

fn passkey_refused(error: &keys::Error) -> Error {
    Error::malformed(error.code.as_str(), "/credential", error.detail.clone())
}

/// A reply as it is kept with an idempotency key.
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Wire {
    Done,
    Member { member: String },
    Invite { member: String, secret: String, expires_at: Timestamp },
    Codes { codes: Vec<String> },
    Vouched { missing: usize },
    AgentKey { key: String, secret: String },
}

impl From<&Reply> for Wire {
    fn from(reply: &Reply) -> Self {
        match reply {
            Reply::Done => Self::Done,
            Reply::Member { member } => Self::Member { member: member.0.clone() },
            Reply::Invite { member, secret, expires_at } => Self::Invite {
                member: member.0.clone(),
                secret: secret.expose().to_owned(),
                expires_at: *expires_at,
            },
            Reply::Codes { codes } => {
                Self::Codes { codes: codes.iter().map(|code| code.expose().to_owned()).collect() }
            }
            Reply::Vouched { missing } => Self::Vouched { missing: *missing },
            Reply::AgentKey { key, secret } => {
                Self::AgentKey { key: key.clone(), secret: secret.expose().to_owned() }
            }
        }
    }
}

fn wire_bytes(reply: &Reply) -> Vec<u8> {
    canon::to_vec(&Wire::from(reply)).unwrap_or_default()
}
