//! What an operator may set. One TOML file, environment over it; every field has a default that is safe on loopback.

use crate::limits::Range;
use approvals::OrgId;
use http::uri::Authority;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use std::collections::{BTreeMap, BTreeSet};
use url::Url;

/// The server's configuration. Unknown fields are refused.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where people and agents reach this server; links start with it. Its host is always an allowed `Host`.
    pub public_url: Url,
    /// Further accepted `Host` values, with or without a port.
    pub allowed_hosts: Vec<String>,
    /// Further accepted `Origin` values (`https://app.example.com`). The server's own origin always is.
    pub allowed_origins: Vec<String>,
    /// Proxies whose `X-Forwarded-For` hops are believed.
    pub trusted_proxies: Vec<Range>,
    /// The organizations of this server. Streams are never shared between them.
    pub organizations: Vec<String>,
    /// Opening a room needs a member's agent key or session.
    pub sign_in: bool,
    pub rooms: Rooms,
    pub limits: Limits,
    /// `/metrics` answers loopback, and others that bring this bearer token.
    pub metrics_token: Option<String>,
    /// Seats this server can play itself, by the name a room asks for.
    pub proxies: BTreeMap<String, Proxy>,
    /// Which of `proxies` drafts intent cards.
    pub draft_with: Option<String>,
    /// `host:port` pairs that outgoing calls may reach although they are not public.
    pub fetch_allow: Vec<String>,
    /// Serve the `v0` profile at `/v0`.
    pub v0: bool,
}

/// Defaults of a new room.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rooms {
    pub max_turns: u32,
    /// A seat that stays silent this long stalls the room. `"off"` or 0: it may stay silent for ever; so for the next two.
    #[serde(deserialize_with = "deadline")]
    pub turn_seconds: Option<u64>,
    /// A person who stays silent this long stalls the room. They are reminded once, at half time.
    #[serde(deserialize_with = "deadline")]
    pub escalation_seconds: Option<u64>,
    /// A proposal lapses after this long.
    #[serde(deserialize_with = "deadline")]
    pub offer_seconds: Option<u64>,
    /// A relayed answer pauses the room until the person confirms it.
    pub hold_relayed: bool,
}

/// How much, how often. A rate of zero switches that limit off.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Requests a minute from one address (IPv6: one /64).
    pub address_per_minute: u32,
    /// Requests a minute with one credential.
    pub credential_per_minute: u32,
    /// Rooms opened a day from one address or by one member.
    pub rooms_per_day: u32,
    /// Drafts a day for one credential.
    pub drafts_per_day: u32,
    /// Body of an HTTP request, bytes.
    pub body: usize,
    /// Body of an MCP request, bytes.
    pub mcp_body: usize,
    /// The longest wait for a turn, seconds.
    pub wait_seconds: u64,
    /// Event streams in all, in one room, and with one credential.
    pub streams: usize,
    pub streams_per_room: usize,
    pub streams_per_credential: usize,
    pub connections: usize,
}

/// What drives a seat of this server's own.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Proxy {
    /// Plays a fixed list of envelopes.
    Scripted { envelopes: Vec<serde_json::Value> },
    /// An endpoint that speaks OpenAI's chat completions: `{url}/chat/completions`.
    Openai(Endpoint),
    /// An endpoint that speaks Anthropic's messages: `{url}/v1/messages`.
    Anthropic(Endpoint),
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    pub url: Url,
    pub model: String,
    /// File that holds the API key. Read at start.
    #[serde(default)]
    pub key_file: Option<std::path::PathBuf>,
    #[serde(default)]
    pub key: Option<String>,
    #[serde(default = "forty")]
    pub timeout_seconds: u64,
}

/// A value that has the right type and cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {why}")]
pub struct BadValue {
    /// The key, dotted, as in the file.
    pub key: String,
    pub why: String,
}

