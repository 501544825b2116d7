//! Checks sold as Masumi jobs (spec 1.13, C5), paid through a payment service that speaks Masumi's wire.

use super::desk::{Desk, MASUMI, action, proposal, told};
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use keys::SecretHash;
use mandate::job::{Delivered, Job};
use serde_json::{Value, json};
use server::mandates::masumi::{Funds, Local, Node, Selling};
use server::mandates::{CallerKey, Kind, Setup};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const BUYER: &str = "aabbccddeeff00112233";
const TOKEN: &str = "masumi-token";

/// What becomes of one call to the payment service.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    FailsClean,
    /// It was done, and says that it was not.
    FailsAfterLanding,
    /// It was done, and says nothing.
    NeverAnswers,
}

/// Calls whose path ends so meet their fate, once.
type Gate = Arc<Mutex<Option<(&'static str, Fate)>>>;

async fn gate(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let fate = {
        let mut waits = gate.lock().unwrap();
        let hit = waits.filter(|(end, _)| path.ends_with(end)).map(|(_, fate)| fate);
        if hit.is_some() {
            *waits = None;
        }
        hit
    };
    match fate {
        None => next.run(request).await,
        Some(Fate::FailsClean) => StatusCode::TOO_MANY_REQUESTS.into_response(),
        Some(Fate::FailsAfterLanding) => {
            next.run(request).await;
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
        Some(Fate::NeverAnswers) => {
            next.run(request).await;
            std::future::pending().await
        }
    }
}

/// A desk that sells, and the payment service it is paid through.
struct Shop {
    desk: Desk,
    service: Arc<Local>,
    gate: Gate,
    at: String,
}

fn agent_identifier() -> String {
    "a9".repeat(40)
}

fn selling(at: &str) -> Selling {
    let allow = vec![at.parse().unwrap()];
    let timeout = Duration::from_millis(400);
    let client = fetch::Client::new(fetch::Policy { allow, timeout, ..fetch::Policy::default() }).unwrap();
    Selling {
        caller: CallerKey {
            name: "masumi".to_owned(),
            kind: Kind::Masumi,
            secret: SecretHash::of(MASUMI),
            mandates: vec!["M-001".parse().unwrap()],
        },
        agent_identifier: agent_identifier(),
        seller_vkey: "5e".repeat(28),
        network: "Preprod".to_owned(),
        price: price(),
        source_index: 0,
        payments: Arc::new(Node::new(client, &format!("http://{at}/api/v1"), TOKEN.to_owned()).unwrap()),
    }
}

fn price() -> Funds {
    Funds { amount: "1000000".to_owned(), unit: format!("{}0014df10745553444d", "16".repeat(28)) }
}

impl Shop {
    async fn open() -> Self {
        let source = Arc::new(env::System);
        let service = Local::new(source, &agent_identifier(), &"5e".repeat(28), price(), TOKEN);
        let (service, waits) = (Arc::new(service), Gate::default());
        let router = service.router().layer(from_fn_with_state(Arc::clone(&waits), gate));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap().to_string();
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let desk = Desk::configured(|_| {}, |_| {}, |setup| setup.masumi = Some(selling(&at))).await;
        Self { desk, service, gate: waits, at }
    }

    async fn restart(self) -> Self {
        let at = self.at.clone();
        let sells = |setup: &mut Setup| setup.masumi = Some(selling(&at));
        let desk = self.desk.restart_with(|_| {}, sells).await;
        Self { desk, ..self }
    }

    fn meets(&self, end: &'static str, fate: Fate) {
        *self.gate.lock().unwrap() = Some((end, fate));
    }

    async fn start(&self, buyer: &str, input: &Value) -> (u16, Value) {
        self.desk
            .post("/start_job", &json!({ "identifier_from_purchaser": buyer, "input_data": input }))
            .await
    }

    /// Starts it, however often that takes.
    async fn started(&self, input: &Value) -> Value {
        for _ in 0..4 {
            match self.start(BUYER, input).await {
                (200, terms) => return terms,
                (status, body) => {
                    assert_eq!((status, &body["code"]), (502, &json!("payment_service_failed")))
                }
            }
        }
        panic!("it does not start");
    }

    /// The buyer pays what was quoted.
    async fn pay(&self, terms: &Value) -> (u16, Value) {
        let text = |name: &str| terms[name].to_string();
        let body = json!({
            "identifierFromPurchaser": terms["identifierFromPurchaser"], "network": "Preprod",
            "sellerVkey": terms["sellerVKey"], "blockchainIdentifier": terms["blockchainIdentifier"],
            "payByTime": text("payByTime"), "submitResultTime": text("submitResultTime"),
            "unlockTime": text("unlockTime"), "externalDisputeUnlockTime": text("externalDisputeUnlockTime"),
            "agentIdentifier": terms["agentIdentifier"], "inputHash": terms["input_hash"],
        });
        self.service("/purchase", &body).await
    }

    async fn service(&self, path: &str, body: &Value) -> (u16, Value) {
        let url = format!("http://{}/api/v1{path}", self.at);
        told(self.desk.server.http.post(url).header("token", TOKEN).json(body).send().await.unwrap()).await
    }

    async fn status(&self, job: &Value) -> Value {
        let (status, body) =
            self.desk.get(&format!("/status?job_id={}", job["job_id"].as_str().unwrap())).await;
        assert_eq!(status, 200, "{body}");
        body
    }

    /// Looks until it stands so; the server's clock runs ahead meanwhile.
    async fn until(&self, job: &Value, status: &str) -> Value {
        let begun = std::time::Instant::now();
        loop {
            let told = self.status(job).await;
            if told["status"] == status {
                return told;
            }
            assert!(begun.elapsed() < Duration::from_secs(30), "never {status}: {told}");
            // The outbox looks every 200 ms; two seconds of the server's clock pass in each of these.
            self.desk.server.later(2);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// The hash that the payment carries.
    async fn on_chain(&self, terms: &Value) -> Value {
        let body = json!({ "network": "Preprod", "blockchainIdentifier": terms["blockchainIdentifier"] });
        let (status, told) = self.service("/payment/resolve-blockchain-identifier", &body).await;
        assert_eq!(status, 200, "{told}");
        told["data"]["resultHash"].clone()
    }

    async fn judged(&self) -> u64 {
        let (_, metrics) = self.desk.get("/v1/metrics?mandate_id=M-001").await;
        metrics["actions_evaluated"].as_u64().unwrap()
    }
}

fn input(name: &str, cents: u64) -> Value {
    json!({ "mandate_id": "M-001", "proposal": proposal(&action(name, cents), false)["proposal"] })
}

fn delivered(told: &Value) -> Delivered {
    canon::from_slice(told["result"].as_str().unwrap().as_bytes()).unwrap()
}

#[tokio::test]
async fn a_job_is_paid_for_judged_and_delivered() {
    let shop = Shop::open().await;
    let (_, ready) = shop.desk.get("/availability").await;
    assert_eq!((&ready["status"], &ready["type"]), (&json!("available"), &json!("masumi-agent")));
    let (_, schema) = shop.desk.get("/input_schema").await;
    let ids: Vec<&str> =
        schema["input_data"].as_array().unwrap().iter().map(|f| f["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["mandate_id", "proposal", "request_text"]);

    let asked = input("A1", 842);
    let (status, terms) = shop.start(BUYER, &asked).await;
    assert_eq!(status, 200, "{terms}");
    let now = mandate::Millis::try_from(shop.desk.server.app.now()).unwrap().get();
    for (name, minutes) in
        [("payByTime", 10), ("submitResultTime", 25), ("unlockTime", 45), ("externalDisputeUnlockTime", 65)]
    {
        let due = terms[name].as_u64().unwrap();
        assert!((now + minutes * 60_000).abs_diff(due) < 30_000, "{name}: {due}");
    }
    assert_eq!(terms["identifierFromPurchaser"], BUYER);
    assert_eq!((&terms["id"], &terms["status"]), (&terms["job_id"], &json!("success")));
    assert_eq!(terms["paymentSourceType"], "Web3CardanoV2");
    // The same again is the same job; another input under this identifier is refused.
    assert_eq!(shop.start(&BUYER.to_uppercase(), &asked).await, (200, terms.clone()));
    let (status, refused) = shop.start(BUYER, &input("A2", 842)).await;
    assert_eq!((status, &refused["code"]), (409, &json!("job_identifier_used")));
    assert_eq!(shop.service.counted(), (1, 0));

    assert_eq!(shop.status(&terms).await["status"], "awaiting_payment");
    let proof = format!("/v1/jobs/{}/proof", terms["id"].as_str().unwrap());
    assert_eq!(shop.desk.get(&proof).await.1["code"], "job_not_completed");
    assert_eq!(shop.judged().await, 0);
    assert_eq!(shop.pay(&terms).await.0, 200);
    assert_eq!(shop.pay(&terms).await.0, 409);
    let told = shop.until(&terms, "completed").await;
    assert_eq!((told["result_hash"].clone(), shop.judged().await), (shop.on_chain(&terms).await, 1));

    // The union of C5; an authorization, for nothing was executed.
    let result: Value = serde_json::from_str(told["result"].as_str().unwrap()).unwrap();
    let names: Vec<&str> = result.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = [
        "authorization",
        "brief",
        "checks",
        "decision",
        "decision_hash",
        "escalation",
        "evaluation",
        "interpreted_action",
        "reason",
        "receipt",
        "summary",
        "verification",
    ];
    assert_eq!(names, expected);
    let delivered = delivered(&told);
    delivered.check().unwrap();
    assert_eq!(result["decision"], "ALLOW");
    delivered.authorization.unwrap().verify().unwrap();
    let held = shop.desk.state().await.authorizations().len();
    assert_eq!(held, 1);

    let (status, file) = shop.desk.get(&proof).await;
    assert_eq!(status, 200, "{file}");
    assert_eq!((&file["input_hash"], &file["result_hash"]), (&terms["input_hash"], &told["result_hash"]));
    let report = verify::verify(file.to_string().as_bytes(), None);
    assert_eq!((report.verdict, report.kind), (verify::Verdict::Valid, Some(verify::Kind::MasumiJob)));
    let job: Job = canon::from_slice(file.to_string().as_bytes()).unwrap();
    assert_eq!(job.check().unwrap().decision_hash, delivered.decision_hash);
}

#[tokio::test]
async fn what_is_delivered_is_what_the_engine_said() {
    let shop = Shop::open().await;
    let unsigned = json!({ "mandate_id": "M-001", "request_text": "",
        "proposal": json!({ "action": action("A1", 842) }).to_string() });
    let cases = [
        (unsigned, "ALLOW", Value::Null, false),
        (input("A2", 1800), "ESCALATE", Value::Null, true),
        (input("A3", 6000), "DENY", json!("AMOUNT_ABOVE_HARD_CAP"), false),
        (
            json!({ "mandate_id": "M-001", "proposal": { "action": { "nope": true } } }),
            "DENY",
            json!("INVALID_PROPOSAL"),
            false,
        ),
    ];
    for (number, (asked, decision, reason, escalates)) in cases.into_iter().enumerate() {
        let (status, terms) = shop.start(&format!("{number:014x}"), &asked).await;
        assert_eq!(status, 200, "{terms}");
        shop.pay(&terms).await;
        let told = shop.until(&terms, "completed").await;
        let result: Value = serde_json::from_str(told["result"].as_str().unwrap()).unwrap();
        assert_eq!((&result["decision"], &result["reason"]), (&json!(decision), &reason), "{result}");
        assert!(
            result["authorization"].is_null() && result["summary"].as_str().unwrap().starts_with(decision)
        );
        assert_eq!(result["brief"].is_object(), escalates);
        assert_eq!(result["escalation"]["price"]["approval_id"] == "quote", escalates);
        delivered(&told).check().unwrap();
    }
}

#[tokio::test]
async fn orders_that_cannot_be_served_charge_nothing() {
    let shop = Shop::open().await;
    let good = input("A1", 842);
    let both = json!({ "mandate_id": "M-001", "proposal": good["proposal"], "request_text": "pay it" });
    let with = |name: &str, value: Value| {
        let mut changed = good.clone();
        changed[name] = value;
        changed
    };
    let rows = [
        ("aabbccddeeff0", good.clone(), 400, "bad_identifier"),
        ("aabbccddeeff001", good.clone(), 400, "bad_identifier"),
        ("aabbccddeeff00112233445566ff", good.clone(), 400, "bad_identifier"),
        ("zzbbccddeeff00", good.clone(), 400, "bad_identifier"),
        (BUYER, both, 400, "bad_check"),
        (BUYER, json!({ "mandate_id": "M-001" }), 400, "bad_check"),
        (BUYER, with("execute", json!(true)), 400, "shape"),
        (BUYER, with("run_id", json!("x")), 400, "shape"),
        (BUYER, with("proposal", json!("{")), 400, "syntax"),
        (BUYER, with("mandate_id", json!("M-999")), 404, "mandate_unknown"),
        (BUYER, with("mode", json!("x".repeat(33))), 400, "shape"),
        (BUYER, with("proposal", json!({ "action": { "pad": "x".repeat(17_000) } })), 413, "too_large"),
        (
            BUYER,
            json!({ "mandate_id": "M-001", "request_text": "pay the bill" }),
            501,
            "model_not_configured",
        ),
    ];
    for (buyer, input, status, code) in rows {
        let answer = shop.start(buyer, &input).await;
        assert_eq!((answer.0, &answer.1["code"]), (status, &json!(code)), "{buyer} {input}");
        assert!(answer.1["error"].is_string());
    }
    assert_eq!(shop.service.counted(), (0, 0));
    for (path, status, code) in [
        ("/status?job_id=7", 400, "bad_job_id"),
        ("/status", 400, "bad_job_id"),
        ("/status?job_id=6f0c3b0e-3b44-4f8e-9d3c-0a4d5e6f7a8b", 404, "job_unknown"),
        ("/v1/jobs/6f0c3b0e-3b44-4f8e-9d3c-0a4d5e6f7a8b/proof", 404, "job_unknown"),
        ("/provide_input", 404, "not_found"),
    ] {
        let answer = shop.desk.get(path).await;
        assert_eq!((answer.0, &answer.1["code"]), (status, &json!(code)), "{path}");
    }
    let closed = Desk::start().await;
    let body = json!({ "identifier_from_purchaser": BUYER, "input_data": good });
    let (status, refused) = closed.post("/start_job", &body).await;
    assert_eq!((status, &refused["code"]), (503, &json!("masumi_off")));
    assert_eq!(closed.get("/availability").await.1["status"], "unavailable");
}

/// Each call of the payment service four ways: one payment, one judgement, one result, whatever was lost.
#[tokio::test]
async fn no_call_that_fails_pays_or_judges_twice() {
    for end in ["/payment", "/resolve-blockchain-identifier", "/submit-result"] {
        for fate in [Fate::FailsClean, Fate::FailsAfterLanding, Fate::NeverAnswers] {
            let shop = Shop::open().await;
            shop.meets(end, fate);
            let terms = shop.started(&input("A1", 842)).await;
            assert_eq!(shop.pay(&terms).await.0, 200);
            let told = shop.until(&terms, "completed").await;
            assert_eq!(told["result_hash"], shop.on_chain(&terms).await, "{end} {fate:?}");
            assert_eq!((shop.service.counted(), shop.judged().await), ((1, 1), 1), "{end} {fate:?}");
            assert!(shop.gate.lock().unwrap().is_none(), "{end} {fate:?} was never met");
        }
    }
}

#[tokio::test]
async fn a_restart_at_any_step_loses_and_doubles_nothing() {
    let asked = input("A1", 842);
    let mut shop = Shop::open().await;
    shop.meets("/payment", Fate::NeverAnswers);
    assert_eq!(shop.start(BUYER, &asked).await.0, 502);
    shop = shop.restart().await;
    let (status, terms) = shop.start(BUYER, &asked).await;
    assert_eq!((status, shop.service.counted()), (200, (1, 0)), "{terms}");
    shop = shop.restart().await;
    assert_eq!(shop.status(&terms).await["status"], "awaiting_payment");
    assert_eq!(shop.start(BUYER, &asked).await, (200, terms.clone()));
    shop.pay(&terms).await;
    shop.desk.facts.down.store(true, std::sync::atomic::Ordering::SeqCst);
    shop.until(&terms, "running").await;
    shop = shop.restart().await;
    shop.desk.facts.down.store(false, std::sync::atomic::Ordering::SeqCst);
    shop.meets("/submit-result", Fate::NeverAnswers);
    let told = shop.until(&terms, "completed").await;
    shop = shop.restart().await;
    assert_eq!(shop.status(&terms).await, told);
    assert_eq!((shop.on_chain(&terms).await, shop.service.counted()), (told["result_hash"].clone(), (1, 1)));
    assert_eq!(shop.judged().await, 1);
}

#[tokio::test]
async fn what_is_not_paid_in_time_is_not_judged() {
    let shop = Shop::open().await;
    let (_, terms) = shop.start(BUYER, &input("A1", 842)).await;
    shop.desk.server.later(24 * 60);
    shop.until(&terms, "failed").await;
    // A payment that comes after that is not served: it goes back to the buyer by the contract.
    assert_eq!(shop.pay(&terms).await.0, 200);
    assert_eq!((shop.status(&terms).await["status"].clone(), shop.judged().await), (json!("failed"), 0));
    // An order whose quote never came cannot be taken up after its time to pay.
    let late = input("A2", 842);
    shop.meets("/payment", Fate::FailsClean);
    assert_eq!(shop.start("00112233445566", &late).await.0, 502);
    shop.desk.server.later(10 * 60);
    assert_eq!(shop.start("00112233445566", &late).await.1["code"], "job_over");
}

/// A quote that is not what was asked for is not passed on.
#[tokio::test]
async fn another_quote_than_the_one_asked_for_is_refused() {
    let shop = Shop::open().await;
    let at = shop.at.clone();
    let dearer = |setup: &mut Setup| {
        let mut selling = selling(&at);
        selling.price.amount = "2000000".to_owned();
        setup.masumi = Some(selling);
    };
    let desk = shop.desk.restart_with(|_| {}, dearer).await;
    let body = json!({ "identifier_from_purchaser": BUYER, "input_data": input("A1", 842) });
    let (status, refused) = desk.post("/start_job", &body).await;
    assert_eq!((status, &refused["code"]), (502, &json!("payment_differs")));
}

/// Every route that the agent card, llms.txt and llms-full.txt name is one of this server.
#[tokio::test]
async fn what_agents_read_first_names_routes_that_are_there() {
    let shop = Shop::open().await;
    let read = async |path: &str| {
        shop.desk.server.http.get(shop.desk.server.url(path)).send().await.unwrap().text().await.unwrap()
    };
    let api: Value = serde_json::from_str(&read("/openapi.json").await).unwrap();
    let known = |method: &str, path: &str| {
        let path = path.split('?').next().unwrap();
        let fits = |route: &String| {
            let (route, path) = (route.split('/'), path.split('/'));
            route.clone().count() == path.clone().count()
                && route
                    .zip(path)
                    .all(|(step, given)| step == given || step.starts_with('{') && !given.is_empty())
        };
        let found = api["paths"].as_object().unwrap().iter().find(|(route, _)| fits(route));
        found.is_some_and(|(_, methods)| methods.get(method.to_lowercase()).is_some())
    };
    let card = shop.desk.get("/.well-known/agent.json").await.1;
    let base = card["url"].as_str().unwrap().trim_end_matches('/');
    let fee = &card["pricing"]["masumi_fee"];
    let named = [&card["endpoints"], &fee["endpoints"]].map(|all| all.as_object().unwrap());
    let mut seen = 0;
    for endpoint in named.into_iter().flatten().map(|(_, endpoint)| endpoint) {
        let path = endpoint["url"].as_str().unwrap().strip_prefix(base).unwrap();
        assert!(known(endpoint["method"].as_str().unwrap(), path), "{endpoint}");
        seen += 1;
    }
    assert_eq!(seen, 7);
    assert_eq!((&fee["amount"], &fee["standard"]), (&json!("1000000"), &json!("MIP-003")));
    for (_, link) in card["documentation"].as_object().unwrap() {
        assert!(
            !read(link.as_str().unwrap().strip_prefix(base).unwrap()).await.contains("not_found"),
            "{link}"
        );
    }
    for page in ["/llms.txt", "/llms-full.txt"] {
        let text = read(page).await;
        let mut found = 0;
        for (method, after) in ["GET", "POST"].iter().flat_map(|method| {
            text.match_indices(&format!("{method} /"))
                .map(|(at, _)| (*method, &text[at + method.len() + 1..]))
                .collect::<Vec<_>>()
        }) {
            let path: String =
                after.chars().take_while(|c| !c.is_whitespace() && !"`,;:)\"…".contains(*c)).collect();
            // Of these, other pages tell.
            if path.starts_with("/api/") || path.starts_with("/log/") || path.ends_with('/') {
                continue;
            }
            let path = path.replace("<server>", "");
            assert!(known(method, &path), "{page}: {method} {path}");
            found += 1;
        }
        assert!(found >= 8, "{page}: {found}");
    }
}
