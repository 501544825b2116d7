//! Opening a room, and the live room.

use crate::entry::{is_person, person_of};
use crate::page::{Fault, Secret, Shell, html, once, with_status};
use crate::visitor::{Posted, Visitor, room_id};
use crate::words;
use askama::Template;
use axum::extract::Path;
use axum::response::Response;
use canon::Digest;
use http::StatusCode;
use pxp::RoomId;
use pxp::state::OfferStanding;
use pxp::view::{self, ClaimView, EnvelopeView, OfferView, SeatView};
use server::{Caller, Error, Once, OpenRoom, OtherSeat};

#[derive(Template)]
#[template(path = "new_room.html")]
struct NewRoom {
    shell: Shell,
    key: String,
    name: String,
    member: bool,
    proxies: Vec<String>,
    max_turns: u32,
    hold: bool,
}

pub(crate) async fn new(visitor: Visitor) -> Result<Response, Fault> {
    let app = &visitor.app;
    if app.config().sign_in && visitor.member.is_none() {
        return Err(Error::Unauthenticated.into());
    }
    Ok(html(&NewRoom {
        key: app.env().id(24),
        name: visitor.member.as_ref().map(|member| member.name.clone()).unwrap_or_default(),
        member: visitor.member.is_some(),
        proxies: app.config().proxies.keys().cloned().collect(),
        max_turns: app.config().rooms.max_turns,
        hold: app.config().rooms.hold_relayed,
        shell: visitor.shell("Open a room", None).await?,
    }))
}

/// Opens the room. The same form sent again gives the same room and links.
pub(crate) async fn open(posted: Posted) -> Result<Response, Fault> {
    let Posted { visitor, fields } = posted;
    let others: Vec<OtherSeat> = ["other", "other2", "other3"]
        .iter()
        .filter_map(|name| {
            let proxy = fields.some(&format!("{name}_proxy"));
            Some(OtherSeat { name: fields.some(name)?, proxy })
        })
        .collect();
    let max_turns = fields.some("max_turns").map(|_| fields.parse("max_turns")).transpose();
    let room = OpenRoom {
        topic: fields.one("topic").to_owned(),
        name: fields.one("name").to_owned(),
        agent: fields.some("agent"),
        key: None,
        others,
        for_organization: fields.one("for_organization") == "yes",
        max_turns: max_turns.map_err(|error| Fault::from(error).back_to("/rooms/new"))?,
        hold_relayed: Some(fields.one("hold") == "yes"),
    };
    let caller = visitor.member.as_ref().map_or(Caller::Nobody, |member| member.caller());
    let scope = Digest::of_parts(&[b"open-form\0", visitor.csrf(None).as_bytes()]).to_string();
    let once_key = Once::new(scope, fields.one("key").to_owned(), fields.digest());
    let keyed = Some(once_key).filter(|once| once.key.len() >= 16);
    let opened = visitor
        .app
        .open_room(&caller, visitor.address, room, keyed)
        .await
        .map_err(|error| Fault::from(error).back_to("/rooms/new"))?;
    let id = room_id(&opened.room_id)?;
    let mut secrets = vec![Secret {
        label: "For your agent",
        note: "Give this link to the agent that will speak for you. It is the agent's key to seat A.".into(),
        value: opened.your_link,
    }];
    for invite in &opened.invites {
        secrets.push(Secret {
            label: "Invitation",
            note: format!("Send this to the other side. It takes seat {} and works once.", invite.seat),
            value: invite.link.clone(),
        });
    }
    let enter = opened.principal_link.as_deref().and_then(|link| person_of(&visitor, &id, link));
    if let Some(link) = opened.principal_link {
        secrets.push(Secret {
            label: "For you, the person",
            note: "With this link you answer your agent's questions. It works once; do not give it to the agent."
                .into(),
            value: link,
        });
    }
    let shell = visitor.shell("Your room is open", None).await?;
    let lead =
        "Keep these links now: they are shown once. Each is a key, so send it only to the one it is for.";
    let next = match enter {
        Some(_) => (format!("/room/{id}"), "Go to the room"),
        None => (format!("/room/{id}/card"), "Write your card"),
    };
    Ok(once(shell, lead, secrets, enter, next))
}

#[derive(Template)]
#[template(path = "door.html")]
struct Door {
    shell: Shell,
    room: String,
    /// This browser has brought a credential that is none (any more).
    signed_in: bool,
}