impl Default for Config {
    fn default() -> Self {
        // INVARIANT: the literal is a URL.
        #[expect(clippy::expect_used, reason = "a constant")]
        let public_url = Url::parse("http://localhost:8080").expect("a URL");
        Self {
            public_url,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            trusted_proxies: Vec::new(),
            organizations: vec!["home".to_owned()],
            sign_in: false,
            rooms: Rooms::default(),
            limits: Limits::default(),
            metrics_token: None,
            proxies: BTreeMap::new(),
            draft_with: None,
            fetch_allow: Vec::new(),
            v0: false,
        }
    }
}

impl Default for Rooms {
    fn default() -> Self {
        Self {
            max_turns: 20,
            turn_seconds: Some(7 * 24 * 3600),
            escalation_seconds: Some(14 * 24 * 3600),
            offer_seconds: Some(7 * 24 * 3600),
            hold_relayed: false,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            address_per_minute: 1200,
            credential_per_minute: 600,
            rooms_per_day: 100,
            drafts_per_day: 20,
            body: 64 * 1024,
            mcp_body: 256 * 1024,
            wait_seconds: 25,
            streams: 2000,
            streams_per_room: 40,
            streams_per_credential: 5,
            connections: 20_000,
        }
    }
}

impl Config {
    /// Refuses what no server could work with: addresses that are none, names that no stream can have, a model that is not
    /// there. To be asked once, before anything is opened.
    pub fn check(&self) -> Result<(), BadValue> {
        let bad = |key: String, why: &str| Err(BadValue { key, why: why.to_owned() });
        web_address("public_url", &self.public_url)?;
        for (index, host) in self.allowed_hosts.iter().enumerate() {
            let plain = Authority::try_from(host.as_str()).is_ok_and(|host| !host.as_str().contains('@'));
            if !plain {
                return bad(format!("allowed_hosts.{index}"), "not a host, with or without a port");
            }
        }
        for (index, origin) in self.allowed_origins.iter().enumerate() {
            let spelled = Url::parse(origin).map(|url| url.origin().ascii_serialization());
            if spelled.as_deref() != Ok(origin.trim_end_matches('/').to_ascii_lowercase().as_str()) {
                return bad(
                    format!("allowed_origins.{index}"),
                    "not an origin, such as https://app.example.com",
                );
            }
        }
        let mut known = BTreeSet::new();
        for (index, name) in self.organizations.iter().enumerate() {
            if !OrgId(name.clone()).is_valid() {
                let why = "not a name of 1 to 40 small letters, digits and hyphens";
                return bad(format!("organizations.{index}"), why);
            }
            if !known.insert(name) {
                return bad(format!("organizations.{index}"), "named twice");
            }
        }
        for (name, proxy) in &self.proxies {
            let (Proxy::Openai(endpoint) | Proxy::Anthropic(endpoint)) = proxy else { continue };
            web_address(&format!("proxies.{name}.url"), &endpoint.url)?;
        }
        match &self.draft_with {
            Some(name) if !self.proxies.contains_key(name) => {
                bad("draft_with".to_owned(), "no proxy has that name")
            }
            _ => Ok(()),
        }
    }

    /// The address of a page, without a trailing slash before `path`.
    pub fn link(&self, path: &str) -> String {
        format!("{}{path}", self.public_url.as_str().trim_end_matches('/'))
    }

    /// Scheme, host and port as a browser spells an origin.
    pub fn origin(&self) -> String {
        self.public_url.origin().ascii_serialization()
    }

    /// The relying party id of passkeys: the public host. An address is none, so loopback is `localhost`.
    pub fn rp_id(&self) -> String {
        match self.public_url.host_str() {
            None | Some("127.0.0.1" | "[::1]") => "localhost".to_owned(),
            Some(host) => host.to_owned(),
        }
    }

    /// The origins of this server's own pages. On loopback a browser may use another spelling of the same host.
    pub fn page_origins(&self) -> Vec<String> {
        let own = self.origin();
        let mut origins = vec![own.clone()];
        if let Some(port) = self.public_url.port()
            && matches!(self.public_url.host_str(), Some("127.0.0.1" | "localhost"))
        {
            let other = format!("http://localhost:{port}");
            if other != own {
                origins.push(other);
            }
        }
        origins
    }

    pub fn is_https(&self) -> bool {
        self.public_url.scheme() == "https"
    }
}

