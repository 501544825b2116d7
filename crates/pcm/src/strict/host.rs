use super::Ambiguous;
use core::net::Ipv6Addr;
use std::fmt;

/// A host in its one spelling: a name, four decimal numbers, or an IPv6 address in brackets.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Host(String);

impl Host {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the domain itself or a name below it. An address is under nothing but itself.
    pub fn is_under(&self, domain: &Self) -> bool {
        match self.0.strip_suffix(&domain.0) {
            Some("") => true,
            Some(rest) => rest.ends_with('.') && !self.is_address(),
            None => false,
        }
    }

    fn is_address(&self) -> bool {
        self.0.starts_with('[') || self.0.bytes().all(|b| b.is_ascii_digit() || b == b'.')
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Names: lower-case letters, digits and inner hyphens in labels of 1 to 63, at most 253 in all, no dot at the end. The last
/// label is no number in any notation. Labels of the `xn--` kind are outside: what they stand for differs between versions of
/// the rules. IPv4 has four decimal parts without leading zeros. IPv6 is as RFC 5952 spells it, in brackets, without a
/// zone, and carries no IPv4 address.
pub fn host(text: &str) -> Result<Host, Ambiguous> {
    let good = match text.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']').is_some_and(is_ipv6),
        None => is_ipv4(text) || is_name(text),
    };
    if good { Ok(Host(text.to_owned())) } else { Err(Ambiguous::Host) }
}

fn is_name(text: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
            && !label.starts_with("xn--")
    };
    let last = text.rsplit('.').next().unwrap_or_default();
    let numeric = last.bytes().all(|b| b.is_ascii_digit()) || last.starts_with("0x");
    text.len() <= 253 && text.split('.').all(label) && !numeric
}

fn is_ipv4(text: &str) -> bool {
    let part = |part: &str| {
        (1..=3).contains(&part.len())
            && part.bytes().all(|b| b.is_ascii_digit())
            && (part == "0" || !part.starts_with('0'))
            && part.parse::<u8>().is_ok()
    };
    text.split('.').count() == 4 && text.split('.').all(part)
}

fn is_ipv6(text: &str) -> bool {
    let Ok(address) = text.parse::<Ipv6Addr>() else { return false };
    let carries_ipv4 = match address.segments() {
        // Unspecified and loopback, then what used to be "compatible".
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => false,
        // Mapped, translated, NAT64, its local-use range, 6to4.
        [0, 0, 0, 0, 0, 0, ..] | [0, 0, 0, 0, 0, 0xffff, ..] | [0, 0, 0, 0, 0xffff, 0, ..] => true,
        [0x64, 0xff9b, 0, 0, 0, 0, ..] | [0x64, 0xff9b, 1, ..] | [0x2002, ..] => true,
        _ => false,
    };
    !carries_ipv4 && address.to_string() == text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_one_reading() {
        let check = |input: &str, good: bool| assert_eq!(host(input).is_ok(), good, "{input:?}");
        check("example.com", true);
        check("a.example", true);
        check("localhost", true);
        check("a-b.1a.example", true);
        check("127.0.0.1", true);
        check("255.255.255.255", true);
        check("[::1]", true);
        check("[2001:db8::1]", true);
        check("", false);
        check("Example.com", false);
        check("example.com.", false);
        check("a..example", false);
        check("-a.example", false);
        check("a-.example", false);
        check("a_b.example", false);
        check("bücher.example", false);
        check("xn--bcher-kva.example", false);
        check("0127.0.0.1", false);
        check("127.0.0.01", false);
        check("127.1", false);
        check("2130706433", false);
        check("0x7f.0.0.1", false);
        check("0x7f000001", false);
        check("example.0x1", false);
        check("example.08", false);
        check("1.2.3.4.5", false);
        check("1.2.3.256", false);
        check("::1", false);
        check("[::1%eth0]", false);
        check("[::ffff:127.0.0.1]", false);
        check("[::127.0.0.1]", false);
        check("[64:ff9b::7f00:1]", false);
        check("[2002:7f00:1::]", false);
        check("[2001:DB8::1]", false);
        check("[2001:db8:0:0:0:0:0:1]", false);
        check("a.example\\@b.example", false);
        check("a example", false);
        check("a%2eexample", false);
        check("a\u{3002}example", false);
        check(&format!("{}.example", "a".repeat(64)), false);
        check(&format!("{}.example", "a".repeat(63)), true);
        check(&["a"; 127].join("."), true);
        check(&["a"; 128].join("."), false);
    }

    #[test]
    fn under_a_domain_is_label_by_label() {
        let check = |name: &str, domain: &str, expected| {
            assert_eq!(host(name).unwrap().is_under(&host(domain).unwrap()), expected, "{name} {domain}");
        };
        check("example.com", "example.com", true);
        check("api.example.com", "example.com", true);
        check("notexample.com", "example.com", false);
        check("example.com", "api.example.com", false);
        check("10.0.0.1", "10.0.0.1", true);
        check("[::1]", "[::1]", true);
    }
}
