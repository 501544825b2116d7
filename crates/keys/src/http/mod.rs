//! HTTP message signatures (RFC 9421) by profile, and Content-Digest (RFC 9530).
//!
//! A [`Profile`] says what a signature must cover and for how long it holds; the verifier takes the one signature that
//! fits it and nothing less. Components without parameters are known: fields, `@method`, `@target-uri`, `@authority`,
//! `@scheme`, `@request-target`, `@path`, `@query`, `@status`.

mod base;
mod digest;
mod field;

pub use base::{Message, Start};
pub use digest::{check_content_digest, content_digest};

use crate::{Code, Error, PublicKey, Signature, Signer};
use env::{Duration, Timestamp};
use field::{Bare, InnerList, Item};

/// What a signature must be for one place.
#[derive(Debug, Clone, Copy)]
pub struct Profile<'a> {
    /// Components that must be covered; a signature may cover more.
    pub components: &'a [&'a str],
    /// Whether the body must be covered, by `content-digest`.
    pub body: Body,
    /// The label it must have; without one, any.
    pub label: Option<&'a str>,
    /// The `tag` it must have; without one, the profile does not look at it.
    pub tag: Option<&'a str>,
    /// Parameters that must be there. `created` always must.
    pub requires: &'a [Parameter],
    /// The longest time after `created`.
    pub max_age: Duration,
    /// How far the other side's clock may be off.
    pub skew: Duration,
}

/// Whether the body must be covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    Ignored,
    /// Unless it is empty.
    IfAny,
    Always,
}

/// The parameters of a signature (RFC 9421 2.3), but for `created`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parameter {
    Expires,
    KeyId,
    Alg,
    Nonce,
    Tag,
}

/// The parameters one signature has. Instants are whole seconds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parameters {
    pub created: Option<Timestamp>,
    pub expires: Option<Timestamp>,
    pub keyid: Option<String>,
    pub alg: Option<String>,
    pub nonce: Option<String>,
    pub tag: Option<String>,
}

/// The values of the two header fields of a signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    pub signature_input: String,
    pub signature: String,
}

/// A signature that fits its profile and is the key's. Its nonce, if there is one, is for the caller to remember.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    pub label: String,
    pub components: Vec<String>,
    pub parameters: Parameters,
    pub key: PublicKey,
}

/// Signs a message under a profile: covers exactly what it names, and `content-digest` where its rule for the body
/// says so (that field must be among the message's, see [`content_digest`]). `created` is set by the caller; `alg` is
/// written where it is required, `tag` where the profile has one.
pub fn sign(
    signer: &dyn Signer,
    message: &Message<'_>,
    profile: &Profile<'_>,
    parameters: Parameters,
) -> Result<Signed, Error> {
    let key = signer.public();
    let parameters = Parameters {
        alg: profile.requires.contains(&Parameter::Alg).then(|| key.algorithm().http().to_owned()),
        tag: profile.tag.map(str::to_owned).or(parameters.tag),
        ..parameters
    };
    let mut components: Vec<String> = profile.components.iter().map(|&name| name.to_owned()).collect();
    if covers_body(profile, message) && !profile.components.contains(&CONTENT_DIGEST) {
        components.push(CONTENT_DIGEST.to_owned());
    }
    check_parameters(profile, &parameters)?;
    let input = write_input(&components, &parameters)?;
    let base = base::signature_base(message, &components, &input)?;
    let signature = signer.sign(base.as_bytes())?;
    let label = profile.label.unwrap_or("sig");
    Ok(Signed {
        signature_input: format!("{label}={input}"),
        signature: format!("{label}=:{}:", signature.base64()),
    })
}

