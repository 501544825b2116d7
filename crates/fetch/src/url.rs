use crate::Error;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    Http,
    Https,
}

/// A host and a port, as an operator lists them: `127.0.0.1:8080`, `[::1]:8080`, `stub.internal:443`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostPort {
    host: String,
    port: u16,
}

impl FromStr for HostPort {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = || Error::BadUrl { why: "an allowed host is written host:port" };
        let destination = Destination::parse(&format!("http://{text}/")).map_err(|_| bad())?;
        // The port must be there, even where it is the scheme's own.
        let (host, port) = text.rsplit_once(':').ok_or_else(bad)?;
        let port: u16 = port.parse().map_err(|_| bad())?;
        if destination.port != port
            || !destination.host.eq_ignore_ascii_case(host)
            || destination.url.path() != "/"
        {
            return Err(bad());
        }
        Ok(Self { host: destination.host, port })
    }
}

impl TryFrom<String> for HostPort {
    type Error = Error;
    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl From<HostPort> for String {
    fn from(listed: HostPort) -> Self {
        listed.to_string()
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// An address that every reader takes for the same one.
///
/// Refused is whatever a browser and a plain RFC 3986 reader could take for different hosts: blanks, controls and
/// backslashes, a user part, escapes or non-ASCII in the host, numbers that only some read as an address (`0x7f.1`,
/// `2130706433`, `127.1`), a missing or surplus slash, a final dot. Also: any scheme but `http` and `https`, port 0,
/// more than 2,048 bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    pub(crate) url: url::Url,
    scheme: Scheme,
    host: String,
    port: u16,
}

const MAX_URL: usize = 2_048;

impl Destination {
    pub fn parse(text: &str) -> Result<Self, Error> {
        let refuse = |why| Err(Error::BadUrl { why });
        if text.len() > MAX_URL {
            return refuse("longer than 2048 bytes");
        }
        if text.bytes().any(|b| !b.is_ascii_graphic() || b == b'\\') {
            return refuse("blanks, controls, backslashes or non-ascii characters");
        }
        let (scheme, rest) =
            text.split_once("://").ok_or(Error::BadUrl { why: "not an absolute address" })?;
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "https" => Scheme::Https,
            "http" => Scheme::Http,
            _ => return Err(Error::SchemeRefused),
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.is_empty() {
            return refuse("no host");
        }
        if authority.contains(['@', '%']) {
            return refuse("a user part or an escape before the path");
        }
        let url = url::Url::parse(text).map_err(|_| Error::BadUrl { why: "not an address" })?;
        let Some(host) = url.host_str() else { return refuse("no host") };
        let port = url.port_or_known_default().filter(|port| *port != 0);
        let Some(port) = port else { return refuse("port 0") };
        // The plain reading: up to the last colon that is not within brackets.
        let end = authority.rfind(']').map_or(0, |at| at.saturating_add(1));
        let plain = match authority.get(end..).and_then(|tail| tail.find(':')) {
            Some(colon) => authority.get(..end.saturating_add(colon)).unwrap_or_default(),
            None => authority,
        };
        if !plain.eq_ignore_ascii_case(host) && !same_v6(plain, host) {
            return refuse("a host that readers disagree on");
        }
        if host.ends_with('.') || host.starts_with('.') || host.contains("..") {
            return refuse("a host with an empty label");
        }
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'[' | b']' | b':');
        if !host.bytes().all(plain) {
            return refuse("a host with characters that host names do not have");
        }
        let host = host.to_owned();
        Ok(Self { url, scheme, host, port })
    }

    pub const fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Lower case; an IPv6 address in brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    pub const fn port(&self) -> u16 {
        self.port
    }

    pub fn as_str(&self) -> &str {
        self.url.as_str()
    }

    /// Scheme, host, and the port where it is not the scheme's own.
    pub fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    /// The address, where the host is one.
    pub fn address(&self) -> Option<IpAddr> {
        match self.url.host() {
            Some(url::Host::Ipv4(address)) => Some(IpAddr::V4(address)),
            Some(url::Host::Ipv6(address)) => Some(IpAddr::V6(address)),
            Some(url::Host::Domain(_)) | None => None,
        }
    }

    pub(crate) fn is_listed(&self, allow: &[HostPort]) -> bool {
        allow.iter().any(|listed| listed.host == self.host && listed.port == self.port)
    }
}

/// Two spellings of one IPv6 address.
fn same_v6(plain: &str, host: &str) -> bool {
    let read = |text: &str| text.strip_prefix('[')?.strip_suffix(']')?.parse::<std::net::Ipv6Addr>().ok();
    read(plain).is_some_and(|address| read(host) == Some(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<(&str, u16)>) {
        let parsed = Destination::parse(text).ok();
        let read = parsed.as_ref().map(|destination| (destination.host(), destination.port()));
        assert_eq!(read, expected, "{text:?}");
    }

    #[test]
    fn one_reading_or_none() {
        check("https://example.com/a?b=c#d", Some(("example.com", 443)));
        check("HTTPS://EXAMPLE.com", Some(("example.com", 443)));
        check("http://example.com:8080/", Some(("example.com", 8080)));
        check("https://93.184.216.34/", Some(("93.184.216.34", 443)));
        check("https://[2606:4700:0::1111]:8443/x", Some(("[2606:4700::1111]", 8443)));
        check("https://xn--bcher-kva.example/", Some(("xn--bcher-kva.example", 443)));
        check("https://example.com/a@b:c%00", Some(("example.com", 443)));
        for bad in [
            "",
            "example.com",
            "/path",
            "ftp://example.com/",
            "file:///etc/passwd",
            "gopher://example.com/",
            "view-source:https://example.com/",
            "blob:https://example.com/x",
            "javascript:alert(1)",
            "https:example.com",
            "https:/example.com/",
            "https:///example.com/",
            "https:////example.com/",
            "https://",
            "https://?x",
            "https://user@example.com/",
            "https://user:pw@example.com/",
            "https://example.com\\@127.0.0.1/",
            "https:\\\\example.com/",
            "https://exa\tmple.com/",
            "https://exa\nmple.com/",
            " https://example.com/",
            "https://example.com/ ",
            "https://example.com%2f@127.0.0.1/",
            "https://%31%32%37.0.0.1/",
            "https://127.1/",
            "https://0x7f.0.0.1/",
            "https://0x7f000001/",
            "https://0177.0.0.1/",
            "https://2130706433/",
            "https://127.0.0.08/",
            "https://1.2.3.4.5/",
            "https://256.1.1.1/",
            "https://４127.0.0.1/",
            "https://127。0。0。1/",
            "https://ⓛocalhost/",
            "https://bücher.example/",
            "https://example.com./",
            "https://127.0.0.1./",
            "https://.example.com/",
            "https://a..b/",
            "https://example.com:0/",
            "https://example.com:99999/",
            "https://example.com:80:80/",
            "https://[::1/",
            "https://[fe80::1%25eth0]/",
            "https://[::1]x/",
            "https://exa mple.com/",
            "https://exa<mple.com/",
            "https://*/",
            "https://a!b/",
        ] {
            check(bad, None);
        }
        check(&format!("https://example.com/{}", "a".repeat(2_048)), None);
    }

    fn check_listed(text: &str, good: bool) {
        let parsed = text.parse::<HostPort>();
        assert_eq!(parsed.is_ok(), good, "{text:?}");
        if let Ok(listed) = parsed {
            assert_eq!(listed.to_string(), text.to_ascii_lowercase());
        }
    }

    #[test]
    fn listed_hosts_have_a_port_and_nothing_else() {
        for good in ["127.0.0.1:8080", "[::1]:8080", "localhost:80", "Stub.internal:443"] {
            check_listed(good, true);
        }
        for bad in [
            "127.0.0.1",
            "localhost",
            "*:80",
            "http://a:80",
            "a:80/x",
            "a:0",
            ":80",
            "a:80?x",
            "u@a:80",
            "127.1:80",
        ] {
            check_listed(bad, false);
        }
    }
}
