//! What the receiver of a message already has: trust in logs and witnesses (spec 3.13), and who may say what to whom.
//! Never taken from the sender.

use super::tools::registry_digest;
use crate::schema::Schema;
use crate::{Class, Error, Trust, event};
use canon::{Digest, Value};
use env::Duration;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// The trust document of messages. `pcm`, `evidence`, `receivers`, `speakers` and `registry` are required.
#[derive(Debug)]
pub struct Receiver {
    trust: Trust,
    wire: Wire,
    intents: BTreeMap<String, Agreed>,
    revoked: BTreeSet<Digest>,
    classes: Option<Vec<Class>>,
}

/// An intent that both sides agreed on.
#[derive(Debug)]
pub(crate) struct Agreed {
    pub(crate) digest: Digest,
    pub(crate) schema: Schema,
    pub(crate) units: BTreeMap<String, String>,
    /// Whether it may be asked only under a grant.
    pub(crate) grant: bool,
    /// The predicates of which a claim must be proven, or the message is not wholly accepted.
    pub(crate) claims: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    #[serde(rename = "pcm")]
    _version: String,
    evidence: Value<'static>,
    receivers: Vec<String>,
    speakers: Vec<Speaker>,
    registry: String,
    #[serde(default)]
    intents: Vec<Intent>,
    #[serde(default)]
    bridges: Vec<String>,
    #[serde(default)]
    break_glass: bool,
    #[serde(default)]
    witness_classes: Option<Value<'static>>,
    max_checkpoint_age_s: Option<u64>,
    #[serde(default = "a_day")]
    max_lifetime_s: u64,
    #[serde(default = "a_minute")]
    skew_s: u64,
    #[serde(default)]
    still: Vec<String>,
    #[serde(default)]
    revoked: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Speaker {
    origin: String,
    log_id: String,
    tenant: String,
    /// Absent: any agent of that tenant.
    agents: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Intent {
    #[serde(rename = "type")]
    kind: String,
    schema: Value<'static>,
    #[serde(default)]
    units: BTreeMap<String, String>,
    #[serde(default)]
    grant: bool,
    #[serde(default)]
    claims: Vec<String>,
}

impl Receiver {
    /// Whether a JSON value is meant as this document.
    pub fn is(value: &Value<'_>) -> bool {
        value.get("pcm").is_some() && value.get("speakers").is_some()
    }

    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() > Trust::MAX {
            return Err(Error::Trust("it is longer than 1 MiB"));
        }
        Self::read(&canon::parse(bytes)?)
    }

    /// Refuses what is not of the published schema, an intent's schema with a keyword that is not known here, and an intent
    /// agreed twice.
    pub fn read(value: &Value<'_>) -> Result<Self, Error> {
        let schema = SCHEMA.as_ref().ok_or(Error::Trust("its schema cannot be read"))?;
        schema.holds(value).map_err(|misfit| Error::Schema { place: misfit.place, why: misfit.why })?;
        let mut wire: Wire = canon::from_value(value.clone().into_static())?;
        let trust = Trust::read(&wire.evidence)?;
        let mut intents = BTreeMap::new();
        for intent in std::mem::take(&mut wire.intents) {
            let bytes = canon::to_vec(&intent.schema)?;
            let schema =
                Schema::read(&bytes).ok_or(Error::Trust("the schema of an intent cannot be read"))?;
            let digest = Digest::of(&bytes);
            let Intent { kind, units, grant, claims, .. } = intent;
            if intents.insert(kind, Agreed { digest, schema, units, grant, claims }).is_some() {
                return Err(Error::Trust("an intent is agreed twice"));
            }
        }
        let classes = match &wire.witness_classes {
            None => None,
            Some(list) => {
                Some(list.as_array().unwrap_or_default().iter().map(Class::read).collect::<Result<_, _>>()?)
            }
        };
        let revoked = wire.revoked.iter().filter_map(|hash| event::digest(hash)).collect();
        Ok(Self { trust, wire, intents, revoked, classes })
    }

    /// Trust in logs and witnesses, for bundles too.
    pub const fn trust(&self) -> &Trust {
        &self.trust
    }
    /// Whether this is one of its names.
    pub fn receives(&self, id: &str) -> bool {
        self.wire.receivers.iter().any(|own| own == id)
    }
    pub(crate) fn lets_speak(&self, from: &super::wire::Sender) -> bool {
        self.wire.speakers.iter().any(|speaker| {
            let log = speaker.origin == from.origin && speaker.log_id == from.log_id;
            let agents = speaker.agents.as_ref();
            log && speaker.tenant == from.tenant && agents.is_none_or(|agents| agents.contains(&from.agent))
        })
    }
    /// Whether the agreed registry of tools is the one that is read here.
    pub(crate) fn knows_tools(&self) -> bool {
        event::digest(&self.wire.registry) == Some(registry_digest())
    }
    pub(crate) fn intent(&self, kind: &str) -> Option<&Agreed> {
        self.intents.get(kind)
    }
    pub(crate) fn bridges(&self) -> &[String] {
        &self.wire.bridges
    }
    pub(crate) const fn break_glass(&self) -> bool {
        self.wire.break_glass
    }
    pub(crate) fn counts(&self, class: Class) -> bool {
        self.classes.as_ref().is_none_or(|classes| classes.contains(&class))
    }
    pub(crate) fn checkpoint_age(&self) -> Option<Duration> {
        self.wire.max_checkpoint_age_s.map(Duration::from_secs)
    }
    /// How far `exp` may be from `iat`: as long as is remembered what was accepted.
    pub(crate) const fn lifetime(&self) -> Duration {
        Duration::from_secs(self.wire.max_lifetime_s)
    }
    /// How far clocks may differ.
    pub const fn skew(&self) -> Duration {
        Duration::from_secs(self.wire.skew_s)
    }
    /// The predicates that count only with a proven `still_holds` of the claim.
    pub(crate) fn still(&self) -> &[String] {
        &self.wire.still
    }
    pub(crate) fn has_revoked(&self, grant: &Digest) -> bool {
        self.revoked.contains(grant)
    }
}

static SCHEMA: LazyLock<Option<Schema>> =
    LazyLock::new(|| Schema::read(include_bytes!("../../../../docs/schemas/pcm-trust.schema.json")));

const fn a_day() -> u64 {
    86_400
}

const fn a_minute() -> u64 {
    60
}
