//! A whole room over MCP: one side with rmcp's client in the stateless generation, the other with hand-written requests of
//! the older one.

use crate::support::{Server, card, secret};
use rmcp::model::{
    CallToolRequestParams, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability, ProtocolVersion, UrlElicitationCapability,
};
use rmcp::service::{RequestContext, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, ErrorData, RoleClient};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

#[derive(Clone, Default)]
pub struct Agent;

impl ClientHandler for Agent {}

/// rmcp's client, 2026-07-28.
pub struct Modern(RunningService<RoleClient, Agent>);

impl Modern {
    pub async fn connect(server: &Server) -> Self {
        let transport = StreamableHttpClientTransport::from_uri(server.url("/mcp"));
        let mode = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
        Self(Agent.serve_with_lifecycle(transport, mode).await.unwrap())
    }

    pub async fn call(&self, tool: &'static str, arguments: Value) -> Value {
        let mut params = CallToolRequestParams::new(tool);
        params.arguments = arguments.as_object().cloned();
        let result = self.0.call_tool(params).await.unwrap();
        let content = result.structured_content.unwrap();
        assert_eq!(result.is_error.unwrap_or(false), content.get("error").is_some(), "{tool}: {content}");
        content
    }
}

/// Hand-written requests, 2025-11-25.
struct Older<'a> {
    server: &'a Server,
    session: String,
    id: std::cell::Cell<u64>,
}

impl<'a> Older<'a> {
    async fn connect(server: &'a Server) -> Self {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "older", "title": "Older Agent", "version": "1" },
        });
        let response = raw(
            server,
            None,
            &json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }),
        )
        .await;
        assert_eq!(response.status(), 200);
        let session = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        let answer: Value = response.json().await.unwrap();
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
        assert!(answer["result"]["capabilities"]["tools"].is_object());
        assert!(answer["result"]["instructions"].is_string());
        let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(raw(server, Some(&session), &note).await.status(), 202);
        Self { server, session, id: std::cell::Cell::new(1) }
    }

    async fn call(&self, tool: &str, arguments: Value) -> Value {
        let result = self.ask("tools/call", json!({ "name": tool, "arguments": arguments })).await;
        result["structuredContent"].clone()
    }

    async fn ask(&self, method: &str, params: Value) -> Value {
        self.id.set(self.id.get() + 1);
        let message = json!({ "jsonrpc": "2.0", "id": self.id.get(), "method": method, "params": params });
        let response = raw(self.server, Some(&self.session), &message).await;
        assert_eq!(response.headers()["content-type"], "application/json");
        let answer: Value = response.json().await.unwrap();
        assert_eq!(answer["id"], self.id.get(), "{answer}");
        answer["result"].clone()
    }
}

async fn raw(server: &Server, session: Option<&str>, message: &Value) -> reqwest::Response {
    let mut request = server
        .http
        .post(server.url("/mcp"))
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2025-11-25")
        .json(message);
    if let Some(session) = session {
        request = request.header("mcp-session-id", session);
    }
    request.send().await.unwrap()
}