/// Verifies the one signature of a message that fits the profile. `key_of` finds the key that the parameters name; what
/// it finds is believed. A body that must be covered is compared with its digest.
pub fn verify(
    message: &Message<'_>,
    profile: &Profile<'_>,
    now: Timestamp,
    key_of: impl FnOnce(&Parameters) -> Option<PublicKey>,
) -> Result<Verified, Error> {
    let Candidate { label, components, parameters, input, signature } = select(message, profile)?;
    check_parameters(profile, &parameters)?;
    check_time(profile, &parameters, now)?;
    let body = covers_body(profile, message).then_some(CONTENT_DIGEST);
    if let Some(missing) =
        profile.components.iter().copied().chain(body).find(|name| !components.iter().any(|one| one == name))
    {
        let detail = format!("{missing:?} is not covered by the signature");
        return Err(Error::new(Code::BadComponent, detail).at(SIGNATURE_INPUT));
    }
    let key = key_of(&parameters)
        .ok_or_else(|| Error::new(Code::UnknownKey, "nobody's key by that identifier").at(SIGNATURE_INPUT))?;
    if parameters.alg.as_deref().is_some_and(|alg| alg != key.algorithm().http()) {
        return Err(Error::new(Code::WrongAlgorithm, "alg is not the key's own").at(SIGNATURE_INPUT));
    }
    let base = base::signature_base(message, &components, &input)?;
    key.verify(base.as_bytes(), &signature).map_err(|error| error.at(SIGNATURE))?;
    if body.is_some() {
        check_content_digest(message)?;
    }
    Ok(Verified { label, components, parameters, key })
}

const SIGNATURE_INPUT: &str = "signature-input";
const SIGNATURE: &str = "signature";
const CONTENT_DIGEST: &str = "content-digest";

fn covers_body(profile: &Profile<'_>, message: &Message<'_>) -> bool {
    match profile.body {
        Body::Ignored => false,
        Body::IfAny => !message.body.is_empty(),
        Body::Always => true,
    }
}

/// One signature of a message, taken apart.
struct Candidate {
    label: String,
    components: Vec<String>,
    parameters: Parameters,
    /// The inner list as the signer wrote it, in the one serialization RFC 8941 gives.
    input: String,
    signature: Signature,
}

/// The one signature with the profile's label and tag. Labels in one header and not in the other are refused.
fn select(message: &Message<'_>, profile: &Profile<'_>) -> Result<Candidate, Error> {
    let missing = |detail: &str, place| Error::new(Code::SignatureMissing, detail).at(place);
    let inputs =
        message.field(SIGNATURE_INPUT)?.ok_or_else(|| missing("there is no signature", SIGNATURE_INPUT))?;
    let values = message.field(SIGNATURE)?.ok_or_else(|| missing("there is no signature", SIGNATURE))?;
    let mut fitting = Vec::new();
    for (label, list) in field::inner_lists(&inputs).map_err(|error| error.at(SIGNATURE_INPUT))? {
        if profile.label.is_some_and(|wanted| wanted != label) {
            continue;
        }
        // A signature for somebody else may have parameters we do not know: it is passed over by its tag.
        if profile.tag.is_some_and(|tag| list.text("tag") != Some(tag)) {
            continue;
        }
        fitting.push((label, list));
    }
    let mut fitting = fitting.into_iter();
    let (label, list) = fitting
        .next()
        .ok_or_else(|| missing("no signature has the label and tag wanted", SIGNATURE_INPUT))?;
    if fitting.next().is_some() {
        let detail = "more than one signature could be meant";
        return Err(Error::new(Code::SignatureAmbiguous, detail).at(SIGNATURE_INPUT));
    }
    let value = field::byte_sequences(&values)
        .map_err(|error| error.at(SIGNATURE))?
        .into_iter()
        .find(|(name, _)| *name == label)
        .ok_or_else(|| missing("the signature has no value under its label", SIGNATURE))?
        .1;
    Ok(Candidate {
        components: components(&list)?,
        parameters: parameters(&list)?,
        input: list.to_string(),
        signature: Signature::from_slice(&value).map_err(|error| error.at(SIGNATURE))?,
        label,
    })
}

fn components(list: &InnerList) -> Result<Vec<String>, Error> {
    let mut names: Vec<String> = Vec::with_capacity(list.items.len());
    for item in &list.items {
        let refused = |detail: String| Error::new(Code::BadComponent, detail).at(SIGNATURE_INPUT);
        let Item { value: Bare::Text(name), parameters } = item else {
            return Err(refused("a component that is not a string".into()));
        };
        if !parameters.is_empty() {
            return Err(refused(format!("component {name:?} has parameters, which are not known here")));
        }
        if names.contains(name) {
            return Err(refused(format!("component {name:?} is there twice")));
        }
        names.push(name.clone());
    }
    Ok(names)
}

