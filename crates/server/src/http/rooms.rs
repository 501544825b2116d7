//! Rooms over HTTP.

use super::{From, InRoom, Strict, signed_in};
use crate::answers::{AnswerOutcome, Enrolment, EvidenceInput, Matter};
use crate::guard::ClientAddress;
use crate::opening::{OpenRoom, Opened, OtherSeat};
use crate::people::Ceremony;
use crate::rooms::{Joined, RoomLine, SharedLink};
use crate::views::SentView;
use crate::{App, Error};
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use canon::Digest;
use env::{Duration, Timestamp};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use keys::PublicKey;
use pxp::command::{Disclosed, Scope};
use pxp::wire::Source;
use pxp::{AnswerInput, CardInput, ClaimId, ClauseRef, EnvelopeInput, QuestionId, SeatId, ShareId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A room to open.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenBody {
    topic: String,
    /// The display name of the opener's principal.
    your_principal: String,
    /// The other seats, in order.
    counterparts: Vec<CounterpartBody>,
    #[serde(default)]
    agent: Option<String>,
    /// A public key: the seat then signs every envelope.
    #[serde(default)]
    #[schemars(with = "Option<std::collections::BTreeMap<String, String>>")]
    key: Option<PublicKey>,
    /// Any approver of the opener's organization answers for the opener's seat.
    #[serde(default)]
    for_organization: bool,
    #[serde(default)]
    max_turns: Option<u32>,
    #[serde(default)]
    hold_relayed: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CounterpartBody {
    name: String,
    /// A proxy of this server that plays the seat; absent: an agent joins.
    #[serde(default)]
    proxy: Option<String>,
}

/// Opens a room. The links in the answer are shown once. A principal's link is among them only for a person who is signed
/// in: what an agent opens is answered for by whom the server's owner lets in.
#[utoipa::path(post, path = "/api/rooms", tag = "rooms", operation_id = "open_room", responses((status = 201)))]
pub(crate) async fn open(
    State(app): State<App>,
    Extension(ClientAddress(address)): Extension<ClientAddress>,
    from: From,
    Strict(body): Strict<OpenBody>,
) -> Result<(StatusCode, Json<Opened>), Error> {
    let input = OpenRoom {
        topic: body.topic,
        name: body.your_principal,
        agent: body.agent,
        key: body.key,
        others: body
            .counterparts
            .into_iter()
            .map(|other| OtherSeat { name: other.name, proxy: other.proxy })
            .collect(),
        for_organization: body.for_organization,
        max_turns: body.max_turns,
        hold_relayed: body.hold_relayed,
    };
    let opened = app.open_for_agent(&from.caller, address, input, from.once).await;
    Ok((StatusCode::CREATED, Json(opened.map_err(|error| error.placed(in_opening))?)))
}

/// Seats as the body of an opening names them.
fn in_opening(place: &str) -> String {
    match place.strip_prefix("/seats/").and_then(|rest| rest.split_once('/')) {
        Some(("0", "name")) => "/your_principal".to_owned(),
        Some((seat, rest)) => {
            let other = seat.parse::<usize>().unwrap_or_default().saturating_sub(1);
            format!("/counterparts/{other}/{rest}")
        }
        None if place == "/seats" => "/counterparts".to_owned(),
        None => place.to_owned(),
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RoomList {
    rooms: Vec<RoomLine>,
}

/// The rooms a member, or their agent, has a part in.
#[utoipa::path(get, path = "/api/rooms", tag = "rooms", operation_id = "list_rooms", responses((status = 200)))]
pub(crate) async fn list(State(app): State<App>, from: From) -> Result<Json<RoomList>, Error> {
    Ok(Json(RoomList { rooms: app.list_rooms(&from.caller, 200).await? }))
}

/// The room as the caller may see it. The entity tag is the number of its last entry.
#[utoipa::path(get, path = "/api/rooms/{room}", tag = "rooms", operation_id = "get_room", params(("room" = String, Path)), responses((status = 200), (status = 304)))]
pub(crate) async fn view(State(app): State<App>, at: InRoom, headers: HeaderMap) -> Result<Response, Error> {
    let view = app.view_room(&at.caller, &at.room).await?;
    Ok(tagged(&headers, view.since, &view))
}

#[derive(Debug, Deserialize)]
pub(crate) struct WaitQuery {
    #[serde(default)]
    since: Option<u64>,
    #[serde(default)]
    timeout: Option<u64>,
}

/// Waits until the room has moved beyond `since` (or the entity tag in `If-None-Match`), then answers like `get_room`;
/// 304 when time runs out.
#[utoipa::path(get, path = "/api/rooms/{room}/wait", tag = "rooms", operation_id = "wait", params(("room" = String, Path),
    ("since" = Option<u64>, Query, description = "The last entry seen"), ("timeout" = Option<u64>, Query, description = "Seconds, at most 25")),
    responses((status = 200), (status = 304)))]
pub(crate) async fn wait(
    State(app): State<App>,
    at: InRoom,
    Query(query): Query<WaitQuery>,
    headers: HeaderMap,
) -> Result<Response, Error> {
    app.standpoint(&at.caller, &at.room, None).await?;
    let since = query.since.or_else(|| tag(&headers)).unwrap_or(0);
    if app.wait_moved(&at.room, since, query.timeout).await? {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, format!("\"{since}\""))]).into_response());
    }
    let view = app.view_room(&at.caller, &at.room).await?;
    Ok(tagged(&HeaderMap::new(), view.since, &view))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct JoinBody {
    #[serde(default)]
    agent: Option<String>,
    #[serde(default)]
    #[schemars(with = "Option<std::collections::BTreeMap<String, String>>")]
    key: Option<PublicKey>,
}

