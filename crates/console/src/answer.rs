//! What waits for a person, and their answers. One form serves both ways to answer: a script puts a passkey's signature
//! into its hidden fields; without scripts the session or the personal link answers, where the room takes that.

use crate::home::{Question, questions};
use crate::page::{Fault, Shell, done, html};
use crate::room::{Claim, claim as claim_line};
use crate::visitor::{Fields, Posted, Visitor, room_id};
use crate::words;
use approvals::{Ask, EvidenceKind, Role};
use askama::Template;
use axum::Json;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use pxp::{AnswerInput, ClaimId, QuestionId, RoomId, Ruling};
use server::{Caller, Error, EvidenceInput, Matter, Prepared};

#[derive(Template)]
#[template(path = "inbox.html")]
struct Inbox {
    shell: Shell,
    questions: Vec<Question>,
    doors: Vec<Door>,
}

/// A seat that an agent opened, with the link by which its person comes in.
#[derive(Debug)]
struct Door {
    name: String,
    topic: String,
    seat: String,
    link: String,
}

pub(crate) async fn inbox(visitor: Visitor) -> Result<Response, Fault> {
    let member = visitor.member()?;
    let waiting = visitor.app.inbox(&member.session).await?;
    // Whoever runs the server hands these on. With several organizations no one owner speaks for the server.
    let runs = member.roles.contains(&Role::Owner) && visitor.app.config().organizations.len() == 1;
    let doors = if runs { visitor.app.open_doors().await? } else { Vec::new() };
    let doors = doors
        .into_iter()
        .map(|door| Door {
            name: words::shown(&door.name),
            topic: words::shown(&door.topic),
            seat: door.seat.to_string(),
            link: door.link,
        })
        .collect();
    let questions = questions(waiting);
    Ok(html(&Inbox { shell: visitor.shell("Waiting for you", None).await?, questions, doors }))
}

#[derive(Template)]
#[template(path = "ask.html")]
struct AskPage {
    shell: Shell,
    room: String,
    brief: Shown,
    /// A question of one's own agent; else the confirmation of an answer it passed on.
    question: bool,
    disputed: Vec<Claim>,
    sign: Sign,
    asked: String,
    until: Option<String>,
    action: String,
}

#[derive(Template)]
#[template(path = "claim.html")]
struct ClaimPage {
    shell: Shell,
    room: String,
    claim: Claim,
    brief: Shown,
    sign: Sign,
    action: String,
    person: bool,
    own: bool,
    settled: bool,
}

