//! The signer under load: clients with pipelined frames on its Unix socket, several identities, on SQLite in a folder of its own. Prints
//! what a sync costs here, events a second acknowledged after it, how long each took, and how long a checkpoint took to cover it.
//!
//! `signer [CLIENTS] [PIPELINED] [SECONDS]`; 64, 4 and 10 without them. The bar: 20,000 events/s, p99 10 ms, a checkpoint within 250 ms.

use bench::{Outcome, disk, percentile};
use env::{Duration, Source, System};
use keys::{Algorithm, SoftwareSigner};
use pcm::opening::arguments_digest;
use pcm::signer::rpc::{
    Agent, ArgsSource, Complete, Decide, Id, Name, RegisterRun, Registered, Status, Text,
};
use pcm::signer::{Identity, Policy};
use signer::{Attest, Client, Service, Setup, socket, stream};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use store::{Journal, Log, ServerKey, Sqlite};

fn main() -> Outcome {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(run())
}

async fn run() -> Outcome {
    let mut arguments = std::env::args().skip(1);
    let mut number = |usual: u64| arguments.next().map_or(Ok(usual), |text| text.parse::<u64>());
    let (clients, pipelined, seconds) = (number(64)?, number(4)?, number(10)?);
    let folder = tempfile::tempdir_in(".")?;
    println!("fdatasync {:.3} ms", disk::fdatasync(folder.path())?);
    let service = open(folder.path()).await?;
    let path = folder.path().join("s");
    let listener = socket::bind(&path, false)?;
    let peers: socket::Peers = Arc::new(|uid| {
        Some(Identity {
            name: format!("uid:{uid}"),
            tenant: "bench".to_owned(),
            gateway: true,
            observer: false,
            operator: false,
            person: None,
            rate: None,
        })
    });
    tokio::spawn(socket::serve(service.clone(), listener, peers, std::future::pending()));
    let feeding = service.clone();
    tokio::spawn(async move { feeding.run(std::future::pending()).await });
    let covered = tokio::spawn(covered(service.clone(), seconds));
    let begun = Instant::now();
    let end = begun + std::time::Duration::from_secs(seconds);
    let mut playing = Vec::new();
    for client in 0..clients {
        let line = Arc::new(Client::connect(&path).await?);
        let caller = Name::new(format!("token:agent-{}", client % 8)).ok_or("a name")?;
        let register = RegisterRun {
            request_id: id(&format!("r{client}"))?,
            run_id: None,
            tenant: None,
            caller: Some(caller.clone()),
            agent: Agent { name: Text::new("bench").ok_or("a name")?, version: None },
        };
        let run = Arc::new(line.register_run(register).await?);
        for lane in 0..pipelined {
            playing.push(tokio::spawn(play(Arc::clone(&line), Arc::clone(&run), caller.clone(), lane, end)));
        }
    }
    let mut times = Vec::new();
    for player in playing {
        times.extend(player.await??);
    }
    let took = begun.elapsed().as_secs_f64();
    let events = times.len();
    println!("{clients} clients, {pipelined} frames each under way, {took:.1} s");
    println!("events acknowledged {events}, {:.0}/s", f64::from(u32::try_from(events)?) / took);
    println!("an event     {}", told(times));
    println!("a checkpoint {}", told(covered.await??));
    Ok(())
}

async fn open(folder: &Path) -> Outcome<Service> {
    let source: Arc<dyn Source> = Arc::new(System);
    let key = ServerKey::open(&folder.join("store.key"))?;
    let file = folder.join("journal.db");
    let journal: Arc<dyn Journal> = Arc::new(Sqlite::open(&file, key)?);
    let signer = || SoftwareSigner::generate(Algorithm::Ed25519, &mut source.env());
    let log = Log::new(Arc::clone(&journal), Arc::clone(&source), Arc::new(signer()?), "bench/log".parse()?);
    let record = signer()?;
    let policy: Policy = canon::from_slice(br#"{"default":"allow","rule":[]}"#)?;
    Ok(Service::open(Setup {
        journal,
        source: Arc::clone(&source),
        key: Arc::new(record),
        log: log.of_stream(stream()),
        policy,
        secret: [7; 32],
        org: "home".to_owned(),
        asks: "http://localhost/asks/evidence/".to_owned(),
        approval_lasts: Duration::from_secs(3600),
        reads_only: false,
    })
    .await?)
}

/// Calls one after another: each is decided and has its result.
async fn play(
    line: Arc<Client>,
    run: Arc<Registered>,
    caller: Name,
    lane: u64,
    end: Instant,
) -> Outcome<Vec<std::time::Duration>> {
    let mut times = Vec::new();
    let (run_id, stream) = (id(&run.run_id)?, id(&format!("s{lane}"))?);
    let run_token = Text::new(run.run_token.clone()).ok_or("a token")?;
    let tool = Text::new("http_get").ok_or("a tool")?;
    let mut call = 0_u64;
    while Instant::now() < end {
        let name = id(&format!("call-{lane}-{call}"))?;
        let args = format!("{{\"url\":\"https://api.example.com/orders/{lane}/{call}\"}}");
        let args = canon::parse(args.as_bytes())?.into_static();
        let args_digest = Text::new(arguments_digest("http_get", &args)?.prefixed()).ok_or("a digest")?;
        let decide = Decide {
            request_id: id(&format!("{}-d-{lane}-{call}", run.run_id))?,
            run_id: run_id.clone(),
            run_token: run_token.clone(),
            stream: stream.clone(),
            client_seq: call * 2,
            caller: Some(caller.clone()),
            tool_call_id: name.clone(),
            attempt: 0,
            tool: tool.clone(),
            tool_class_hint: None,
            args_source: ArgsSource::Parsed,
            args,
        };
        let at = Instant::now();
        let decided = line.decide(decide).await?;
        times.push(at.elapsed());
        let complete = Complete {
            request_id: id(&format!("{}-c-{lane}-{call}", run.run_id))?,
            run_id: run_id.clone(),
            run_token: run_token.clone(),
            stream: stream.clone(),
            client_seq: call * 2 + 1,
            caller: Some(caller.clone()),
            tool_call_id: name,
            attempt: 0,
            decision_id: id(&decided.decision_id)?,
            args_digest,
            status: Status::Ok,
            result: Some(canon::parse(br#"{"status":200,"body":"ok"}"#)?.into_static()),
            error: None,
            redacted: None,
            redaction: None,
        };
        let at = Instant::now();
        line.complete(complete).await?;
        times.push(at.elapsed());
        call += 1;
    }
    Ok(times)
}

/// How long after it was durable a record came under a published checkpoint, looked at again and again.
async fn covered(service: Service, seconds: u64) -> Outcome<Vec<std::time::Duration>> {
    let end = Instant::now() + std::time::Duration::from_secs(seconds);
    let mut times = Vec::new();
    while Instant::now() < end {
        let size = service.look(pcm::signer::State::size).await?;
        let at = Instant::now();
        while service.log().checkpoint().await?.is_none_or(|published| published.size < size) {
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
        times.push(at.elapsed());
    }
    Ok(times)
}

/// Median, 99th percentile and the slowest, in milliseconds.
fn told(mut times: Vec<std::time::Duration>) -> String {
    let at = |times: &mut Vec<std::time::Duration>, part| percentile(times, part);
    let (middle, late, last) = (at(&mut times, 50), at(&mut times, 99), at(&mut times, 100));
    format!("p50 {middle:.2} ms, p99 {late:.2} ms, slowest {last:.2} ms")
}

fn id(text: &str) -> Outcome<Id> {
    Id::new(text).ok_or_else(|| "an id".into())
}
