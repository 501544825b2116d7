//! What is over before its time. A cookie that this server sealed is good until its time, unless it is named here: in the store, so for
//! every process and over restarts, as long as the cookie itself would be good.

use crate::{App, Error};
use canon::Digest;
use env::Timestamp;
use http::HeaderMap;
use store::{Append, Idempotency, StoreError};

const SCOPE: &str = "ended-session";

impl App {
    /// Ends the session of these headers, with every copy of its cookie. Gives the `Set-Cookie` value that takes it away.
    pub async fn sign_out(&self, headers: &HeaderMap) -> Result<String, Error> {
        if let Some(session) = self.seals().session(headers, self.now()) {
            self.end(&session.name, session.until).await?;
        }
        Ok(self.seals().end())
    }

    /// The same for the proof of a mandate approver's key.
    pub async fn sign_out_approver(&self, headers: &HeaderMap) -> Result<String, Error> {
        if let Some((name, until)) = self.approver_proof(headers) {
            self.end(&name, until).await?;
        }
        Ok(self.seals().end_approver())
    }

    /// Whether what is called so was ended before its time.
    pub(crate) async fn is_ended(&self, name: &str) -> Result<bool, Error> {
        Ok(self.journal().recall(SCOPE, name, self.now()).await?.is_some())
    }

    async fn end(&self, name: &str, until: Timestamp) -> Result<(), Error> {
        self.use_up(SCOPE, name, until).await.map(drop)
    }

    /// Uses up what is good once, until it would be over anyway. Gives whether this was the first time.
    pub(crate) async fn use_up(&self, scope: &str, name: &str, until: Timestamp) -> Result<bool, Error> {
        let used = Idempotency {
            scope: scope.to_owned(),
            key: name.to_owned(),
            request: Digest::of(name.as_bytes()),
            response: Vec::new(),
            now: self.now(),
            expires: until,
        };
        match self.journal().append(Append { idempotency: Some(used), ..Append::default() }).await {
            Ok(_) => Ok(true),
            Err(StoreError::Repeated(_)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
