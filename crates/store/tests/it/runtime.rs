//! Commands through every fault, every race and every repetition.

use canon::Digest;
use env::{Duration, Source};
use futures::FutureExt;
use ledger::{Aggregate, Coded, Head, StreamId, Who};
use std::sync::Arc;
use store::{Error, Executed, Journal, Once, Reply, Runtime, StoreError};
use testkit::tally::{CAP, Command, Tally};
use testkit::{Fate, Rates, World};

fn tally() -> StreamId {
    StreamId::new("tally", "one").unwrap()
}

fn add(amount: u64) -> Command {
    Command::Add { amount, note: None }
}

fn once(key: &str, request: &[u8]) -> Option<Once<Tally>> {
    Some(Once {
        scope: "ana".into(),
        key: key.into(),
        request: Digest::of(request),
        keep: Duration::from_secs(60),
        response: |sum| sum.to_string().into_bytes(),
    })
}

type Result = std::result::Result<Executed<Tally>, Error<<Tally as Aggregate>::Refusal>>;

async fn execute(runtime: &Runtime, command: &Command) -> Result {
    runtime.execute::<Tally>(&tally(), command, None).await
}

async fn sum(world: &World) -> u64 {
    let (state, head) = world.another_server().state::<Tally>(&tally()).await.unwrap();
    assert_eq!(head, world.memory.head(&tally()).await.unwrap());
    state.sum
}

#[tokio::test]
async fn each_fault_of_an_append_adds_once_or_not_at_all() {
    // The fates of the appends in turn; the code of the error, and what is added.
    let check = async |fates: &[Fate], code: Option<&str>, added: u64| {
        for key in [None, Some("key")] {
            let world = World::new(1);
            execute(&world.runtime, &add(1)).await.unwrap();
            world.faults.script(fates.iter().copied());
            let keyed = key.and_then(|key| once(key, b"request"));
            let done = world.runtime.execute::<Tally>(&tally(), &add(10), keyed).await;
            assert_eq!(done.as_ref().err().map(Coded::code), code, "{fates:?}");
            assert_eq!(sum(&world).await, 1 + added, "{fates:?}");
            if let Ok(done) = done {
                assert_eq!((done.reply, done.state.sum), (Reply::Fresh(11), 11));
            }
            let next = execute(&world.runtime, &add(100)).await.unwrap();
            assert_eq!(next.reply, Reply::Fresh(101 + added));
        }
    };
    use Fate::{FailsClean, FailsLanded, Works};
    check(&[Works], None, 10).await;
    check(&[FailsClean], Some("store_unavailable"), 0).await;
    check(&[FailsLanded], None, 10).await;
    check(&[FailsLanded, FailsLanded, FailsClean, Works], None, 10).await;
    check(&[FailsLanded; 6], Some("outcome_unknown"), 10).await;
}

#[tokio::test]
async fn whoever_gave_up_waiting_finds_it_done_or_not_done() {
    for (fate, expected) in [(Fate::HangsLanded, 1), (Fate::HangsClean, 0)] {
        let world = World::new(2);
        world.faults.script([fate]);
        let command = add(1);
        // In memory nothing but the hanging call waits, so one look at the future takes it there; then it is dropped.
        let given_up = world.runtime.execute::<Tally>(&tally(), &command, once("k", b"r")).now_or_never();
        assert!(given_up.is_none());
        assert_eq!(sum(&world).await, expected);
        let retried = world.runtime.execute::<Tally>(&tally(), &command, once("k", b"r")).await.unwrap();
        let reply = if expected == 1 { Reply::Repeated(b"1".to_vec()) } else { Reply::Fresh(1) };
        assert_eq!((retried.reply, retried.state.sum), (reply, 1));
    }
}

#[tokio::test]
async fn an_idempotency_key_answers_again_and_refuses_another_request() {
    let world = World::new(3);
    let run = async |runtime: &Runtime, request: &[u8]| {
        runtime.execute::<Tally>(&tally(), &add(5), once("key", request)).await
    };
    assert_eq!(run(&world.runtime, b"a").await.unwrap().reply, Reply::Fresh(5));
    assert_eq!(run(&world.runtime, b"a").await.unwrap().reply, Reply::Repeated(b"5".to_vec()));
    assert_eq!(run(&world.another_server(), b"a").await.unwrap().reply, Reply::Repeated(b"5".to_vec()));
    let reused = run(&world.runtime, b"b").await.err().unwrap();
    assert_eq!((reused.code(), reused.who()), ("idempotency_key_reused", Who::Conflict));
    assert_eq!(sum(&world).await, 5);
    world.clock.advance(Duration::from_secs(61));
    assert_eq!(run(&world.runtime, b"b").await.unwrap().reply, Reply::Fresh(10));
    // A decision that appends nothing is kept as well.
    let look = async || {
        world.runtime.execute::<Tally>(&tally(), &Command::Look, once("look", b"")).await.unwrap().reply
    };
    assert_eq!(look().await, Reply::Fresh(10));
    execute(&world.runtime, &add(1)).await.unwrap();
    assert_eq!(look().await, Reply::Repeated(b"10".to_vec()));
}

