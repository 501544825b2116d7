//! The HTTP surface (spec 4.2).

use super::answers::{Trouble, json};
use super::{V0, Wanted, address, lock};
use axum::body::Body;
use axum::extract::{Path, Query, Request, State};
use axum::response::Response;
use canon::Value;
use http::header;
use pxp::v0::ledger::verify;
use pxp::v0::rest::{self, Viewer};
use pxp::v0::text::{limit, text};
use pxp::v0::{Card, Command, Mode, Refusal, Reply, Side, Via, demo};
use serde_json::json;
use std::collections::HashMap;

type Answer = Result<Response, Trouble>;

pub(super) async fn missing() -> Trouble {
    Trouble::new(404, "not_found", "There is nothing here.")
}

pub(super) async fn create(State(v0): State<V0>, request: Request) -> Answer {
    let (parts, body) = request.into_parts();
    let body = read(&parts.headers, body, v0.0.options.body).await?;
    let body = object(&body)?;
    let mode = |key| match body.get(key).and_then(Value::as_str) {
        Some("external") => Mode::External,
        _ => Mode::BuiltIn,
    };
    let wanted = Wanted {
        topic: text(body.get("topic"), limit::TOPIC),
        names: ["nameA", "nameB"].map(|key| text(body.get(key), limit::SEAT_NAME)),
        modes: [mode("modeA"), mode("modeB")],
        passcode: body.get("passcode").and_then(Value::as_str).unwrap_or_default().to_owned(),
        agent: None,
    };
    let modes = wanted.modes;
    let opened = v0.open(wanted, &parts.headers, address(&parts)).await?;
    let [token_a, token_b] = &opened.tokens;
    let link = |side: Side, token: &str| format!("room/{}?seat={side}&t={token}", opened.id);
    let [mode_a, mode_b] = modes;
    let body = json!({
        "id": opened.id,
        "links": { "A": link(Side::A, token_a), "B": link(Side::B, token_b) },
        "modes": { "A": mode_a, "B": mode_b },
    });
    Ok(json(201, &body))
}

pub(super) async fn demo(State(v0): State<V0>) -> Answer {
    let (id, token) = v0.open_demo().await?;
    Ok(json(201, &json!({ "id": id, "token": token })))
}

pub(super) async fn view(
    State(v0): State<V0>,
    Path(id): Path<String>,
    Query(query): Query<HashMap<String, String>>,
) -> Answer {
    let state = v0.state(&id).await?;
    let mcp = v0.link("mcp");
    Ok(json(200, &rest::view(&state, viewer(&state, &query), v0.is_live(), &mcp)))
}

pub(super) async fn ledger(State(v0): State<V0>, Path(id): Path<String>) -> Answer {
    let state = v0.state(&id).await?;
    let check = verify(&state.ledger);
    Ok(json(200, &json!({ "protocol": "PXP/0", "room": state.id, "check": check, "ledger": state.ledger })))
}

pub(super) async fn config(State(v0): State<V0>) -> Response {
    let options = &v0.0.options;
    let body = json!({
        "live": v0.is_live(),
        "passcode": options.passcode.is_some(),
        "maxTurns": options.max_turns,
        "protocol": "PXP/0",
        "mcpUrl": v0.link("mcp"),
        "signin": v0.0.accounts.is_some(),
    });
    json(200, &body)
}

pub(super) async fn health(State(v0): State<V0>) -> Response {
    let rooms = v0.ids().await;
    let ok = rooms.is_ok();
    let body = json!({
        "ok": ok,
        "live": v0.is_live(),
        "rooms": rooms.map_or(0, |rooms| rooms.len()),
        "store": "journal",
        "storeOk": ok,
        "build": env!("CARGO_PKG_VERSION"),
    });
    json(if ok { 200 } else { 503 }, &body)
}

/// A seat's action. Checked in this order: room, seat, body, token, action.
pub(super) async fn act(
    State(v0): State<V0>,
    Path((id, seat, action)): Path<(String, String, String)>,
    request: Request,
) -> Answer {
    v0.state(&id).await?;
    let side = Side::of(&seat).ok_or(Refusal::NoSeat)?;
    let (parts, body) = request.into_parts();
    let body = read(&parts.headers, body, v0.0.options.body).await?;
    let body = object(&body)?;
    let token = body.get("token").and_then(Value::as_str).unwrap_or_default();
    v0.state(&id).await?.opens(&seat, token).ok_or(Refusal::WrongToken)?;
    match action.as_str() {
        "draft" => draft(&v0, &id, side, &body).await,
        "seal" => seal(&v0, &id, side, &body).await,
        "answer" => answer(&v0, &id, side, &body).await,
        "resume" => {
            v0.run(&id, Command::Resume).await?;
            v0.drive(&id);
            Ok(json(200, &json!({ "ok": true })))
        }
        _ => Err(Trouble::new(404, "no_action", "There is no such action.")),
    }
}

