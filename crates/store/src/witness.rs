//! Asks witnesses to cosign the log's checkpoints (C2SP tlog-witness). What they sign is added when it comes: nothing waits
//! for a witness.

use crate::journal::Published;
use crate::{Log, StoreError};
use async_trait::async_trait;
use futures::future::join_all;
use ledger::note::{Note, VerifierKey};
use ledger::witness::{Answer, Request, attach};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// The way to one witness.
#[async_trait]
pub trait AddCheckpoint: Send + Sync + 'static {
    /// Posts the body of [`Request`]; gives the status and the body of the answer, or why there was none.
    async fn add_checkpoint(&self, body: String) -> Result<(u16, Vec<u8>), String>;
}

/// One who is asked to cosign.
#[derive(Clone)]
pub struct Witness {
    /// What it signs with. Another key's lines are not taken.
    pub key: VerifierKey,
    pub call: Arc<dyn AddCheckpoint>,
}

impl std::fmt::Debug for Witness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Witness({})", self.key.name())
    }
}

/// The witnesses of a log, and the checkpoints they cosigned.
pub(crate) struct Witnesses {
    all: Vec<Witness>,
    newest: watch::Sender<Option<Published>>,
    cosigned: Mutex<Cosigned>,
}

#[derive(Default)]
struct Cosigned {
    /// The last few checkpoints by size, with the lines that came for each.
    notes: BTreeMap<u64, Published>,
    /// The newest checkpoint with at least so many lines.
    best: BTreeMap<usize, Published>,
}

/// Checkpoints whose lines are put together; later ones push out earlier.
const KEPT: usize = 64;

/// The least time between two questions to one witness, and the bounds of the pause after a failure.
const PACE: Duration = Duration::from_millis(250);
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// How often a witness may name another size before it is left for later.
const TRIES: usize = 3;

impl Default for Witnesses {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl Witnesses {
    pub fn new(all: Vec<Witness>) -> Self {
        Self { all, newest: watch::channel(None).0, cosigned: Mutex::default() }
    }

    /// A checkpoint that this process has published, or found published while it feeds the log.
    pub fn show(&self, published: &Published) {
        if self.all.is_empty() {
            return;
        }
        self.remember(published);
        self.newest.send_if_modified(|newest| {
            let is_new = newest.as_ref().is_none_or(|newest| newest.size != published.size);
            if is_new {
                *newest = Some(published.clone());
            }
            is_new
        });
    }

    /// The newest checkpoint over leaf `index` with the most cosignatures, or `published` if none has more.
    pub fn better(&self, published: Published, index: u64) -> Published {
        if self.all.is_empty() {
            return published;
        }
        let count = self.count(&published);
        let cosigned = self.cosigned.lock().unwrap_or_else(PoisonError::into_inner);
        let better = cosigned.best.iter().rev().find(|(_, known)| known.size > index);
        match better {
            Some((&more, known)) if more > count => known.clone(),
            _ => published,
        }
    }

    /// Puts the lines of a note beside those that are known for the same checkpoint; gives the checkpoint with all of them.
    fn remember(&self, published: &Published) -> Published {
        let mut cosigned = self.cosigned.lock().unwrap_or_else(PoisonError::into_inner);
        let merged = match cosigned.notes.get(&published.size) {
            Some(known) if known.root == published.root => self.merge(known, published),
            _ => published.clone(),
        };
        cosigned.notes.insert(merged.size, merged.clone());
        if cosigned.notes.len() > KEPT {
            cosigned.notes.pop_first();
        }
        for count in 1..=self.count(&merged) {
            let best = cosigned.best.entry(count).or_insert_with(|| merged.clone());
            if merged.size >= best.size {
                *best = merged.clone();
            }
        }
        merged
    }

    fn merge(&self, known: &Published, with: &Published) -> Published {
        let (Ok(mut note), Ok(other)) =
            (Note::parse(known.note.as_bytes()), Note::parse(with.note.as_bytes()))
        else {
            return with.clone();
        };
        for witness in &self.all {
            // Lines that came twice are as good as one.
            let _ = note.take_line(&other, &witness.key);
        }
        Published { note: note.to_string(), ..with.clone() }
    }

