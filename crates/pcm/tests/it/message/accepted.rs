//! At most once: the stream of what was accepted, against a twin that keeps everything in a list.

use canon::Digest;
use env::{Duration, Env, Timestamp};
use ledger::{Aggregate, Entry, Head};
use pcm::message::accepted::{Command, Receipt, Refused, State, letter, open_letter};
use pcm::message::{Accepted, Code, Overall, Replay};
use proptest::prelude::*;

const START: i64 = 1_796_000_000;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_secs(START + seconds)
}

fn receipt(id: u8, iat: i64, until: i64) -> Receipt {
    Receipt {
        origin: "log.example".to_owned(),
        id: format!("{id:032x}"),
        message: Digest::of(&[id]),
        bytes: Digest::of(&[id, 1]),
        agent: "token:agent".to_owned(),
        to: "receiver".to_owned(),
        overall: Overall::Accept,
        iat: at(iat),
        until: at(until),
        grants: Vec::new(),
        checkpoint: (1, Digest::ZERO),
    }
}

/// A stream in memory. What is folded is always what a restart would read.
#[derive(Default)]
struct Stream {
    entries: Vec<Entry>,
    state: State,
}

impl Stream {
    fn run(&mut self, command: &Command, now: Timestamp) -> Result<(), Code> {
        let decision = Accepted::decide(&self.state, command, &mut Env::new(now, [1; 32]));
        for event in decision.map_err(|Refused(code)| code)?.events {
            let head =
                self.entries.last().map_or(Head::EMPTY, |last| Head { seq: last.seq, hash: last.hash });
            self.entries.push(Accepted::seal(&event, head).unwrap());
        }
        self.restart();
        Ok(())
    }

    fn restart(&mut self) {
        let mut head = Head::EMPTY;
        self.state = State::default();
        for entry in &self.entries {
            let event = Accepted::open(entry, head).unwrap();
            head = Head { seq: entry.seq, hash: entry.hash };
            Accepted::evolve(&mut self.state, &event, head);
        }
    }

    fn accept(&mut self, receipt: &Receipt, now: i64) -> Result<(), Code> {
        self.run(&Command::Accept(Box::new(receipt.clone())), at(now))
    }
}

/// Everything that was ever accepted, and the latest instant.
#[derive(Default)]
struct Twin {
    since: Option<i64>,
    latest: i64,
    accepted: Vec<Receipt>,
}