/// The ask's brief, exactly as it is hashed.
#[derive(Debug)]
pub(crate) struct Shown {
    pub title: String,
    pub question: String,
    pub warnings: Vec<String>,
    pub sections: Vec<Section>,
    pub hash: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct Section {
    pub heading: String,
    pub items: Vec<Item>,
}

#[derive(Debug)]
pub(crate) struct Item {
    pub label: Option<String>,
    /// The label of a clause in plain words; not part of what is hashed.
    pub plain: Option<String>,
    pub text: String,
    pub class: &'static str,
    pub standing: &'static str,
}

/// How this person may answer.
#[derive(Debug)]
pub(crate) struct Sign {
    /// They have a passkey that this ask takes.
    pub passkey: bool,
    /// Their session or personal link is enough.
    pub session: bool,
}

pub(crate) async fn ask(
    Path((room, ask)): Path<(String, String)>,
    visitor: Visitor,
) -> Result<Response, Fault> {
    let id = room_id(&room)?;
    let caller = visitor.stand(&id).await?;
    let ask = open_ask(&visitor, &caller, &id, &ask).await?;
    let view = visitor.app.view_room(&caller, &id).await?;
    let question = view.room.pending_question.as_ref();
    let named = question.map(|question| question.claims.clone()).unwrap_or_default();
    let disputed = view.room.claims.iter().filter(|claim| named.contains(&claim.id)).map(claim_line);
    Ok(html(&AskPage {
        question: !ask.id.ends_with(CONFIRM),
        disputed: disputed.collect(),
        sign: sign(&visitor, &caller, &ask).await?,
        asked: words::when(ask.asked_at),
        until: ask.expires_at.map(words::when),
        action: format!("/asks/{id}/{}", ask.id),
        brief: Shown::of(&ask),
        shell: visitor.shell(&ask.brief.title, Some(&id)).await?,
        room,
    }))
}

/// The statement to sign for what the form says now.
pub(crate) async fn prepare(
    Path((room, ask)): Path<(String, String)>,
    posted: Posted,
) -> Result<Json<Prepared>, Refused> {
    let id: RoomId = room.parse().map_err(|_| Error::Missing)?;
    let caller = posted.visitor.stand(&id).await.map_err(|_| Error::Unauthenticated)?;
    let matter = matter(&ask, &posted.fields)?;
    Ok(Json(posted.visitor.app.prepare(&caller, &id, &matter).await?))
}

pub(crate) async fn answer(
    Path((room, ask)): Path<(String, String)>,
    posted: Posted,
) -> Result<Response, Fault> {
    let id = room_id(&room)?;
    let back = format!("/asks/{id}/{ask}");
    let matter = matter(&ask, &posted.fields).map_err(|error| Fault::from(error).back_to(back.clone()))?;
    let said = match &matter {
        Matter::Relayed { accept: true, .. } => "confirmed",
        Matter::Relayed { accept: false, .. } => "disowned",
        _ => "answered",
    };
    decide(&posted, &id, matter).await.map_err(|fault| fault.back_to(back))?;
    Ok(done(&format!("/room/{id}"), said))
}

pub(crate) async fn claim(
    Path((room, claim)): Path<(String, String)>,
    visitor: Visitor,
) -> Result<Response, Fault> {
    let id = room_id(&room)?;
    let claim_id = claim_id(&claim)?;
    let caller = visitor.stand(&id).await?;
    let view = visitor.app.view_room(&caller, &id).await?;
    let found = view.room.claims.iter().find(|claim| claim.id == claim_id).ok_or(Error::Missing)?;
    let own = view.room.you.as_ref().map(|you| you.seat.seat);
    let (state, _) = visitor.app.room_state(&id).await?;
    let ask = state.claim_ask(own.unwrap_or(found.seat), &claim_id).map_err(|error| Error::of(&error))?;
    let person = crate::entry::is_person(&caller) && own.is_some();
    let sign =
        if person { sign(&visitor, &caller, &ask).await? } else { Sign { passkey: false, session: false } };
    Ok(html(&ClaimPage {
        claim: claim_line(found),
        own: own == Some(found.seat),
        settled: found.denied || found.verified,
        person,
        sign,
        action: format!("/room/{id}/claims/{claim_id}"),
        brief: Shown::of(&ask),
        shell: visitor.shell(&format!("Claim {claim_id}"), Some(&id)).await?,
        room,
    }))
}

pub(crate) async fn prepare_claim(
    Path((room, claim)): Path<(String, String)>,
    posted: Posted,
) -> Result<Json<Prepared>, Refused> {
    let id: RoomId = room.parse().map_err(|_| Error::Missing)?;
    let caller = posted.visitor.stand(&id).await.map_err(|_| Error::Unauthenticated)?;
    let matter = claim_matter(&claim, &posted.fields)?;
    Ok(Json(posted.visitor.app.prepare(&caller, &id, &matter).await?))
}

pub(crate) async fn answer_claim(
    Path((room, claim)): Path<(String, String)>,
    posted: Posted,
) -> Result<Response, Fault> {
    let id = room_id(&room)?;
    let back = format!("/room/{id}/claims/{claim}");
    let matter =
        claim_matter(&claim, &posted.fields).map_err(|error| Fault::from(error).back_to(back.clone()))?;
    decide(&posted, &id, matter).await.map_err(|fault| fault.back_to(back))?;
    Ok(done(&format!("/room/{id}"), "claim"))
}

/// A refusal for a script: a problem document.
#[derive(Debug)]
pub(crate) struct Refused(Error);

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        self.0.into_response()
    }
}

/// How the ask of a confirmation is named after its question.
const CONFIRM: &str = ".confirm";

async fn decide(posted: &Posted, room: &RoomId, matter: Matter) -> Result<(), Fault> {
    let Posted { visitor, fields } = posted;
    let caller = visitor.stand(room).await?;
    let (nonce, evidence) = signed(visitor, fields);
    visitor.app.decide(&caller, room, matter, nonce, evidence, None).await?;
    Ok(())
}

/// What a form was signed with: a passkey, or the session alone.
pub(crate) fn signed(visitor: &Visitor, fields: &Fields) -> (String, EvidenceInput) {
    let text = |name: &str| fields.one(name).to_owned();
    if fields.one("signature").is_empty() {
        return (visitor.app.env().secret(), EvidenceInput::Session {});
    }
    let evidence = EvidenceInput::Passkey {
        credential_id: text("credential_id"),
        authenticator_data: text("authenticator_data"),
        client_data_json: text("client_data_json"),
        signature: text("signature"),
    };
    (text("nonce"), evidence)
}

