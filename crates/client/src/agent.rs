//! A proposal from its sending to its receipt.

use crate::run::Following;
use crate::{Answer, Ask, Decided, End, Error, Kept, Outcome, Priced, Purse, Server};
use bytes::Bytes;
use canon::Value;
use env::Source;
use mandate::Millis;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// An agent at work.
pub struct Agent {
    server: Server,
    purse: Option<Purse>,
    trust: Option<verify::Trust>,
    pace: Pace,
    source: Arc<dyn Source>,
}

/// How long is waited for what.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Between two looks.
    pub look: Duration,
    /// For an answer that was lost or may pass, and for a lock to be in a block.
    pub answer: Duration,
}

impl Default for Pace {
    /// A second; two minutes.
    fn default() -> Self {
        Self { look: Duration::from_secs(1), answer: Duration::from_secs(120) }
    }
}

/// What a verifier says of a proof that a pinned log does not have yet.
const NOT_YET: &str = "log_missing";

/// A receipt that holds, with all that it is checked by.
#[derive(Debug, Clone)]
pub struct Receipt {
    pub id: String,
    /// The file that `countersign verify` takes.
    pub proof: Bytes,
    /// What the offline check found. Its keys are pinned where the agent has a trust file.
    pub report: verify::Report,
}

impl Agent {
    pub fn new(server: Server, source: Arc<dyn Source>) -> Self {
        Self { server, purse: None, trust: None, pace: Pace::default(), source }
    }

    /// Pays bonds from this purse.
    #[must_use]
    pub fn with_purse(mut self, purse: Purse) -> Self {
        self.purse = Some(purse);
        self
    }

    /// Receipts must be by these keys.
    #[must_use]
    pub fn with_trust(mut self, trust: verify::Trust) -> Self {
        self.trust = Some(trust);
        self
    }

    #[must_use]
    pub const fn with_pace(mut self, pace: Pace) -> Self {
        self.pace = pace;
        self
    }

    pub const fn server(&self) -> &Server {
        &self.server
    }

    pub fn purse(&self) -> Result<&Purse, Error> {
        self.purse.as_ref().ok_or(Error::NoPurse)
    }

    /// Asks, and where a price is the answer, pays it and asks again.
    pub async fn propose(&self, ask: &Ask) -> Result<Decided, Error> {
        match self.ask(ask).await? {
            Answer::Decided(decided) => Ok(*decided),
            Answer::Priced(priced) => self.pay(ask, &priced).await,
        }
    }

    /// Asks. A lost answer, and one that may pass, is asked for again until the patience is over.
    pub async fn ask(&self, ask: &Ask) -> Result<Answer, Error> {
        let key = self.source.env().id(24);
        self.patiently(|| self.server.check(ask, None, &key)).await
    }

    /// Pays a price and asks again. The bond is locked once, whatever is lost on the way.
    pub async fn pay(&self, ask: &Ask, priced: &Priced) -> Result<Decided, Error> {
        let kept = self.lock(ask, priced).await?;
        let purse = self.purse()?;
        purse.landed(&kept, self.pace.look, self.pace.answer).await?;
        self.shown(ask, priced, &kept).await
    }

    /// Locks the bond of a price, if this agent pays it.
    pub async fn lock(&self, ask: &Ask, priced: &Priced) -> Result<Kept, Error> {
        let purse = self.purse()?;
        let shown = self.patiently(|| self.server.mandate(&ask.action.mandate_id)).await?;
        purse.accepts(&priced.price, &shown, self.now()?)?;
        self.patiently(|| purse.lock(&priced.price, &shown)).await
    }

