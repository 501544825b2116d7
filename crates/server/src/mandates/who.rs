//! Who asks: by a bearer key of the configuration, by an HTTP signature (RFC 9421) of their own key, or as a signed-in
//! member. What they are to a mandate, the mandate says.

use super::refused::Refused;
use crate::session::bearer;
use crate::{App, Caller};
use ::http::request::Parts;
use ::http::{HeaderMap, Method};
use approvals::{MemberId, OrgId};
use canon::Digest;
use env::Duration;
use keys::http::{Body, Message, Parameter, Profile};
use keys::{PublicKey, SecretHash};
use mandate::Mandate;
use mandate::text::{Ed25519Key, Id, KeyHash};
use store::{Append, Idempotency, StoreError};

/// A bearer key of the configuration.
#[derive(Debug, Clone)]
pub struct CallerKey {
    pub name: String,
    pub kind: Kind,
    pub secret: SecretHash,
    /// The mandates it is for; empty: all of this server.
    pub mandates: Vec<Id>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Agent,
    /// The service that sells evaluations: it never has anything executed.
    Masumi,
    Verifier,
}

/// A member and the approver's key they read for.
#[derive(Debug, Clone)]
pub struct Seated {
    pub org: OrgId,
    pub member: MemberId,
    pub key: KeyHash,
}

/// Who asks, as far as their credential shows.
#[derive(Debug, Clone)]
pub(crate) enum Who {
    Nobody,
    Holder(CallerKey),
    /// Whoever has this key, by their signature over the request.
    Key(PublicKey),
    Member(Vec<KeyHash>),
}

/// What somebody is to one mandate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Nobody,
    /// A credential that is good for something else.
    Stranger,
    Agent,
    Masumi,
    Verifier,
    Approver(KeyHash),
    Principal,
}

/// The tag of a signature that asks for authority.
pub const SIGNATURE_TAG: &str = "countersign-authority";

/// What the signature of a request covers. Its `keyid` is `ed25519:` and the key in hex.
pub fn signature_profile() -> Profile<'static> {
    Profile {
        components: &["@method", "@authority", "@path", "@query"],
        body: Body::IfAny,
        label: None,
        tag: Some(SIGNATURE_TAG),
        requires: &[Parameter::KeyId, Parameter::Nonce, Parameter::Tag],
        max_age: LONGEST,
        skew: SKEW,
    }
}

const LONGEST: Duration = Duration::from_secs(480);
const SKEW: Duration = Duration::from_secs(60);

impl Who {
    pub fn role(&self, mandate: &Mandate) -> Role {
        match self {
            Self::Nobody => Role::Nobody,
            Self::Holder(key) if !key.mandates.is_empty() && !key.mandates.contains(&mandate.id) => {
                Role::Stranger
            }
            Self::Holder(key) => match key.kind {
                Kind::Agent => Role::Agent,
                Kind::Masumi => Role::Masumi,
                Kind::Verifier => Role::Verifier,
            },
            Self::Key(PublicKey::Ed25519(key)) => {
                let hash = KeyHash::of_key(key);
                if mandate.delegate.public_key == Ed25519Key::from_bytes(*key.as_bytes()) {
                    Role::Agent
                } else if mandate.approver(&hash).is_some() {
                    Role::Approver(hash)
                } else if mandate.principal.cardano_key_hash == hash {
                    Role::Principal
                } else {
                    Role::Stranger
                }
            }
            Self::Key(PublicKey::P256(_)) => Role::Stranger,
            Self::Member(keys) => {
                let of = keys.iter().find(|key| mandate.approver(key).is_some());
                let principal = keys.contains(&mandate.principal.cardano_key_hash);
                let other = if principal { Role::Principal } else { Role::Stranger };
                of.map_or(other, |key| Role::Approver(*key))
            }
        }
    }

    /// The keys for which they may be an approver.
    pub fn keys(&self) -> Vec<KeyHash> {
        match self {
            Self::Key(PublicKey::Ed25519(key)) => vec![KeyHash::of_key(key)],
            Self::Member(keys) => keys.clone(),
            _ => Vec::new(),
        }
    }

    /// A name for limits and idempotency keys: the same credential, the same name.
    pub fn name(&self) -> String {
        match self {
            Self::Nobody => "nobody".to_owned(),
            Self::Holder(key) => format!("key {}", key.name),
            Self::Key(key) => format!("signature {}", key.thumbprint()),
            Self::Member(keys) => format!("member {keys:?}"),
        }
    }
}

