//! Grants (spec 4.6): a person's recorded approval of exact terms, and links that only narrow it. The signer checks a link when it
//! makes it, the receiver checks the whole chain again, both by [`Grant::within`].

use super::approved::Approval;
use super::call::{Doubts, View};
use super::code::Code;
use super::shelf::{Shelf, Shown};
use super::terms::{Term, narrower};
use super::tools::{Class, registry};
use super::wire::{Fault, Link, instant};
use crate::record::ALG;
use crate::{Keys, event};
use canon::{Digest, Object, Value};
use env::Timestamp;
use keys::Signature;
use serde::Deserialize;
use std::borrow::Cow;

/// The value of `t` in what a grant's key signs.
pub const GRANT_TAG: &str = "countersign.pcm.grant.v1";

/// The name of the record that logs a grant.
pub const GRANT_RECORD: &str = "countersign.grant";

/// The name of the record that says that a grant was taken back. A receiver offline learns nothing of it.
pub const REVOKED_RECORD: &str = "countersign.grant_revoked";

/// The tool whose call asks for a grant.
pub const GRANT_TOOL: &str = "pcm.grant";

/// Who may ask what, within which limits, until when.
#[derive(Debug, Clone)]
pub struct Grant {
    hash: Digest,
    wire: Wire,
    terms: Vec<Term>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    id: String,
    root: Option<Root>,
    parent: Option<String>,
    issuer: String,
    holder: String,
    intents: Vec<String>,
    terms: Vec<Value<'static>>,
    #[serde(deserialize_with = "instant")]
    not_before: Timestamp,
    #[serde(deserialize_with = "instant")]
    not_after: Timestamp,
    audience: Vec<String>,
    max_uses: Option<u64>,
    depth: u64,
    #[serde(rename = "nonce")]
    _nonce: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Root {
    approval_id: String,
}

impl Grant {
    /// From a grant of the published schema. Refused: terms that cannot be read, a window that ends before it begins.
    pub fn read(value: &Value<'_>) -> Result<Self, Code> {
        let wire: Wire = canon::from_value(value.clone().into_static()).map_err(|_| Code::BadSchema)?;
        let terms =
            wire.terms.iter().map(Term::read).collect::<Result<Vec<_>, _>>().map_err(|_| Code::BadSchema)?;
        if wire.not_after <= wire.not_before {
            return Err(Code::BadSchema);
        }
        let bytes = canon::to_vec(value).map_err(|_| Code::BadSchema)?;
        Ok(Self { hash: Digest::of(&bytes), wire, terms })
    }

    /// SHA-256 of its canonical form: what names it.
    pub const fn hash(&self) -> Digest {
        self.hash
    }
    pub fn id(&self) -> &str {
        &self.wire.id
    }
    /// Whose it is to give: of a root the person who approves it.
    pub fn issuer(&self) -> &str {
        &self.wire.issuer
    }
    /// The agent that may use it, as `scheme:subject`.
    pub fn holder(&self) -> &str {
        &self.wire.holder
    }
    /// How often it may be used; `None` for as often as it lasts.
    pub const fn max_uses(&self) -> Option<u64> {
        self.wire.max_uses
    }

    /// Whether it is a link below `parent` that allows no more (the rows of the table, then the sets, the window, the depth and
    /// the count).
    pub fn within(&self, parent: &Self) -> Result<(), Code> {
        let (own, above) = (&self.wire, &parent.wire);
        if own.parent.as_deref().and_then(event::digest) != Some(parent.hash) {
            return Err(Code::GrantRootUnapproved);
        }
        if own.issuer != above.holder {
            return Err(Code::GrantWrongHolder);
        }
        if above.depth == 0 {
            return Err(Code::GrantNotDelegable);
        }
        if own.depth >= above.depth {
            return Err(Code::GrantDepth);
        }
        let subset = |less: &[String], more: &[String]| less.iter().all(|one| more.contains(one));
        let narrow = narrower(&self.terms, &parent.terms)
            && subset(&own.intents, &above.intents)
            && subset(&own.audience, &above.audience)
            && above.not_before <= own.not_before
            && own.not_after <= above.not_after
            && above.max_uses.is_none_or(|most| own.max_uses.is_some_and(|uses| uses <= most));
        if narrow { Ok(()) } else { Err(Code::GrantWidens) }
    }

    /// Whether it lets this be asked of that receiver: the intent, and every term by the intent's arguments in their units.
    pub fn allows<'u>(
        &self,
        intent: &str,
        arguments: &Value<'_>,
        unit: impl Fn(&str) -> Option<&'u str>,
        receiver: &str,
    ) -> bool {
        self.names(intent, receiver)
            && self.terms.iter().all(|term| {
                let value = arguments.get(term.field());
                value.is_some_and(|value| term.meets(value, unit(term.field())) == Ok(true))
            })
    }