async fn open_ask(visitor: &Visitor, caller: &Caller, room: &RoomId, ask: &str) -> Result<Ask, Fault> {
    let asks = visitor.app.asks(caller, room).await?;
    let found = asks.into_iter().find(|open| open.id == ask);
    found.ok_or_else(|| {
        let error = Error::Conflict {
            code: "question_closed",
            text: "this question is no longer open: it was answered, or its time ran out".to_owned(),
        };
        Fault::from(error).back_to(format!("/room/{room}"))
    })
}

pub(crate) async fn sign(visitor: &Visitor, caller: &Caller, ask: &Ask) -> Result<Sign, Fault> {
    let takes = |kind| ask.accepts.kinds.contains(&kind);
    let now = visitor.app.now();
    let mut session = takes(EvidenceKind::Session);
    let has = match caller {
        Caller::Member { session, .. } => {
            let org = visitor.app.organization(&session.org).await?;
            let member = org.member(&session.member).map_err(|error| Error::of(&error))?;
            member.active_passkeys(now).next().is_some()
        }
        Caller::Principal { room, seat } => {
            let (state, _) = visitor.app.room_state(room).await?;
            let principal = state.seat(*seat).map(|seat| &seat.principal);
            session = session && !principal.is_some_and(|principal| principal.has_key());
            principal.is_some_and(|principal| principal.passkey.is_some())
        }
        _ => false,
    };
    Ok(Sign { passkey: has && takes(EvidenceKind::Passkey), session })
}

/// What a form answers.
fn matter(ask: &str, fields: &Fields) -> Result<Matter, Error> {
    if let Some(question) = ask.strip_suffix(CONFIRM) {
        return Ok(Matter::Relayed { question: question_id(question)?, accept: accepts(fields)? });
    }
    let ruling = match fields.one("ruling") {
        "allow" => Ruling::Allow,
        "deny" => Ruling::Deny,
        "amend" => Ruling::Amend,
        _ => return Err(Error::malformed("bad_field", "/ruling", "choose one of the three answers")),
    };
    let clears = if ruling == Ruling::Allow {
        let ids: Result<Vec<ClaimId>, _> = fields.all("clears").map(str::parse).collect();
        ids.map_err(|_| Error::malformed("bad_field", "/clears", "no such claim"))?
    } else {
        Vec::new()
    };
    Ok(Matter::Question(AnswerInput {
        question_id: question_id(ask)?,
        ruling,
        clears,
        text: fields.one("text").to_owned(),
        public_summary: fields.some("public_summary"),
        limits: Vec::new(),
    }))
}

fn claim_matter(claim: &str, fields: &Fields) -> Result<Matter, Error> {
    let claim = claim.parse().map_err(|_| Error::Missing)?;
    Ok(Matter::Claim { claim, accept: accepts(fields)? })
}

pub(crate) fn accepts(fields: &Fields) -> Result<bool, Error> {
    match fields.one("accept") {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err(Error::malformed("bad_field", "/accept", "choose yes or no")),
    }
}

fn question_id(text: &str) -> Result<QuestionId, Error> {
    text.parse().map_err(|_| Error::Missing)
}

pub(crate) fn claim_id(text: &str) -> Result<ClaimId, Fault> {
    text.parse().map_err(|_| Error::Missing.into())
}

impl Shown {
    /// The texts are hashed as they are shown, so nothing is done to them here.
    pub fn of(ask: &Ask) -> Self {
        let items = |section: &approvals::Section| {
            let item = |item: &approvals::Item| {
                let (class, standing) = words::standing(item.standing);
                let plain = item
                    .label
                    .as_ref()
                    .filter(|label| label.ends_with(']'))
                    .map(|label| words::clause(label));
                Item { label: item.label.clone(), plain, text: item.text.clone(), class, standing }
            };
            section.items.iter().map(item).collect()
        };
        Self {
            title: ask.brief.title.clone(),
            question: ask.brief.question.clone(),
            warnings: ask.brief.warnings.clone(),
            sections: ask
                .brief
                .sections
                .iter()
                .map(|section| Section { heading: section.heading.clone(), items: items(section) })
                .collect(),
            hash: words::groups(&ask.brief_hash()),
        }
    }
}
