//! A signer on a journal in memory, and what is said to it.

use canon::Value;
use env::{Duration, Source, Timestamp, Virtual};
use keys::{Algorithm, SoftwareSigner};
use ledger::note::{KeyType, VerifierKey};
use pcm::Trust;
use pcm::bundle::{self, Alone, Outcome};
use pcm::opening::arguments_digest;
use pcm::signer::rpc::*;
use pcm::signer::{Identity, Policy};
use signer::{Attest, Fault, Seat, Service, Setup, stream};
use std::sync::Arc;
use store::{Journal, Log};
use testkit::MemoryJournal;

pub const ORIGIN: &str = "countersign.local/evidence";

pub struct House {
    pub journal: Arc<dyn Journal>,
    pub source: Arc<Virtual>,
    pub service: Service,
}

pub fn key(seed: u8) -> Arc<SoftwareSigner> {
    Arc::new(SoftwareSigner::from_seed(Algorithm::Ed25519, &[seed; 32]).unwrap())
}

pub fn policy() -> Policy {
    canon::from_slice(
        br#"{"default":"allow","rule":[
            {"id":"R-REFUND","tools":["refund"],"then":"ask"},
            {"id":"R-RM","tools":["rm"],"then":"deny","why":"never"}]}"#,
    )
    .unwrap()
}

impl House {
    pub async fn new() -> Self {
        let source = Arc::new(Virtual::new(7, Timestamp::from_secs(1_800_000_000)));
        Self::on(Arc::new(MemoryJournal::new()), source, 1).await
    }

    /// Opens a signer whose record key is of this seed.
    pub async fn on(journal: Arc<dyn Journal>, source: Arc<Virtual>, seed: u8) -> Self {
        let service = Self::open(&journal, &source, seed).await.unwrap();
        Self { journal, source, service }
    }

    pub async fn open(journal: &Arc<dyn Journal>, source: &Arc<Virtual>, seed: u8) -> Result<Service, Fault> {
        let from: Arc<dyn Source> = Arc::clone(source) as Arc<dyn Source>;
        let log = Log::new(Arc::clone(journal), Arc::clone(&from), key(99), ORIGIN.parse().unwrap())
            .of_stream(stream());
        Service::open(Setup {
            journal: Arc::clone(journal),
            source: from,
            key: key(seed),
            log,
            policy: policy(),
            secret: [5; 32],
            org: "home".to_owned(),
            asks: "http://localhost/evidence/asks/".to_owned(),
            approval_lasts: Duration::from_secs(3600),
            reads_only: false,
        })
        .await
    }

    /// The process ends, and another takes its place.
    pub async fn restarted(self) -> Self {
        self.rekeyed(1).await
    }

    pub async fn rekeyed(self, seed: u8) -> Self {
        let Self { journal, source, service } = self;
        drop(service);
        Self::on(journal, source, seed).await
    }

    pub fn seat(&self, who: &Identity) -> Seat {
        Seat { service: self.service.clone(), who: who.clone() }
    }

