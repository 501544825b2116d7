#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions
)]
//! A verifier over real HTTP, and a billing source that answers as it is told.

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use canon::Value;
use fetch::{Client, HostPort, Policy, Request};
use keys::{Algorithm, SecretHash, SoftwareSigner};
use mandate::statement::{Asked, Panel, Seat};
use mandate::{HashedAction, Millis};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use verifier::{Desk, Stripe, router};

const SECRET: &str = "server-server-server-server-server";
const KEY: &str = "rk_test_reads_invoices";
const ACTION: &str = r#"{"schema":"action-ir/v0.1","id":"A-1","mandate_id":"M-001","actor":"cfo-agent-01","type":"pay_invoice",
    "purpose":"vendor_invoice","counterparty":{"id":"aws","display":"AWS"},"amount":{"value":"8420000","asset":"USDM"},
    "recipient":{"chain":"cardano","address":"addr_test1vzs6rgdp5xs6rgdp5xs6rgdp5xs6rgdp5xs6rgdp5xs6rggfw5wvl"},
    "source":{"vault":"treasury-main"},"reference":{"invoice_id":"in_1","invoice_number":"AWS-1"},"rationale":"",
    "created_at":"2026-10-07T03:00:00Z"}"#;
const INVOICE: &str = r#"{"object":"invoice","id":"in_1","number":"AWS-1","amount_due":842,"currency":"usd","status":"open",
    "customer":"cus_acme","metadata":{"vendor_id":"aws","payout_chain":"cardano-preprod",
    "payout_address":"addr_test1vzs6rgdp5xs6rgdp5xs6rgdp5xs6rgdp5xs6rgdp5xs6rggfw5wvl"}}"#;
const MISSING: &str =
    r#"{"error":{"type":"invalid_request_error","code":"resource_missing","message":"No such invoice"}}"#;

/// What the source answers; `None` never.
type Answer = Option<(u16, Vec<(&'static str, &'static str)>, String)>;

#[derive(Clone, Default)]
struct Source {
    answer: Arc<Mutex<Answer>>,
    asked: Arc<Mutex<Vec<(String, HeaderMap)>>>,
}

async fn invoice(State(source): State<Source>, Path(id): Path<String>, headers: HeaderMap) -> Response {
    source.asked.lock().unwrap().push((id, headers));
    let answer = source.answer.lock().unwrap().clone();
    let Some((status, headers, body)) = answer else { return std::future::pending().await };
    let mut response = (StatusCode::from_u16(status).unwrap(), body).into_response();
    for (name, value) in headers {
        response.headers_mut().insert(name, value.parse().unwrap());
    }
    response
}

struct Table {
    source: Source,
    client: Client,
    url: String,
    panel: Panel,
}

async fn serve(router: Router) -> HostPort {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move { axum::serve(listener, router).await });
    address.parse().unwrap()
}

fn client(allow: &HostPort, timeout: Duration) -> Client {
    Client::new(Policy { allow: vec![allow.clone()], timeout, ..Policy::default() }).unwrap()
}

impl Table {
    async fn set() -> Self {
        let source = Source::default();
        let billing =
            serve(Router::new().route("/v1/invoices/{id}", get(invoice)).with_state(source.clone())).await;
        let desk = Desk {
            name: "north".parse().unwrap(),
            signer: Arc::new(SoftwareSigner::from_seed(Algorithm::Ed25519, &[21; 32]).unwrap()),
            clock: Arc::new(env::System),
            callers: vec![SecretHash::of(SECRET)],
            billing: Stripe::new(
                client(&billing, Duration::from_millis(300)),
                &format!("http://{billing}/"),
                KEY,
            )
            .unwrap(),
            customers: HashMap::from([("M-001".parse().unwrap(), "cus_acme".parse().unwrap())]),
            feeds: HashMap::new(),
        };
        let seat = Seat { name: "north".parse().unwrap(), key: desk.key().unwrap() };
        let at = serve(router(Arc::new(desk))).await;
        Self {
            source,
            client: client(&at, Duration::from_secs(20)),
            url: format!("http://{at}"),
            panel: Panel::new(vec![seat], 1).unwrap(),
        }
    }

    fn answers(&self, status: u16, body: &str) {
        self.answers_with(status, Vec::new(), body);
    }

    fn answers_with(&self, status: u16, headers: Vec<(&'static str, &'static str)>, body: &str) {
        *self.source.answer.lock().unwrap() = Some((status, headers, body.to_owned()));
    }

    async fn post(&self, secret: &str, body: String) -> fetch::Response {
        let request = Request::post(&format!("{}/v1/verify", self.url), body).unwrap();
        let request = request.header(http::header::AUTHORIZATION, &format!("Bearer {secret}")).unwrap();
        self.client.send(request).await.unwrap()
    }

