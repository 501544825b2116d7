//! The server, one request after another. Each is signed by a key of the mandate (RFC 9421), or carries a bearer key.

use crate::answer::refusal;
use crate::{Answer, Ask, Error, Kept, Priced};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use canon::Raw;
use env::Source;
use fetch::{Destination, Request, Response};
use http::{HeaderName, Method, StatusCode, header};
use keys::http::{Message, Parameters, content_digest};
use keys::{PublicKey, Signer};
use mandate::request::signature_profile;
use mandate::text::{Ed25519Key, Id, KeyHash, TxHash};
use mandate::{Hashed, Mandate};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// A server that keeps mandates, and who asks it.
pub struct Server {
    origin: String,
    client: fetch::Client,
    credential: Credential,
    source: Arc<dyn Source>,
}

/// How requests show whose they are.
#[derive(Clone)]
pub enum Credential {
    /// Each request is signed: by the mandate's delegate, or another of its keys.
    Key(Arc<dyn Signer>),
    /// A key of the server's configuration.
    Bearer(String),
}

/// A mandate as its parties are shown it.
#[derive(Debug, Clone, Deserialize)]
pub struct MandateShown {
    pub anchor: AnchorShown,
    pub mandate: Hashed<Mandate>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct AnchorShown {
    pub mandate_ref: KeyHash,
}

#[derive(Serialize)]
struct Payment<'a> {
    accepted: &'a Raw,
    payload: Payload<'a>,
    #[serde(rename = "x402Version")]
    version: u8,
}

#[derive(Serialize)]
struct Payload<'a> {
    approval_id: &'a str,
    output_index: u32,
    tx_hash: TxHash,
}

const CHECK: &str = "/v1/authority/check";

impl Server {
    /// At an origin such as `https://authority.example`. The client says which hosts may be called that are not public.
    pub fn new(
        origin: &str,
        client: fetch::Client,
        credential: Credential,
        source: Arc<dyn Source>,
    ) -> Result<Self, Error> {
        let origin = origin.trim_end_matches('/').to_owned();
        client.permits(&Destination::parse(&origin)?)?;
        Ok(Self { origin, client, credential, source })
    }

    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// A check. An answer that was lost is given again under the same `key`; a price is not kept there, so what pays it goes
    /// under the same one.
    pub async fn check(&self, ask: &Ask, paid: Option<(&Priced, &Kept)>, key: &str) -> Result<Answer, Error> {
        let mut more = vec![(HeaderName::from_static("idempotency-key"), key.to_owned())];
        if let Some((priced, bond)) = paid {
            let payload = Payload {
                approval_id: priced.price.approval_id.as_str(),
                output_index: bond.at().output_index,
                tx_hash: bond.at().tx_hash,
            };
            let payment = Payment { accepted: &priced.accepted, payload, version: 2 };
            let payment = canon::to_vec(&payment).map_err(|error| Error::Answer(error.to_string()))?;
            more.push((HeaderName::from_static("payment-signature"), STANDARD.encode(payment)));
        }
        let response = self.send(Method::POST, CHECK, ask.body.clone(), more).await?;
        Answer::read(ask, response.status, &response.headers, &response.body)
    }

    /// A mandate, with its place on chain.
    pub async fn mandate(&self, id: &Id) -> Result<MandateShown, Error> {
        read(&self.get(&format!("/v1/mandates/{id}")).await?)
    }

    /// What is at a path of the server, for this agent.
    pub async fn get(&self, path: &str) -> Result<Bytes, Error> {
        let response = self.send(Method::GET, path, Bytes::new(), Vec::new()).await?;
        match response.status {
            StatusCode::OK => Ok(response.body),
            status => Err(refusal(status, &response.headers, &response.body)),
        }
    }

    /// Sends a document to a path of the server.
    pub async fn post<T: Serialize>(&self, path: &str, body: &T) -> Result<Bytes, Error> {
        let body = canon::to_vec(body).map_err(|error| Error::Answer(error.to_string()))?;
        let response = self.send(Method::POST, path, body.into(), Vec::new()).await?;
        match response.status {
            StatusCode::OK => Ok(response.body),
            status => Err(refusal(status, &response.headers, &response.body)),
        }
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
        more: Vec<(HeaderName, String)>,
    ) -> Result<Response, Error> {
        let url = format!("{}{path}", self.origin);
        let to = Destination::parse(&url)?;
        let mut request = Request { body, ..Request::new(method, to) };
        if !request.body.is_empty() {
            request = request.header(header::CONTENT_TYPE, "application/json")?;
        }
        for (name, value) in more {
            request = request.header(name, &value)?;
        }
        for (name, value) in self.shown(request.method.as_str(), &url, &request.body)? {
            request = request.header(name, &value)?;
        }
        Ok(self.client.send(request).await?)
    }

    /// The headers that say whose request it is.
    fn shown(&self, method: &str, url: &str, body: &[u8]) -> Result<Vec<(HeaderName, String)>, Error> {
        let signer = match &self.credential {
            Credential::Bearer(secret) => {
                return Ok(vec![(header::AUTHORIZATION, format!("Bearer {secret}"))]);
            }
            Credential::Key(signer) => signer,
        };
        let digest = content_digest(body);
        let fields = [("content-digest", digest.as_str())];
        let message = Message::request(method, url, &fields, body)?;
        let parameters = Parameters {
            created: Some(self.source.now()),
            keyid: Some(key_id(signer.as_ref())?),
            nonce: Some(self.source.env().secret()),
            ..Parameters::default()
        };
        let signed = keys::http::sign(signer.as_ref(), &message, &signature_profile(), parameters)?;
        Ok(vec![
            (HeaderName::from_static("content-digest"), digest),
            (HeaderName::from_static("signature-input"), signed.signature_input),
            (HeaderName::from_static("signature"), signed.signature),
        ])
    }
}

/// `ed25519:` and the key in hex, as mandates write it.
pub(crate) fn key_id(signer: &dyn Signer) -> Result<String, Error> {
    match signer.public() {
        PublicKey::Ed25519(key) => Ok(Ed25519Key::from_bytes(*key.as_bytes()).to_string()),
        PublicKey::P256(_) => Err(Error::Key(keys::Error {
            code: keys::Code::WrongAlgorithm,
            place: String::new(),
            detail: "a key of a mandate is ed25519".to_owned(),
        })),
    }
}

pub(crate) fn read<T: for<'de> Deserialize<'de>>(body: &[u8]) -> Result<T, Error> {
    canon::from_slice(body).map_err(|error| Error::Answer(error.to_string()))
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("origin", &self.origin).finish_non_exhaustive()
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Key(_) => "Key",
            Self::Bearer(_) => "Bearer",
        })
    }
}
