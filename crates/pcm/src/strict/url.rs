use super::{Ambiguous, Host, host};
use std::fmt;

/// An `http` or `https` URL in its one spelling.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Url {
    text: String,
    host: Host,
    port: u16,
}

impl Url {
    pub fn as_str(&self) -> &str {
        &self.text
    }
    pub const fn host(&self) -> &Host {
        &self.host
    }
    /// The scheme's own where none is written.
    pub const fn port(&self) -> u16 {
        self.port
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A lower-case scheme, exactly `//`, a [`host`], a port that is not the scheme's own, a path and a query of the characters
/// RFC 3986 allows there. Refused: a user, a fragment, a backslash, a blank, a control character, a dot segment, a percent escape
/// in lower case or of a character that needs none. An empty path reads as `/`.
pub fn url(text: &str) -> Result<Url, Ambiguous> {
    read(text).ok_or(Ambiguous::Host)
}

fn read(text: &str) -> Option<Url> {
    let (scheme, own, rest) = match (text.strip_prefix("https://"), text.strip_prefix("http://")) {
        (Some(rest), _) => ("https", 443, rest),
        (None, rest) => ("http", 80, rest?),
    };
    let (authority, rest) = rest.split_at_checked(rest.find(['/', '?']).unwrap_or(rest.len()))?;
    let (name, port) = match authority.rsplit_once(':') {
        Some((name, digits)) if !digits.ends_with(']') => (name, Some(port(digits)?)),
        _ => (authority, None),
    };
    if port == Some(own) {
        return None;
    }
    let (path, query) = match rest.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (rest, None),
    };
    // What parsers disagree on in a query is the apostrophe.
    let dots = path.split('/').any(|part| matches!(part, "." | ".."));
    if dots || !escaped(path, b"/:@'") || !query.is_none_or(|query| escaped(query, b"/:@?")) {
        return None;
    }
    let host = host(name).ok()?;
    let (slash, tail) = (if path.is_empty() { "/" } else { "" }, rest);
    Some(Url { text: format!("{scheme}://{authority}{slash}{tail}"), host, port: port.unwrap_or(own) })
}

fn port(digits: &str) -> Option<u16> {
    let plain = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
    digits.parse().ok().filter(|_| plain)
}

/// Only unreserved characters, sub-delimiters but for the apostrophe, the `extra` ones, and percent escapes of others.
fn escaped(text: &str, extra: &[u8]) -> bool {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let good = match byte {
            b'%' => match (bytes.next().and_then(digit), bytes.next().and_then(digit)) {
                (Some(high), Some(low)) => !unreserved(high << 4 | low),
                _ => false,
            },
            byte => unreserved(byte) || b"!$&()*+,;=".contains(&byte) || extra.contains(&byte),
        };
        if !good {
            return false;
        }
    }
    true
}

const fn unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// A hexadecimal digit, in upper case.
const fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_one_reading() {
        let check = |input: &str, expected: Option<&str>| {
            assert_eq!(url(input).ok().as_ref().map(Url::as_str), expected, "{input:?}");
        };
        let good = |input: &str| check(input, Some(input));
        let bad = |input: &str| check(input, None);
        good("https://api.example.com/orders/81");
        good("http://127.0.0.1:8080/a?b=c&d=%20");
        good("https://[2001:db8::1]/");
        good("https://[2001:db8::1]:8443/x");
        good("https://a.example/it's");
        good("https://a.example/a//b");
        good("https://a.example/%C3%A9");
        check("https://a.example", Some("https://a.example/"));
        check("https://a.example?q=1", Some("https://a.example/?q=1"));
        bad("HTTPS://a.example/");
        bad("https://A.example/");
        bad("ftp://a.example/");
        bad("https:/a.example/");
        bad("https:///a.example/");
        bad("https:\\\\a.example/");
        bad("https://a.example\\@b.example/");
        bad("https://user@a.example/");
        bad("https://a.example:443/");
        bad("http://a.example:80/");
        bad("https://a.example:/");
        bad("https://a.example:0/");
        bad("https://a.example:08443/");
        bad("https://a.example:65536/");
        bad("https://a.example/#x");
        bad("https://a.example/a b");
        bad("https://a.example/a\tb");
        bad("https://a.example/\u{e9}");
        bad("https://a.example/%c3%a9");
        bad("https://a.example/%41");
        bad("https://a.example/%2E%2E/b");
        bad("https://a.example/%");
        bad("https://a.example/%4");
        bad("https://a.example/%4g");
        bad("https://a.example/../b");
        bad("https://a.example/a/.");
        bad("https://a.example/?it's");
        bad("https://a.example/{x}");
        bad("https://0127.0.0.1/");
        bad("https://0x7f000001/");
        bad(" https://a.example/");
        bad("view-source:https://a.example/");
    }

    #[test]
    fn the_port_is_the_schemes_own_or_the_one_written() {
        let check = |input: &str, host: &str, port: u16| {
            let url = url(input).unwrap();
            assert_eq!((url.host().as_str(), url.port()), (host, port));
        };
        check("https://a.example/", "a.example", 443);
        check("http://a.example:8080", "a.example", 8080);
        check("http://[::1]:81/", "[::1]", 81);
    }
}