/// Takes a seat with its invite (the bearer secret): the invite dies, the answer holds the seat's own link. Its person's link
/// is in no answer here.
#[utoipa::path(post, path = "/api/rooms/{room}/seat", tag = "rooms", operation_id = "join_room", params(("room" = String, Path)), responses((status = 200)))]
pub(crate) async fn join(
    State(app): State<App>,
    at: InRoom,
    Strict(body): Strict<JoinBody>,
) -> Result<Json<Joined>, Error> {
    Ok(Json(app.join_for_agent(&at.caller, &at.room, body.agent, body.key, at.once).await?))
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Sealed {
    #[schemars(with = "String")]
    card_hash: Digest,
}

/// Seals the caller's intent card.
#[utoipa::path(put, path = "/api/rooms/{room}/card", tag = "rooms", operation_id = "seal_intent_card", params(("room" = String, Path)), responses((status = 200)))]
pub(crate) async fn seal(
    State(app): State<App>,
    at: InRoom,
    Strict(card): Strict<CardInput>,
) -> Result<Json<Sealed>, Error> {
    Ok(Json(Sealed { card_hash: app.seal_card(&at.caller, &at.room, card, at.once).await? }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SendBody {
    envelope: EnvelopeInput,
    /// The same id with the same envelope is the same message.
    #[serde(default)]
    client_msg_id: Option<String>,
    /// Base64url. Required of a seat with a key.
    #[serde(default)]
    signature: Option<String>,
}

/// Sends an envelope for the caller's seat.
#[utoipa::path(post, path = "/api/rooms/{room}/envelopes", tag = "rooms", operation_id = "send_envelope", params(("room" = String, Path)), responses((status = 201)))]
pub(crate) async fn send(
    State(app): State<App>,
    at: InRoom,
    Strict(body): Strict<SendBody>,
) -> Result<(StatusCode, Json<SentView>), Error> {
    let SendBody { envelope, client_msg_id, signature } = body;
    let sent = app.send_envelope(&at.caller, &at.room, envelope, client_msg_id, signature, at.once).await;
    let sent = sent.map_err(|error| error.placed(in_sending))?;
    Ok((StatusCode::CREATED, Json(SentView::from(sent))))
}

fn in_sending(place: &str) -> String {
    match place {
        "/msg_id" => "/client_msg_id".to_owned(),
        "/signature" => place.to_owned(),
        _ => format!("/envelope{place}"),
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct LedgerQuery {
    #[serde(default)]
    after: u64,
    #[serde(default)]
    limit: Option<usize>,
}

/// The room's ledger, with the head signed by the server.
#[utoipa::path(get, path = "/api/rooms/{room}/ledger", tag = "rooms", operation_id = "ledger", params(("room" = String, Path),
    ("after" = Option<u64>, Query), ("limit" = Option<usize>, Query)), responses((status = 200)))]
pub(crate) async fn ledger(
    State(app): State<App>,
    at: InRoom,
    Query(query): Query<LedgerQuery>,
) -> Result<Response, Error> {
    let page =
        app.ledger_page(&at.caller, &at.room, query.after, query.limit.unwrap_or(500).min(1000)).await?;
    Ok(Json(page).into_response())
}

/// The decision brief, once the room has ended.
#[utoipa::path(get, path = "/api/rooms/{room}/brief", tag = "rooms", operation_id = "get_brief", params(("room" = String, Path)), responses((status = 200)))]
pub(crate) async fn brief(State(app): State<App>, at: InRoom) -> Result<Response, Error> {
    Ok(Json(app.brief(&at.caller, &at.room).await?).into_response())
}

/// The room as one file that verifies with public keys alone.
#[utoipa::path(get, path = "/api/rooms/{room}/bundle", tag = "rooms", operation_id = "export_room", params(("room" = String, Path)), responses((status = 200)))]
pub(crate) async fn bundle(State(app): State<App>, at: InRoom) -> Result<Response, Error> {
    let bytes = app.bundle(&at.caller, &at.room).await?;
    super::proofs::file(&format!("room-{}.json", at.room), "application/json", bytes.into())
}

/// What waits for the caller, who is a seat's person.
#[utoipa::path(get, path = "/api/rooms/{room}/asks", tag = "people", operation_id = "room_asks", params(("room" = String, Path)), responses((status = 200)))]
pub(crate) async fn asks(State(app): State<App>, at: InRoom) -> Result<Response, Error> {
    let asks = app.asks(&at.caller, &at.room).await?;
    Ok(Json(serde_json::json!({ "asks": asks })).into_response())
}

/// What a person decides: exactly one of the three.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum MatterBody {
    /// A question of the own agent.
    Question { answer: AnswerInput },
    /// Whether an answer that the own agent relayed was given.
    Relayed { question_id: QuestionId, accept: bool },
    /// Whether a claim is true.
    Claim { claim_id: ClaimId, accept: bool },
}

impl std::convert::From<MatterBody> for Matter {
    fn from(body: MatterBody) -> Self {
        match body {
            MatterBody::Question { answer } => Self::Question(answer),
            MatterBody::Relayed { question_id, accept } => Self::Relayed { question: question_id, accept },
            MatterBody::Claim { claim_id, accept } => Self::Claim { claim: claim_id, accept },
        }
    }
}

/// The statement to sign for an answer, with the passkey challenge.
#[utoipa::path(post, path = "/api/rooms/{room}/answers/prepare", tag = "people", operation_id = "prepare_answer", params(("room" = String, Path)), responses((status = 200)))]
pub(crate) async fn prepare(
    State(app): State<App>,
    at: InRoom,
    Strict(matter): Strict<MatterBody>,
) -> Result<Response, Error> {
    let prepared = app.prepare(&at.caller, &at.room, &matter.into()).await;
    Ok(Json(prepared.map_err(|error| error.placed(in_matter))?).into_response())
}

/// What an answer holds, in the matter it is the answer of.
fn in_matter(place: &str) -> String {
    const OF_ANSWER: [&str; 6] =
        ["/question_id", "/ruling", "/clears", "/text", "/public_summary", "/limits"];
    let first = place.split('/').nth(1).unwrap_or_default();
    if OF_ANSWER.iter().any(|member| member.strip_prefix('/') == Some(first)) {
        format!("/answer{place}")
    } else {
        place.to_owned()
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerBody {
    matter: MatterBody,
    /// From `prepare_answer`. Absent with the agent's link: the answer is relayed.
    #[serde(default)]
    nonce: Option<String>,
    #[serde(default)]
    evidence: Option<EvidenceInput>,
}

/// A person's answer with their evidence; or, with a seat's own link and no evidence, one that the agent relays.
#[utoipa::path(post, path = "/api/rooms/{room}/answers", tag = "people", operation_id = "answer", params(("room" = String, Path)), responses((status = 200)))]
pub(crate) async fn answer(
    State(app): State<App>,
    at: InRoom,
    Strict(body): Strict<AnswerBody>,
) -> Result<Json<AnswerOutcome>, Error> {
    let matter = body.matter.into();
    let outcome = match (body.evidence, matter) {
        (Some(evidence), matter) => {
            let nonce = body
                .nonce
                .ok_or_else(|| Error::malformed("missing", "/nonce", "an answer needs its nonce"))?;
            app.decide(&at.caller, &at.room, matter, nonce, evidence, at.once).await
        }
        (None, Matter::Question(answer)) => app.relay(&at.caller, &at.room, answer, at.once).await,
        (None, _) => {
            return Err(Error::malformed("missing", "/evidence", "this needs the person's own evidence"));
        }
    };
    Ok(Json(outcome.map_err(|error| {
        error.placed(|place| match in_matter(place) {
            inside if inside != place || place == "/claim_id" => format!("/matter{inside}"),
            own => own,
        })
    })?))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClaimBody {
    accept: bool,
    nonce: String,
    evidence: EvidenceInput,
}

/// A principal vouches for a claim, or says that it is wrong.
#[utoipa::path(post, path = "/api/rooms/{room}/claims/{claim}/confirmation", tag = "rooms", operation_id = "confirm_claim",
    params(("room" = String, Path), ("claim" = String, Path)), responses((status = 200)))]
pub(crate) async fn claim(
    State(app): State<App>,
    at: InRoom,
    Path(path): Path<(String, String)>,
    Strict(body): Strict<ClaimBody>,
) -> Result<Json<AnswerOutcome>, Error> {
    let matter = Matter::Claim { claim: claim_id(&path.1)?, accept: body.accept };
    Ok(Json(app.decide(&at.caller, &at.room, matter, body.nonce, body.evidence, at.once).await?))
}

/// Attaches a source, named by its digest, to a claim.
#[utoipa::path(put, path = "/api/rooms/{room}/claims/{claim}/source", tag = "rooms", operation_id = "attach_source",
    params(("room" = String, Path), ("claim" = String, Path)), responses((status = 204)))]
pub(crate) async fn source(
    State(app): State<App>,
    at: InRoom,
    Path(path): Path<(String, String)>,
    Strict(source): Strict<Source>,
) -> Result<StatusCode, Error> {
    let attached = app.attach_source(&at.caller, &at.room, claim_id(&path.1)?, source, at.once).await;
    attached.map_err(|error| error.renamed("/source", ""))?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WithdrawBody {
    /// The offer to withdraw; absent: the caller leaves, and the room ends.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    offer_hash: Option<Digest>,
    #[serde(default)]
    reason: String,
}

/// Withdraws an offer, or leaves the room.
#[utoipa::path(post, path = "/api/rooms/{room}/withdrawal", tag = "rooms", operation_id = "withdraw", params(("room" = String, Path)), responses((status = 204)))]
pub(crate) async fn withdraw(
    State(app): State<App>,
    at: InRoom,
    Strict(body): Strict<WithdrawBody>,
) -> Result<StatusCode, Error> {
    app.withdraw(&at.caller, &at.room, body.offer_hash, body.reason, at.once).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DiscloseBody {
    to: SeatId,
    /// One clause, such as `must_haves[0]`; absent: the whole card.
    #[serde(default)]
    clause: Option<ClauseRef>,
}

/// Shows the caller's card, or one clause of it, to another seat.
#[utoipa::path(post, path = "/api/rooms/{room}/disclosures", tag = "rooms", operation_id = "disclose", params(("room" = String, Path)), responses((status = 204)))]
pub(crate) async fn disclose(
    State(app): State<App>,
    at: InRoom,
    Strict(body): Strict<DiscloseBody>,
) -> Result<StatusCode, Error> {
    let what = body.clause.map_or(Disclosed::Card, Disclosed::Clause);
    let shown = app.disclose(&at.caller, &at.room, body.to, what, at.once).await;
    shown.map_err(|error| error.renamed("/what", "/clause"))?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShareBody {
    /// `transcript`, `ledger` or `brief`.
    #[schemars(with = "String")]
    scope: Scope,
    /// Seconds until the link dies.
    #[serde(default)]
    expires_in_seconds: Option<u32>,
}

/// Makes a link that lets its holder read a part of the room.
#[utoipa::path(post, path = "/api/rooms/{room}/shares", tag = "rooms", operation_id = "share", params(("room" = String, Path)), responses((status = 201)))]
pub(crate) async fn share(
    State(app): State<App>,
    at: InRoom,
    Strict(body): Strict<ShareBody>,
) -> Result<(StatusCode, Json<SharedLink>), Error> {
    let expires_at: Option<Timestamp> =
        body.expires_in_seconds.map(|seconds| app.now() + Duration::from_secs(u64::from(seconds)));
    let link = app.share(&at.caller, &at.room, body.scope, expires_at, at.once).await;
    let link = link.map_err(|error| error.renamed("/expires_at", "/expires_in_seconds"))?;
    Ok((StatusCode::CREATED, Json(link)))
}

/// Revokes a share link.
#[utoipa::path(delete, path = "/api/rooms/{room}/shares/{share}", tag = "rooms", operation_id = "unshare",
    params(("room" = String, Path), ("share" = String, Path)), responses((status = 204)))]
pub(crate) async fn unshare(
    State(app): State<App>,
    at: InRoom,
    Path(path): Path<(String, String)>,
) -> Result<StatusCode, Error> {
    let share: ShareId = path.1.parse().map_err(|_| Error::Missing)?;
    app.unshare(&at.caller, &at.room, share, at.once).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct NewLink {
    your_link: String,
}

/// Replaces the seat's secret. The old link is dead.
#[utoipa::path(post, path = "/api/rooms/{room}/seat/rotation", tag = "rooms", operation_id = "rotate", params(("room" = String, Path)), responses((status = 200)))]
pub(crate) async fn rotate(State(app): State<App>, at: InRoom) -> Result<Json<NewLink>, Error> {
    Ok(Json(NewLink { your_link: app.rotate(&at.caller, &at.room, at.once).await? }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PauseBody {
    paused: bool,
    #[serde(default)]
    reason: String,
}

/// Stops the room at once, or lets it go on.
#[utoipa::path(put, path = "/api/rooms/{room}/pause", tag = "rooms", operation_id = "pause", params(("room" = String, Path)), responses((status = 204)))]
pub(crate) async fn pause(
    State(app): State<App>,
    at: InRoom,
    Strict(body): Strict<PauseBody>,
) -> Result<StatusCode, Error> {
    app.pause(&at.caller, &at.room, body.paused.then_some(body.reason), at.once).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What a browser needs to enrol a passkey with a seat's principal link.
#[utoipa::path(post, path = "/api/rooms/{room}/principal/begin", tag = "people", operation_id = "begin_principal", params(("room" = String, Path)), responses((status = 200)))]
pub(crate) async fn begin_principal(State(app): State<App>, at: InRoom) -> Result<Json<Ceremony>, Error> {
    Ok(Json(app.begin_principal(&at.caller, &at.room).await?))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "as", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum PrincipalBody {
    /// The member who is signed in.
    Member {},
    /// A passkey for this room.
    Passkey {
        ticket: String,
        #[schemars(with = "std::collections::BTreeMap<String, String>")]
        registration: keys::webauthn::Registration,
    },
    /// A public key for this room.
    Key {
        #[schemars(with = "std::collections::BTreeMap<String, String>")]
        key: PublicKey,
    },
    /// Nothing but the link: its holder gets a session for this room.
    Link {},
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PrincipalEnrolled {
    /// The person's own secret for this room; absent for a member.
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
}

/// Becomes a seat's person with its one-time link.
#[utoipa::path(post, path = "/api/rooms/{room}/principal", tag = "people", operation_id = "enrol_principal", params(("room" = String, Path)), responses((status = 200)))]
pub(crate) async fn enrol_principal(
    State(app): State<App>,
    at: InRoom,
    headers: HeaderMap,
    Strict(body): Strict<PrincipalBody>,
) -> Result<Response, Error> {
    let enrolment = match body {
        PrincipalBody::Member {} => Enrolment::Member,
        PrincipalBody::Passkey { ticket, registration } => Enrolment::Passkey { ticket, registration },
        PrincipalBody::Key { key } => Enrolment::Key(key),
        PrincipalBody::Link {} => Enrolment::Link,
    };
    let signed_in = signed_in(&app, &headers).await.ok();
    let secret = app.enrol_principal(&at.caller, signed_in.as_ref(), &at.room, enrolment, at.once).await?;
    let cookie = secret.as_deref().map(|secret| app.seals().room_cookie(at.room.as_str(), secret));
    let mut response = Json(PrincipalEnrolled { secret }).into_response();
    if let Some(cookie) = cookie.and_then(|cookie| HeaderValue::from_str(&cookie).ok()) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DraftBody {
    /// What the principal says in their own words, at most 4000 characters.
    text: String,
    name: String,
    #[serde(default)]
    role: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Drafted {
    /// A draft: nothing is sealed before the person confirms it.
    card: CardInput,
}

/// Drafts an intent card by the configured model. The person must confirm it.
#[utoipa::path(post, path = "/api/rooms/{room}/card/draft", tag = "rooms", operation_id = "draft_card", params(("room" = String, Path)), responses((status = 200)))]
pub(crate) async fn draft(
    State(app): State<App>,
    at: InRoom,
    Strict(body): Strict<DraftBody>,
) -> Result<Json<Drafted>, Error> {
    let card = app.draft_card(&at.caller, &at.room, &body.text, &body.name, &body.role).await?;
    Ok(Json(Drafted { card }))
}

fn claim_id(text: &str) -> Result<ClaimId, Error> {
    text.parse().map_err(|_| Error::Missing)
}

fn tag(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::IF_NONE_MATCH)?.to_str().ok()?.trim_matches('"').parse().ok()
}

fn tagged<T: Serialize>(headers: &HeaderMap, since: u64, body: &T) -> Response {
    let etag =
        [(header::ETAG, format!("\"{since}\"")), (header::CACHE_CONTROL, "private, no-cache".to_owned())];
    if tag(headers) == Some(since) {
        return (StatusCode::NOT_MODIFIED, etag).into_response();
    }
    (etag, Json(body)).into_response()
}
