//! Effects run at least once, wait longer after each failure, and stop when they never can succeed.

use async_trait::async_trait;
use env::Duration;
use ledger::{Effect, StreamId};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use store::{Claimed, Failed, Handler, Journal, Outbox, Runtime, Sqlite};
use testkit::World;
use testkit::tally::{Command, Tally};

/// Answers as told, then succeeds; notes the title and attempt of each run.
#[derive(Default)]
struct Scripted {
    answers: Mutex<VecDeque<Result<(), Failed>>>,
    runs: Mutex<Vec<(String, u32)>>,
    ran: tokio::sync::Notify,
}

impl Scripted {
    fn new(answers: impl IntoIterator<Item = Result<(), Failed>>) -> Arc<Self> {
        Arc::new(Self { answers: Mutex::new(answers.into_iter().collect()), ..Self::default() })
    }
    fn runs(&self) -> Vec<(String, u32)> {
        self.runs.lock().unwrap().clone()
    }
}

#[async_trait]
impl Handler for Scripted {
    async fn run(&self, row: &Claimed) -> Result<(), Failed> {
        let Effect::Notify { title, .. } = &row.effect else { panic!("{row:?}") };
        self.runs.lock().unwrap().push((title.clone(), row.attempts));
        self.ran.notify_one();
        self.answers.lock().unwrap().pop_front().unwrap_or(Ok(()))
    }
}

fn later() -> Result<(), Failed> {
    Err(Failed::Later("not now".into()))
}

async fn tell(runtime: &Runtime) {
    let tally = StreamId::new("tally", "one").unwrap();
    let tell = Command::Tell { amount: 1, member: "ben".into() };
    runtime.execute::<Tally>(&tally, &tell, None).await.unwrap();
}

#[tokio::test]
async fn failures_are_retried_ever_later_until_done_or_given_up() {
    let check = async |answers: Vec<Result<(), Failed>>, seconds: u64, attempts: &[u32]| {
        let world = World::new(1);
        tell(&world.runtime).await;
        let handler = Scripted::new(answers);
        world.pass(Duration::from_secs(seconds), handler.clone()).await.unwrap();
        assert_eq!(handler.runs().iter().map(|(_, attempt)| *attempt).collect::<Vec<_>>(), attempts);
        world.memory.stats().await.unwrap().outbox
    };
    assert_eq!(check(vec![Ok(())], 100, &[0]).await, 0);
    assert_eq!(check(vec![Err(Failed::Never("gone".into()))], 100, &[0]).await, 0);
    assert_eq!(check(vec![later(), later(), Ok(())], 100, &[0, 1, 2]).await, 0);
    let start = World::new(1).now();
    let at = |secs| Err(Failed::NotBefore { due: start + Duration::from_secs(secs), why: "night".into() });
    assert_eq!(check(vec![at(40), Ok(())], 39, &[0]).await, 1);
    assert_eq!(check(vec![at(40), Ok(())], 41, &[0, 1]).await, 0);
    // After 0, 1, 3, 7, 15 seconds; the next would be at 31.
    assert_eq!(check(vec![later(); 9], 30, &[0, 1, 2, 3, 4]).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_hears_of_new_rows_and_ends_when_told() {
    let folder = tempfile::tempdir().unwrap();
    let key = store::ServerKey::from_bytes([7; 32]);
    let journal: Arc<dyn Journal> = Arc::new(Sqlite::open(&folder.path().join("journal.db"), key).unwrap());
    let source = Arc::new(env::System);
    let handler = Scripted::new([]);
    let outbox = Outbox::new(journal.clone(), source.clone(), handler.clone());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let worker = tokio::spawn(async move { outbox.run(async { drop(stopped.await) }).await });
    let runtime = Runtime::new(journal.clone(), source);
    for n in 1..=5 {
        tell(&runtime).await;
        handler.ran.notified().await;
        assert_eq!(handler.runs().last().unwrap(), &(format!("the sum is {n}"), 0));
    }
    stop.send(()).unwrap();
    worker.await.unwrap();
    assert_eq!(journal.stats().await.unwrap().outbox, 0);
}
