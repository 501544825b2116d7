//! The envelope (spec 4.1): what a message is, closed, within its limits, and its hash. Nothing of it is believed yet.
//!
//! A record that is shown may leave out what follows from the rest: `v`, `alg`, its `hash`, the message's `kid`, and of its event
//! `schema_version` and the sender's `log_id`, `tenant` and `run_id`.

use super::code::Code;
use super::terms::Term;
use crate::opening::MAX_OPENING;
use crate::record::ALG;
use crate::schema::Schema;
use crate::{Error, Unverified, event, schema};
use canon::{Digest, Number, Object, Value};
use env::Timestamp;
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// The version this crate reads and writes.
pub const VERSION: &str = "pcm/0.1-cs";

/// The longest message, in bytes (spec 4.10).
pub const MAX_MESSAGE: usize = 256 << 10;

/// Deepest nesting outside events; [`canon::MAX_DEPTH`] within them.
const MAX_DEPTH: usize = 32;
const MAX_TEXT: usize = 16 << 10;
/// Records, openings, claims, grants; terms of one grant.
const MOST: [(&str, usize); 4] =
    [("/evidence/records", 64), ("/evidence/openings", 32), ("/claims", 16), ("/grants", 8)];
const MOST_TERMS: usize = 16;

/// Why a message is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub code: Code,
    /// A JSON Pointer, or `byte N`; empty for the whole.
    pub place: String,
    pub detail: String,
}

impl Fault {
    pub(crate) fn new(code: Code, place: impl Into<String>, detail: impl ToString) -> Self {
        Self { code, place: place.into(), detail: detail.to_string() }
    }
    /// The code says it all.
    pub(crate) fn at(code: Code, place: impl Into<String>) -> Self {
        Self::new(code, place, code.sentence())
    }
}

impl From<Code> for Fault {
    fn from(code: Code) -> Self {
        Self::at(code, "")
    }
}

/// A message of the right form.
#[derive(Debug)]
pub struct Message<'m> {
    hash: Digest,
    pub(crate) wire: Wire,
    /// By their names, each made whole.
    pub(crate) records: BTreeMap<String, Result<Unverified<'m>, Error>>,
    pub(crate) keys: Vec<Result<Unverified<'m>, Error>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wire {
    #[serde(rename = "pcm")]
    _version: String,
    pub(crate) id: String,
    pub(crate) from: Sender,
    pub(crate) to: String,
    #[serde(deserialize_with = "instant")]
    pub(crate) iat: Timestamp,
    #[serde(deserialize_with = "instant")]
    pub(crate) exp: Timestamp,
    #[serde(default)]
    #[expect(dead_code, reason = "for whoever reads the message: it names another and proves nothing")]
    in_reply_to: Option<Value<'static>>,
    pub(crate) intent: Option<Intent>,
    pub(crate) text: Option<String>,
    pub(crate) claims: Vec<Claim>,
    pub(crate) grants: Vec<Link>,
    pub(crate) evidence: Evidence,
    pub(crate) alg: String,
    pub(crate) kid: String,
    pub(crate) sig: String,
}

/// Who sends: a run of an agent, and the log that run is recorded in.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sender {
    pub origin: String,
    pub log_id: String,
    pub tenant: String,
    pub run_id: String,
    /// `scheme:subject`.
    pub agent: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Intent {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) schema: String,
    pub(crate) args: Value<'static>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Claim {
    pub(crate) id: String,
    pub(crate) pred: String,
    pub(crate) args: Value<'static>,
    pub(crate) evidence: Vec<String>,
}

