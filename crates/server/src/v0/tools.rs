//! The eight tools (spec 4.1).

use super::answers::Trouble;
use super::rpc::From;
use super::{V0, Wanted, stream};
use canon::Value;
use pxp::v0::brief::brief;
use pxp::v0::text::{limit, text};
use pxp::v0::{Command, Mode, Refusal, Reply, Room, Side, State, Via, mcp};
use serde_json::json;
use std::time::Duration;

type Answer = Result<serde_json::Value, Trouble>;

/// A seat link that opens its seat.
struct Seated {
    id: String,
    side: Side,
    token: String,
}

impl V0 {
    pub(super) async fn call(&self, name: &str, arguments: &Value<'_>, from: &From) -> Answer {
        match name {
            "create_room" => self.create_room(arguments, from).await,
            "join_room" => self.join_room(arguments, from).await,
            "seal_intent_card" => self.seal_intent_card(arguments, from).await,
            "get_room" => {
                let seated = self.seated(arguments).await?;
                self.room_view(&seated, &*self.state(&seated.id).await?, None)
            }
            "wait_for_turn" => self.wait_for_turn(arguments).await,
            "send_envelope" => self.send_envelope(arguments).await,
            "answer_escalation" => self.answer_escalation(arguments).await,
            "get_brief" => self.get_brief(arguments).await,
            _ => Err(Trouble::new(400, "unknown_tool", "There is no such tool.")),
        }
    }

    async fn create_room(&self, arguments: &Value<'_>, from: &From) -> Answer {
        let wants_built_in = arguments.get("counterpart_proxy").and_then(Value::as_str) == Some("builtin");
        let other = if wants_built_in { Mode::BuiltIn } else { Mode::External };
        let wanted = Wanted {
            topic: text(arguments.get("topic"), limit::TOPIC),
            names: ["your_principal", "counterpart"].map(|key| text(arguments.get(key), limit::SEAT_NAME)),
            modes: [Mode::External, other],
            passcode: arguments.get("passcode").and_then(Value::as_str).unwrap_or_default().to_owned(),
            agent: Some(from.client.clone().unwrap_or_default()),
        };
        let opened = self.open(wanted, &from.headers, from.address).await?;
        let [token_a, token_b] = &opened.tokens;
        Ok(json!({
            "room_id": opened.id,
            "your_link": self.seat_link(&opened.id, Side::A, token_a),
            "invite_link_for_counterpart": self.seat_link(&opened.id, Side::B, token_b),
            "counterpart_proxy": other,
            "next_action": "Give the invite link to the counterpart. Then agree the intent card with your principal and \
                seal it with seal_intent_card.",
        }))
    }

    async fn join_room(&self, arguments: &Value<'_>, from: &From) -> Answer {
        let seated = self.seated(arguments).await?;
        let label = self.label(arguments, from);
        let (_, state) = self.run(&seated.id, Command::Join { side: seated.side, label }).await?;
        self.room_view(&seated, &state, None)
    }

    async fn seal_intent_card(&self, arguments: &Value<'_>, from: &From) -> Answer {
        let seated = self.seated(arguments).await?;
        let card = arguments.get("card").map_or(Value::Null, Value::to_owned);
        let label = Some(self.label(arguments, from));
        let command = Command::Seal { side: seated.side, card, via: Via::Mcp, label };
        let (_, state) = self.run(&seated.id, command).await?;
        self.drive(&seated.id);
        self.room_view(&seated, &state, None)
    }

    async fn wait_for_turn(&self, arguments: &Value<'_>) -> Answer {
        let seated = self.seated(arguments).await?;
        let until = tokio::time::Instant::now() + patience(arguments.get("timeout_seconds"));
        let room = stream(&seated.id)?;
        loop {
            let (state, head) = self.0.runtime.state::<Room>(&room).await?;
            if !state.exists() {
                return Err(Refusal::NoRoom.into());
            }
            if state.actionable(seated.side) {
                return self.room_view(&seated, &state, Some(false));
            }
            let waited = tokio::select! {
                () = self.0.stopping.cancelled() => None,
                moved = tokio::time::timeout_at(until, self.0.runtime.moved(&room, head.seq)) => moved.ok(),
            };
            match waited {
                Some(moved) => drop(moved.map_err(|error| Trouble::store(&error))?),
                None => return self.room_view(&seated, &state, Some(true)),
            }
        }
    }