    pub fn trust(&self) -> Trust {
        let keys::PublicKey::Ed25519(public) = keys::Signer::public(&*key(99)) else { panic!() };
        let log = VerifierKey::new(ORIGIN.parse().unwrap(), KeyType::Log, public);
        Trust::parse(format!(r#"{{"logs":["{log}"],"algs":["ed25519"]}}"#).as_bytes()).unwrap()
    }

    /// The run as a bundle, which must hold; the types of its records.
    pub async fn verified(&self, run: &str) -> Vec<String> {
        let bytes = self.service.export(run).await.unwrap();
        let report = bundle::verify(&bytes, &self.trust(), &Alone);
        assert_eq!(report.outcome, Outcome::Verified, "{:?}", report.first_failure());
        let story = self.service.story(run).await.unwrap();
        let kind = |line: &[u8]| {
            canon::parse(line).unwrap().pointer("/event/type").unwrap().as_str().unwrap().to_owned()
        };
        story.records.iter().map(|entry| kind(&entry.bytes)).collect()
    }
}

pub fn agent() -> Identity {
    Identity {
        name: "token:agent".to_owned(),
        tenant: "acme".to_owned(),
        gateway: false,
        observer: false,
        operator: false,
        person: None,
        rate: None,
    }
}

pub fn gateway() -> Identity {
    Identity { name: "uid:1000".to_owned(), gateway: true, ..agent() }
}

pub fn operator() -> Identity {
    Identity { name: "uid:0".to_owned(), operator: true, ..agent() }
}

pub fn id(text: &str) -> Id {
    Id::new(text).unwrap()
}

pub fn args() -> Value<'static> {
    canon::parse(br#"{"url":"https://api.example.com/"}"#).unwrap().into_static()
}

/// A run, and how its client counts.
pub struct Run {
    pub seat: Seat,
    pub caller: Option<Name>,
    pub told: Registered,
    pub next: u64,
}

impl Run {
    pub async fn begin(seat: Seat, caller: Option<&str>) -> Self {
        let caller = caller.map(|name| Name::new(name).unwrap());
        let register = RegisterRun {
            request_id: id(&format!(
                "reg-{}-{}",
                seat.who.name,
                caller.as_ref().map_or("own", |name| name.as_str())
            )),
            run_id: None,
            tenant: None,
            caller: caller.clone(),
            agent: Agent { name: Text::new("tester").unwrap(), version: None },
        };
        let told = seat.register_run(register).await.unwrap();
        Self { seat, caller, told, next: 0 }
    }

    pub fn id(&self) -> Id {
        id(&self.told.run_id)
    }
    pub fn token(&self) -> Text<1024> {
        Text::new(self.told.run_token.clone()).unwrap()
    }

    pub fn deciding(&mut self, call: &str, tool: &str, args: Value<'static>) -> Decide {
        let client_seq = self.next;
        self.next += 1;
        Decide {
            request_id: id(&format!("d-{}-{call}-{client_seq}", self.told.run_id)),
            run_id: self.id(),
            run_token: self.token(),
            stream: id("s"),
            client_seq,
            caller: self.caller.clone(),
            tool_call_id: id(call),
            attempt: 0,
            tool: Text::new(tool).unwrap(),
            tool_class_hint: None,
            args_source: ArgsSource::Parsed,
            args,
        }
    }

    pub fn completing(&mut self, of: &Decide, decided: &Decided, result: &str) -> Complete {
        let client_seq = self.next;
        self.next += 1;
        Complete {
            request_id: id(&format!("c-{}-{}-{client_seq}", self.told.run_id, of.tool_call_id)),
            run_id: self.id(),
            run_token: self.token(),
            stream: id("s"),
            client_seq,
            caller: self.caller.clone(),
            tool_call_id: of.tool_call_id.clone(),
            attempt: 0,
            decision_id: id(&decided.decision_id),
            args_digest: Text::new(arguments_digest(of.tool.as_str(), &of.args).unwrap().prefixed()).unwrap(),
            status: Status::Ok,
            result: Some(canon::parse(result.as_bytes()).unwrap().into_static()),
            error: None,
            redacted: None,
            redaction: None,
        }
    }

    /// A call that is decided, run and done.
    pub async fn call(&mut self, call: &str, tool: &str) -> Result<(Decided, Recorded), Fault> {
        let decide = self.deciding(call, tool, args());
        let decided = self.seat.decide(decide.clone()).await?;
        let complete = self.completing(&decide, &decided, r#"{"status":200}"#);
        let recorded = self.seat.complete(complete).await?;
        Ok((decided, recorded))
    }

    pub fn closing(&self) -> CloseRun {
        CloseRun {
            request_id: id(&format!("close-{}", self.told.run_id)),
            run_id: self.id(),
            run_token: self.token(),
            reason: None,
            caller: self.caller.clone(),
            last_client_seq: Vec::new(),
        }
    }

    pub async fn close(&self) -> Closed {
        self.seat.close_run(self.closing()).await.unwrap()
    }
}