#[derive(Template)]
#[template(path = "invite.html")]
struct Invited {
    shell: Shell,
    room: String,
    topic: String,
    opener: String,
    seat: String,
    link: Option<String>,
    mcp: String,
}

#[derive(Template)]
#[template(path = "become.html")]
struct Become {
    shell: Shell,
    room: String,
    topic: String,
    seat: String,
    name: String,
    member: bool,
}

#[derive(Template)]
#[template(path = "room.html")]
struct RoomPage {
    shell: Shell,
    room: String,
    topic: String,
    /// What to look twice at.
    odd: Vec<String>,
    status: String,
    word: &'static str,
    sentence: &'static str,
    reason: Option<String>,
    next: String,
    since: u64,
    turns: String,
    deadline: Option<String>,
    /// The question that waits for the person who looks.
    ask: Option<Call>,
    /// As what the visitor looks.
    standing: String,
    seated: bool,
    reads: bool,
    card_sealed: bool,
    drafting: bool,
    ended: bool,
    brief: bool,
    seats: Vec<Seat>,
    offers: Vec<Offer>,
    lines: Vec<Line>,
    claims: Vec<Claim>,
    unverified: usize,
    disclosures: Vec<Disclosure>,
}

/// The one thing a person is asked to do.
#[derive(Debug)]
struct Call {
    title: String,
    question: String,
    link: String,
    until: Option<String>,
}

#[derive(Debug)]
pub(crate) struct Seat {
    pub id: String,
    pub name: String,
    pub agent: Option<String>,
    pub own: bool,
    pub turn: bool,
    pub card: Option<String>,
    pub signs: bool,
    pub answered_by: &'static str,
}

#[derive(Debug)]
pub(crate) struct Offer {
    pub hash: String,
    pub short: String,
    pub seat: String,
    pub own: bool,
    pub terms: Vec<String>,
    pub values: Vec<String>,
    pub depends_on: Vec<String>,
    pub word: &'static str,
    pub open: bool,
    pub agreed: bool,
    pub until: Option<String>,
    pub accepted: String,
}

/// A message in the transcript.
#[derive(Debug)]
struct Line {
    seq: u64,
    seat: String,
    who: String,
    agent: Option<String>,
    own: bool,
    act: Option<&'static str>,
    message: String,
    claims: Vec<Said>,
    reviews: Vec<Judged>,
    terms: Vec<String>,
    draft: bool,
    offer: Option<String>,
    accepts: Option<String>,
    escalation: Option<Escalated>,
    flags: Vec<String>,
    odd: Vec<&'static str>,
}

#[derive(Debug)]
struct Said {
    id: String,
    origin: &'static str,
    meaning: &'static str,
    text: String,
    rests_on: Option<String>,
}

#[derive(Debug)]
struct Judged {
    claim: String,
    class: &'static str,
    word: &'static str,
    reason: String,
}

#[derive(Debug)]
struct Escalated {
    forced: bool,
    question: Option<String>,
    ruling: Option<&'static str>,
    answer: Option<String>,
    summary: Option<String>,
}

/// A claim and how it stands now.
#[derive(Debug)]
pub(crate) struct Claim {
    pub id: String,
    pub seat: String,
    pub text: String,
    pub origin: &'static str,
    pub meaning: &'static str,
    pub class: &'static str,
    pub standing: &'static str,
    pub rests_on: Option<String>,
    pub odd: Vec<&'static str>,
    pub source: Option<(String, String)>,
    pub reviews: Vec<String>,
}

#[derive(Debug)]
struct Disclosure {
    from: String,
    to: String,
    at: String,
    lines: Vec<(String, String)>,
    verified: bool,
}

pub(crate) async fn room(Path(room): Path<String>, visitor: Visitor) -> Result<Response, Fault> {
    let id = room_id(&room)?;
    let Ok(caller) = visitor.stand(&id).await else {
        let shell = visitor.shell("Open the room", Some(&id)).await?;
        let page = Door { shell, room, signed_in: visitor.member.is_some() };
        return Ok(with_status(StatusCode::UNAUTHORIZED, &page));
    };
    match caller {
        Caller::Invite { seat, .. } => invited(&visitor, &id, seat).await,
        Caller::Link { seat, .. } => become_person(&visitor, &id, seat).await,
        caller => live(&visitor, &id, &caller).await,
    }
}