    async fn send_envelope(&self, arguments: &Value<'_>) -> Answer {
        let seated = self.seated(arguments).await?;
        let command = Command::Send { side: seated.side, raw: arguments.to_owned(), by: Mode::External };
        let (reply, state) = self.run(&seated.id, command).await?;
        let Reply::Sent(envelope) = reply else { return Err(Trouble::bug()) };
        self.drive(&seated.id);
        let room = self.room_view(&seated, &state, None)?;
        Ok(json!({ "accepted_envelope": mcp::compact(&envelope), "room": room }))
    }

    async fn answer_escalation(&self, arguments: &Value<'_>) -> Answer {
        let seated = self.seated(arguments).await?;
        let answer = text(arguments.get("answer"), limit::ANSWER);
        let command = Command::Answer { side: seated.side, answer, via: Via::Mcp };
        let (_, state) = self.run(&seated.id, command).await?;
        self.drive(&seated.id);
        self.room_view(&seated, &state, None)
    }

    async fn get_brief(&self, arguments: &Value<'_>) -> Answer {
        let id = match arguments.get("room_id").and_then(Value::as_str) {
            Some(id) => id.to_owned(),
            None => self.parse(arguments)?.id,
        };
        let state = self.state(&id).await?;
        Ok(match brief(&state) {
            Some(brief) => json!({
                "status": state.phase,
                "brief_url": self.link(&format!("brief/{id}")),
                "brief": brief,
            }),
            None => json!({
                "status": state.phase,
                "brief": null,
                "note": "The brief is written when the room ends.",
            }),
        })
    }

    fn label(&self, arguments: &Value<'_>, from: &From) -> String {
        let named = text(arguments.get("agent_name"), limit::AGENT);
        if named.is_empty() { from.client.clone().unwrap_or_default() } else { named }
    }

    fn room_view(&self, seated: &Seated, state: &State, timed_out: Option<bool>) -> Answer {
        let web_view = self.seat_link(&seated.id, seated.side, &seated.token);
        let brief_url = self.link(&format!("brief/{}", seated.id));
        let mut view = mcp::view(state, seated.side, &web_view, &brief_url);
        view.timed_out = timed_out;
        serde_json::to_value(&view).map_err(|_| Trouble::bug())
    }

    async fn seated(&self, arguments: &Value<'_>) -> Result<Seated, Trouble> {
        let link = self.parse(arguments)?;
        let state = self.state(&link.id).await?;
        state.opens(&link.side.to_string(), &link.token).ok_or(Refusal::WrongToken)?;
        Ok(link)
    }

    /// Reads `link`, relative to the public address. The host is not compared.
    fn parse(&self, arguments: &Value<'_>) -> Result<Seated, Trouble> {
        let bad =
            || Trouble::new(400, "bad_link", "The link must be a seat link: .../room/<id>?seat=A&t=<token>.");
        let link = arguments.get("link").and_then(Value::as_str).ok_or_else(bad)?;
        let url = self.0.options.public_url.join(link).map_err(|_| bad())?;
        let path: Vec<&str> = url.path().trim_end_matches('/').rsplit('/').take(2).collect();
        let [id, "room"] = path.as_slice() else { return Err(bad()) };
        let query =
            |key: &str| url.query_pairs().find(|(name, _)| name == key).map(|(_, value)| value.into_owned());
        let side = query("seat").as_deref().and_then(Side::of).ok_or_else(bad)?;
        let token = query("t").filter(|token| !token.is_empty()).ok_or_else(bad)?;
        Ok(Seated { id: (*id).to_owned(), side, token })
    }
}

/// 1 to 25 seconds; nothing, zero and garbage are 20.
fn patience(value: Option<&Value<'_>>) -> Duration {
    let asked = text(value, 20).parse::<f64>().ok().filter(|seconds| seconds.is_finite() && *seconds != 0.0);
    Duration::from_secs_f64(asked.unwrap_or(20.0).clamp(1.0, 25.0))
}

