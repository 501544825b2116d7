//! Leads a person to the page where their agent's question is answered, if the host can: URL mode of elicitation as MCP
//! 2026-07-28 has it, an `input_required` result that the host answers by calling again.
//!
//! The envelope is recorded before the host is asked anything. What it gets back carries that result, sealed, so that the
//! second call says the same and sends nothing.

use crate::views::RoomView;
use crate::{App, Error};
use canon::Digest;
use env::{Duration, Timestamp};
use rmcp::RoleServer;
use rmcp::model::{
    ElicitRequest, ElicitRequestParams, InputRequest, InputRequiredResult, JsonObject, ProtocolVersion,
};
use rmcp::service::RequestContext;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

const DOMAIN: &str = "countersign.mcp.sent.v1";

/// How long a second call may come.
const LIFE: Duration = Duration::from_secs(24 * 3600);
const SCOPE: &str = "mcp-request-state";

/// What was recorded by the first call.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sent {
    /// SHA-256 of the call, its tool and its arguments: the second is the same one.
    call: Digest,
    nonce: String,
    until: Timestamp,
    /// `accepted_envelope` as it was to be answered, in JSON.
    accepted: String,
}

/// What the second call is answered: the envelope as it was accepted, the room as it is now.
#[derive(Serialize)]
pub(crate) struct Resumed {
    pub accepted_envelope: Value,
    pub room: RoomView,
}

/// Whether the host of this request can lead its person to an address.
pub(crate) fn can_lead(context: &RequestContext<RoleServer>) -> bool {
    let speaks = context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
    let declared = context.client_capabilities().and_then(|capabilities| capabilities.elicitation);
    speaks && declared.is_some_and(|elicitation| elicitation.url.is_some())
}

/// The way to the answer page, if the envelope that was just sent raised a question. `answer` is the tool's own.
pub(crate) fn offer(app: &App, call: Digest, answer: &Value) -> Option<InputRequiredResult> {
    let accepted = answer.get("accepted_envelope")?;
    let question = accepted.get("question_id")?.as_str()?;
    let room = answer.pointer("/room/room_id")?.as_str()?;
    let text = answer.pointer("/room/pending_question/question")?.as_str()?;
    let (nonce, until) = (app.env().secret(), app.now() + LIFE);
    let sent = Sent { call, nonce, until, accepted: accepted.to_string() };
    let request = ElicitRequest::new(ElicitRequestParams::UrlElicitationParams {
        meta: None,
        message: format!("A question for you, to be answered on this page: {}", approvals::text::show(text)),
        url: app.config().link(&format!("/asks/{room}/{question}")),
        elicitation_id: format!("{room}/{question}"),
    });
    let requests = BTreeMap::from([(question.to_owned(), InputRequest::Elicitation(request))]);
    Some(InputRequiredResult::new(Some(requests), Some(app.seals().seal(DOMAIN, &sent))))
}

/// What the first call recorded, given to the same call once. Whether the person went to the page is theirs: only an answer
/// there counts.
pub(crate) async fn sent(app: &App, call: Digest, state: &str) -> Result<Value, Error> {
    let bad = |text: &str| Error::malformed("bad_request_state", "/requestState", text);
    let sent: Option<Sent> = app.seals().unseal(DOMAIN, state);
    let sent = sent.filter(|sent| sent.call == call && app.now() < sent.until);
    let sent =
        sent.ok_or_else(|| bad("this state is not from this server, or of another call, or too old"))?;
    if !app.use_up(SCOPE, &sent.nonce, sent.until).await? {
        return Err(bad("this state was used before"));
    }
    serde_json::from_str(&sent.accepted).map_err(|error| Error::Bug(error.to_string()))
}

/// A call as its state is bound to it.
pub(crate) fn digest_of(tool: &str, arguments: &JsonObject) -> Result<Digest, Error> {
    let arguments = serde_json::to_vec(arguments).map_err(|error| Error::Bug(error.to_string()))?;
    Ok(Digest::of_parts(&[tool.as_bytes(), b"\0", &canon::canonicalize(&arguments)?]))
}
