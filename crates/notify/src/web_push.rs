use crate::target::WebPush;
use crate::{Error, Message};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use env::{Duration, Timestamp};
use fetch::{Client, Request};
use http::Method;
use http::header::{self, HeaderName};
use keys::{Algorithm, PublicKey, Signer, jws};
use serde::Serialize;
use std::sync::Arc;

/// By what the push services know this server (RFC 8292): a P-256 key, and whom to write to about trouble.
pub struct Vapid {
    signer: Arc<dyn Signer>,
    contact: String,
    point: String,
}

impl std::fmt::Debug for Vapid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Vapid({})", self.point)
    }
}

impl Vapid {
    /// `contact` is a `mailto:` or `https:` address. Refuses a key that is not P-256.
    pub fn new(signer: Arc<dyn Signer>, contact: &str) -> Result<Self, Error> {
        let refuse = |detail: &str| Err(Error::Setup { detail: detail.to_owned() });
        if !contact.starts_with("mailto:") && !contact.starts_with("https://") {
            return refuse("the contact of web push is a mailto: or https: address");
        }
        let PublicKey::P256(key) = signer.public() else { return refuse("the key of web push is not p-256") };
        let point = URL_SAFE_NO_PAD.encode(key.to_sec1());
        Ok(Self { signer, contact: contact.to_owned(), point })
    }

    pub(crate) fn application_server_key(&self) -> String {
        self.point.clone()
    }

    /// The `Authorization` for one push service, good for [`TOKEN_LIFE`].
    fn authorization(&self, audience: &str, now: Timestamp) -> Result<String, Error> {
        let claims = Claims { aud: audience, exp: (now + TOKEN_LIFE).as_secs(), sub: &self.contact };
        let token = jws::sign(self.signer.as_ref(), &jws::Header::new(Algorithm::P256, "JWT"), &claims)
            .map_err(|error| Error::Setup { detail: error.to_string() })?;
        Ok(format!("vapid t={token}, k={}", self.point))
    }
}

/// RFC 8292 2 allows a day.
const TOKEN_LIFE: Duration = Duration::from_secs(12 * 3600);
/// How long a push service keeps a message for a browser that is away.
const KEEP: Duration = Duration::from_secs(24 * 3600);

#[derive(Serialize)]
struct Claims<'a> {
    aud: &'a str,
    exp: i64,
    sub: &'a str,
}

/// The message encrypted to the browser (RFC 8291), handed to its push service (RFC 8030).
pub(crate) async fn send(
    client: &Client,
    vapid: &Vapid,
    push: &WebPush,
    message: &Message,
    now: Timestamp,
) -> Result<(), Error> {
    let plain = canon::to_vec(message).map_err(|error| Error::Setup { detail: error.to_string() })?;
    let body = web_push_native::encrypt(plain, &push.key, &push.auth)
        .map_err(|error| Error::Setup { detail: error.to_string() })?;
    let mut request = Request::new(Method::POST, push.endpoint.clone());
    request = request
        .header(header::CONTENT_TYPE, "application/octet-stream")?
        .header(header::CONTENT_ENCODING, "aes128gcm")?
        .header(HeaderName::from_static("ttl"), &KEEP.as_secs().to_string())?
        .header(HeaderName::from_static("urgency"), "high")?
        .header(header::AUTHORIZATION, &vapid.authorization(&push.endpoint.origin(), now)?)?;
    request.body = body.into();
    match Error::of_answer(&client.send(request).await?) {
        // RFC 8030 7.3: a push service answers so for a subscription that has ended.
        Err(Error::Refused { status: 404 }) => Err(Error::Gone),
        told => told,
    }
}