/// A grant and what makes it good.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Link {
    pub(crate) grant: Value<'static>,
    pub(crate) alg: String,
    pub(crate) kid: String,
    pub(crate) sig: String,
    pub(crate) logged: String,
    #[serde(default)]
    pub(crate) approval: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Evidence {
    pub(crate) checkpoint: String,
    /// That all the records, and all the keys, are in the tree.
    pub(crate) proof: String,
    pub(crate) keys_proof: String,
    pub(crate) openings: BTreeMap<String, Opened>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Opened {
    pub(crate) salt: canon::Salt,
    #[serde(default, deserialize_with = "present")]
    pub(crate) args: Option<Value<'static>>,
    #[serde(default, deserialize_with = "present")]
    pub(crate) content: Option<Value<'static>>,
}

impl<'m> Message<'m> {
    /// Steps 1 to 3 of spec 4.2: size, strict JSON, version, counts, the closed schema, and what no schema can say.
    pub fn read(bytes: &'m [u8]) -> Result<Self, Fault> {
        if bytes.len() > MAX_MESSAGE {
            return Err(Fault::new(Code::TooLarge, "", "longer than 256 KiB"));
        }
        let mut value = canon::parse(bytes).map_err(|error| {
            Fault::new(Code::BadJson, error.place.clone(), format!("{}: {}", error.code, error.detail))
        })?;
        if value.get("pcm").and_then(Value::as_str) != Some(VERSION) {
            return Err(Fault::at(Code::BadVersion, "/pcm"));
        }
        if depth(&value) > MAX_DEPTH {
            return Err(Fault::new(Code::BadJson, "", "depth: nested over 32 outside events"));
        }
        counted(&value)?;
        let schema = SCHEMA.as_ref().ok_or(Code::BadSchema)?;
        schema.holds(&value).map_err(|misfit| Fault::new(Code::BadSchema, misfit.place, misfit.why))?;
        let hash = hash(&value).ok_or(Code::BadSchema)?;
        let mut taken = |name| value.get_mut("evidence").and_then(|evidence| evidence.take(name));
        let (records, keys) = (taken("records"), taken("keys"));
        let wire: Wire = canon::from_value(value)
            .map_err(|error| Fault::new(Code::BadSchema, error.place, error.detail))?;
        let whole = |record| Unverified::shown(whole(record, &wire));
        let records = match records {
            Some(Value::Object(records)) => {
                records.into_members().map(|(rid, record)| (rid.into_owned(), whole(record))).collect()
            }
            _ => BTreeMap::new(),
        };
        let keys = match keys {
            Some(Value::Array(keys)) => keys.into_iter().map(whole).collect(),
            _ => Vec::new(),
        };
        let message = Self { hash, wire, records, keys };
        message.consistent()?;
        Ok(message)
    }

    /// SHA-256 of the canonical form without `alg`, `kid` and `sig`.
    pub const fn hash(&self) -> Digest {
        self.hash
    }
    pub fn id(&self) -> &str {
        &self.wire.id
    }
    pub const fn from(&self) -> &Sender {
        &self.wire.from
    }
    /// The one receiver.
    pub fn to(&self) -> &str {
        &self.wire.to
    }
    /// The id and the predicate of each claim.
    pub fn claims(&self) -> impl Iterator<Item = (&str, &str)> {
        self.wire.claims.iter().map(|claim| (claim.id.as_str(), claim.pred.as_str()))
    }
    /// Free text; proves nothing.
    pub fn text(&self) -> Option<&str> {
        self.wire.text.as_deref()
    }

    /// Names are used once and lead somewhere, terms can be read, openings are short.
    fn consistent(&self) -> Result<(), Fault> {
        let (wire, records) = (&self.wire, &self.records);
        let mut ids = BTreeSet::new();
        for (at, claim) in wire.claims.iter().enumerate() {
            let place = format!("/claims/{at}");
            if !ids.insert(&claim.id) {
                return Err(Fault::new(Code::BadSchema, place, "two claims have one id"));
            }
            known(claim.evidence.iter(), records, &place)?;
            for term in claim.args.get("terms").and_then(Value::as_array).unwrap_or_default() {
                if claim.pred == "approved_by" && Term::read(term) == Err(Code::BadSchema) {
                    return Err(Fault::new(Code::BadSchema, format!("{place}/args/terms"), "not a term"));
                }
            }
        }
        for (at, link) in wire.grants.iter().enumerate() {
            known(link.approval.iter().chain([&link.logged]), records, &format!("/grants/{at}"))?;
        }
        known(wire.evidence.openings.keys(), records, "/evidence/openings")?;
        for (rid, opened) in &wire.evidence.openings {
            let value = opened.args.as_ref().or(opened.content.as_ref());
            let length =
                value.and_then(|value| canon::to_vec(value).ok()).map_or(usize::MAX, |bytes| bytes.len());
            if length > MAX_OPENING {
                let place = format!("/evidence/openings/{rid}");
                return Err(Fault::new(Code::TooLarge, place, "an opening is longer than 64 KiB"));
            }
        }
        Ok(())
    }
}

/// SHA-256 of the canonical form of a message without `alg`, `kid` and `sig`.
pub(crate) fn hash(message: &Value<'_>) -> Option<Digest> {
    canon::to_vec(&Unsigned(message.as_object()?)).ok().map(|bytes| Digest::of(&bytes))
}

/// Its published schema, which is what closes it.
static SCHEMA: LazyLock<Option<Schema>> = LazyLock::new(|| {
    schema::Schema::read(include_bytes!("../../../../docs/schemas/pcm-message.schema.json"))
});

struct Unsigned<'m>(&'m Object<'m>);

impl Serialize for Unsigned<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.0.iter().filter(|(name, _)| !matches!(*name, "alg" | "kid" | "sig")) {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

fn known<'i, R>(
    rids: impl Iterator<Item = &'i String>,
    records: &BTreeMap<String, R>,
    place: &str,
) -> Result<(), Fault> {
    match rids.into_iter().find(|rid| !records.contains_key(*rid)) {
        Some(rid) => Err(Fault::new(Code::BadSchema, place, format!("no record is named {rid:?}"))),
        None => Ok(()),
    }
}

/// The record with what it left out.
fn whole<'m>(record: Value<'m>, wire: &Wire) -> Value<'m> {
    let Value::Object(mut record) = record else { return record };
    let text = |text: &str| Value::String(text.to_owned().into());
    record.or_insert("v", || Number::try_from(2_u64).map_or(Value::Null, Value::Number));
    record.or_insert("alg", || text(ALG));
    record.or_insert("kid", || text(&wire.kid));
    if let Some(Value::Object(event)) = record.get_mut("event") {
        event.or_insert("schema_version", || text(event::VERSION));
        event.or_insert("log_id", || text(&wire.from.log_id));
        event.or_insert("tenant", || text(&wire.from.tenant));
        event.or_insert("run_id", || text(&wire.from.run_id));
    }
    Value::Object(record)
}

