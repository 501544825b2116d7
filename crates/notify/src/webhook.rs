use crate::target::Webhook;
use crate::{Error, Message};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use env::Timestamp;
use fetch::{Client, Request};
use hmac::{KeyInit, Mac};
use http::Method;
use http::header::{self, HeaderName};
use serde::Serialize;

#[derive(Serialize)]
struct Body<'a> {
    r#type: &'static str,
    timestamp: Timestamp,
    data: &'a Message,
}

/// A POST by Standard Webhooks 1.0: `webhook-id`, `webhook-timestamp`, `webhook-signature`.
pub(crate) async fn send(
    client: &Client,
    hook: &Webhook,
    id: &str,
    message: &Message,
    now: Timestamp,
) -> Result<(), Error> {
    let body = Body { r#type: "countersign.notice", timestamp: now, data: message };
    let body = canon::to_vec(&body).map_err(|error| Error::Setup { detail: error.to_string() })?;
    let signature = signature(&hook.secret, id, now, &body)?;
    let mut request = Request::new(Method::POST, hook.url.clone());
    request = request
        .header(header::CONTENT_TYPE, "application/json")?
        .header(HeaderName::from_static("webhook-id"), id)?
        .header(HeaderName::from_static("webhook-timestamp"), &now.as_secs().to_string())?
        .header(HeaderName::from_static("webhook-signature"), &signature)?;
    request.body = body.into();
    Error::of_answer(&client.send(request).await?)
}

/// `v1,` and the base64 of HMAC-SHA256(secret, `id.timestamp.body`), the timestamp in whole seconds. An id with a dot would
/// make that ambiguous and is refused.
pub fn signature(secret: &[u8], id: &str, at: Timestamp, body: &[u8]) -> Result<String, Error> {
    if id.is_empty() || id.contains('.') {
        return Err(Error::BadMessage { why: "a message id is not empty and has no dot" });
    }
    let mut mac = hmac::Hmac::<sha2::Sha256>::new_from_slice(secret)
        .map_err(|error| Error::Setup { detail: error.to_string() })?;
    mac.update(format!("{id}.{}.", at.as_secs()).as_bytes());
    mac.update(body);
    Ok(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the Standard Webhooks libraries.
    #[test]
    fn signs_as_the_standard_says() {
        let secret = STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let at = Timestamp::from_secs(1_614_265_330);
        let signed =
            signature(&secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", at, br#"{"test": 2432232314}"#).unwrap();
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        assert!(signature(&secret, "a.b", at, b"").is_err());
        assert!(signature(&secret, "", at, b"").is_err());
    }
}
