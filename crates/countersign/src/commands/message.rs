//! Messages that carry their proofs: some to try, and what one says. Checking a message is `verify`.

use super::Failure;
use clap::Subcommand;
use env::{Source, System};
use keys::{Algorithm, SoftwareSigner};
use pcm::Error;
use pcm::message::sample::{Custody, Order, Stage};
use pcm::message::{Message as Read, registry_digest};
use serde_json::json;
use std::path::{Path, PathBuf};

#[derive(Debug, Subcommand)]
pub enum Message {
    /// Write a message of a short story and the receiver's trust file
    ///
    /// An executor fetches a page and runs the tests, Ana approves a refund, and the agent says so to `receiver`. The keys are
    /// made for this message alone and are not kept.
    Sample {
        /// An existing folder; message.json and trust.json are written into it
        folder: PathBuf,
        /// Let the agent claim also what only its own process reports
        #[arg(long)]
        boast: bool,
    },
    /// What a message says, before anything of it is believed
    Inspect {
        /// A message; - for standard input
        file: PathBuf,
    },
}

pub fn run(command: &Message) -> Result<(), Failure> {
    match command {
        Message::Sample { folder, boast } => sample(folder, *boast),
        Message::Inspect { file } => inspect(&super::read_input(file)?),
    }
}

fn sample(folder: &Path, boast: bool) -> Result<(), Failure> {
    let mut env = System.env();
    let mut key = || SoftwareSigner::generate(Algorithm::Ed25519, &mut env).map_err(Failure::unusable_by);
    let (log, record) = (key()?, key()?);
    let mut stage = Stage::new(System.env(), &log, &record).map_err(Failure::unusable_by)?;
    let message = told(&mut stage, boast).map_err(Failure::unusable_by)?;
    let sender = stage.sender();
    let trust = json!({
        "pcm": pcm::message::VERSION,
        "evidence": {"logs": [stage.vkey().map_err(Failure::unusable_by)?.to_string()], "algs": ["ed25519"]},
        "receivers": ["receiver"],
        "speakers": [{"origin": sender.origin, "log_id": sender.log_id, "tenant": sender.tenant, "agents": [sender.agent]}],
        "registry": registry_digest().prefixed(),
    });
    for (name, content) in [("message.json", message), ("trust.json", trust.to_string().into_bytes())] {
        let path = folder.join(name);
        std::fs::write(&path, content)
            .map_err(|error| Failure::unusable(format!("{}: {error}", path.display())))?;
        println!("{}", path.display());
    }
    Ok(())
}

fn told(stage: &mut Stage<'_>, boast: bool) -> Result<Vec<u8>, Error> {
    let url = "https://api.example.com/orders/81";
    let page = stage.call(
        Custody::Executor,
        "http_get",
        &json!({"url": url}).to_string(),
        r#"{"result":{"status":200,"body":"{}"}}"#,
    )?;
    let tests = stage.call(
        Custody::Executor,
        "run_tests",
        r#"{"argv":["pytest","-q"]}"#,
        r#"{"result":{"exit_code":0,"stdout":"3 passed in 0.10s"}}"#,
    )?;
    let held = stage.decide(Custody::Executor, "refund", r#"{"order":81,"cents":12000}"#, "ask")?;
    let asked = stage.ask(&held)?;
    let answer = stage.answer(&asked, "approve", "ana", "")?;
    let used = stage.consume(&asked)?;
    let result = stage.result(&held, r#"{"result":{"refund":"re_1"}}"#, true)?;
    let terms = json!([
        {"field": "order", "op": "eq", "value": 81},
        {"field": "amount", "op": "le", "value": 20000, "unit": "USD.minor"},
    ]);
    let mut claims = vec![
        ("page", "http_fetched", json!({"method": "GET", "url": url, "status": 200}), vec![page.0, page.1]),
        (
            "tests",
            "tests_passed",
            json!({"argv": ["pytest", "-q"], "runner": "pytest", "counts": {"passed": 3}}),
            vec![tests.0, tests.1],
        ),
        (
            "refund",
            "approved_by",
            json!({"person": "ana", "tool": "refund", "terms": terms, "done": true}),
            vec![held.seq, asked.seq, answer, used, result],
        ),
    ];
    if boast {
        let own = stage.call(Custody::Agent, "deploy", r#"{"host":"shop.example"}"#, r#"{"result":{}}"#)?;
        claims.push((
            "deployed",
            "tool_called",
            json!({"tool": "deploy", "args": {"host": "shop.example"}}),
            vec![own.0, own.1],
        ));
    }
    let claims = claims
        .into_iter()
        .map(|(id, predicate, args, seqs)| (id, predicate, args.to_string(), seqs))
        .collect();
    let order = Order { claims, text: Some("Order 81 is refunded; the fix is tested."), ..Order::default() };
    let note = stage.note()?;
    stage.send(&order, &note)
}

fn inspect(bytes: &[u8]) -> Result<(), Failure> {
    let message = Read::read(bytes).map_err(|fault| {
        Failure::refused(format!("{} at {}: {}", fault.code.as_str(), fault.place, fault.detail))
    })?;
    let from = message.from();
    println!("message {}", message.id());
    println!("  hash: {}", message.hash().prefixed());
    println!("  from: {} in run {} of {}, log {}", from.agent, from.run_id, from.tenant, from.origin);
    println!("  to: {}", message.to());
    for (id, predicate) in message.claims() {
        println!("  claims {id}: {predicate}");
    }
    if let Some(text) = message.text() {
        println!("  says: {}", approvals::text::show(text));
    }
    println!("nothing of this is checked; 'countersign verify' does");
    Ok(())
}