fn parameters(list: &InnerList) -> Result<Parameters, Error> {
    let mut parameters = Parameters::default();
    for (name, value) in &list.parameters {
        let text = |slot: &mut Option<String>| match value {
            Bare::Text(text) => {
                *slot = Some(text.clone());
                Ok(())
            }
            _ => Err(bad_parameter(format!("{name} is not a string"))),
        };
        let instant = |slot: &mut Option<Timestamp>| match value {
            Bare::Integer(seconds) => {
                *slot = Some(Timestamp::from_secs(*seconds));
                Ok(())
            }
            _ => Err(bad_parameter(format!("{name} is not an integer"))),
        };
        match name.as_str() {
            "created" => instant(&mut parameters.created),
            "expires" => instant(&mut parameters.expires),
            "keyid" => text(&mut parameters.keyid),
            "alg" => text(&mut parameters.alg),
            "nonce" => text(&mut parameters.nonce),
            "tag" => text(&mut parameters.tag),
            _ => Err(bad_parameter(format!("{name} is not a parameter we know"))),
        }?;
    }
    Ok(parameters)
}

fn check_parameters(profile: &Profile<'_>, parameters: &Parameters) -> Result<(), Error> {
    let created = parameters.created.ok_or_else(|| bad_parameter("created is missing".into()))?;
    for required in profile.requires {
        let (name, given) = match required {
            Parameter::Expires => ("expires", parameters.expires.is_some()),
            Parameter::KeyId => ("keyid", parameters.keyid.is_some()),
            Parameter::Alg => ("alg", parameters.alg.is_some()),
            Parameter::Nonce => ("nonce", parameters.nonce.is_some()),
            Parameter::Tag => ("tag", parameters.tag.is_some()),
        };
        if !given {
            return Err(bad_parameter(format!("{name} is missing")));
        }
    }
    if parameters.expires.is_some_and(|expires| expires <= created) {
        return Err(bad_parameter("expires is not after created".into()));
    }
    Ok(())
}

fn check_time(profile: &Profile<'_>, parameters: &Parameters, now: Timestamp) -> Result<(), Error> {
    let created = parameters.created.ok_or_else(|| bad_parameter("created is missing".into()))?;
    if created > now + profile.skew {
        return Err(Error::new(Code::NotYetValid, "created lies in the future").at(SIGNATURE_INPUT));
    }
    if now > created + profile.max_age + profile.skew {
        return Err(Error::new(Code::Expired, "created too long ago").at(SIGNATURE_INPUT));
    }
    if parameters.expires.is_some_and(|expires| now >= expires) {
        return Err(Error::new(Code::Expired, "expired").at(SIGNATURE_INPUT));
    }
    Ok(())
}

/// `created`, `expires`, `keyid`, `alg`, `nonce`, `tag`, in this order.
fn write_input(components: &[String], parameters: &Parameters) -> Result<String, Error> {
    let instant = |at: Option<Timestamp>| at.map(|at| Bare::Integer(at.as_secs()));
    let text = |text: &Option<String>| text.clone().map(Bare::Text);
    let list = InnerList {
        items: components
            .iter()
            .map(|name| Item { value: Bare::Text(name.clone()), parameters: Vec::new() })
            .collect(),
        parameters: [
            ("created", instant(parameters.created)),
            ("expires", instant(parameters.expires)),
            ("keyid", text(&parameters.keyid)),
            ("alg", text(&parameters.alg)),
            ("nonce", text(&parameters.nonce)),
            ("tag", text(&parameters.tag)),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect(),
    };
    if list.is_writable() {
        Ok(list.to_string())
    } else {
        Err(bad_parameter("a parameter or component is not printable ASCII".into()))
    }
}

fn bad_parameter(detail: String) -> Error {
    Error::new(Code::BadParameter, detail).at(SIGNATURE_INPUT)
}