impl Twin {
    fn accept(&mut self, receipt: &Receipt, now: i64) -> Result<(), Code> {
        let now = now.max(self.latest);
        let since = self.since.ok_or(Code::ReplayStateUnavailable)?;
        if receipt.iat < at(since) {
            return Err(Code::ReplayStateUnavailable);
        }
        if receipt.until <= at(now) {
            return Err(Code::Expired);
        }
        if self.accepted.iter().any(|one| one.id == receipt.id) {
            return Err(Code::Replayed);
        }
        let used =
            |grant| self.accepted.iter().filter(|one| one.grants.iter().any(|(g, _)| *g == grant)).count();
        if receipt.grants.iter().any(|(grant, most)| most.is_some_and(|most| used(*grant) as u64 >= most)) {
            return Err(Code::GrantUsed);
        }
        let of_log = self.accepted.iter().map(|one| one.checkpoint);
        // Of several of one size the first stays; it is the only one there can be.
        if of_log
            .max_by_key(|one| one.0)
            .is_some_and(|(size, root)| size == receipt.checkpoint.0 && root != receipt.checkpoint.1)
        {
            return Err(Code::BadCheckpoint);
        }
        self.accepted.push(receipt.clone());
        self.latest = now;
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// At most once across restarts, however clocks jump and whatever is forgotten.
    #[test]
    fn at_most_once(
        lives in prop::collection::vec((0_i64..600, 0_i64..400), 12),
        steps in prop::collection::vec(
            (0_u8..12, -90_i64..120, 0_u8..3, 0_u64..4, any::<bool>(), 0_u8..20), 1..60,
        ),
    ) {
        let (mut stream, mut twin, mut now) = (Stream::default(), Twin { latest: i64::from(i32::MIN), ..Twin::default() }, 0);
        for (id, step, grant, size, root, epoch) in steps {
            now += step;
            let (iat, life) = lives[usize::from(id)];
            if epoch == 0 || twin.since.is_none() && epoch < 10 {
                let skew = Duration::from_secs(60);
                stream.run(&Command::Epoch { skew, first: false }, at(now)).unwrap();
                let clock = now.max(twin.latest);
                twin.since = Some(twin.since.map_or(clock + 60, |before| before.max(clock + 60)));
                twin.latest = clock;
                continue;
            }
            let mut receipt = receipt(id, iat, iat + life);
            receipt.grants = match grant {
                0 => Vec::new(),
                one => vec![(Digest::of(&[one]), Some(u64::from(one))), (Digest::of(b"any"), None)],
            };
            receipt.checkpoint = (size, if root { Digest::ZERO } else { Digest::of(b"other") });
            prop_assert_eq!(stream.accept(&receipt, now), twin.accept(&receipt, now));
            prop_assert!(stream.accept(&receipt, now).is_err());
        }
    }
}

#[test]
fn an_epoch_is_begun_by_hand_and_forgets_nothing() {
    let mut stream = Stream::default();
    assert_eq!(stream.state.since(), Err(Code::ReplayStateUnavailable));
    let one = receipt(1, 0, 100);
    assert_eq!(stream.accept(&one, 0), Err(Code::ReplayStateUnavailable));
    let skew = Duration::from_secs(60);
    stream.run(&Command::Epoch { skew, first: true }, at(0)).unwrap();
    assert_eq!(stream.accept(&one, 0), Ok(()));
    assert_eq!(stream.accept(&one, 1), Err(Code::Replayed));
    let first = Command::Epoch { skew, first: true };
    assert_eq!(stream.run(&first, at(2)), Err(Code::ReplayStateUnavailable));
    stream.run(&Command::Epoch { skew, first: false }, at(10)).unwrap();
    assert_eq!(stream.state.began(), Some(at(70)));
    assert_eq!(stream.accept(&receipt(2, 69, 200), 69), Err(Code::ReplayStateUnavailable));
    assert_eq!(stream.accept(&receipt(2, 70, 200), 70), Ok(()));
}

/// What has ended is forgotten, and is not accepted by a clock that went back.
#[test]
fn what_has_ended_is_forgotten_and_stays_out() {
    let mut stream = Stream::default();
    stream.run(&Command::Epoch { skew: Duration::from_secs(0), first: true }, at(0)).unwrap();
    stream.accept(&receipt(1, 0, 60), 0).unwrap();
    stream.accept(&receipt(2, 300, 900), 300).unwrap();
    let one = receipt(1, 0, 60);
    assert_eq!(stream.state.accepted("log.example", &one.id), Ok(false));
    assert_eq!(stream.accept(&one, 10), Err(Code::Expired));
}

#[test]
fn an_entry_has_one_form() {
    let mut stream = Stream::default();
    stream.run(&Command::Epoch { skew: Duration::from_secs(60), first: true }, at(0)).unwrap();
    let entry = &stream.entries[0];
    let text = String::from_utf8(entry.bytes.clone()).unwrap();
    for other in [text.replace("since", "until"), text.replace(",", ", "), text.replace("\"n\":1", "\"n\":2")]
    {
        let bytes = other.into_bytes();
        let hash = Digest::of_parts(&[Digest::ZERO.as_bytes(), &bytes]);
        assert!(Accepted::open(&Entry { bytes, hash, ..entry.clone() }, Head::EMPTY).is_err());
    }
    let kept = letter(b"{}");
    open_letter(&kept).unwrap();
    let mut erased = kept.clone();
    erased.payload = None;
    open_letter(&erased).unwrap();
    let other = letter(b"[]");
    assert!(open_letter(&Entry { payload: other.payload.clone(), ..kept.clone() }).is_err());
    assert!(open_letter(&Entry { seq: 2, ..kept }).is_err());
}