#[tokio::test]
async fn a_whole_room_between_two_generations() {
    let server = Server::start().await;
    let ana = Modern::connect(&server).await;
    let ben = Older::connect(&server).await;
    let created = ana
        .call("create_room", json!({ "topic": "Hall hire", "your_principal": "Ana", "counterpart": "Ben", "agent_name": "Agent A" }))
        .await;
    let a = created["your_link"].clone();
    let joined = ben.call("join_room", json!({ "link": created["invite_link_for_counterpart"] })).await;
    let b = joined["your_link"].clone();
    assert_eq!(joined["you"]["proxy"], "Older Agent", "the label comes from the handshake");
    let again = ben.call("join_room", json!({ "link": created["invite_link_for_counterpart"] })).await;
    assert_eq!(again["error"]["code"], "credential_required", "an invite works once");
    ana.call("seal_intent_card", json!({ "link": a, "card": card("Ana") })).await;
    let sealed = ben.call("seal_intent_card", json!({ "link": b, "card": card("Ben") })).await;
    assert_eq!(sealed["status"], "negotiating");
    assert_eq!(sealed["your_turn"], false);

    let waited = ana.call("wait_for_turn", json!({ "link": a, "timeout_seconds": 5 })).await;
    assert_eq!((waited["timed_out"].clone(), waited["your_turn"].clone()), (json!(false), json!(true)));
    // Ben waits while Ana moves: the wait ends because of it.
    let waiting =
        ben.call("wait_for_turn", json!({ "link": b, "timeout_seconds": 20, "since": sealed["since"] }));
    let moving = ana.call(
        "send_envelope",
        json!({
            "link": a,
            "message": "We would like the hall.",
            "status": "continue",
            "claims": [{ "text": "Guests are confirmed", "origin": "stated", "ref": "known_facts[0]" }],
            "proposal": {
                "terms": ["The hall for a fair price"],
                "depends_on": ["new1"],
                "authority": [{ "term": 0, "clauses": ["may_agree_to[0]"] }],
            },
            "client_msg_id": "m1",
        }),
    );
    let (waited, sent) = tokio::join!(waiting, moving);
    assert_eq!(waited["timed_out"], false);
    assert_eq!(waited["claims_to_review"][0]["id"], "A1.1");
    assert_eq!(sent["accepted_envelope"]["status"], "continue", "{sent}");
    let offer = sent["accepted_envelope"]["offer_hash"].clone();

    let too_early = ben
        .call("send_envelope", json!({ "link": b, "message": "Yes", "status": "agree", "accepts": offer }))
        .await;
    assert_eq!(too_early["error"]["code"], "unreviewed_claims");
    let agreed = ben
        .call(
            "send_envelope",
            json!({
                "link": b,
                "message": "Agreed.",
                "status": "agree",
                "accepts": offer,
                "reviews": [{ "claim_id": "A1.1", "verdict": "accept" }],
                "authority": [{ "term": 0, "clauses": ["may_agree_to[0]"] }],
            }),
        )
        .await;
    assert_eq!(agreed["room"]["status"], "agreed", "{agreed}");
    let brief = ana.call("get_brief", json!({ "link": a })).await;
    assert_eq!(brief["brief"]["outcome"], "agreed");
    let listed = ana.call("list_rooms", json!({ "link": a })).await;
    assert_eq!(listed["rooms"][0]["status"], "agreed");

    let bundle = server
        .send(
            reqwest::Method::GET,
            &format!("/api/rooms/{}/bundle", created["room_id"].as_str().unwrap()),
            Some(&secret(&a)),
            None,
        )
        .await
        .bytes()
        .await
        .unwrap();
    let parsed = pxp::bundle::Bundle::parse(&bundle).unwrap();
    let folded = pxp::bundle::check(&parsed).unwrap();
    assert!(folded.state.is_ended());
}

#[tokio::test]
async fn tools_are_listed_in_one_order_with_schemas() {
    let server = Server::start().await;
    let older = Older::connect(&server).await;
    let tools = older.ask("tools/list", json!({})).await["tools"].clone();
    let names: Vec<&str> =
        tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, server::mcp::names());
    for tool in tools.as_array().unwrap() {
        for schema in ["inputSchema", "outputSchema"] {
            assert_eq!(tool[schema]["type"], "object", "{tool}");
            jsonschema::draft202012::new(&tool[schema]).unwrap_or_else(|error| panic!("{tool}: {error}"));
        }
        assert!(tool["annotations"]["readOnlyHint"].is_boolean());
        assert!(tool["inputSchema"]["additionalProperties"] == false, "{tool}");
    }
    let modern = Modern::connect(&server).await;
    assert_eq!(modern.0.list_all_tools().await.unwrap().len(), names.len());
}

