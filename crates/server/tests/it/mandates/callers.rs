//! Who may do what: every caller against every route.

use super::desk::{AGENT, Desk, MASUMI, VERIFIER, action, key, key_hash, proposal, told};
use crate::people::Person;
use approvals::{MemberId, OrgId};
use reqwest::{Method, Response};
use serde_json::{Value, json};
use server::mandates::Seated;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Nobody,
    Wrong,
    Agent,
    Delegate,
    Masumi,
    Verifier,
    Approver,
    Principal,
    OtherApprover,
}

const ALL: [By; 9] = [
    By::Nobody,
    By::Wrong,
    By::Agent,
    By::Delegate,
    By::Masumi,
    By::Verifier,
    By::Approver,
    By::Principal,
    By::OtherApprover,
];

async fn ask(desk: &Desk, by: By, method: Method, path: &str, body: Option<&Value>) -> Response {
    let bearer = |secret: Option<&str>| {
        let mut request = desk.server.http.request(method.clone(), desk.server.url(path));
        if let Some(secret) = secret {
            request = request.bearer_auth(secret);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        request.send()
    };
    match by {
        By::Nobody => bearer(None).await.unwrap(),
        By::Wrong => bearer(Some("nobody's")).await.unwrap(),
        By::Agent => bearer(Some(AGENT)).await.unwrap(),
        By::Masumi => bearer(Some(MASUMI)).await.unwrap(),
        By::Verifier => bearer(Some(VERIFIER)).await.unwrap(),
        By::Delegate => desk.signed(&key(2), method, path, body).await,
        By::Approver => desk.signed(&key(5), method, path, body).await,
        By::Principal => desk.signed(&key(6), method, path, body).await,
        By::OtherApprover => desk.signed(&key(8), method, path, body).await,
    }
}

#[tokio::test]
async fn the_table_of_callers_and_routes() {
    let desk = Desk::start().await;
    let id = desk.ask(&action("A1", 1800)).await;
    let run = desk.state().await.approval(&id.parse().unwrap()).unwrap().run.to_string();
    let (_, allowed) = told(desk.check(&action("A2", 842)).await).await;
    let receipt = allowed["receipt_id"].as_str().unwrap().to_owned();
    let check = proposal(&action("A3", 842), false);
    let parties = [By::Agent, By::Delegate, By::Approver, By::Principal];
    let agents = [By::Agent, By::Delegate];
    let empty = json!({});
    let rows: Vec<(Method, String, Option<&Value>, Vec<By>)> = vec![
        (Method::GET, "/v1/authority/CFO?mandate_id=M-001".into(), None, ALL.to_vec()),
        (Method::GET, "/v1/metrics?mandate_id=M-001".into(), None, ALL.to_vec()),
        (Method::GET, "/.well-known/agent.json".into(), None, ALL.to_vec()),
        (Method::GET, "/llms.txt".into(), None, ALL.to_vec()),
        (Method::GET, "/llms-full.txt".into(), None, ALL.to_vec()),
        (Method::GET, "/availability".into(), None, ALL.to_vec()),
        (Method::GET, "/input_schema".into(), None, ALL.to_vec()),
        (Method::POST, "/v1/authority/check".into(), Some(&check), [&agents[..], &[By::Masumi]].concat()),
        (Method::GET, "/v1/mandates/M-001".into(), None, parties.to_vec()),
        (Method::GET, "/v1/runs?mandate_id=M-001".into(), None, parties.to_vec()),
        (Method::GET, format!("/v1/runs/{run}/log"), None, parties.to_vec()),
        (Method::POST, format!("/v1/runs/{run}/share"), Some(&empty), parties.to_vec()),
        (Method::GET, format!("/v1/receipts/{receipt}"), None, parties.to_vec()),
        (
            Method::GET,
            "/v1/approvals?status=pending".into(),
            None,
            vec![By::Approver, By::Principal, By::OtherApprover, By::Delegate],
        ),
        (Method::GET, format!("/v1/approvals/{id}"), None, vec![By::Approver]),
        (Method::POST, format!("/v1/approvals/{id}/approve"), Some(&empty), vec![By::Approver]),
    ];
    for (method, path, body, may) in rows {
        for by in ALL {
            let response = ask(&desk, by, method.clone(), &path, body).await;
            let status = response.status().as_u16();
            let expected = may.contains(&by);
            assert_eq!(status == 200, expected, "{by:?} {method} {path}: {status}");
            if !expected {
                assert!(matches!(status, 401 | 403 | 404), "{by:?} {method} {path}: {status}");
                if matches!(by, By::Nobody | By::Wrong) {
                    assert_eq!(status, 401, "{by:?} {method} {path}");
                }
            }
        }
    }
    // An inbox is a key's own: whoever is no approver finds it empty.
    for by in [By::Principal, By::OtherApprover, By::Delegate] {
        let (_, body) = told(ask(&desk, by, Method::GET, "/v1/approvals?status=pending", None).await).await;
        assert_eq!(body["approvals"], json!([]), "{by:?}");
    }
    let response = ask(&desk, By::Approver, Method::GET, "/v1/approvals?status=all", None).await;
    assert_eq!(told(response).await.0, 400);
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
            let status = ask(&desk, by, Method::POST, &path, Some(&body)).await.status();
            assert_eq!(status, 401, "key {seed} brought by {by:?}");
        }
    }
    assert!(desk.state().await.authorizations().is_empty());
    // Whoever brings the approver's own signature, it is the approver who decided.
    let body = super::desk::signed_approval(&draft, &key(5));
    assert_eq!(ask(&desk, By::Nobody, Method::POST, &path, Some(&body)).await.status(), 200);
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