impl Role {
    /// Whether they may read what is said of the mandate and its runs.
    pub const fn reads(self) -> bool {
        matches!(self, Self::Agent | Self::Approver(_) | Self::Principal)
    }
}

impl App {
    /// Who sends a request. A credential that is presented and not known is refused.
    pub(crate) async fn who(&self, parts: &Parts, body: &[u8]) -> Result<Who, Refused> {
        let who = self.identified(parts, body).await?;
        if !matches!(who, Who::Nobody) {
            self.buckets().credential.take(&Digest::of(who.name().as_bytes()))?;
        }
        Ok(who)
    }

    async fn identified(&self, parts: &Parts, body: &[u8]) -> Result<Who, Refused> {
        if let Some(secret) = bearer(&parts.headers) {
            let hash = SecretHash::of(secret);
            let mut found = None;
            // All are compared: how long it takes says nothing.
            for key in &self.mandates()?.setup.callers {
                if key.secret == hash {
                    found = Some(key.clone());
                }
            }
            return found.map(Who::Holder).ok_or_else(Refused::nobody);
        }
        if parts.headers.contains_key("signature-input") {
            return self.signed(parts, body).await.map(Who::Key);
        }
        self.by_browser(&parts.headers).await
    }

    /// By what a browser keeps: the proof of a key, and the session of a member who is seated for one.
    pub(super) async fn by_browser(&self, headers: &HeaderMap) -> Result<Who, Refused> {
        let proved = self.proved(headers).await?;
        let (caller, _) = self.identify(headers, None).await?;
        let mut keys: Vec<KeyHash> = proved.into_iter().collect();
        match caller {
            Caller::Member { session, .. } => {
                let seats = self.mandates()?.setup.approvers.iter();
                let own = seats.filter(|seat| seat.org == session.org && seat.member == session.member);
                keys.extend(own.map(|seat| seat.key));
            }
            _ if proved.is_none() => return Ok(Who::Nobody),
            _ => {}
        }
        keys.dedup();
        Ok(Who::Member(keys))
    }

    /// The key that signed the request, once: a nonce that wrote something is remembered until its signature is over.
    async fn signed(&self, parts: &Parts, body: &[u8]) -> Result<PublicKey, Refused> {
        let refused = |error: keys::Error| {
            let text = format!("the request's signature is not accepted: {}", error.detail);
            Refused::new(::http::StatusCode::UNAUTHORIZED, error.code.as_str(), text)
        };
        let authority = parts.headers.get(::http::header::HOST).and_then(|host| host.to_str().ok());
        let scheme = self.config().public_url.scheme();
        let target = parts.uri.path_and_query().map_or("/", |target| target.as_str());
        let url = format!("{scheme}://{}{target}", authority.unwrap_or_default());
        let fields = fields(&parts.headers);
        let message = Message::request(parts.method.as_str(), &url, &fields, body).map_err(refused)?;
        let now = self.now();
        let verified = keys::http::verify(&message, &signature_profile(), now, |parameters| {
            let key = parameters.keyid.as_deref()?.parse::<Ed25519Key>().ok()?;
            key.key().ok().map(PublicKey::Ed25519)
        })
        .map_err(refused)?;
        if matches!(parts.method, Method::GET | Method::HEAD) {
            return Ok(verified.key);
        }
        let nonce = verified.parameters.nonce.unwrap_or_default();
        let used = Idempotency {
            scope: "mandate-nonce".to_owned(),
            key: format!("{} {nonce}", verified.key.thumbprint()),
            request: Digest::of(nonce.as_bytes()),
            response: Vec::new(),
            now,
            expires: now + LONGEST + SKEW + SKEW,
        };
        match self.journal().append(Append { idempotency: Some(used), ..Append::default() }).await {
            Ok(_) => Ok(verified.key),
            Err(StoreError::Repeated(_)) => Err(Refused::new(
                ::http::StatusCode::UNAUTHORIZED,
                "nonce_used",
                "this signature was used before: sign again with another nonce",
            )),
            Err(error) => Err(error.into()),
        }
    }
}

fn fields(headers: &HeaderMap) -> Vec<(&str, &str)> {
    headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?))).collect()
}
