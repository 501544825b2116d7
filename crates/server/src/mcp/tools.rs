//! The tools: names, what they take and give, in one fixed order.

use crate::answers::AnswerOutcome;
use crate::opening::SeatLink;
use crate::rooms::RoomLine;
use crate::views::{BriefView, RoomView, SentView};
use pxp::limit::Limit;
use pxp::wire::{Cited, ClaimInput, EscalationInput, ProposalInput, ReviewInput};
use pxp::{CardInput, Ruling, Status};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::{Arc, OnceLock};

/// What every tool that works in a room takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct InRoom {
    /// Your room link, exactly as it was given to you.
    pub link: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateRoom {
    /// What the room is about.
    pub topic: String,
    /// The name of the person you speak for.
    pub your_principal: String,
    /// The name of the person on the other side.
    pub counterpart: String,
    /// Further sides, in order.
    #[serde(default)]
    pub more_counterparts: Vec<String>,
    /// Who plays the other side: `external` (an agent joins with the invite link) or the name of a proxy of this server.
    #[serde(default)]
    pub counterpart_proxy: Option<String>,
    /// How you are called in the record.
    #[serde(default)]
    pub agent_name: Option<String>,
    /// A public key as a JWK: you then sign every envelope.
    #[serde(default)]
    #[schemars(with = "Option<std::collections::BTreeMap<String, String>>")]
    pub key: Option<keys::PublicKey>,
    #[serde(default)]
    pub max_turns: Option<u32>,
    /// Whether an answer that you relay waits for your principal's confirmation.
    #[serde(default)]
    pub hold_relayed: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Created {
    pub room_id: String,
    pub your_link: String,
    pub invite_link_for_counterpart: String,
    pub counterpart_proxy: String,
    /// The one-time link of every other seat.
    pub invites: Vec<SeatLink>,
    pub next_action: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct JoinRoom {
    /// The invite link, or your own link to change your name.
    pub link: String,
    #[serde(default)]
    pub agent_name: Option<String>,
    /// A public key as a JWK: you then sign every envelope.
    #[serde(default)]
    #[schemars(with = "Option<std::collections::BTreeMap<String, String>>")]
    pub key: Option<keys::PublicKey>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct JoinedRoom {
    /// Your own link from now on. The invite is dead. Absent when you were seated before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub your_link: Option<String>,
    #[serde(flatten)]
    pub room: RoomView,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SealCard {
    pub link: String,
    /// As your principal has confirmed it.
    pub card: CardInput,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WaitForTurn {
    pub link: String,
    /// 1 to 25; 20 if absent.
    #[serde(default)]
    pub timeout_seconds: Option<u64>,
    /// `since` of the last view you have seen. The transcript then leaves out what you have seen.
    #[serde(default)]
    pub since: Option<u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Waited {
    pub timed_out: bool,
    #[serde(flatten)]
    pub room: RoomView,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SendEnvelope {
    pub link: String,
    /// What you say to the other side. Never put your card's private limits here.
    pub message: String,
    /// `continue`, `agree` (accepts one exact offer) or `escalate` (asks your principal).
    pub status: Status,
    /// Every fact you rely on.
    #[serde(default)]
    pub claims: Vec<ClaimInput>,
    /// A review of every claim in `claims_to_review`.
    #[serde(default)]
    pub reviews: Vec<ReviewInput>,
    #[serde(default)]
    pub proposal: Option<ProposalInput>,
    /// With `agree`: the `offer_hash` you accept.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub accepts: Option<canon::Digest>,
    /// With `agree`: which clauses of your card each accepted term rests on.
    #[serde(default)]
    pub authority: Vec<Cited>,
    #[serde(default)]
    pub escalation: Option<EscalationInput>,
    /// Choose one for each message: a retry with the same id is the same message.
    #[serde(default)]
    pub client_msg_id: Option<String>,
    #[serde(default)]
    pub signature: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Accepted {
    pub accepted_envelope: SentView,
    pub room: RoomView,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerEscalation {
    pub link: String,
    /// The question this answers, from `pending_question`.
    pub question_id: pxp::QuestionId,
    /// `allow`, `deny` or `amend`, as your principal decided.
    pub ruling: Ruling,
    /// Your principal's words, verbatim.
    pub answer: String,
    /// With `allow`: the disputed claims that no longer block.
    #[serde(default)]
    pub clears: Vec<pxp::ClaimId>,
    /// What the other side may read; absent: the ruling alone.
    #[serde(default)]
    pub public_summary: Option<String>,
    /// With `amend`: typed limits that replace or add to the card's.
    #[serde(default)]
    pub limits: Vec<Limit>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answered {
    pub outcome: AnswerOutcome,
    pub room: RoomView,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Withdraw {
    pub link: String,
    /// The offer to withdraw. Absent: you leave, and the room ends without agreement.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub offer_hash: Option<canon::Digest>,
    #[serde(default)]
    pub reason: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListRooms {
    /// A room link; absent: the rooms of the agent key's owner.
    #[serde(default)]
    pub link: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Rooms {
    pub rooms: Vec<RoomLine>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConfirmClaim {
    /// The principal's own link: an agent's link may not confirm.
    pub link: String,
    pub claim_id: pxp::ClaimId,
    pub accept: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AttachSource {
    pub link: String,
    pub claim_id: pxp::ClaimId,
    /// Where the source is.
    pub uri: String,
    /// SHA-256 of its bytes, hex.
    #[schemars(with = "String")]
    pub sha256: canon::Digest,
}

/// Every tool, in the order it is listed.
pub(crate) fn all() -> &'static [Tool] {
    static ALL: OnceLock<Vec<Tool>> = OnceLock::new();
    ALL.get_or_init(|| {
        vec![
            tool::<CreateRoom, Created>(
                "create_room",
                "Open a room",
                "Opens a room to negotiate in. Gives your link and a one-time invite link for the other side. If this server \
                 asks for sign-in, send your agent key as the header Authorization: Bearer.",
                write(false),
            ),
            tool::<JoinRoom, JoinedRoom>(
                "join_room",
                "Join a room",
                "Takes your seat with an invite link, once. Keep the link it gives you: the invite no longer works.",
                write(true),
            ),
            tool::<SealCard, RoomView>(
                "seal_intent_card",
                "Seal the intent card",
                "Seals the card your principal has confirmed: goal, must-haves, limits. Only its hash is shown to others.",
                write(false),
            ),
            tool::<InRoom, RoomView>("get_room", "See the room", "The room as you may see it, with what to do next.", read()),
            tool::<WaitForTurn, Waited>(
                "wait_for_turn",
                "Wait for your turn",
                "Waits until there is something for you to do, or the time is over. Pass `since` of your last view.",
                read(),
            ),
            tool::<SendEnvelope, Accepted>(
                "send_envelope",
                "Send an envelope",
                "Sends your message with its claims, reviews and offer. Tag every fact; review every new claim of the other \
                 side; to agree, quote the exact offer_hash; to ask your principal, escalate.",
                write(false),
            ),
            tool::<AnswerEscalation, Answered>(
                "answer_escalation",
                "Relay an answer",
                "Passes on your principal's answer to a question, verbatim. It is recorded as relayed and may wait until \
                 they confirm it themselves.",
                write(false),
            ),
            tool::<InRoom, BriefView>("get_brief", "Read the brief", "The decision brief, once the room has ended.", read()),
            tool::<Withdraw, RoomView>(
                "withdraw",
                "Withdraw",
                "Withdraws an offer that nobody has accepted; without an offer_hash you leave, which ends the room.",
                write(false).destructive(true),
            ),
            tool::<ListRooms, Rooms>(
                "list_rooms",
                "List rooms",
                "The rooms of your agent key's owner, or the one your link opens.",
                read(),
            ),
            tool::<ConfirmClaim, RoomView>(
                "confirm_claim",
                "Confirm a claim",
                "A principal vouches for a claim or says it is wrong. Works with the principal's own link only.",
                write(true),
            ),
            tool::<AttachSource, RoomView>(
                "attach_source",
                "Attach a source",
                "Names a source of one of your claims by its address and the SHA-256 of its bytes.",
                write(true),
            ),
        ]
    })
}

/// The names of all tools, in the order they are listed.
pub fn names() -> Vec<&'static str> {
    all().iter().map(|tool| tool.name.as_ref()).collect()
}

fn read() -> ToolAnnotations {
    ToolAnnotations::new().read_only(true).open_world(true)
}

fn write(idempotent: bool) -> ToolAnnotations {
    ToolAnnotations::new().read_only(false).destructive(false).idempotent(idempotent).open_world(true)
}

fn tool<I: JsonSchema, O: JsonSchema>(
    name: &'static str,
    title: &str,
    description: &'static str,
    annotations: ToolAnnotations,
) -> Tool {
    let given = SchemaSettings::draft2020_12();
    let told = SchemaSettings::draft2020_12().for_serialize();
    Tool::new(name, description, Arc::new(schema::<I>(given)))
        .with_title(title)
        .with_raw_output_schema(Arc::new(or_error(schema::<O>(told))))
        .with_annotations(annotations.clone())
}

fn schema<T: JsonSchema>(settings: SchemaSettings) -> JsonObject {
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    without_own_formats(&mut schema);
    match schema {
        Value::Object(mut schema) => {
            schema.remove("title");
            schema.entry("type").or_insert_with(|| json!("object"));
            schema
        }
        _ => JsonObject::new(),
    }
}

/// `uint64` and its kind are no formats of JSON Schema; clients warn of each.
fn without_own_formats(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            let format = members.get("format").and_then(Value::as_str).unwrap_or_default();
            if format.trim_start_matches('u').starts_with("int") {
                members.shift_remove("format");
            }
            members.values_mut().for_each(without_own_formats);
        }
        Value::Array(items) => items.iter_mut().for_each(without_own_formats),
        _ => {}
    }
}

/// Clients check structured content of refusals too, so the schema allows `{error}` beside what the tool gives.
fn or_error(mut schema: JsonObject) -> JsonObject {
    let required = schema.remove("required").unwrap_or_else(|| json!([]));
    schema.remove("additionalProperties");
    schema.remove("unevaluatedProperties");
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    if let Some(properties) = properties.as_object_mut() {
        properties.insert(
            "error".to_owned(),
            json!({
                "type": "object",
                "properties": {
                    "code": { "type": "string" },
                    "retryable": { "type": "boolean" },
                    "details": { "type": "object" },
                },
                "required": ["code", "retryable"],
            }),
        );
    }
    let given = json!([{ "required": required }, { "required": ["error"] }]);
    schema.insert("anyOf".to_owned(), given);
    schema
}