#[tokio::test]
async fn results_fit_their_schemas() {
    let server = Server::start().await;
    let older = Older::connect(&server).await;
    let tools = older.ask("tools/list", json!({})).await["tools"].clone();
    let schema = |name: &str| {
        let tool = tools.as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap();
        jsonschema::draft202012::new(&tool["outputSchema"]).unwrap()
    };
    let room = server.negotiating().await;
    let link = json!(format!("/room/{}#seat=A&t={}", room.room, room.a));
    for (tool, arguments) in [
        ("get_room", json!({ "link": link })),
        ("wait_for_turn", json!({ "link": link })),
        ("get_brief", json!({ "link": link })),
        ("list_rooms", json!({ "link": link })),
        ("send_envelope", json!({ "link": link, "message": "Hello", "status": "continue" })),
        ("get_room", json!({ "link": "nonsense" })),
        ("create_room", json!({ "topic": "x" })),
    ] {
        let result = older.call(tool, arguments).await;
        let check = schema(tool);
        let faults: Vec<String> = check.iter_errors(&result).map(|error| error.to_string()).collect();
        assert!(faults.is_empty(), "{tool}: {faults:?} in {result}");
    }
}

/// A seat signs with the key it opened or joined with, and cannot bring another later.
#[tokio::test]
async fn a_key_is_taken_once() {
    use keys::Signer;
    let key = |seed| keys::SoftwareSigner::from_seed(keys::Algorithm::Ed25519, &[seed; 32]).unwrap().public();
    let server = Server::start().await;
    let agent = Modern::connect(&server).await;
    let opened = json!({ "topic": "Hall", "your_principal": "Ana", "counterpart": "Ben", "key": key(1) });
    let created = agent.call("create_room", opened).await;
    let a = created["your_link"].clone();
    let joined = agent.call("join_room", json!({ "link": created["invite_link_for_counterpart"] })).await;
    for (link, key, code) in
        [(&a, key(2), Some("bad_key")), (&a, key(1), None), (&joined["your_link"], key(1), Some("bad_key"))]
    {
        let again = agent.call("join_room", json!({ "link": link, "key": key })).await;
        assert_eq!(again["error"]["code"].as_str(), code, "{again}");
    }
    agent.call("seal_intent_card", json!({ "link": a, "card": card("Ana") })).await;
    agent.call("seal_intent_card", json!({ "link": joined["your_link"], "card": card("Ben") })).await;
    let unsigned = json!({ "link": a, "message": "Hello", "status": "continue", "client_msg_id": "m1" });
    assert_eq!(agent.call("send_envelope", unsigned).await["error"]["code"], "signature_required");
}

#[tokio::test]
async fn what_is_no_tool_call_is_a_protocol_error() {
    let server = Server::start().await;
    for (body, status, code) in [
        ("{", 400, -32700),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"ping"}"#, 400, -32700),
        ("5", 400, -32600),
        (r#"{"id":1,"method":"ping"}"#, 400, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"no/such"}"#, 200, -32601),
    ] {
        let response = server
            .http
            .post(server.url("/mcp"))
            .header("content-type", "application/json")
            .body(body)
            .send()
            .await
            .unwrap();
        assert_eq!(response.status(), status, "{body}");
        let answer: Value = response.json().await.unwrap();
        assert_eq!(answer["error"]["code"], code, "{body}: {answer}");
    }
    let large = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{}"}}"#, "x".repeat(300_000));
    let response = server
        .http
        .post(server.url("/mcp"))
        .header("content-type", "application/json")
        .body(large)
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 413);
    assert_eq!(server.http.get(server.url("/mcp")).send().await.unwrap().status(), 405);
    assert_eq!(server.http.delete(server.url("/mcp")).send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_batch_of_the_older_generation_is_answered_in_order() {
    let server = Server::start().await;
    let one = |id: u64| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let send = |batch: Value| server.http.post(server.url("/mcp")).json(&batch).send();
    let answers: Value = send(json!([one(1), note, one(2)])).await.unwrap().json().await.unwrap();
    let ids: Vec<u64> =
        answers.as_array().unwrap().iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, [1, 2]);
    assert_eq!(send(json!([note])).await.unwrap().status(), 202);
    assert_eq!(send(json!((0..21).map(one).collect::<Vec<_>>())).await.unwrap().status(), 400);
}