    /// Whether it is for that intent and that receiver.
    pub(crate) fn names(&self, intent: &str, receiver: &str) -> bool {
        let named = |list: &[String], one: &str| list.iter().any(|name| name == one);
        named(&self.wire.intents, intent) && named(&self.wire.audience, receiver)
    }

    pub(crate) fn lasts(&self, now: Timestamp) -> bool {
        self.wire.not_before <= now && now < self.wire.not_after
    }
}

/// What a grant's key signs.
pub(crate) fn signed(grant: &Digest, kid: &str) -> Vec<u8> {
    let kid = canon::to_vec(kid).unwrap_or_default();
    let head = format!("{{\"alg\":\"{ALG}\",\"hash\":\"sha256:{grant}\",\"kid\":");
    [head.as_bytes(), &kid, format!(",\"t\":\"{GRANT_TAG}\"}}").as_bytes()].concat()
}

/// What a person approves for a root: the grant without what is known only afterwards, `root`.
pub fn asked(grant: &Value<'_>) -> Option<Value<'static>> {
    let members = grant.as_object()?.iter().filter(|(name, _)| *name != "root");
    let members = members.map(|(name, value)| (Cow::Owned(name.to_owned()), value.to_owned())).collect();
    Object::new(members).ok().map(Value::Object)
}

/// The chain, root first: each link signed and logged, the root approved by a person word for word, every other within the
/// one before. The last is held by the sender.
pub(crate) fn chain(
    links: &[Link],
    shelf: &Shelf<'_>,
    view: &View<'_>,
    keys: Option<&Keys>,
) -> Result<Vec<Grant>, Fault> {
    let mut grants: Vec<Grant> = Vec::new();
    for (at, link) in links.iter().enumerate() {
        let fault = |code| Fault::at(code, format!("/grants/{at}"));
        let grant = Grant::read(&link.grant).map_err(fault)?;
        let logged = shelf.get(&link.logged).ok_or_else(|| fault(Code::NoGrant))?;
        signature(link, &grant, logged, keys).map_err(fault)?;
        match grants.last() {
            None => root(link, &grant, logged, shelf, view).map_err(fault)?,
            Some(parent) => grant.within(parent).map_err(fault)?,
        }
        grants.push(grant);
    }
    match grants.last() {
        Some(last) if last.holder() != view.from.agent => {
            let place = format!("/grants/{}", grants.len().saturating_sub(1));
            Err(Fault::at(Code::GrantWrongHolder, place))
        }
        _ => Ok(grants),
    }
}

/// Logged by the signer, and signed by a key that was valid there.
fn signature(link: &Link, grant: &Grant, logged: &Shown<'_>, keys: Option<&Keys>) -> Result<(), Code> {
    let event = &logged.event;
    let hash = event.data_text("hash").and_then(event::digest);
    let named =
        event.kind() == "ext" && event.data_text("name") == Some(GRANT_RECORD) && event.source() == "signer";
    if !named || hash != Some(grant.hash) {
        return Err(Code::NoGrant);
    }
    let Some(keys) = keys else { return Ok(()) };
    if link.alg != ALG {
        return Err(Code::AlgNotAllowed);
    }
    let key = keys.at(&link.kid, event.position()).map_err(|error| Code::from(&error))?;
    let signature = Signature::from_base64(&link.sig).map_err(|_| Code::BadEncoding)?;
    key.public().verify(&signed(&grant.hash, &link.kid), &signature).map_err(|_| Code::BadSignature)
}

fn root(
    link: &Link,
    grant: &Grant,
    logged: &Shown<'_>,
    shelf: &Shelf<'_>,
    view: &View<'_>,
) -> Result<(), Code> {
    let Some(root) = &grant.wire.root else { return Err(Code::GrantRootUnapproved) };
    let cited = shelf.cited(&link.approval);
    let mut doubts = Doubts::new();
    let approval = Approval::find(&cited, shelf, view, &mut doubts).map_err(|_| Code::GrantRootUnapproved)?;
    if approval.agent {
        return Err(Code::GrantNotHuman);
    }
    let described = registry().and_then(|registry| registry.tool(approval.tool));
    let request = &approval.request.event;
    let good = !approval.own
        && doubts.is_empty()
        && described.is_some_and(|tool| tool.class == Class::Grant)
        && request.data_text("approval_id") == Some(root.approval_id.as_str())
        && approval.person == grant.wire.issuer
        && approval.answer.event.position() < logged.event.position();
    if !good {
        return Err(Code::GrantRootUnapproved);
    }
    let terms = asked(&link.grant).and_then(|asked| canon::to_vec(&asked).ok());
    let approved = approval.arguments.and_then(|arguments| canon::to_vec(arguments).ok());
    if terms.is_some() && terms == approved { Ok(()) } else { Err(Code::GrantTermsDiffer) }
}
