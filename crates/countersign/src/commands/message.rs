//! Messages that carry their proofs: some to try, and what one says. Checking a message is `verify`.

use super::Failure;
use crate::cli::Setup;
use crate::config::Config;
use crate::house::House;
use approvals::text::reveal;
use clap::Subcommand;
use env::{Source, System};
use keys::{Algorithm, SoftwareSigner};
use pcm::Error;
use pcm::message::sample::{Custody, Order, Stage};
use pcm::message::words::{self, Telling};
use pcm::message::{At, Code, Judgement, Message as Read, Overall, Receiver, registry_digest};
use serde_json::json;
use server::messages::{Begin, Desk, Verdict};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use store::Runtime;

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
    /// What a message says, and with a trust file what was proven of it
    Inspect {
        /// A message; - for standard input
        file: PathBuf,
        /// Whom you believe; without it nothing is checked
        #[arg(long, value_name = "FILE")]
        trust: Option<PathBuf>,
        /// The instant at which it is judged, instead of now
        #[arg(long, value_name = "INSTANT")]
        now: Option<String>,
    },
    /// Verify a message and commit that it was accepted: once, and never again
    ///
    /// What was accepted is kept in this server's store, in one durable transaction before the verdict is printed. Exit status: 0
    /// accepted, 3 accepted and not all of it proven, 1 rejected, 2 unusable input or a store that does not know what was accepted.
    Accept {
        #[command(flatten)]
        setup: Setup,
        /// A message; - for standard input
        file: PathBuf,
        /// Whom you believe; without it the trust file of the configuration
        #[arg(long, value_name = "FILE")]
        trust: Option<PathBuf>,
        /// As which of the trust file's receivers
        #[arg(long, value_name = "ID")]
        receiver: Option<String>,
        /// The verdict as JSON
        #[arg(long)]
        json: bool,
    },
    /// Begin to know what is accepted: before the first message, and after that knowledge was lost
    ///
    /// Messages issued before the instant that is printed are refused.
    Epoch {
        #[command(flatten)]
        setup: Setup,
        /// Whom you believe; without it the trust file of the configuration
        #[arg(long, value_name = "FILE")]
        trust: Option<PathBuf>,
        /// Nothing was ever accepted here: messages issued from now on may be
        #[arg(long, conflicts_with = "join")]
        first: bool,
        /// Other machines use this database already, and it was not rolled back: go on with what it knows
        #[arg(long)]
        join: bool,
    },
}

#[derive(Debug, Subcommand)]
pub enum Grant {
    /// A grant, or the chain of grants of a message, as a tree
    ///
    /// Nothing of it is checked: `countersign verify` and `message accept` do, with the message it stands in.
    Show {
        /// A grant, a link with a grant, a list of them, or a message; - for standard input
        file: PathBuf,
    },
}

