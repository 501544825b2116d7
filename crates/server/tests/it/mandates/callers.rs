//! Who may do what: every caller against every route that the API document has.

use super::cardano::{Coast, witness};
use super::desk::{
    AGENT, Desk, MASUMI, Signs, VERIFIER, action, evidence_of, key, key_hash, proposal, statement_of, told,
};
use crate::people::Person;
use crate::support::Server;
use approvals::{MemberId, OrgId};
use mandate::state::ApprovalStatus;
use reqwest::{Method, Response};
use serde_json::{Value, json};
use server::mandates::Seated;
use std::collections::BTreeSet;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Nobody,
    Wrong,
    /// What the model's own service has: the secret by which it is asked.
    Model,
    Agent,
    Delegate,
    Masumi,
    Verifier,
    /// The key that signs authorizations.
    Engine,
    /// Whoever passes on what others signed: it has a pass to the run, and no more.
    Relay,
    /// The company's own people and programs: signed in, seated for no key.
    Backend,
    Approver,
    Principal,
    OtherApprover,
}

const ALL: [By; 13] = [
    By::Nobody,
    By::Wrong,
    By::Model,
    By::Agent,
    By::Delegate,
    By::Masumi,
    By::Verifier,
    By::Engine,
    By::Relay,
    By::Backend,
    By::Approver,
    By::Principal,
    By::OtherApprover,
];

