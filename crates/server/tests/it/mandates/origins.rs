//! What pages of other origins may do, and the recordings that they may build on.

use super::desk::{Desk, told};
use crate::support::Server;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::{Value, json};

const OURS: &str = "https://app.example";

#[tokio::test]
async fn other_origins_read_what_is_open_and_post_only_where_configured() {
    let desk =
        Desk::configured(|_| {}, |config| config.allowed_origins = vec![OURS.to_owned()], |_| {}).await;
    let rows = [
        (Method::GET, "/v1/metrics?mandate_id=M-001", "https://evil.example", Some("*")),
        (Method::GET, "/v1/mandates/M-001", "https://evil.example", Some("*")),
        (Method::GET, "/.well-known/agent.json", "null", Some("*")),
        (Method::GET, "/availability", "https://evil.example", Some("*")),
        (Method::GET, "/api/fixture/availability", "https://evil.example", Some("*")),
        (Method::POST, "/api/fixture/v1/authority/check", "https://evil.example", Some("*")),
        (Method::POST, "/v1/authority/check", "https://evil.example", None),
        (Method::POST, "/start_job", "https://evil.example", None),
        (Method::POST, "/v1/authority/check", OURS, Some(OURS)),
        (Method::POST, "/start_job", OURS, Some(OURS)),
        (Method::GET, "/api/rooms", "https://evil.example", None),
        (Method::GET, "/approvals", "https://evil.example", None),
        (Method::GET, "/metrics", "https://evil.example", None),
    ];
    for (method, path, origin, expected) in rows {
        let name = format!("{method} {path} from {origin}");
        let url = desk.server.url(path);
        let request = desk.server.http.request(method.clone(), &url).header("origin", origin);
        let answer = request.send().await.unwrap();
        let allowed =
            answer.headers().get("access-control-allow-origin").map(|value| value.to_str().unwrap());
        assert_eq!(allowed, expected, "{name}");
        assert!(answer.headers().get("access-control-allow-credentials").is_none(), "{name}");
        if expected.is_none() {
            assert_eq!(told(answer).await.1["code"], "foreign_origin", "{name}");
        }
        let asks = desk
            .server
            .http
            .request(Method::OPTIONS, &url)
            .header("origin", origin)
            .header("access-control-request-method", method.as_str())
            .send()
            .await
            .unwrap();
        let allowed = asks.headers().get("access-control-allow-origin").map(|value| value.to_str().unwrap());
        assert_eq!((asks.status() == 204, allowed), (expected.is_some(), expected), "preflight: {name}");
    }
}

#[tokio::test]
async fn a_server_without_mandates_answers_as_it_was_recorded() {
    let server = Server::start().await;
    let (status, index) = told(server.http.get(server.url("/api/fixture")).send().await.unwrap()).await;
    let all = index["recordings"].as_array().unwrap();
    assert!(status == 200 && all.len() > 40, "{index}");
    // Every link leads to a recording of this server.
    for one in all.iter().filter(|one| one["method"] == "GET") {
        let (_, path) = one["url"].as_str().unwrap().split_once("/api/fixture").unwrap();
        let answer = server.http.get(server.url(&format!("/api/fixture{path}"))).send().await.unwrap();
        let (status, body) = told(answer).await;
        assert_eq!(json!(status), one["status"], "{path}: {body}");
        assert!(!body.to_string().contains("{origin}"), "{path}");
    }
    let check = async |action: &str, pays: bool| {
        let body =
            json!({ "mandate_id": "M-001", "execute": true, "proposal": { "action": { "id": action } } });
        let mut request = server.http.post(server.url("/api/fixture/v1/authority/check")).json(&body);
        if pays {
            request = request.header("payment-signature", "e30=");
        }
        let answer = request.send().await.unwrap();
        let header = answer.headers().get("payment-required").cloned();
        let (status, body) = told(answer).await;
        (status, body, header)
    };
    let (status, allowed, _) = check("A-INV-0001", false).await;
    assert_eq!((status, &allowed["evaluation"]["outcome"]), (200, &json!("ALLOW")));
    let (status, priced, header) = check("A-INV-0002", false).await;
    let header: Value =
        serde_json::from_slice(&STANDARD.decode(header.unwrap().as_bytes()).unwrap()).unwrap();
    assert_eq!((status, header), (402, priced));
    let (status, asked, _) = check("A-INV-0002", true).await;
    assert_eq!((status, &asked["bond"]["status"]), (200, &json!("locked")));
    let (_, denied, _) = check("A-INV-0005", false).await;
    assert_eq!(denied["evaluation"]["reason"], "INTERRUPT_BUDGET_EXHAUSTED");
    let get = async |path: &str| told(server.http.get(server.url(path)).send().await.unwrap()).await;
    assert_eq!(get("/api/fixture/.well-known/agent.json").await.1["mode"], "fixture");
    assert_eq!(get("/api/fixture/v1/nothing").await.1["code"], "not_recorded");
    // A recorded job still has the hashes of its payment.
    let job = all.iter().find(|one| one["url"].as_str().unwrap().contains("/v1/jobs/")).unwrap();
    let (_, path) = job["url"].as_str().unwrap().split_once("/api/").unwrap();
    let (_, file) = get(&format!("/api/{path}")).await;
    let report = verify::verify(file.to_string().as_bytes(), None);
    assert_eq!(report.verdict, verify::Verdict::Valid, "{report:?}");
}