async fn invited(visitor: &Visitor, id: &RoomId, seat: pxp::SeatId) -> Result<Response, Fault> {
    let (state, _) = visitor.app.room_state(id).await?;
    let link = visitor
        .held(id)
        .map(|secret| visitor.app.room_link(id, server::LinkKind::Invite, Some(seat), &secret));
    Ok(html(&Invited {
        topic: state.room.as_ref().map(|room| words::shown(&room.topic)).unwrap_or_default(),
        opener: state.seats.first().map(|seat| words::shown(&seat.name)).unwrap_or_default(),
        room: id.to_string(),
        seat: seat.to_string(),
        link,
        mcp: visitor.app.config().link("/mcp"),
        shell: visitor.shell("You are invited", Some(id)).await?,
    }))
}

async fn become_person(visitor: &Visitor, id: &RoomId, seat: pxp::SeatId) -> Result<Response, Fault> {
    let (state, _) = visitor.app.room_state(id).await?;
    Ok(html(&Become {
        topic: state.room.as_ref().map(|room| words::shown(&room.topic)).unwrap_or_default(),
        name: state.seat(seat).map(|seat| words::shown(&seat.name)).unwrap_or_default(),
        room: id.to_string(),
        seat: seat.to_string(),
        member: visitor.member.is_some(),
        shell: visitor.shell("Answer for this seat", Some(id)).await?,
    }))
}

async fn live(visitor: &Visitor, id: &RoomId, caller: &Caller) -> Result<Response, Fault> {
    let view = visitor.app.view_room(caller, id).await?;
    let room = &view.room;
    let own = room.you.as_ref().map(|you| you.seat.seat);
    let asks = if is_person(caller) { visitor.app.asks(caller, id).await? } else { Vec::new() };
    let ask = asks.into_iter().next().map(|ask| Call {
        link: format!("/asks/{id}/{}", ask.id),
        until: ask.expires_at.map(words::when),
        title: ask.brief.title,
        question: ask.brief.question,
    });
    let (word, sentence) = words::room_status(&room.status);
    let own_seat = room.you.iter().map(|you| seat(&you.seat, own, room.turn));
    let mut seats: Vec<Seat> =
        own_seat.chain(room.counterparts.iter().map(|other| seat(other, own, room.turn))).collect();
    seats.sort_by(|one, two| one.id.cmp(&two.id));
    let name_of = |of: pxp::SeatId| {
        let all = room.you.iter().map(|you| &you.seat).chain(&room.counterparts);
        all.into_iter()
            .find(|seat| seat.seat == of)
            .map(|seat| words::shown(&seat.principal))
            .unwrap_or_default()
    };
    let (state, _) = visitor.app.room_state(id).await?;
    let mut odd = words::odd_in("Topic", [room.topic.as_str()]);
    odd.extend(words::renamed(&state));
    odd.extend(words::odd_in("What was shown", room.disclosures.iter().flat_map(shown_texts)));
    Ok(html(&RoomPage {
        topic: words::shown(&room.topic),
        odd,
        status: room.status.clone(),
        word,
        sentence,
        reason: room.reason.as_deref().map(words::stall),
        next: next(room, is_person(caller), ask.is_some()),
        since: view.since,
        turns: format!("{} of {}", room.turn_count, room.max_turns),
        deadline: room.deadline.map(words::when),
        ask,
        standing: standing(caller, own),
        seated: own.is_some(),
        reads: !matches!(caller, Caller::Share { scope, .. } if *scope != pxp::Scope::Transcript),
        card_sealed: room.you.as_ref().is_some_and(|you| you.seat.card_sealed),
        drafting: room.status == "drafting",
        ended: matches!(room.status.as_str(), "agreed" | "stalled" | "withdrawn"),
        brief: room.brief_ready,
        seats,
        offers: room.offers.iter().rev().map(|one| offer(one, own)).collect(),
        lines: room.transcript.iter().map(|one| line(one, own, name_of(one.seat), &room.offers)).collect(),
        unverified: room.claims.iter().filter(|claim| !claim.verified).count(),
        claims: room.claims.iter().map(claim).collect(),
        disclosures: room.disclosures.iter().map(disclosure).collect(),
        shell: visitor.shell(&words::shown(&room.topic), Some(id)).await?,
        room: id.to_string(),
    }))
}