    async fn ask(&self, action: &str) -> fetch::Response {
        self.post(SECRET, format!(r#"{{"action":{action},"trigger_id":"trg-1"}}"#)).await
    }

    /// The status, and the reason of the report or the code of the problem.
    async fn says(&self, action: &str) -> (u16, String) {
        let answer = self.ask(action).await;
        let value = canon::parse(&answer.body).unwrap();
        let text = |name: &str| value.pointer(name).and_then(Value::as_str).map(str::to_owned);
        let read = match answer.status.as_u16() {
            200 => {
                let read = HashedAction::read(action.as_bytes()).unwrap();
                let now = Millis::try_from(env::Source::now(&env::System)).unwrap();
                let asked = Asked { action: &read, trigger_id: &"trg-1".parse().unwrap(), now };
                self.panel.take(&"north".parse().unwrap(), &answer.body, &asked).unwrap();
                text("/report/reason").unwrap_or_else(|| "VERIFIED".to_owned())
            }
            _ => text("/code").unwrap(),
        };
        (answer.status.as_u16(), read)
    }
}

#[tokio::test]
async fn an_invoice_is_read_and_signed_for() {
    let table = Table::set().await;
    table.answers(200, INVOICE);
    assert_eq!(table.says(ACTION).await, (200, "VERIFIED".to_owned()));
    let asked = table.source.asked.lock().unwrap().clone();
    let (id, headers) = &asked[0];
    assert_eq!((id.as_str(), &headers["authorization"]), ("in_1", &format!("Bearer {KEY}").parse().unwrap()));
    for (good, bad, expected) in [
        ("\"open\"", "\"void\"", "INVOICE_NOT_OPEN"),
        ("\"open\"", "\"paid\"", "INVOICE_NOT_OPEN"),
        (":842", ":841", "AMOUNT_MISMATCH"),
        ("\"usd\"", "\"eur\"", "CURRENCY_MISMATCH"),
        ("cus_acme", "cus_other", "CUSTOMER_MISMATCH"),
        ("\"aws\"", "\"\u{430}ws\"", "CUSTOMER_MISMATCH"),
        ("vzs6rgdp5xs6", "vzs6rgdp5xs7", "RECIPIENT_MISMATCH"),
        ("cardano-preprod", "cardano-mainnet", "RECIPIENT_MISMATCH"),
        ("\"in_1\"", "\"in_2\"", "INVOICE_NOT_FOUND"),
    ] {
        table.answers(200, &INVOICE.replace(good, bad));
        assert_eq!(table.says(ACTION).await, (200, expected.to_owned()), "{bad}");
    }
    table.answers(404, MISSING);
    assert_eq!(table.says(ACTION).await, (200, "INVOICE_NOT_FOUND".to_owned()));
}

#[tokio::test]
async fn what_was_not_read_is_not_signed_for() {
    let table = Table::set().await;
    for (status, body, expected) in [
        (401, MISSING, "source_refused"),
        (403, MISSING, "source_refused"),
        (429, "{}", "source_busy"),
        (500, INVOICE, "source_unavailable"),
        (502, "<html>", "source_unavailable"),
        // Not the source's own word.
        (404, "", "source_unavailable"),
        (404, "<html>not found</html>", "source_unavailable"),
        (404, r#"{"error":"not found"}"#, "source_unavailable"),
        (200, "", "source_malformed"),
        (200, "{}", "source_malformed"),
        (200, MISSING, "source_malformed"),
        (200, r#"{"object":"invoice","status":"open","status":"void"}"#, "source_malformed"),
    ] {
        table.answers(status, body);
        assert_eq!(table.says(ACTION).await, (503, expected.to_owned()), "{status} {body}");
    }
    table.answers_with(302, vec![("location", "/v1/invoices/in_2")], "");
    assert_eq!(table.says(ACTION).await, (503, "source_unavailable".to_owned()));
    table.answers_with(429, vec![("retry-after", "7")], "{}");
    assert_eq!(table.ask(ACTION).await.headers["retry-after"], "7");
    *table.source.answer.lock().unwrap() = None;
    assert_eq!(table.says(ACTION).await, (503, "source_unavailable".to_owned()));
}

#[tokio::test]
async fn no_path_but_an_invoices_is_asked_for() {
    let table = Table::set().await;
    table.answers(200, INVOICE);
    for id in ["../customers/cus_1", "in_1?expand=x", "in_1/lines", "in%5f1", "in 1", "ïn_1"] {
        let action = ACTION.replace("in_1", id);
        assert_eq!(table.says(&action).await, (200, "INVOICE_NOT_FOUND".to_owned()), "{id}");
    }
    assert!(table.source.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn questions_that_are_none() {
    let table = Table::set().await;
    table.answers(200, INVOICE);
    let body = |action: &str| format!(r#"{{"action":{action},"trigger_id":"trg-1"}}"#);
    let check = async |secret: &str, body: String, expected: (u16, &str)| {
        let answer = table.post(secret, body.clone()).await;
        let value = canon::parse(&answer.body).unwrap().into_static();
        let code = value.get("code").and_then(Value::as_str).unwrap_or("none").to_owned();
        assert_eq!((answer.status.as_u16(), code.as_str()), expected, "{body}");
    };
    check("someone-someone-someone-someone-so", body(ACTION), (401, "unauthenticated")).await;
    check("", body(ACTION), (401, "unauthenticated")).await;
    check(SECRET, body(&ACTION.replace("M-001", "M-002")), (404, "mandate_unknown")).await;
    check(SECRET, body("{}"), (400, "bad_action")).await;
    check(SECRET, "{}".to_owned(), (400, "shape")).await;
    check(SECRET, "{".to_owned(), (400, "syntax")).await;
    check(SECRET, body(ACTION).replace("\"trigger_id\"", "\"x\":1,\"trigger_id\""), (400, "shape")).await;
    let without = ACTION.replace(r#""reference":{"invoice_id":"in_1","invoice_number":"AWS-1"},"#, "");
    check(SECRET, body(&without), (400, "no_invoice")).await;
    assert!(table.source.asked.lock().unwrap().is_empty());
    let shown =
        table.client.send(Request::get(&format!("{}/v1/verifier", table.url)).unwrap()).await.unwrap();
    let shown = canon::parse(&shown.body).unwrap().into_static();
    let key = table.panel.seats()[0].key.to_string();
    assert_eq!(shown.get("key").and_then(Value::as_str), Some(key.as_str()));
}