pub async fn run(command: &Message) -> Result<ExitCode, Failure> {
    match command {
        Message::Sample { folder, boast } => sample(folder, *boast)?,
        Message::Inspect { file, trust, now } => {
            inspect(&super::read_input(file)?, trust.as_deref(), now.as_deref())?;
        }
        Message::Accept { setup, file, trust, receiver, json } => {
            return accept(setup, file, trust.as_deref(), receiver.as_deref(), *json).await;
        }
        Message::Epoch { setup, trust, first, join } => {
            let how = match (first, join) {
                (true, _) => Begin::First,
                (_, true) => Begin::Join,
                _ => Begin::Anew,
            };
            epoch(setup, trust.as_deref(), how).await?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub fn grant(command: &Grant) -> Result<(), Failure> {
    let Grant::Show { file } = command;
    let bytes = super::read_input(file)?;
    let value = canon::parse(&bytes).map_err(Failure::unusable_by)?;
    let many = value.get("grants").or(Some(&value)).and_then(canon::Value::as_array);
    let grants: Vec<_> = match many {
        Some(many) => many.iter().map(words::grant).collect(),
        None => vec![words::grant(&value)],
    };
    if grants.is_empty() {
        println!("no grant");
    }
    print(&words::tree(&grants));
    Ok(())
}

/// The store and the desk of this server; it need not run.
async fn desk(setup: &Setup, trust: Option<&Path>) -> Result<(Desk, Runtime), Failure> {
    let house = House::open(Config::load(setup.config.as_deref(), None)?).await?;
    let desk = crate::messages::setup(&house.config, trust)?.map(Desk::new);
    let missing = || Failure::unusable("no trust file: --trust FILE, or messages.trust in the configuration");
    Ok((desk.ok_or_else(missing)?, Runtime::new(house.journal, Arc::new(System))))
}

async fn accept(
    setup: &Setup,
    file: &Path,
    trust: Option<&Path>,
    receiver: Option<&str>,
    json: bool,
) -> Result<ExitCode, Failure> {
    let bytes = super::read_input(file)?;
    let (desk, runtime) = desk(setup, trust).await?;
    let judged = desk.accept(&runtime, &bytes, receiver).await.map_err(Failure::unusable_by)?;
    if json {
        let text = serde_json::to_string_pretty(&Verdict::of(&judged)).map_err(Failure::unusable_by)?;
        println!("{text}");
    } else {
        told(&bytes, &judged);
    }
    let lost = judged.fault.as_ref().is_some_and(|fault| fault.code == Code::ReplayStateUnavailable);
    Ok(ExitCode::from(match judged.overall {
        Overall::Accept => 0,
        Overall::AcceptUnproven => 3,
        Overall::Reject if lost => 2,
        Overall::Reject => 1,
    }))
}

async fn epoch(setup: &Setup, trust: Option<&Path>, how: Begin) -> Result<(), Failure> {
    let (desk, runtime) = desk(setup, trust).await?;
    let state = desk.begin(&runtime, how).await.map_err(|error| match error {
        server::Error::Refused { .. } => {
            Failure::refused("messages were accepted here before: leave out --first")
        }
        other => Failure::unusable(other.shown()),
    })?;
    if let Some(since) = state.began() {
        println!("messages issued before {} are refused", pcm::spelled(since));
    }
    Ok(())
}

/// The verdict, and the message as its receiver reads it.
fn told(bytes: &[u8], judged: &Judgement) {
    let verdict = match judged.overall {
        Overall::Accept => "accepted: every claim is proven",
        Overall::AcceptUnproven => "accepted, but not all of it is proven",
        Overall::Reject => "rejected",
    };
    println!("{verdict}");
    if let Some(fault) = &judged.fault {
        println!("{}", reveal(&format!("  {} at {:?}: {}", fault.code.as_str(), fault.place, fault.detail)));
    }
    if let Ok(message) = Read::read(bytes) {
        print(&Telling::of(&message, Some(judged)).lines());
    }
}

/// Hidden characters are shown, and no line breaks out of its own.
fn print(lines: &[String]) {
    for line in lines {
        println!("{}", reveal(&line.replace('\n', "⏎").replace('\t', " ")));
    }
}

fn sample(folder: &Path, boast: bool) -> Result<(), Failure> {
    let mut env = System.env();
    let mut key = || SoftwareSigner::generate(Algorithm::Ed25519, &mut env).map_err(Failure::unusable_by);
    let (log, record) = (key()?, key()?);
    let mut stage = Stage::new(System.env(), &log, &record).map_err(Failure::unusable_by)?;
    let message = story(&mut stage, boast).map_err(Failure::unusable_by)?;
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

fn story(stage: &mut Stage<'_>, boast: bool) -> Result<Vec<u8>, Error> {
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

fn inspect(bytes: &[u8], trust: Option<&Path>, now: Option<&str>) -> Result<(), Failure> {
    let message = Read::read(bytes).map_err(|fault| {
        Failure::refused(format!("{} at {}: {}", fault.code.as_str(), fault.place, fault.detail))
    })?;
    let Some(trust) = trust else {
        print(&Telling::of(&message, None).lines());
        println!("nothing of this is checked; with --trust it is");
        return Ok(());
    };
    let receiver = Receiver::parse(&super::read_input(trust)?).map_err(Failure::unusable_by)?;
    let now = match now {
        Some(text) => super::verify::instant(text)?,
        None => System.now(),
    };
    let judged = pcm::message::verify(bytes, &receiver, &At { now, receiver: None, replay: None });
    told(bytes, &judged);
    Ok(())
}