/// What to do now, for whoever looks.
fn next(room: &view::RoomView, person: bool, asked: bool) -> String {
    if !person {
        return words::shown(&room.next_action);
    }
    let sealed = room.you.as_ref().is_some_and(|you| you.seat.card_sealed);
    match room.status.as_str() {
        "drafting" if !sealed => "Write your card: what your agent must get, may accept and must never do.",
        "drafting" => "Your card is sealed. Wait until the other side has sealed theirs.",
        "paused" if asked => "Your agent waits for your answer.",
        "paused" => "Another person has been asked. You need not do anything.",
        "negotiating" => "You need not do anything. You will be asked when it matters.",
        _ => "It is over. The brief says what was decided and on whose authority.",
    }
    .to_owned()
}

fn standing(caller: &Caller, own: Option<pxp::SeatId>) -> String {
    let seat = own.map(|seat| seat.to_string()).unwrap_or_default();
    match caller {
        Caller::Principal { .. } | Caller::Member { .. } => format!("You answer for seat {seat}."),
        Caller::Seat { .. } => {
            format!(
                "You look with the link of seat {seat}'s agent. Only its person can answer its questions."
            )
        }
        _ => "You look with a reading link.".to_owned(),
    }
}

pub(crate) fn seat(seat: &SeatView, own: Option<pxp::SeatId>, turn: Option<pxp::SeatId>) -> Seat {
    Seat {
        id: seat.seat.to_string(),
        name: words::shown(&seat.principal),
        agent: seat.proxy.as_deref().map(words::shown),
        own: own == Some(seat.seat),
        turn: turn == Some(seat.seat),
        card: seat.card_hash.as_ref().map(words::short),
        signs: seat.signs_with.is_some(),
        answered_by: match seat.answered_by {
            "member" => "a signed-in person",
            "approvers" => "any approver of their organization",
            "holder" => "the holder of a personal link",
            _ => "nobody yet",
        },
    }
}

pub(crate) fn offer(offer: &OfferView, own: Option<pxp::SeatId>) -> Offer {
    let word = match offer.standing {
        OfferStanding::Open => "on the table",
        OfferStanding::Draft => "a draft: it binds nobody",
        OfferStanding::Superseded => "replaced by a later offer",
        OfferStanding::Withdrawn => "withdrawn",
        OfferStanding::Expired => "lapsed",
        OfferStanding::Agreed => "agreed",
    };
    let accepted: Vec<String> = offer.accepted_by.iter().map(ToString::to_string).collect();
    Offer {
        hash: offer.offer_hash.to_string(),
        short: words::short(&offer.offer_hash),
        seat: offer.seat.to_string(),
        own: own == Some(offer.seat),
        terms: offer.terms.iter().map(|term| words::shown(term)).collect(),
        values: offer
            .values
            .iter()
            .map(|value| format!("{}: {}", words::shown(&value.label), words::shown(&value.spelled())))
            .collect(),
        depends_on: offer.depends_on.iter().map(ToString::to_string).collect(),
        word,
        open: offer.standing == OfferStanding::Open,
        agreed: offer.standing == OfferStanding::Agreed,
        until: offer.expires_at.map(words::when),
        accepted: accepted.join(", "),
    }
}