async fn ask(server: &Server, by: By, method: Method, path: &str, body: Option<&Value>) -> Response {
    let bearer = |secret: Option<&str>| {
        let mut request = server.http.request(method.clone(), server.url(path));
        if let Some(secret) = secret {
            request = request.bearer_auth(secret);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        request.send()
    };
    let signed = async |seed: u8| Signs { server }.signed(&key(seed), method.clone(), path, body).await;
    match by {
        By::Nobody | By::Relay | By::Backend => bearer(None).await.unwrap(),
        By::Wrong => bearer(Some("nobody's")).await.unwrap(),
        By::Model => bearer(Some("the-model-service's-secret")).await.unwrap(),
        By::Agent => bearer(Some(AGENT)).await.unwrap(),
        By::Masumi => bearer(Some(MASUMI)).await.unwrap(),
        By::Verifier => bearer(Some(VERIFIER)).await.unwrap(),
        By::Engine => signed(1).await,
        By::Delegate => signed(2).await,
        By::Approver => signed(5).await,
        By::Principal => signed(6).await,
        By::OtherApprover => signed(8).await,
    }
}

/// Who may.
#[derive(Debug, Clone, Copy)]
enum Rule {
    /// These, and nobody else.
    Only(&'static [By]),
    /// These; and whoever has a pass to the run.
    OrPass(&'static [By]),
    /// Everybody gets this status.
    Alike(u16),
    /// Nobody by who they are: what it carries must be signed, and is not by whom it should.
    Signature,
}

const PARTIES: &[By] = &[By::Agent, By::Delegate, By::Approver, By::Principal];
const AGENTS: &[By] = &[By::Agent, By::Delegate];
const KEYS: &[By] = &[By::Delegate, By::Engine, By::Approver, By::Principal, By::OtherApprover];
const APPROVER: Rule = Rule::Only(&[By::Approver]);
const PRINCIPAL: Rule = Rule::Only(&[By::Principal]);

/// The parts of the API document that mandates make.
const TAGS: [&str; 5] = ["authority", "approvals", "principal", "masumi", "fixture"];

#[tokio::test]
async fn the_table_of_callers_and_routes() {
    // What is paid to Stripe waits.
    let coast = Coast::of(|mandate| {
        mandate["schema"] = json!("mandate/v0.2");
        let wait = json!({ "id": "wait", "kind": "counterparty_in", "values": ["aws"], "on_violation": "DELAY",
            "delay_seconds": 3600, "approver": "CFO" });
        mandate["constraints"].as_array_mut().unwrap().insert(0, wait);
    })
    .await;
    let server = &coast.server;
    let person = Person::enrol(server).await;
    let id = coast.ask(&action("A1", 1800)).await;
    let state = coast.state().await;
    let run = state.approval(&id.parse().unwrap()).unwrap().run.to_string();
    let (_, allowed) = coast.check(&action("A2", 842), None).await;
    let receipt = allowed["receipt_id"].as_str().unwrap();
    let slow = {
        let mut slow = action("A3", 842);
        slow["counterparty"]["id"] = json!("stripe");
        let (_, delayed) = coast.check(&slow, None).await;
        assert_eq!(delayed["evaluation"]["outcome"], "DELAY", "{delayed}");
        delayed["evaluation"]["action_hash"].as_str().unwrap().to_owned()
    };
    let take = json!({ "act": "withdraw", "amount": "1000", "to": coast.agent.address().as_str() });
    let acts = "/v1/mandates/M-001/acts";
    let (status, act) = told(ask(server, By::Principal, Method::POST, acts, Some(&take)).await).await;
    assert_eq!(status, 200, "{act}");
    let (_, shared) =
        told(ask(server, By::Agent, Method::POST, &format!("/v1/runs/{run}/share"), Some(&json!({}))).await)
            .await;
    let pass = shared["token"].as_str().unwrap();

    // What a stranger signed, where a person of the mandate must.
    let statement = |path: String, body: Value| async move {
        let shown = ask(server, By::Approver, Method::POST, &path, Some(&body)).await;
        statement_of(&told(shown).await.1)
    };
    let no = statement(format!("/v1/approvals/{id}/statement"), json!({ "reason": "frivolous" })).await;
    let veto = statement(format!("/v1/delays/{slow}/statement"), json!({})).await;
    let stranger = witness(act["unsigned_tx_cbor"].as_str().unwrap(), &key(8));
    let declined = json!({ "reason": "frivolous", "signed": evidence_of(&no, &key(8)) });
    let vetoed = json!({ "signed": evidence_of(&veto, &key(8)) });
    let executed =
        json!({ "approval_id": id, "authorization_digest": "ab".repeat(32), "cfo_witness_cbor": stranger });
    let spent = json!({ "tx_hash": "ab".repeat(32), "cfo_witness_cbor": stranger });
    let witnessed = json!({ "witness_cbor": stranger });

    let empty = json!({});
    let check = proposal(&action("A4", 842), false);
    let reason = json!({ "reason": "legitimate" });
    let open = json!({ "mandate_id": "M-001" });
    let quote = json!({ "mandate_id": "M-001", "quote": { "pair": "EUR/USD", "rate": "1.1" } });
    let (get, post) = (Method::GET, Method::POST);
    let tx = act["tx_hash"].as_str().unwrap();
    let rows: Vec<(&Method, &str, &str, Option<&Value>, Rule)> = vec![
        (&get, "/v1/authority/{role}", "/v1/authority/CFO?mandate_id=M-001", None, Rule::Alike(200)),
        (&get, "/v1/metrics", "/v1/metrics?mandate_id=M-001", None, Rule::Alike(200)),
        (&get, "/.well-known/agent.json", "", None, Rule::Alike(200)),
        (&get, "/llms.txt", "", None, Rule::Alike(200)),
        (&get, "/llms-full.txt", "", None, Rule::Alike(200)),
        (&get, "/availability", "", None, Rule::Alike(200)),
        (&get, "/input_schema", "", None, Rule::Alike(200)),
        (&get, "/api/fixture", "", None, Rule::Alike(200)),
        (&get, "/demo", "", None, Rule::Alike(200)),
        (&post, "/start_job", "", Some(&empty), Rule::Alike(503)),
        (&get, "/status", "", None, Rule::Alike(400)),
        (
            &get,
            "/v1/jobs/{id}/proof",
            "/v1/jobs/00000000-0000-4000-8000-000000000000/proof",
            None,
            Rule::Alike(404),
        ),
        (&post, "/v1/authority/check", "", Some(&check), Rule::Only(&[By::Agent, By::Delegate, By::Masumi])),
        (&get, "/v1/mandates/{id}", "/v1/mandates/M-001", None, Rule::Only(PARTIES)),
        (&get, "/v1/mandates/{id}/proof", "/v1/mandates/M-001/proof", None, Rule::Only(PARTIES)),
        (
            &get,
            "/v1/mandates/{id}/runs/{run}/proof",
            "/v1/mandates/M-001/runs/RUN/proof",
            None,
            Rule::Only(PARTIES),
        ),
        (&post, "/v1/quotes", "", Some(&quote), Rule::Only(PARTIES)),
        (&get, "/v1/receipts/{id}", "/v1/receipts/RECEIPT", None, Rule::Only(PARTIES)),
        (&get, "/v1/receipts/{id}/proof", "/v1/receipts/RECEIPT/proof", None, Rule::Only(PARTIES)),
        (&get, "/v1/runs", "/v1/runs?mandate_id=M-001", None, Rule::Only(PARTIES)),
        (&post, "/v1/runs", "", Some(&open), Rule::Only(AGENTS)),
        (&get, "/v1/runs/{id}/log", "/v1/runs/RUN/log", None, Rule::OrPass(PARTIES)),
        (&get, "/v1/runs/{id}/events", "/v1/runs/RUN/events", None, Rule::OrPass(PARTIES)),
        (&post, "/v1/runs/{id}/share", "/v1/runs/RUN/share", Some(&empty), Rule::Only(PARTIES)),
        (&post, "/v1/runs/{id}/finish", "/v1/runs/RUN/finish", Some(&empty), Rule::Only(AGENTS)),
        (&get, "/v1/approvals", "/v1/approvals?status=pending", None, Rule::Only(KEYS)),
        (&get, "/v1/approvals/{id}", "/v1/approvals/AP", None, APPROVER),
        (&post, "/v1/approvals/{id}/approve", "/v1/approvals/AP/approve", Some(&empty), APPROVER),
        (&post, "/v1/approvals/{id}/statement", "/v1/approvals/AP/statement", Some(&reason), APPROVER),
        (&post, "/v1/approvals/{id}/decline", "/v1/approvals/AP/decline", Some(&declined), Rule::Signature),
        (
            &post,
            "/v1/approvals/{id}/bond-submit",
            "/v1/approvals/AP/bond-submit",
            Some(&spent),
            Rule::Signature,
        ),
        (&post, "/v1/executions", "", Some(&executed), Rule::Signature),
        (&get, "/v1/delays", "", None, Rule::Only(KEYS)),
        (&post, "/v1/delays/{action_hash}/statement", "/v1/delays/SLOW/statement", Some(&empty), APPROVER),
        (&post, "/v1/delays/{action_hash}/veto", "/v1/delays/SLOW/veto", Some(&vetoed), Rule::Signature),
        (&get, "/v1/mandates/{id}/acts", acts, None, PRINCIPAL),
        (&post, "/v1/mandates/{id}/acts", acts, Some(&take), PRINCIPAL),
        (&get, "/v1/mandates/{id}/acts/{tx_hash}", "/v1/mandates/M-001/acts/TX", None, PRINCIPAL),
        (
            &post,
            "/v1/mandates/{id}/acts/{tx_hash}",
            "/v1/mandates/M-001/acts/TX",
            Some(&witnessed),
            Rule::Signature,
        ),
    ];
    let mut wrong = Vec::new();
    for (method, route, path, body, rule) in &rows {
        let path = if path.is_empty() { route } else { path };
        let path = path.replace("RUN", &run).replace("AP", &id).replace("RECEIPT", receipt);
        let path = path.replace("SLOW", &slow).replace("TX", tx);
        for by in ALL {
            let response = match by {
                By::Backend => person.send(server, (*method).clone(), &path, body.cloned()).await,
                By::Relay if matches!(rule, Rule::OrPass(_)) => {
                    ask(server, by, (*method).clone(), &format!("{path}?token={pass}"), *body).await
                }
                _ => ask(server, by, (*method).clone(), &path, *body).await,
            };
            let status = response.status().as_u16();
            let nobody = matches!(by, By::Nobody | By::Wrong | By::Model | By::Relay);
            // Those who may have quotes have none here: no verifier is asked.
            let good = if *route == "/v1/quotes" { 503 } else { 200 };
            let may = match rule {
                Rule::Only(may) => may.contains(&by),
                Rule::OrPass(may) => may.contains(&by) || by == By::Relay,
                Rule::Alike(_) | Rule::Signature => false,
            };
            let right = match rule {
                Rule::Alike(expected) => status == *expected,
                Rule::Signature => (400..500).contains(&status),
                _ if may => status == good,
                _ if nobody => status == 401,
                _ => matches!(status, 401 | 403 | 404),
            };
            if !right {
                wrong.push(format!("{by:?} {method} {route}: {status}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let played: BTreeSet<String> =
        rows.iter().map(|(method, route, ..)| format!("{method} {route}")).collect();
    assert_eq!(played, documented(server).await, "a route without a row, or a row without a route");

    // An inbox is a key's own: whoever is no approver finds it empty.
    for by in [By::Principal, By::OtherApprover, By::Delegate, By::Engine] {
        let (_, body) = told(ask(server, by, Method::GET, "/v1/approvals?status=pending", None).await).await;
        assert_eq!(body["approvals"], json!([]), "{by:?}");
    }
    let response = ask(server, By::Approver, Method::GET, "/v1/approvals?status=all", None).await;
    assert_eq!(told(response).await.0, 400);
    // Nothing of all that decided anything.
    let state = coast.state().await;
    assert_eq!(state.authorizations().len(), 2, "what was allowed, and no more");
    assert_eq!(state.approval(&id.parse().unwrap()).unwrap().status, ApprovalStatus::Pending);
    assert!(!state.delay(&slow.parse().unwrap()).unwrap().vetoed);
    assert_eq!(coast.balance().await + coast.received().await, 500_000_000);
}

/// The routes of mandates, as the API document has them.
async fn documented(server: &Server) -> BTreeSet<String> {
    let response = server.http.get(server.url("/openapi.json")).send().await.unwrap();
    let (_, document) = told(response).await;
    let mut routes = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            if TAGS.iter().any(|tag| operation["tags"] == json!([tag])) {
                routes.insert(format!("{} {path}", method.to_uppercase()));
            }
        }
    }
    assert!(routes.len() > 30, "{routes:?}");
    routes
}

#[tokio::test]
async fn w16_what_waits_for_an_approver_is_not_public() {
    let desk = Desk::start().await;
    let id = desk.ask(&action("A1", 1800)).await;
    let run = desk.state().await.approval(&id.parse().unwrap()).unwrap().run.clone();
    let inbox = "/v1/approvals?status=pending".to_owned();
    for path in [inbox, format!("/v1/approvals/{id}"), format!("/v1/runs/{run}/log")] {
        let response = ask(&desk.server, By::Nobody, Method::GET, &path, None).await;
        let (status, body) = told(response).await;
        assert_eq!(status, 401, "{path}");
        assert!(!body.to_string().contains("INV-A1"), "{path}: {body}");
        assert_eq!(ask(&desk.server, By::Approver, Method::GET, &path, None).await.status(), 200, "{path}");
    }
}

#[tokio::test]
async fn nobody_but_the_approver_authorizes() {
    let desk = Desk::start().await;
    let id = desk.ask(&action("A1", 1800)).await;
    let (_, draft) = desk.draft(&id).await;
    let path = format!("/v1/approvals/{id}/approve");
    for seed in [1, 2, 6, 8, 9] {
        let body = super::desk::signed_approval(&draft, &key(seed));
        for by in ALL {
            if by == By::Wrong {
                continue;
            }
            let status = ask(&desk.server, by, Method::POST, &path, Some(&body)).await.status();
            assert_eq!(status, 401, "key {seed} brought by {by:?}");
        }
    }
    assert!(desk.state().await.authorizations().is_empty());
    // Whoever brings the approver's own signature, it is the approver who decided.
    let body = super::desk::signed_approval(&draft, &key(5));
    assert_eq!(ask(&desk.server, By::Nobody, Method::POST, &path, Some(&body)).await.status(), 200);
}

#[tokio::test]
async fn a_server_without_mandates_says_so() {
    let server = crate::support::Server::start().await;
    for path in
        ["/v1/authority/CFO?mandate_id=M-001", "/v1/metrics?mandate_id=M-001", "/v1/approvals", "/llms.txt"]
    {
        let (status, body) = told(server.http.get(server.url(path)).send().await.unwrap()).await;
        assert_eq!((status, &body["code"]), (404, &json!("mandates_off")), "{path}");
    }
    let request = server.http.post(server.url("/v1/authority/check")).bearer_auth("x").json(&json!({}));
    assert_eq!(told(request.send().await.unwrap()).await.1["code"], "mandates_off");
}

#[tokio::test]
async fn a_seated_member_reads_and_their_switch_stops_it() {
    let desk = Desk::start().await;
    let person = Person::enrol(&desk.server).await;
    let send = |desk: &Desk, method: Method, path: &str, body: Option<Value>| {
        let (person, path) = (&person, desk.server.url(path));
        let http = desk.server.http.clone();
        async move { told(person.send_to(&http, method, &path, body).await).await }
    };
    let (_, me) = send(&desk, Method::GET, "/api/me", None).await;
    // A member who sits for no key reads nothing.
    assert_eq!(send(&desk, Method::GET, "/v1/approvals?status=pending", None).await.0, 403);
    let seat = Seated {
        org: OrgId("home".to_owned()),
        member: MemberId(me["member"].as_str().unwrap().to_owned()),
        key: key_hash(&key(5)),
    };
    let desk = desk.restart_with(|_| {}, |setup| setup.approvers = vec![seat]).await;
    let id = desk.ask(&action("A1", 1800)).await;
    let (_, inbox) = send(&desk, Method::GET, "/v1/approvals?status=pending", None).await;
    assert_eq!(inbox["approvals"][0]["approval_id"], json!(id));
    assert_eq!(send(&desk, Method::GET, &format!("/v1/approvals/{id}"), None).await.0, 200);
    let approve = format!("/v1/approvals/{id}/approve");
    let (status, draft) = send(&desk, Method::POST, &approve, Some(json!({}))).await;
    assert_eq!(status, 200, "{draft}");
    // A session decides nothing: only the key does.
    let session = json!({ "authorization_digest": draft["authorization_digest"], "signed": {
        "key": super::desk::ed25519(&key(5)), "nonce": draft["statement"]["nonce"],
        "evidence": { "kind": "session", "session": "s" } } });
    let (status, refused) = send(&desk, Method::POST, &approve, Some(session)).await;
    assert_eq!((status, &refused["code"]), (401, &json!("evidence_not_accepted")));
    let switch = |act: &str| json!({ "act": act, "target": { "kind": "stream", "stream": "mandate/M-001" }, "reason": "stop" });
    let acts = "/api/organization/acts";
    assert_eq!(send(&desk, Method::POST, acts, Some(switch("pause"))).await.0, 200);
    let (status, refused) = told(desk.check(&action("A2", 842)).await).await;
    assert_eq!((status, &refused["code"]), (409, &json!("paused")));
    let signed = super::desk::signed_approval(&draft, &key(5));
    assert_eq!(desk.post(&approve, &signed).await.1["code"], "paused");
    let mut resume = switch("resume");
    resume.as_object_mut().unwrap().remove("reason");
    assert_eq!(send(&desk, Method::POST, acts, Some(resume)).await.0, 200);
    assert_eq!(desk.post(&approve, &signed).await.0, 200);
}