#[tokio::test]
async fn a_refusal_and_a_look_rest_on_the_newest_state() {
    let world = World::new(4);
    let other = world.another_server();
    execute(&world.runtime, &add(CAP)).await.unwrap();
    // This process has not seen that the cap is reached, then it has; the other way round cannot be tried.
    assert_eq!(execute(&other, &add(1)).await.err().unwrap().code(), "over_cap");
    let small = StreamId::new("tally", "two").unwrap();
    let run = async |runtime: &Runtime, command: Command| {
        runtime.execute::<Tally>(&small, &command, None).await.unwrap().reply
    };
    assert_eq!(run(&world.runtime, Command::Look).await, Reply::Fresh(0));
    assert_eq!(run(&other, add(7)).await, Reply::Fresh(7));
    assert_eq!(run(&world.runtime, Command::Look).await, Reply::Fresh(7));
    assert_eq!(run(&other, add(1)).await, Reply::Fresh(8));
    assert_eq!(run(&world.runtime, add(1)).await, Reply::Fresh(9));
    assert_eq!(world.memory.head(&small).await.unwrap().seq, 3, "a look appends nothing");
}

#[tokio::test]
async fn a_fault_of_the_evaluator_refuses_one_command_alone() {
    let world = World::new(5);
    execute(&world.runtime, &add(1)).await.unwrap();
    let crashed = execute(&world.runtime, &Command::Crash).await.err().unwrap();
    assert_eq!((crashed.code(), crashed.who()), ("evaluator_fault", Who::Bug));
    assert_eq!(execute(&world.runtime, &add(1)).await.unwrap().reply, Reply::Fresh(2));
    let room = StreamId::new("room", "one").unwrap();
    let wrong = world.runtime.execute::<Tally>(&room, &add(1), None).await.err().unwrap();
    assert_eq!(wrong.code(), "wrong_kind");
}

#[tokio::test]
async fn a_forged_chain_does_not_open() {
    let world = World::new(6);
    let forged = testkit::contract::append("one", Head::EMPTY, &["1 -"]);
    world.memory.append(forged).await.unwrap();
    assert_eq!(sum(&world).await, 1);
    let mut forged = testkit::contract::append("two", Head::EMPTY, &["1 -"]);
    forged.streams[0].entries[0].hash = Digest::of(b"anything");
    world.memory.append(forged).await.unwrap();
    let two = StreamId::new("tally", "two").unwrap();
    assert_eq!(world.runtime.state::<Tally>(&two).await.err().unwrap().code(), "bad_link");
}

/// Four servers, each with commands at once, on a store that fails at random: whatever was acknowledged is there
/// exactly once, whatever was refused is not there, and what nobody knows is there at most once.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_or_doubled_under_random_faults() {
    for seed in 0..20 {
        let world = World::new(seed);
        world.faults.rates(Rates { fails_clean: 100, fails_landed: 200, hangs: 0 });
        let faulty: Arc<dyn Journal> = world.faults.clone();
        let mut commands = tokio::task::JoinSet::new();
        for server in 0..4 {
            let runtime = Runtime::with_cache(faulty.clone(), world.clock.clone(), 8);
            for n in 0..10 {
                let runtime = runtime.clone();
                commands.spawn(async move {
                    let note = format!("{server} {n}");
                    let command = Command::Add { amount: 1, note: Some(note.clone()) };
                    let done = runtime.execute::<Tally>(&tally(), &command, None).await;
                    (note, done.map(drop))
                });
            }
        }
        let results = commands.join_all().await;
        let (state, _) = world.another_server().state::<Tally>(&tally()).await.unwrap();
        for (note, result) in results {
            let times = state.notes.iter().filter(|other| **other == note).count();
            match result {
                Ok(()) => assert_eq!(times, 1, "seed {seed}: {note}"),
                Err(Error::Store(StoreError::Unknown(_))) => assert!(times <= 1, "seed {seed}: {note}"),
                // The store may fail while it is asked what became of a lost append.
                Err(Error::Store(StoreError::Unavailable(_))) => assert!(times <= 1, "seed {seed}: {note}"),
                Err(error) => panic!("seed {seed}: {error}"),
            }
        }
        assert_eq!(state.sum, state.notes.len() as u64);
    }
}

#[tokio::test]
async fn effects_are_due_when_they_say_and_pointers_find_their_stream() {
    let world = World::new(7);
    let tell = Command::Tell { amount: 2, member: "ben".into() };
    execute(&world.runtime, &tell).await.unwrap();
    let rows = world.memory.claim(world.clock.now(), Duration::from_secs(1), 9).await.unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(world.memory.find("tallies", "", 9).await.unwrap(), [("ben".to_owned(), tally())]);
}
