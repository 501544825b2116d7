//! The process that is killed: appends what a room would and prints each acknowledgement.
//!
//! An entry's bytes say what it does, so the chains alone tell what must be found: `ask ID` and `answer ID` set and
//! clear a pointer (an ask also has an outbox row), `pair ID` stands in two streams at once, `note ID` does nothing.

use crate::{dice, draw};
use bench::Outcome;
use canon::Digest;
use env::{Duration, Env, Source};
use ledger::{Effect, Entry, Head, Payload, Pointer, StreamId};
use std::collections::VecDeque;
use std::io::Write;
use std::sync::Arc;
use store::{Append, Idempotency, Journal, Outgoing, StoreError, StreamAppend};

pub const WRITERS: usize = 8;
/// Streams of each writer.
pub const STREAMS: usize = 3;
/// Where pending questions are found.
pub const PENDING: &str = "pending";
/// The scope of its idempotency keys.
pub const SCOPE: &str = "crash";

/// Never returns by itself: whoever started it kills it.
pub async fn run(journal: Arc<dyn Journal>, seed: u64) -> Outcome<()> {
    let mut writers = Vec::new();
    for number in 0..WRITERS {
        let dice = dice(seed.wrapping_add(u64::try_from(number)?));
        let writer =
            Writer { journal: Arc::clone(&journal), dice, heads: Vec::new(), asked: VecDeque::new(), number };
        writers.push(tokio::spawn(writer.run()));
    }
    for writer in writers {
        writer.await??;
    }
    Ok(())
}

pub fn stream(writer: usize, place: usize) -> Outcome<StreamId> {
    Ok(format!("room/crash.{writer}.{place}").parse()?)
}

/// What an entry hides, from what it shows.
pub fn secret(bytes: &[u8]) -> Vec<u8> {
    [b"secret of ", bytes].concat()
}

pub fn hash(prev: &Digest, bytes: &[u8]) -> Digest {
    Digest::of_parts(&[prev.as_bytes(), bytes])
}

struct Writer {
    journal: Arc<dyn Journal>,
    dice: Env,
    heads: Vec<Head>,
    /// Own questions not yet answered, with the stream they were asked in.
    asked: VecDeque<(usize, String)>,
    number: usize,
}

impl Writer {
    async fn run(mut self) -> Outcome<()> {
        self.reload().await;
        loop {
            let id = self.dice.id(12);
            let (append, asked) = self.next(&id)?;
            match self.journal.append(append).await {
                Ok(heads) => self.acknowledge(&id, &heads, asked).await?,
                Err(StoreError::Unavailable(_) | StoreError::Unknown(_)) => self.reload().await,
                // An append whose answer was lost may land after the reload that looked for it.
                Err(StoreError::Stale { .. }) => self.reload().await,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Reads the heads anew, for as long as it takes the store to answer.
    async fn reload(&mut self) {
        self.asked.clear();
        loop {
            let mut heads = Vec::new();
            for place in 0..STREAMS {
                match stream(self.number, place) {
                    Ok(name) => heads.push(self.journal.head(&name).await),
                    Err(_) => return,
                }
            }
            match heads.into_iter().collect() {
                Ok(heads) => {
                    self.heads = heads;
                    return;
                }
                Err(_) => tokio::time::sleep(std::time::Duration::from_millis(5)).await,
            }
        }
    }

    /// The next append, and the places of the streams it touches with the ids it asks.
    fn next(&mut self, id: &str) -> Outcome<(Append, Next)> {
        let place = usize::try_from(draw(&mut self.dice) % u64::try_from(STREAMS)?)?;
        let now = env::System.now();
        let mut append = Append {
            idempotency: Some(Idempotency {
                scope: SCOPE.into(),
                key: id.into(),
                request: Digest::of(id.as_bytes()),
                response: id.into(),
                now,
                expires: now + Duration::from_secs(86_400),
            }),
            ..Append::default()
        };
        let mut next = Next { places: vec![place], ask: None };
        let name = stream(self.number, place)?;
        match draw(&mut self.dice) % 8 {
            0 | 1 => {
                append.streams.push(self.part(place, &format!("ask {id}"), id)?);
                append.pointers.push((name.clone(), Pointer::Set { key: PENDING.into(), item: id.into() }));
                let effect = Effect::Ask { ask: id.into(), stream: name.to_string() };
                append.outbox.push(Outgoing { stream: name, effect, due: now });
                next.ask = Some((place, id.to_owned()));
            }
            2 if !self.asked.is_empty() => {
                let (place, asked) = self.asked.pop_front().ok_or("no question")?;
                next.places = vec![place];
                append.streams.push(self.part(place, &format!("answer {asked}"), id)?);
                let clear = Pointer::Clear { key: PENDING.into(), item: asked };
                append.pointers.push((stream(self.number, place)?, clear));
            }
            3 => {
                let other = (place + 1) % STREAMS;
                next.places.push(other);
                append.streams.push(self.part(place, &format!("pair {id}"), id)?);
                append.streams.push(self.part(other, &format!("pair {id}"), id)?);
            }
            _ => append.streams.push(self.part(place, &format!("note {id}"), id)?),
        }
        Ok((append, next))
    }

    /// One or two entries on a stream; a padded one after the first, half of them with a payload.
    fn part(&mut self, place: usize, text: &str, id: &str) -> Outcome<StreamAppend> {
        let expected = self.heads.get(place).copied().ok_or("no head")?;
        let mut entries =
            vec![entry(expected, text.as_bytes().to_vec(), draw(&mut self.dice).is_multiple_of(2))];
        if draw(&mut self.dice).is_multiple_of(4) {
            let first = entries.first().map_or(expected, |first| Head { seq: first.seq, hash: first.hash });
            entries.push(entry(first, format!("more {id} {}", "x".repeat(300)).into_bytes(), false));
        }
        Ok(StreamAppend { stream: stream(self.number, place)?, expected, entries })
    }

    /// One line for one append, written at once: `ID stream seq hash …`.
    async fn acknowledge(&mut self, id: &str, heads: &[Head], next: Next) -> Outcome<()> {
        let mut line = id.to_owned();
        for (place, head) in next.places.iter().zip(heads) {
            line.push_str(&format!(" {} {} {}", stream(self.number, *place)?, head.seq, head.hash));
            if let Some(known) = self.heads.get_mut(*place) {
                *known = *head;
            }
        }
        line.push('\n');
        self.asked.extend(next.ask);
        std::io::stdout().lock().write_all(line.as_bytes())?;
        tokio::task::yield_now().await;
        Ok(())
    }
}

struct Next {
    places: Vec<usize>,
    ask: Option<(usize, String)>,
}

fn entry(at: Head, bytes: Vec<u8>, with_payload: bool) -> Entry {
    let payload = with_payload.then(|| Payload::new(secret(&bytes)));
    Entry { seq: at.seq.saturating_add(1), prev: at.hash, hash: hash(&at.hash, &bytes), bytes, payload }
}