    /// Shows a bond that is locked. The server may see the chain later than this agent does.
    async fn shown(&self, ask: &Ask, priced: &Priced, kept: &Kept) -> Result<Decided, Error> {
        let key = self.source.env().id(24);
        let seen = async {
            loop {
                match self.patiently(|| self.server.check(ask, Some((priced, kept)), &key)).await? {
                    Answer::Decided(decided) => return Ok(*decided),
                    Answer::Priced(again) => {
                        if let Some(code) = again.refused {
                            return Err(Error::BondRefused { code });
                        }
                        if again.price != priced.price {
                            let why = "another price was named meanwhile: this bond goes back".to_owned();
                            return Err(Error::Price { code: "price_changed", why });
                        }
                    }
                }
                tokio::time::sleep(self.pace.look).await;
            }
        };
        let unseen = || Error::Unknown("the server does not see the bond yet".to_owned());
        tokio::time::timeout(self.pace.answer, seen).await.map_err(|_| unseen())?
    }

    /// Follows what was decided to its end, for so long. `None`: it is still under way.
    pub async fn follow(
        &self,
        ask: &Ask,
        decided: &Decided,
        patience: Duration,
    ) -> Result<Option<End>, Error> {
        let digest = match &decided.outcome {
            Outcome::Allowed(record) => Some(record.digest_hex.to_string()),
            Outcome::Waiting(_) => None,
            _ => return Ok(None),
        };
        let mandate = &ask.action.mandate_id;
        let approval = decided.approval_id.as_ref().map(|id| id.as_str());
        let mut following = Following { mandate, approval, digest };
        let path = format!("/v1/runs/{}/log?mandate_id={mandate}", decided.run_id);
        let ends = Instant::now() + patience;
        loop {
            let log = self.patiently(|| self.server.get(&path)).await?;
            if let Some(end) = following.end(&log)? {
                return Ok(Some(end));
            }
            if Instant::now() + self.pace.look > ends {
                return Ok(None);
            }
            tokio::time::sleep(self.pace.look).await;
        }
    }

    /// A receipt with the log that gives it, checked without the server: it holds, and it is of this action. Where the trust
    /// file pins logs it is waited for until the server's log has it, a fraction of a second.
    pub async fn receipt(&self, ask: &Ask, id: &str) -> Result<Receipt, Error> {
        let path = format!("/v1/receipts/{id}/proof");
        let ends = Instant::now() + self.pace.answer;
        let (proof, report) = loop {
            let proof = self.patiently(|| self.server.get(&path)).await?;
            let report = verify::verify(&proof, self.trust.as_ref());
            if report.code != Some(NOT_YET) || Instant::now() + self.pace.look > ends {
                break (proof, report);
            }
            tokio::time::sleep(self.pace.look).await;
        };
        if report.verdict != verify::Verdict::Valid || report.kind != Some(verify::Kind::Receipt) {
            let code = report.code.unwrap_or("not_a_receipt").to_owned();
            return Err(Error::Proof { code, place: report.place });
        }
        let value = canon::parse(&proof).map_err(|error| Error::Answer(error.to_string()))?;
        let of = value.pointer("/receipt/receipt/action/hash").and_then(Value::as_str);
        if of != Some(ask.action.hash().to_string().as_str()) {
            return Err(Error::Proof { code: "other_action".to_owned(), place: None });
        }
        Ok(Receipt { id: id.to_owned(), proof, report })
    }

    /// Makes the same request again while that may help and there is patience left.
    async fn patiently<T, F: Future<Output = Result<T, Error>>>(
        &self,
        request: impl Fn() -> F,
    ) -> Result<T, Error> {
        let ends = Instant::now() + self.pace.answer;
        loop {
            let error = match request().await {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            let Some(after) = error.again().map(|after| after.max(self.pace.look)) else { return Err(error) };
            if Instant::now() + after > ends {
                return Err(error);
            }
            tokio::time::sleep(after).await;
        }
    }

    fn now(&self) -> Result<Millis, Error> {
        let now = Millis::try_from(self.source.now());
        now.map_err(|_| Error::Answer("the clock is before 1970".to_owned()))
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("server", &self.server)
            .field("purse", &self.purse)
            .finish_non_exhaustive()
    }
}