/// `http` or `https`, a host, and nothing that would end up in every address made of it.
fn web_address(key: &str, url: &Url) -> Result<(), BadValue> {
    let why = if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
        "not an http or https address"
    } else if !url.username().is_empty() || url.password().is_some() {
        "an address here has no user name and no password"
    } else if url.query().is_some() || url.fragment().is_some() {
        "an address here has no query and no fragment"
    } else {
        return Ok(());
    };
    Err(BadValue { key: key.to_owned(), why: why.to_owned() })
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint")
            .field("url", &self.url.as_str())
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

/// Seconds up to a year, or none for 0 and `"off"`.
fn deadline<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    const YEAR: u64 = 366 * 86_400;
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Seconds(u64),
        Word(String),
    }
    match Written::deserialize(from) {
        Ok(Written::Seconds(0)) => Ok(None),
        Ok(Written::Seconds(seconds)) if seconds <= YEAR => Ok(Some(seconds)),
        Ok(Written::Word(word)) if word == "off" => Ok(None),
        _ => Err(D::Error::custom("expected seconds, at most 31622400 (366 days), or \"off\"")),
    }
}

const fn forty() -> u64 {
    40
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_cannot_be_are_named() {
        let check = |written: serde_json::Value, expected: Option<&str>| {
            let config: Config = serde_json::from_value(written.clone()).unwrap();
            let found = config.check().err().map(|bad| bad.key);
            assert_eq!(found.as_deref(), expected, "{written}");
        };
        let address = |url: &str, expected| {
            check(serde_json::json!({ "public_url": url }), expected);
            let proxy = serde_json::json!({ "kind": "openai", "url": url, "model": "m" });
            let expected = expected.map(|_| "proxies.one.url");
            check(serde_json::json!({ "proxies": { "one": proxy } }), expected);
        };
        address("https://sign.example", None);
        address("http://127.0.0.1:8080/base/", None);
        for bad in [
            "ftp://sign.example",
            "mailto:ana@example.com",
            "file:///srv",
            "https://ana:secret@sign.example",
            "https://sign.example/?a=1",
            "https://sign.example/#a",
            "javascript:0",
        ] {
            address(bad, Some("public_url"));
        }
        let names = |names: &[&str], expected| check(serde_json::json!({ "organizations": names }), expected);
        names(&["home", "other-org"], None);
        names(&["home", ""], Some("organizations.1"));
        names(&["a/b"], Some("organizations.0"));
        names(&["Home"], Some("organizations.0"));
        names(&["home", "home"], Some("organizations.1"));
        let hosts = |host: &str, expected| check(serde_json::json!({ "allowed_hosts": [host] }), expected);
        hosts("extra.example:8443", None);
        hosts("[::1]:80", None);
        hosts("https://extra.example", Some("allowed_hosts.0"));
        hosts("ana@extra.example", Some("allowed_hosts.0"));
        hosts("", Some("allowed_hosts.0"));
        let origins =
            |origin: &str, expected| check(serde_json::json!({ "allowed_origins": [origin] }), expected);
        origins("https://app.example", None);
        origins("https://App.example/", None);
        origins("app.example", Some("allowed_origins.0"));
        origins("https://app.example/page", Some("allowed_origins.0"));
        origins("null", Some("allowed_origins.0"));
        check(serde_json::json!({ "draft_with": "nobody" }), Some("draft_with"));
    }

    #[test]
    fn deadlines_are_seconds_or_off() {
        let check = |written: &str, expected: Result<Option<u64>, ()>| {
            let text = format!(r#"{{"turn_seconds":{written}}}"#);
            let read = serde_json::from_str::<Rooms>(&text).map(|rooms| rooms.turn_seconds).map_err(drop);
            assert_eq!(read, expected, "{written}");
        };
        check("0", Ok(None));
        check("\"off\"", Ok(None));
        check("1", Ok(Some(1)));
        check("31622400", Ok(Some(31_622_400)));
        for bad in ["31622401", "-1", "1.5", "\"on\"", "\"\"", "null", "true"] {
            check(bad, Err(()));
        }
        assert_eq!(Rooms::default().turn_seconds, Some(604_800));
    }
}
