//! Compact JWS (RFC 7515 7.1) with a closed header: the algorithm is the key's own, `typ` is required, and a member that
//! the [`Profile`] does not name is refused. `crit`, `b64`, `jku`, `x5u` and `x5c` can never be named.

use crate::{Algorithm, Code, Error, Jwk, PublicKey, Signature, Signer, text};
use canon::Value;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The longest JWS that is read, in bytes.
pub const MAX_LENGTH: usize = 1 << 20;

/// What one place takes.
#[derive(Debug, Clone, Copy)]
pub struct Profile<'a> {
    /// Compared exactly.
    pub typ: &'a str,
    /// The `alg` words taken; whichever it is, it must also be the key's own.
    pub algs: &'a [&'a str],
    pub kid: Presence,
    /// A public key in the header, as DPoP proofs carry it.
    pub jwk: Presence,
    /// Further members, read by the caller.
    pub members: &'a [&'a str],
}

/// Whether a header member may or must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    Refused,
    Optional,
    Required,
}

impl<'a> Profile<'a> {
    /// `EdDSA`, `Ed25519` or `ES256`; `kid` as one likes; nothing else.
    pub const fn new(typ: &'a str) -> Self {
        Self {
            typ,
            algs: &["EdDSA", "Ed25519", "ES256"],
            kid: Presence::Optional,
            jwk: Presence::Refused,
            members: &[],
        }
    }
}

/// A protected header.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    pub alg: String,
    pub typ: String,
    pub kid: Option<String>,
    pub jwk: Option<Jwk>,
    /// Members besides these four.
    pub others: BTreeMap<String, Value<'static>>,
}

impl Header {
    /// The header a key of this algorithm signs under: `EdDSA` or `ES256`.
    pub fn new(algorithm: Algorithm, typ: &str) -> Self {
        Self { alg: algorithm.jose().into(), typ: typ.into(), kid: None, jwk: None, others: BTreeMap::new() }
    }

    pub fn with_kid(self, kid: impl ToString) -> Self {
        Self { kid: Some(kid.to_string()), ..self }
    }
}

/// A JWS whose form is right and whose signature nobody has looked at.
#[derive(Debug, Clone)]
pub struct Unverified<'a> {
    header: Header,
    payload: Vec<u8>,
    signed: &'a [u8],
    signature: Vec<u8>,
}

/// A JWS that a key has signed under a profile.
#[derive(Debug, Clone)]
pub struct Verified {
    header: Header,
    payload: Vec<u8>,
}

/// Takes a JWS apart: three strict base64url parts, header and payload strict JSON objects.
pub fn parse(bytes: &[u8]) -> Result<Unverified<'_>, Error> {
    let bad = |detail: &str| Error::new(Code::BadJws, detail);
    if bytes.len() > MAX_LENGTH {
        return Err(bad("longer than 1048576 bytes"));
    }
    let mut parts = bytes.split(|&byte| byte == b'.');
    let (Some(header), Some(payload), Some(signature), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(bad("not three parts between dots"));
    };
    let signed =
        bytes.get(..header.len() + 1 + payload.len()).ok_or_else(|| bad("not three parts between dots"))?;
    let decode = |part, name: &str| text::from_base64url(part, Code::BadJws).map_err(|error| error.at(name));
    let header = read_header(&decode(header, "header")?)?;
    let payload = decode(payload, "payload")?;
    match canon::parse(&payload).map_err(|error| inside("payload", error))? {
        Value::Object(_) => {}
        _ => return Err(Error::new(Code::BadJson, "the payload is not an object").at("payload")),
    }
    let signature = decode(signature, "signature")?;
    Ok(Unverified { header, payload, signed, signature })
}

/// Signs a payload under a header. Refuses a header whose `alg` is not the key's own or that names what
/// no profile takes.
pub fn sign<T: Serialize + ?Sized>(
    signer: &dyn Signer,
    header: &Header,
    payload: &T,
) -> Result<String, Error> {
    if !signer.public().algorithm().answers_to(&header.alg) {
        return Err(wrong_algorithm(&header.alg));
    }
    if let Some(name) =
        header.others.keys().find(|name| NEVER.contains(&name.as_str()) || OURS.contains(&name.as_str()))
    {
        return Err(not_allowed(name));
    }
    let header = canon::to_vec(&Wire::from(header)).map_err(Error::json)?;
    let payload = canon::to_vec(payload).map_err(Error::json)?;
    let signed = format!("{}.{}", text::base64url(header), text::base64url(payload));
    let signature = signer.sign(signed.as_bytes())?;
    Ok(format!("{signed}.{}", signature.base64url()))
}