/// The tools as they are listed. Sign-in mode changes words alone.
pub(super) fn list(sign_in: bool) -> serde_json::Value {
    let link = json!({ "type": "string", "description": "The seat link you were given." });
    let strings = json!({ "type": "array", "items": { "type": "string" } });
    let acts = json!({ "readOnlyHint": false, "destructiveHint": false, "idempotentHint": false, "openWorldHint": true });
    let joins = json!({ "readOnlyHint": false, "destructiveHint": false, "idempotentHint": true, "openWorldHint": true });
    let reads = json!({ "readOnlyHint": true, "openWorldHint": true });
    let tool = |name: &str,
                text: &str,
                properties: serde_json::Value,
                required: &[&str],
                hints: &serde_json::Value| {
        json!({
            "name": name,
            "description": text,
            "inputSchema": { "type": "object", "properties": properties, "required": required },
            "annotations": hints,
        })
    };
    let opening = if sign_in {
        "Open a room between your principal and a counterpart. Needs your principal's agent key in the Authorization header."
    } else {
        "Open a room between your principal and a counterpart."
    };
    json!([
        tool(
            "create_room",
            opening,
            json!({
                "topic": { "type": "string" },
                "your_principal": { "type": "string" },
                "counterpart": { "type": "string" },
                "counterpart_proxy": { "type": "string", "enum": ["external", "builtin"] },
                "passcode": { "type": "string" },
            }),
            &["topic", "your_principal", "counterpart"],
            &acts
        ),
        tool(
            "join_room",
            "Take your seat in a room.",
            json!({
                "link": link, "agent_name": { "type": "string" },
            }),
            &["link"],
            &joins
        ),
        tool(
            "seal_intent_card",
            "Seal the intent card your principal has confirmed.",
            json!({
                "link": link,
                "card": {
                    "type": "object",
                    "properties": {
                        "principal": {
                            "type": "object",
                            "properties": {
                                "name": { "type": "string" }, "role": { "type": "string" }, "org": { "type": "string" },
                            },
                            "required": ["name"],
                        },
                        "goal": { "type": "string" },
                        "must_haves": strings, "may_agree_to": strings, "must_never": strings,
                        "escalate_when": strings, "known_facts": strings,
                    },
                    "required": ["principal", "goal", "must_haves"],
                },
            }),
            &["link", "card"],
            &acts
        ),
        tool("get_room", "See the room as your seat sees it.", json!({ "link": link }), &["link"], &reads),
        tool(
            "wait_for_turn",
            "Wait until there is something for you to do.",
            json!({
                "link": link, "timeout_seconds": { "type": "number", "minimum": 1, "maximum": 25 },
            }),
            &["link"],
            &reads
        ),
        tool(
            "send_envelope",
            "Send your turn.",
            json!({
                "link": link,
                "message": { "type": "string" },
                "status": { "type": "string", "enum": ["continue", "agree", "escalate"] },
                "claims": { "type": "array", "items": {
                    "type": "object",
                    "properties": {
                        "text": { "type": "string" },
                        "origin": { "type": "string", "enum": ["stated", "sourced", "assumed"] },
                        "ref": { "type": "string" },
                    },
                    "required": ["text", "origin"],
                } },
                "reviews": { "type": "array", "items": {
                    "type": "object",
                    "properties": {
                        "claim_id": { "type": "string" },
                        "verdict": { "type": "string", "enum": ["accept", "challenge", "conflict"] },
                        "reason": { "type": "string" },
                    },
                    "required": ["claim_id", "verdict"],
                } },
                "proposal": {
                    "type": "object",
                    "properties": { "terms": strings, "depends_on": strings },
                    "required": ["terms"],
                },
                "escalation": {
                    "type": "object",
                    "properties": { "question": { "type": "string" }, "reason": { "type": "string" } },
                    "required": ["question"],
                },
            }),
            &["link", "message", "status"],
            &acts
        ),
        tool(
            "answer_escalation",
            "Relay your principal's answer, word for word.",
            json!({
                "link": link, "answer": { "type": "string" },
            }),
            &["link", "answer"],
            &acts
        ),
        tool(
            "get_brief",
            "Read the decision brief of a room that has ended.",
            json!({
                "room_id": { "type": "string" }, "link": link,
            }),
            &[],
            &reads
        ),
    ])
}