async fn draft(v0: &V0, id: &str, side: Side, body: &Value<'_>) -> Answer {
    let state = v0.state(id).await?;
    if state.demo {
        return Err(Refusal::DemoDraft.into());
    }
    if state.seat(side).card.is_some() {
        return Err(Refusal::Sealed.into());
    }
    let proxy =
        v0.0.proxy
            .clone()
            .ok_or_else(|| Trouble::unavailable("no_model", "This server has no model to draft with."))?;
    let words = text(body.get("text"), limit::DRAFT);
    let (name, role) = (text(body.get("name"), limit::NAME), text(body.get("role"), limit::ROLE));
    v0.run(id, Command::Draft { side, text: words.clone() }).await?;
    let drafted = proxy.draft(&words, &name, &role).await;
    let card = drafted.ok().and_then(|card| canon::parse(card.as_bytes()).map(|card| card.to_owned()).ok());
    let card = card.ok_or_else(|| Trouble::new(502, "upstream", "The model did not answer with a card."))?;
    // What came after the seal or the end of the room is of no use.
    let state = v0.state(id).await?;
    if state.seat(side).card.is_some() {
        return Err(Refusal::Sealed.into());
    }
    Ok(json(200, &json!({ "card": Card::normalise(&card, state.seat(side).principal(), side) })))
}

async fn seal(v0: &V0, id: &str, side: Side, body: &Value<'_>) -> Answer {
    let card = body.get("card").map_or(Value::Null, Value::to_owned);
    let (reply, _) = v0.run(id, Command::Seal { side, card, via: Via::Web, label: None }).await?;
    let Reply::Sealed(card_hash) = reply else { return Err(Trouble::bug()) };
    v0.drive(id);
    Ok(json(200, &json!({ "ok": true, "card_hash": card_hash })))
}

async fn answer(v0: &V0, id: &str, side: Side, body: &Value<'_>) -> Answer {
    let state = v0.state(id).await?;
    let answer = if state.demo { option(body) } else { text(body.get("answer"), limit::ANSWER) };
    v0.run(id, Command::Answer { side, answer, via: Via::Web }).await?;
    if state.demo {
        v0.play_demo(id).await?;
    } else {
        v0.drive(id);
    }
    Ok(json(200, &json!({ "ok": true })))
}

/// A demo's option, by its words or by its place from 0.
fn option(body: &Value<'_>) -> String {
    let by_place = body.get("option").and_then(Value::as_u64).and_then(|place| usize::try_from(place).ok());
    match by_place.and_then(|place| demo::OPTIONS.get(place)) {
        Some(words) => (*words).to_owned(),
        None => text(body.get("option"), limit::ANSWER),
    }
}

/// Who looks. A wrong seat or token is nobody.
pub(super) fn viewer(state: &pxp::v0::State, query: &HashMap<String, String>) -> Viewer {
    let (Some(seat), Some(token)) = (query.get("seat"), query.get("t")) else { return Viewer::Anonymous };
    match state.opens(seat, token) {
        Some(side) if state.demo => Viewer::Demo(side),
        Some(side) => Viewer::Seat(side),
        None => Viewer::Anonymous,
    }
}

/// A body of at most `limit` bytes, declared or not.
pub(super) async fn read(headers: &http::HeaderMap, body: Body, limit: usize) -> Result<Vec<u8>, Trouble> {
    let declared =
        headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if declared.is_some_and(|declared| declared > limit) {
        return Err(Trouble::too_large());
    }
    axum::body::to_bytes(body, limit).await.map(Into::into).map_err(|_| Trouble::too_large())
}

/// A JSON object. Nothing at all is an empty one.
fn object(bytes: &[u8]) -> Result<Value<'_>, Trouble> {
    let bytes: &[u8] = if bytes.is_empty() { b"{}" } else { bytes };
    let value = canon::parse(bytes).map_err(|_| Trouble::bad_body("The body is not JSON."))?;
    if value.as_object().is_some() {
        Ok(value)
    } else {
        Err(Trouble::bad_body("The body must be a JSON object."))
    }
}

impl V0 {
    /// Closes a stream's place.
    pub(super) fn close_stream(&self, stream: u64) {
        lock(&self.0.streams).close(stream);
        lock(&self.0.ends).remove(&stream);
    }
}
