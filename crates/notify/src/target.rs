use crate::Error;
use approvals::NotifyTarget;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use fetch::Destination;
use lettre::message::Mailbox;
use std::fmt;
use web_push_native::{Auth, p256};
use zeroize::Zeroizing;

/// A target whose every part has been read. It does not mean that its address may be called.
#[derive(Debug)]
pub enum Target {
    WebPush(WebPush),
    Ntfy(Ntfy),
    Email(Mailbox),
    Webhook(Webhook),
}

/// A push subscription (RFC 8291 2): the browser's key and its authentication secret.
pub struct WebPush {
    pub(crate) endpoint: Destination,
    pub(crate) key: p256::PublicKey,
    pub(crate) auth: Auth,
}

/// A topic of an ntfy server.
pub struct Ntfy {
    /// The server's root.
    pub(crate) server: Destination,
    pub(crate) topic: String,
    pub(crate) token: Option<Zeroizing<String>>,
}

/// A receiver by Standard Webhooks.
pub struct Webhook {
    pub(crate) url: Destination,
    pub(crate) secret: Zeroizing<Vec<u8>>,
}

impl Target {
    /// Refuses an address that readers could disagree on, a key that is none, a secret too short.
    pub fn parse(target: &NotifyTarget) -> Result<Self, Error> {
        match target {
            NotifyTarget::WebPush { endpoint, p256dh, auth } => {
                let endpoint = address(endpoint)?;
                let point = decode(p256dh, "p256dh is not base64url")?;
                let key = p256::PublicKey::from_sec1_bytes(&point)
                    .map_err(|_| bad("p256dh is not a point of p-256"))?;
                let secret = decode(auth, "auth is not base64url")?;
                let auth = Auth::from_exact_iter(secret).ok_or_else(|| bad("auth is not 16 bytes"))?;
                Ok(Self::WebPush(WebPush { endpoint, key, auth }))
            }
            NotifyTarget::Ntfy { server, topic, token } => {
                let server = address(server)?;
                if !(1..=64).contains(&topic.len())
                    || !topic.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
                {
                    return Err(bad("a topic is 1 to 64 characters of [A-Za-z0-9_-]"));
                }
                let token = token.clone().map(Zeroizing::new);
                Ok(Self::Ntfy(Ntfy { server, topic: topic.clone(), token }))
            }
            NotifyTarget::Email { address } => {
                // A bare address: a display name would be another person's words in a header.
                let address = address.parse().map_err(|_| bad("not an e-mail address"))?;
                Ok(Self::Email(Mailbox::new(None, address)))
            }
            NotifyTarget::Webhook { url, secret } => {
                let url = address(url)?;
                let encoded =
                    secret.strip_prefix("whsec_").ok_or_else(|| bad("the secret starts with whsec_"))?;
                let secret = STANDARD.decode(encoded).map_err(|_| bad("the secret is not base64"))?;
                if !(24..=64).contains(&secret.len()) {
                    return Err(bad("the secret is not 24 to 64 bytes"));
                }
                Ok(Self::Webhook(Webhook { url, secret: Zeroizing::new(secret) }))
            }
        }
    }
}

macro_rules! private {
    ($($kind:ty: $place:ident),*) => {$(
        impl fmt::Debug for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($kind), "({})"), self.$place.origin())
            }
        }
    )*};
}
private!(WebPush: endpoint, Ntfy: server, Webhook: url);

const fn bad(why: &'static str) -> Error {
    Error::BadTarget { why }
}

fn address(text: &str) -> Result<Destination, Error> {
    Destination::parse(text).map_err(Error::from)
}

fn decode(text: &str, why: &'static str) -> Result<Vec<u8>, Error> {
    URL_SAFE_NO_PAD.decode(text).map_err(|_| bad(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str =
        "BLn9b-VR0ca83knDNZ32dCHGyjJp-1riX9ZTN40MqV8K_LpQmLqxC_DoHvqvFXO_nGdAB4W9dogZb_sM-uV4JbY";
    const AUTH: &str = "_ordMnz7uTCmrpBTeUV4Bw";

    fn check(target: NotifyTarget, good: bool) {
        assert_eq!(Target::parse(&target).is_ok(), good, "{target:?}");
    }

    #[test]
    fn targets_are_read_whole() {
        let push = |endpoint: &str, p256dh: &str, auth: &str| NotifyTarget::WebPush {
            endpoint: endpoint.to_owned(),
            p256dh: p256dh.to_owned(),
            auth: auth.to_owned(),
        };
        check(push("https://push.example/x", KEY, AUTH), true);
        check(push("https://user@push.example/x", KEY, AUTH), false);
        check(push("https://push.example/x", AUTH, AUTH), false);
        check(push("https://push.example/x", KEY, KEY), false);
        check(push("https://push.example/x", KEY, "_ordMnz7uTCmrpBTeUV4"), false);
        check(push("https://push.example/x", &KEY.replace("BLn9", "BLn8"), AUTH), false);

        let ntfy = |topic: &str| NotifyTarget::Ntfy {
            server: "https://ntfy.example".to_owned(),
            topic: topic.to_owned(),
            token: None,
        };
        check(ntfy("ana-asks_1"), true);
        check(ntfy("a/b"), false);
        check(ntfy(""), false);
        check(ntfy(&"a".repeat(65)), false);

        let email = |address: &str| NotifyTarget::Email { address: address.to_owned() };
        check(email("ana@example.com"), true);
        check(email("ana"), false);
        check(email("ana@example.com\r\nBcc: ben@example.com"), false);
        check(email("Ana <ana@example.com>"), false);

        let hook = |secret: &str| NotifyTarget::Webhook {
            url: "https://hooks.example/x".to_owned(),
            secret: secret.to_owned(),
        };
        check(hook("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), true);
        check(hook("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), false);
        check(hook("whsec_c2hvcnQ="), false);
        check(hook("whsec_***"), false);
    }
}