fn line(sent: &EnvelopeView, own: Option<pxp::SeatId>, who: String, offers: &[OfferView]) -> Line {
    let proposal = sent.proposal.as_ref();
    let offer = proposal.and_then(|proposal| proposal.offer_hash);
    let drafted = |hash: Digest| {
        offers.iter().any(|offer| offer.offer_hash == hash && offer.standing == OfferStanding::Draft)
    };
    Line {
        seq: sent.seq,
        seat: sent.seat.to_string(),
        who,
        agent: sent
            .from
            .split_once("'s proxy, ")
            .and_then(|(_, rest)| rest.strip_suffix(')'))
            .map(words::shown),
        own: own == Some(sent.seat),
        act: words::envelope_status(sent.status),
        message: words::shown(&sent.message),
        claims: sent
            .claims
            .iter()
            .map(|claim| {
                let (origin, meaning) = words::origin(claim.origin);
                let rests_on = claim.reference.as_deref().map(words::clause);
                Said { id: claim.id.to_string(), origin, meaning, text: words::shown(&claim.text), rests_on }
            })
            .collect(),
        reviews: sent
            .reviews
            .iter()
            .map(|review| {
                let (class, word) = words::verdict(review.verdict);
                let reason = words::shown(&review.reason);
                Judged { claim: review.claim_id.to_string(), class, word, reason }
            })
            .collect(),
        terms: proposal
            .map(|one| one.terms.iter().map(|term| words::shown(term)).collect())
            .unwrap_or_default(),
        draft: offer.is_some_and(drafted),
        offer: offer.as_ref().map(words::short),
        accepts: sent.accepts.as_ref().map(words::short),
        escalation: sent.escalation.as_ref().map(|asked| Escalated {
            forced: asked.forced,
            question: asked.question.as_deref().map(words::shown),
            ruling: asked.ruling.map(words::ruling),
            answer: asked.answer.as_deref().map(words::shown),
            summary: asked.public_summary.as_deref().map(words::shown),
        }),
        flags: sent.protocol_flags.iter().map(|flag| words::shown(&flag.message)).collect(),
        odd: words::odd(texts(sent)),
    }
}

/// Everything of a message that somebody wrote.
fn texts(sent: &EnvelopeView) -> impl Iterator<Item = &str> {
    let claims = sent.claims.iter().map(|claim| claim.text.as_str());
    let reviews = sent.reviews.iter().map(|review| review.reason.as_str());
    let terms = sent.proposal.iter().flat_map(|proposal| &proposal.terms).map(String::as_str);
    let asked = sent.escalation.iter().flat_map(|asked| {
        [asked.question.as_deref(), asked.answer.as_deref(), asked.public_summary.as_deref()]
    });
    std::iter::once(sent.message.as_str()).chain(claims).chain(reviews).chain(terms).chain(asked.flatten())
}

fn shown_texts(shown: &view::DisclosureView) -> Vec<&str> {
    let card = shown
        .card
        .iter()
        .flat_map(|card| std::iter::once(card.goal.as_str()).chain(card.clauses().map(|(_, text)| text)));
    card.chain(shown.clause.iter().map(|clause| clause.text.as_str())).collect()
}

pub(crate) fn claim(claim: &ClaimView) -> Claim {
    let (origin, meaning) = words::origin(claim.origin);
    let disputed =
        claim.reviews.iter().any(|review| review.verdict != pxp::wire::Verdict::Accept && !review.cleared);
    let (class, standing) = match (claim.denied, claim.verified, disputed) {
        (true, _, _) => ("bad", "A person said that it is wrong"),
        (false, _, true) => ("warn", "Disputed"),
        (false, true, false) => ("good", "Confirmed"),
        (false, false, false) => ("open", "Not confirmed"),
    };
    Claim {
        id: claim.id.to_string(),
        seat: claim.seat.to_string(),
        text: words::shown(&claim.text),
        origin,
        meaning,
        class,
        standing,
        rests_on: claim.reference.as_deref().map(words::clause),
        odd: words::odd(
            std::iter::once(claim.text.as_str()).chain(claim.reviews.iter().map(|one| one.reason.as_str())),
        ),
        source: claim.source.as_ref().map(|source| (words::shown(&source.uri), source.sha256.to_string())),
        reviews: claim
            .reviews
            .iter()
            .map(|review| {
                let cleared = if review.cleared { " A person cleared this." } else { "" };
                let word = words::verdict(review.verdict).1;
                let reason = words::shown(&review.reason);
                let said = if reason.is_empty() { ".".to_owned() } else { format!(": {reason}") };
                format!("Seat {} {word} it{said}{cleared}", review.by)
            })
            .collect(),
    }
}

fn disclosure(shown: &view::DisclosureView) -> Disclosure {
    let mut lines = Vec::new();
    if let Some(card) = &shown.card {
        lines.push(("goal".to_owned(), words::shown(&card.goal)));
        lines.extend(card.clauses().map(|(at, text)| (words::clause(&at.to_string()), words::shown(text))));
    }
    if let Some(clause) = &shown.clause {
        lines.push((words::clause(&clause.reference.to_string()), words::shown(&clause.text)));
    }
    Disclosure {
        from: shown.from.to_string(),
        to: shown.to.to_string(),
        at: words::when(shown.at),
        lines,
        verified: shown.verified,
    }
}