/// The counts of spec 4.10, before anything else is looked at.
fn counted(message: &Value<'_>) -> Result<(), Fault> {
    let many = |value: &Value<'_>| match value {
        Value::Array(values) => values.len(),
        Value::Object(object) => object.len(),
        _ => 0,
    };
    let grants = message.get("grants").and_then(Value::as_array).unwrap_or_default();
    let terms =
        grants.iter().filter_map(|link| link.pointer("/grant/terms")).map(many).max().unwrap_or_default();
    let text = message.get("text").and_then(Value::as_str).map_or(0, str::len);
    let over =
        MOST.iter().find(|(place, most)| message.pointer(place).is_some_and(|value| many(value) > *most));
    match over {
        Some((place, most)) => Err(Fault::new(Code::TooLarge, *place, format!("more than {most}"))),
        None if terms > MOST_TERMS => {
            Err(Fault::new(Code::TooLarge, "/grants", "more than 16 terms in a grant"))
        }
        None if text > MAX_TEXT => Err(Fault::new(Code::TooLarge, "/text", "longer than 16 KiB")),
        None => Ok(()),
    }
}

/// Nesting of arrays and objects, `[[1]]` being 2; what stands under a member `event` has the reader's own limit.
fn depth(value: &Value<'_>) -> usize {
    match value {
        Value::Array(values) => 1 + values.iter().map(depth).max().unwrap_or_default(),
        Value::Object(object) => {
            let inside = |(name, value): (&str, &Value<'_>)| if name == "event" { 1 } else { depth(value) };
            1 + object.iter().map(inside).max().unwrap_or_default()
        }
        _ => 0,
    }
}

pub(crate) fn instant<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
    let text = String::deserialize(deserializer)?;
    event::instant(&text).ok_or_else(|| serde::de::Error::custom("not an instant there is"))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
pub(crate) fn spell<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&event::spelled(*at))
}

/// A member that is there, `null` too.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value<'static>>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