#[tokio::test]
async fn a_plain_call_is_answered_as_the_sdk_answers_it() {
    let server = Server::start().await;
    let both = server.negotiating().await;
    let link = format!("/room/{}#t={}", both.room, both.b);
    for (tool, arguments) in [
        ("get_room", json!({ "link": link })),
        ("get_room", json!({ "link": link, "extra": 1 })),
        ("get_room", json!({ "link": "/room/nowhere#t=x" })),
        ("get_brief", json!({ "link": link })),
        ("wait_for_turn", json!({ "link": link, "timeout_seconds": 1 })),
        ("wait_for_turn", json!({ "link": link, "timeout_seconds": "long" })),
    ] {
        let answer = async |params: Value| {
            let message = json!({ "jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": params });
            let response = raw(&server, None, &message).await;
            let kind = response.headers()["content-type"].clone();
            let (status, text) = (response.status(), response.text().await.unwrap());
            let body: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{status} {text}"));
            (status, kind, body)
        };
        let plain = answer(json!({ "name": tool, "arguments": arguments })).await;
        // What the server does not know, it leaves to the SDK.
        let meta = json!({ "example.com/trace": 1 });
        let through = answer(json!({ "name": tool, "arguments": arguments, "_meta": meta })).await;
        assert!(plain.2["result"]["structuredContent"].is_object(), "{}", plain.2);
        assert_eq!(plain, through, "{tool} {arguments}");
    }
}