impl Unverified<'_> {
    /// Believe nothing in it but what helps to find the key.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The payload's bytes, believed by nobody yet: to find the key by its issuer.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// Header first, then the signature, so that an error names the first of the two that is wrong.
    pub fn verify(self, key: &PublicKey, profile: &Profile<'_>) -> Result<Verified, Error> {
        check_header(&self.header, key, profile)?;
        Signature::from_slice(&self.signature)
            .and_then(|signature| key.verify(self.signed, &signature))
            .map_err(|error| error.at("signature"))?;
        Ok(Verified { header: self.header, payload: self.payload })
    }
}

impl Verified {
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The payload as it was signed: one strict JSON object.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// The payload read into a type.
    pub fn claims<'de, T: Deserialize<'de>>(&'de self) -> Result<T, Error> {
        canon::from_slice(&self.payload).map_err(|error| inside("payload", error))
    }
}

/// Members of our own fields.
const OURS: [&str; 4] = ["alg", "typ", "kid", "jwk"];
/// Members no profile can name: they bring keys from elsewhere or change what is signed.
const NEVER: [&str; 8] = ["crit", "b64", "jku", "x5u", "x5c", "x5t", "x5t#S256", "zip"];

fn check_header(header: &Header, key: &PublicKey, profile: &Profile<'_>) -> Result<(), Error> {
    if !profile.algs.contains(&header.alg.as_str()) || !key.algorithm().answers_to(&header.alg) {
        return Err(wrong_algorithm(&header.alg));
    }
    if header.typ != profile.typ {
        let detail = format!("typ is {:?} where {:?} belongs", header.typ, profile.typ);
        return Err(Error::new(Code::WrongTyp, detail).at("header/typ"));
    }
    if let Some(name) = header.others.keys().find(|name| !profile.members.contains(&name.as_str())) {
        return Err(not_allowed(name));
    }
    for (name, given, presence) in
        [("kid", header.kid.is_some(), profile.kid), ("jwk", header.jwk.is_some(), profile.jwk)]
    {
        match (given, presence) {
            (true, Presence::Refused) => return Err(not_allowed(name)),
            (false, Presence::Required) => {
                let detail = format!("{name} is missing");
                return Err(Error::new(Code::HeaderNotAllowed, detail).at(format!("header/{name}")));
            }
            _ => {}
        }
    }
    match &header.jwk {
        Some(jwk) if jwk.key != *key => {
            Err(Error::new(Code::WrongKey, "the key in the header is not the one it is checked with")
                .at("header/jwk"))
        }
        _ => Ok(()),
    }
}

fn read_header(bytes: &[u8]) -> Result<Header, Error> {
    let value = canon::parse(bytes).map_err(|error| inside("header", error))?;
    let Value::Object(members) = &value else {
        return Err(Error::new(Code::BadJson, "the header is not an object").at("header"));
    };
    let word = |name: &str| match members.get(name) {
        None => Ok(None),
        Some(Value::String(word)) => Ok(Some(word.to_string())),
        Some(_) => Err(Error::new(Code::HeaderNotAllowed, format!("{name} is not a string"))
            .at(format!("header/{name}"))),
    };
    let required = |name: &str, code| {
        word(name)?.ok_or_else(|| Error::new(code, format!("{name} is missing")).at(format!("header/{name}")))
    };
    if let Some(name) = members.keys().find(|name| NEVER.contains(name)) {
        return Err(not_allowed(name));
    }
    let jwk = match members.get("jwk") {
        None => None,
        Some(jwk) => {
            let jwk = canon::to_vec(jwk).map_err(|error| inside("header/jwk", error))?;
            Some(Jwk::parse(&jwk).map_err(|error| error.inside("header/jwk"))?)
        }
    };
    Ok(Header {
        alg: required("alg", Code::WrongAlgorithm)?,
        typ: required("typ", Code::WrongTyp)?,
        kid: word("kid")?,
        jwk,
        others: members
            .iter()
            .filter(|(name, _)| !OURS.contains(name))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
    })
}

#[derive(Serialize)]
struct Wire<'a> {
    alg: &'a str,
    typ: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    kid: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jwk: Option<&'a Jwk>,
    #[serde(flatten)]
    others: &'a BTreeMap<String, Value<'static>>,
}

impl<'a> From<&'a Header> for Wire<'a> {
    fn from(header: &'a Header) -> Self {
        Self {
            alg: &header.alg,
            typ: &header.typ,
            kid: header.kid.as_deref(),
            jwk: header.jwk.as_ref(),
            others: &header.others,
        }
    }
}

fn inside(part: &str, error: canon::Error) -> Error {
    Error::json(error).inside(part)
}

fn wrong_algorithm(alg: &str) -> Error {
    Error::new(Code::WrongAlgorithm, format!("alg {alg:?} is not the key's own, or not taken here"))
        .at("header/alg")
}

fn not_allowed(name: &str) -> Error {
    Error::new(Code::HeaderNotAllowed, format!("header member {name:?} is not allowed here"))
        .at(format!("header/{name}"))
}
