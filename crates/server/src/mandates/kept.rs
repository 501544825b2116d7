//! Transactions between their making and their landing: kept beside the log, for as long as they can be of use.

use super::refused::Refused;
use crate::App;
use canon::Digest;
use env::Duration;
use ledger::{Effect, StreamId};
use serde::{Deserialize, Serialize};
use store::{Append, Idempotency, Outgoing, StoreError};

/// Longer than any bond or authorization lives.
const KEEP: Duration = Duration::from_secs(90 * 24 * 3600);
/// As long as a mandate may live: acts are numbered without a gap.
const LONG: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// A shelf of the store. A name is used once.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shelf {
    /// By transaction hash: a release as it was built.
    Built,
    /// By transaction hash: the same with every approver's witness.
    Witnessed,
    /// By approval and number: what may spend its bond.
    Bond,
    /// By stream and number: what a principal had drafted.
    Act,
    /// By transaction hash and key: somebody's witness.
    Witness,
    /// By transaction hash: an act with all its witnesses.
    Signed,
    /// By transaction hash: what became of an act.
    ActEnd,
    /// By run: what its agent said of it before its first check.
    Run,
    /// By caller and idempotency key: the answer of a check.
    Answer,
    /// By the purchaser's identifier: what a Masumi job is to do, and for what.
    JobOrder,
    /// By job: the purchaser's identifier.
    JobName,
    /// By job: the payment that was asked for.
    JobQuote,
    /// By job: when its payment was seen locked.
    JobPaid,
    /// By job: what it delivers.
    JobResult,
    /// By job: how it ended.
    JobEnd,
}

impl Shelf {
    const fn scope(self) -> &'static str {
        match self {
            Self::Built => "mandate-built",
            Self::Witnessed => "mandate-witnessed",
            Self::Bond => "mandate-bond",
            Self::Act => "mandate-act",
            Self::Witness => "mandate-witness",
            Self::Signed => "mandate-act-signed",
            Self::ActEnd => "mandate-act-end",
            Self::Run => "mandate-run",
            Self::Answer => "mandate-answer",
            Self::JobOrder => "masumi-order",
            Self::JobName => "masumi-name",
            Self::JobQuote => "masumi-quote",
            Self::JobPaid => "masumi-paid",
            Self::JobResult => "masumi-result",
            Self::JobEnd => "masumi-end",
        }
    }
}

impl Shelf {
    const fn life(self) -> Duration {
        match self {
            Self::Act | Self::Witness | Self::Signed | Self::ActEnd => LONG,
            _ => KEEP,
        }
    }
}

impl App {
    /// Keeps something under a new name, and asks the rail for `then`; both or nothing. `false`: the name is taken.
    pub(crate) async fn keep<T: Serialize>(
        &self,
        shelf: Shelf,
        name: &str,
        value: &T,
        then: Option<(&StreamId, String)>,
    ) -> Result<bool, Refused> {
        let response = canon::to_vec(value)?;
        self.keep_for(shelf, name, Digest::of(&response), response, shelf.life(), then).await
    }

    pub(crate) async fn keep_for(
        &self,
        shelf: Shelf,
        name: &str,
        request: Digest,
        response: Vec<u8>,
        keep: Duration,
        then: Option<(&StreamId, String)>,
    ) -> Result<bool, Refused> {
        let now = self.now();
        let idempotency = Idempotency {
            scope: shelf.scope().to_owned(),
            key: name.to_owned(),
            request,
            response,
            now,
            expires: now + keep,
        };
        let outbox = then.map(|(stream, body)| Outgoing {
            stream: stream.clone(),
            effect: Effect::Submit { rail: "mandate".to_owned(), body },
            due: now,
        });
        let append = Append {
            outbox: outbox.into_iter().collect(),
            idempotency: Some(idempotency),
            ..Append::default()
        };
        match self.journal().append(append).await {
            Ok(_) => Ok(true),
            Err(StoreError::Repeated(_)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) async fn kept<T: for<'de> Deserialize<'de>>(
        &self,
        shelf: Shelf,
        name: &str,
    ) -> Result<Option<T>, Refused> {
        let kept = self.journal().recall(shelf.scope(), name, self.now()).await?;
        kept.map(|kept| canon::from_slice(&kept.response)).transpose().map_err(Refused::from)
    }

    pub(crate) async fn kept_answer(&self, name: &str) -> Result<Option<store::Remembered>, Refused> {
        Ok(self.journal().recall(Shelf::Answer.scope(), name, self.now()).await?)
    }
}