#[tokio::test]
async fn a_call_that_carries_a_message_never_runs_unjudged() {
    let server = Server::start().await;
    let both = server.negotiating().await;
    let link = format!("/room/{}#t={}", both.room, both.b);
    let call = async |key: &str| {
        let params =
            format!(r#"{{"name":"get_room","arguments":{{"link":"{link}"}},"_meta":{{"{key}":{{}}}}}}"#);
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        let request = server.http.post(server.url("/mcp")).header("content-type", "application/json");
        let request = request.header("accept", "application/json, text/event-stream");
        let answer = request.header("mcp-protocol-version", "2025-11-25").body(body).send().await;
        answer.unwrap().json::<Value>().await.unwrap()["result"]["structuredContent"].clone()
    };
    let refused = call("countersign.pcm/message").await;
    assert!(refused["error"]["code"].is_string(), "{refused}");
    assert_eq!(call(r"countersign\u002epcm/message").await, refused);
    assert_eq!(call("example.com/trace").await["room_id"], json!(both.room));
}

#[tokio::test]
async fn a_relayed_answer_and_a_withdrawal() {
    let server = Server::start().await;
    let agent = Modern::connect(&server).await;
    let room = server.negotiating().await;
    let link = |seat: &str, secret: &str| json!(format!("/room/{}#seat={seat}&t={secret}", room.room));
    let (a, b) = (link("A", &room.a), link("B", &room.b));
    let asked = agent
        .call(
            "send_envelope",
            json!({ "link": a, "message": "One moment.", "status": "escalate", "escalation": { "question": "Is Tuesday fine?" } }),
        )
        .await;
    assert_eq!(asked["room"]["status"], "paused");
    assert_eq!(asked["room"]["pending_question"]["question_id"], "q1");
    let other = agent.call("get_room", json!({ "link": b })).await;
    assert!(other.get("pending_question").is_none());
    let answer = |link: &Value| json!({ "link": link, "question_id": "q1", "ruling": "allow", "answer": "Yes, Tuesday" });
    assert_eq!(agent.call("answer_escalation", answer(&b)).await["error"]["code"], "wrong_person");
    let answered = agent.call("answer_escalation", answer(&a)).await;
    assert_eq!(answered["outcome"]["standing"], "relayed", "{answered}");
    assert_eq!(agent.call("answer_escalation", answer(&a)).await["error"]["code"], "question_answered");
    let refused = agent.call("confirm_claim", json!({ "link": a, "claim_id": "Aq1", "accept": true })).await;
    assert_eq!(refused["error"]["code"], "not_permitted");
    let left = agent.call("withdraw", json!({ "link": b, "reason": "No longer needed" })).await;
    assert_eq!(left["status"], "withdrawn");
}

/// A host that leads its person to the addresses it is given.
#[derive(Clone, Default)]
struct Host {
    led: Arc<Mutex<Vec<(String, String)>>>,
}

impl ClientHandler for Host {
    fn get_info(&self) -> ClientConfig {
        let mut info = ClientConfig::default();
        info.capabilities.elicitation =
            Some(ElicitationCapability::new().with_url(UrlElicitationCapability::new()));
        info
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::UrlElicitationParams { message, url, .. } = request else {
            return Ok(ElicitResult::new(ElicitationAction::Decline));
        };
        self.led.lock().unwrap().push((message, url));
        Ok(ElicitResult::new(ElicitationAction::Accept))
    }
}

#[tokio::test]
async fn a_host_that_can_is_led_to_the_answer_page_once() {
    let server = Server::start().await;
    let room = server.negotiating().await;
    let link = format!("http://localhost:{}/room/{}#seat=A&t={}", server.at.port(), room.room, room.a);
    let host = Host::default();
    let transport = StreamableHttpClientTransport::from_uri(server.url("/mcp"));
    let mode = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    let client = host.clone().serve_with_lifecycle(transport, mode).await.unwrap();
    let send = |message: &str, status: &str, question: Option<&str>| {
        let mut arguments = json!({ "link": link, "message": message, "status": status });
        if let Some(question) = question {
            arguments["escalation"] = json!({ "question": question });
        }
        let mut params = CallToolRequestParams::new("send_envelope");
        params.arguments = arguments.as_object().cloned();
        params
    };
    let before = server.get(&room.path(""), &room.a).await["since"].as_u64().unwrap();
    let result = client.call_tool(send("Wait", "escalate", Some("Is 950 fine?"))).await.unwrap();
    let content = result.structured_content.unwrap();
    assert_eq!(content["accepted_envelope"]["question_id"], "q1", "{content}");
    assert_eq!(content["room"]["status"], "paused");
    let page = format!("http://localhost:{}/asks/{}/q1", server.at.port(), room.room);
    let led = host.led.lock().unwrap().clone();
    assert_eq!(led.len(), 1);
    assert_eq!(led[0].1, page);
    assert!(led[0].0.ends_with("Is 950 fine?"), "{}", led[0].0);
    // The second call sent nothing, and answered nothing.
    let ledger = server.get(&room.path("/ledger"), &room.a).await;
    let count = |kind: &str| {
        ledger["entries"].as_array().unwrap().iter().filter(|entry| entry["type"] == kind).count()
    };
    assert!(ledger["entries"].as_array().unwrap().len() as u64 > before);
    assert_eq!((count("envelope"), count("escalation"), count("principal_answer")), (1, 1, 0));

    // A state of another server, or with another link, opens nothing.
    let mut forged = send("Wait", "escalate", Some("Is 950 fine?"));
    forged.request_state = Some("e30.AAAA".to_owned());
    let refused = client.call_tool(forged).await.unwrap().structured_content.unwrap();
    assert_eq!(refused["error"]["code"], "bad_request_state");
}

/// A state opens the very call it was given for, once.
#[tokio::test]
async fn a_request_state_is_of_one_call_and_good_once() {
    let server = Server::start().await;
    let room = server.negotiating().await;
    let link = format!("http://localhost:{}/room/{}#seat=A&t={}", server.at.port(), room.room, room.a);
    let call = async |message: &str, state: Option<&str>| {
        let arguments = json!({ "link": link, "message": message, "status": "escalate",
            "escalation": { "question": "Is 950 fine?" } });
        let mut params = json!({ "name": "send_envelope", "arguments": arguments, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "by-hand", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "url": {} } } } });
        if let Some(state) = state {
            params["requestState"] = state.into();
        }
        let request = server
            .http
            .post(server.url("/mcp"))
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", "tools/call")
            .header("mcp-name", "send_envelope")
            .json(&json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params }));
        request.send().await.unwrap().json::<Value>().await.unwrap()["result"].clone()
    };
    let offered = call("Wait", None).await;
    assert_eq!(offered["resultType"], "input_required", "{offered}");
    let state = offered["requestState"].as_str().unwrap();
    let refused = |result: Value| result["structuredContent"]["error"]["code"].clone();
    assert_eq!(refused(call("Another message", Some(state)).await), "bad_request_state");
    let resumed = call("Wait", Some(state)).await;
    assert_eq!(resumed["structuredContent"]["accepted_envelope"]["question_id"], "q1", "{resumed}");
    assert_eq!(refused(call("Wait", Some(state)).await), "bad_request_state");
}