    /// How many of the witnesses have cosigned.
    fn count(&self, published: &Published) -> usize {
        let Ok(note) = Note::parse(published.note.as_bytes()) else { return 0 };
        self.all.iter().filter(|witness| matches!(note.cosigned_by(&witness.key), Ok(Some(_)))).count()
    }
}

/// Why a checkpoint was not cosigned.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error("{0}")]
    Later(String),
    /// The witness has seen a log of this name that this one does not go on from: it was rolled back, or forked.
    #[error("{0}")]
    Disputed(String),
}

impl Log {
    /// Asks every witness about every checkpoint of this process, the newest first. Does not return.
    pub(crate) async fn ask_witnesses(&self) {
        join_all(self.witnesses.all.iter().map(|witness| self.attend(witness))).await;
        std::future::pending::<()>().await;
    }

    async fn attend(&self, witness: &Witness) {
        let mut newest = self.witnesses.newest.subscribe();
        let (mut old, mut failures) = (0, 0_u32);
        loop {
            let published = newest.borrow_and_update().clone();
            let pause = match published.filter(|published| published.size > 0) {
                None => Duration::ZERO,
                Some(published) => match self.have_cosigned(witness, &published, &mut old).await {
                    Ok(()) => {
                        failures = 0;
                        PACE
                    }
                    Err(trouble) => {
                        let name = witness.key.name();
                        match trouble {
                            Trouble::Later(why) => {
                                tracing::warn!(witness = %name, why, "a checkpoint was not cosigned");
                            }
                            Trouble::Disputed(why) => {
                                tracing::error!(witness = %name, why, "a witness disputes this log");
                            }
                        }
                        failures = failures.saturating_add(1);
                        PAUSE.saturating_mul(1 << failures.min(7).saturating_sub(1)).min(LONGEST)
                    }
                },
            };
            tokio::time::sleep(pause).await;
            if failures == 0 && newest.changed().await.is_err() {
                return;
            }
        }
    }

    /// Brings the witness from the size it saw last to this checkpoint, and its line into the log.
    async fn have_cosigned(
        &self,
        witness: &Witness,
        published: &Published,
        old: &mut u64,
    ) -> Result<(), Trouble> {
        let mut note = Note::parse(published.note.as_bytes()).map_err(later)?;
        if note.cosigned_by(&witness.key).map_err(later)?.is_some() {
            *old = published.size;
            return Ok(());
        }
        let size = published.size;
        for _ in 0..TRIES {
            if *old > size {
                return Err(Trouble::Disputed(format!("it saw {old} leaves, and this log has {size}")));
            }
            let proof = match *old {
                0 => Vec::new(),
                old if old == size => Vec::new(),
                old => {
                    let proof = self.consistency(old, size).await.map_err(later)?;
                    proof.ok_or_else(|| later("a proof cannot be made"))?
                }
            };
            let request = Request { old: *old, proof, note: note.clone() };
            let (status, body) =
                witness.call.add_checkpoint(request.to_text()).await.map_err(Trouble::Later)?;
            match Answer::read(status, &body) {
                Answer::Cosigned(lines) => {
                    attach(&mut note, &lines, &witness.key).map_err(later)?;
                    *old = size;
                    let cosigned = Published { note: note.to_string(), ..published.clone() };
                    return self.take_in(&cosigned).await.map_err(later);
                }
                Answer::Seen(seen) if seen == *old => {
                    return Err(Trouble::Disputed(format!("it saw another tree of {seen} leaves")));
                }
                Answer::Seen(seen) => *old = seen,
                Answer::Refused(422) => {
                    let why = format!("it does not see its {old} leaves at the beginning of {size}");
                    return Err(Trouble::Disputed(why));
                }
                Answer::Refused(status) => return Err(later(format!("it answers {status}"))),
            }
        }
        Err(later("it names one size after another"))
    }

    async fn take_in(&self, cosigned: &Published) -> Result<(), StoreError> {
        let merged = self.witnesses.remember(cosigned);
        self.publish_again(&merged).await.map(drop)
    }
}

fn later(why: impl std::fmt::Display) -> Trouble {
    Trouble::Later(why.to_string())
}
