//! A chain whose calls go wrong as they are told to, for tests: each call in each of the four ways.

use crate::{Asset, Chain, ChainError, Confirmed, ExUnits, Parameters, Tip, Utxo};
use async_trait::async_trait;
use mandate::price::OutRef;
use mandate::text::TxHash;
use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    Works,
    /// It is refused and nothing happens.
    FailsClean,
    /// It happens, and the answer is lost.
    FailsAfterLanding,
    /// No answer, ever; nothing happens.
    NeverAnswers,
    /// No answer, ever; but it happens.
    LandsAndNeverAnswers,
}

/// Which call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    Tip,
    Parameters,
    Utxos,
    Utxo,
    Submit,
    Transaction,
    Evaluate,
}

/// Another chain behind faults.
pub struct Faulty<C> {
    chain: C,
    next: Mutex<VecDeque<(Call, Fault)>>,
    between: Mutex<Option<(Call, Event)>>,
    /// Whoever had this chain is dead: nothing that they ask is done any more.
    dead: Arc<AtomicBool>,
}

/// Something that happens elsewhere.
type Event = Pin<Box<dyn Future<Output = ()> + Send>>;

impl<C: Chain> Faulty<C> {
    pub fn new(chain: C) -> Self {
        Self::of(chain, Arc::default())
    }

    /// The chain of a process that is dead once `dead` is set.
    pub const fn of(chain: C, dead: Arc<AtomicBool>) -> Self {
        Self { chain, next: Mutex::new(VecDeque::new()), between: Mutex::new(None), dead }
    }

    /// Once the next call of this kind has worked, `event` happens before it is answered.
    pub fn after(&self, call: Call, event: impl Future<Output = ()> + Send + 'static) {
        *self.between.lock().unwrap_or_else(PoisonError::into_inner) = Some((call, Box::pin(event)));
    }

    /// The next call of this kind goes like this; the ones after it like what was told next, or well.
    pub fn next(&self, call: Call, fault: Fault) {
        self.queue().push_back((call, fault));
    }

    /// Everything goes well from now on.
    pub fn heal(&self) {
        self.queue().clear();
        *self.between.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    pub const fn inner(&self) -> &C {
        &self.chain
    }

    fn queue(&self) -> std::sync::MutexGuard<'_, VecDeque<(Call, Fault)>> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, call: Call) -> Fault {
        let mut next = self.queue();
        let at = next.iter().position(|(told, _)| *told == call);
        at.and_then(|at| next.remove(at)).map_or(Fault::Works, |(_, fault)| fault)
    }

    async fn happens(&self, call: Call) {
        let event = {
            let mut between = self.between.lock().unwrap_or_else(PoisonError::into_inner);
            between.take_if(|(after, _)| *after == call)
        };
        if let Some((_, event)) = event {
            event.await;
        }
    }

    async fn run<T>(
        &self,
        call: Call,
        answer: impl Future<Output = Result<T, ChainError>>,
    ) -> Result<T, ChainError> {
        if self.dead.load(Ordering::SeqCst) {
            return Err(ChainError::Unavailable("nobody asks".to_owned()));
        }
        match self.take(call) {
            Fault::Works => {
                let answer = answer.await?;
                self.happens(call).await;
                Ok(answer)
            }
            Fault::FailsClean => Err(ChainError::Unavailable("told to fail".to_owned())),
            Fault::NeverAnswers => std::future::pending().await,
            Fault::LandsAndNeverAnswers => {
                let _lost = answer.await;
                std::future::pending().await
            }
            Fault::FailsAfterLanding => {
                answer.await?;
                let lost = "told to lose the answer".to_owned();
                Err(if call == Call::Submit {
                    ChainError::Unknown(lost)
                } else {
                    ChainError::Unavailable(lost)
                })
            }
        }
    }
}

#[async_trait]
impl<C: Chain> Chain for Faulty<C> {
    async fn tip(&self) -> Result<Tip, ChainError> {
        self.run(Call::Tip, self.chain.tip()).await
    }
    async fn parameters(&self) -> Result<Arc<Parameters>, ChainError> {
        self.run(Call::Parameters, self.chain.parameters()).await
    }
    async fn utxos(&self, address: &str) -> Result<Vec<Utxo>, ChainError> {
        self.run(Call::Utxos, self.chain.utxos(address)).await
    }
    async fn holder(&self, address: &str, token: &Asset) -> Result<Option<Utxo>, ChainError> {
        self.run(Call::Utxos, self.chain.holder(address, token)).await
    }
    async fn utxo(&self, at: OutRef) -> Result<Option<Utxo>, ChainError> {
        self.run(Call::Utxo, self.chain.utxo(at)).await
    }
    async fn submit(&self, tx: &[u8]) -> Result<TxHash, ChainError> {
        self.run(Call::Submit, self.chain.submit(tx)).await
    }
    async fn transaction(&self, hash: TxHash) -> Result<Option<Confirmed>, ChainError> {
        self.run(Call::Transaction, self.chain.transaction(hash)).await
    }
    async fn evaluate(&self, tx: &[u8]) -> Result<Vec<ExUnits>, ChainError> {
        self.run(Call::Evaluate, self.chain.evaluate(tx)).await
    }
}

impl<C: fmt::Debug> fmt::Debug for Faulty<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faulty").field("chain", &self.chain).field("next", &self.next).finish_non_exhaustive()
    }
}
