//! Who a request comes from, and how often it may come.

use crate::Error;
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter, clock::Clock};
use http::HeaderMap;
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::str::FromStr;

/// A range of addresses, `10.0.0.0/8` or a single address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    address: IpAddr,
    bits: u8,
}

/// Why a text is no [`Range`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no address or address range")]
pub struct RangeError(String);

impl Range {
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, plain(address)) {
            (IpAddr::V4(net), IpAddr::V4(ip)) => {
                shifted(u32::from(net), 32, self.bits) == shifted(u32::from(ip), 32, self.bits)
            }
            (IpAddr::V6(net), IpAddr::V6(ip)) => {
                shifted(u128::from(net), 128, self.bits) == shifted(u128::from(ip), 128, self.bits)
            }
            _ => false,
        }
    }
}

impl FromStr for Range {
    type Err = RangeError;
    fn from_str(text: &str) -> Result<Self, RangeError> {
        let bad = || RangeError(text.to_owned());
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u8>().map_err(|_| bad())?)),
            None => (text, None),
        };
        let address = plain(address.parse().map_err(|_| bad())?);
        let widest = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(widest);
        if bits > widest { Err(bad()) } else { Ok(Self { address, bits }) }
    }
}

impl<'de> serde::Deserialize<'de> for Range {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// The client's address: the peer, or, when the peer is a trusted proxy, the rightmost hop of `X-Forwarded-For` that is
/// none. Hops further left are the client's own words and change nothing.
pub fn client(peer: IpAddr, headers: &HeaderMap, trusted: &[Range]) -> IpAddr {
    let is_trusted = |address: IpAddr| trusted.iter().any(|range| range.contains(address));
    let mut client = plain(peer);
    if !is_trusted(client) {
        return client;
    }
    let hops: Vec<&str> = headers
        .get_all("x-forwarded-for")
        .iter()
        .flat_map(|value| value.to_str().unwrap_or("?").split(','))
        .collect();
    for hop in hops.into_iter().rev() {
        let Some(address) = hop_address(hop.trim()) else { return client };
        client = address;
        if !is_trusted(client) {
            return client;
        }
    }
    client
}

/// One bucket for each network a client can choose addresses in freely: an IPv4 address, an IPv6 /64.
pub fn bucket(address: IpAddr) -> IpAddr {
    match plain(address) {
        IpAddr::V6(ip) => IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() & !u128::from(u64::MAX))),
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// Token buckets by key. A rate of zero switches a bucket off.
#[derive(Debug)]
pub struct Bucket<K: Clone + std::hash::Hash + Eq> {
    code: &'static str,
    limiter: Option<DefaultKeyedRateLimiter<K>>,
}

impl<K: Clone + std::hash::Hash + Eq> Bucket<K> {
    pub fn per_minute(code: &'static str, rate: u32) -> Self {
        Self { code, limiter: NonZeroU32::new(rate).map(|rate| RateLimiter::keyed(Quota::per_minute(rate))) }
    }

    pub fn per_day(code: &'static str, rate: u32) -> Self {
        let quota = NonZeroU32::new(rate).and_then(|rate| {
            let period = std::time::Duration::from_secs(86_400) / rate.get();
            Some(Quota::with_period(period)?.allow_burst(rate))
        });
        Self { code, limiter: quota.map(RateLimiter::keyed) }
    }

    /// Takes one token, or says when there will be one.
    pub fn take(&self, key: &K) -> Result<(), Error> {
        let Some(limiter) = &self.limiter else { return Ok(()) };
        limiter.check_key(key).map_err(|until| {
            let wait = until.wait_time_from(governor::clock::DefaultClock::default().now());
            Error::RateLimited { code: self.code, retry_after: wait.as_secs().saturating_add(1) }
        })
    }

    /// Forgets keys whose bucket is full again.
    pub fn tidy(&self) {
        if let Some(limiter) = &self.limiter {
            limiter.retain_recent();
            limiter.shrink_to_fit();
        }
    }
}

fn plain(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(ip) => ip.to_ipv4_mapped().map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    }
}

fn shifted<T: std::ops::Shr<u32, Output = T> + Default>(value: T, width: u32, bits: u8) -> T {
    let away = width.saturating_sub(u32::from(bits));
    if away == width { T::default() } else { value >> away }
}

/// `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]:80`.
fn hop_address(hop: &str) -> Option<IpAddr> {
    let text = hop.trim_matches('"');
    if let Ok(address) = text.parse::<IpAddr>() {
        return Some(plain(address));
    }
    text.parse::<std::net::SocketAddr>().ok().map(|socket| plain(socket.ip()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(peer: &str, forwarded: &[&str], expected: &str) {
        let trusted = ["127.0.0.1", "10.0.0.0/8", "fd00::/8"].map(|text| text.parse().unwrap());
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append("x-forwarded-for", value.parse().unwrap());
        }
        let client = client(peer.parse().unwrap(), &headers, &trusted);
        assert_eq!(client.to_string(), expected, "{peer} {forwarded:?}");
    }

    #[test]
    fn the_rightmost_untrusted_hop_is_the_client() {
        check("203.0.113.9", &["198.51.100.1"], "203.0.113.9");
        check("127.0.0.1", &[], "127.0.0.1");
        check("127.0.0.1", &["198.51.100.1"], "198.51.100.1");
        check("::ffff:127.0.0.1", &["6.6.6.6, 198.51.100.1"], "198.51.100.1");
        check("127.0.0.1", &["6.6.6.6, 198.51.100.1, 10.1.2.3"], "198.51.100.1");
        check("127.0.0.1", &["6.6.6.6", "198.51.100.1:4711"], "198.51.100.1");
        check("10.0.0.1", &["[2001:db8::1]:80, fd00::5"], "2001:db8::1");
        check("127.0.0.1", &["198.51.100.1, nonsense"], "127.0.0.1");
    }

    #[test]
    fn fake_hops_share_one_bucket() {
        let trusted = ["127.0.0.1".parse().unwrap()];
        let buckets: Bucket<IpAddr> = Bucket::per_minute("rate_limited", 5);
        let mut refused = 0;
        for n in 0..20 {
            let mut headers = HeaderMap::new();
            headers.append("x-forwarded-for", format!("6.6.6.{n}, 198.51.100.1").parse().unwrap());
            let from = client("127.0.0.1".parse().unwrap(), &headers, &trusted);
            refused += usize::from(buckets.take(&bucket(from)).is_err());
        }
        assert_eq!(refused, 15);
    }

    #[test]
    fn an_ipv6_network_is_one_bucket() {
        for (one, two, same) in [
            ("2001:db8::1", "2001:db8::ffff:2", true),
            ("2001:db8::1", "2001:db8:0:1::1", false),
            ("::ffff:192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
        ] {
            assert_eq!(bucket(one.parse().unwrap()) == bucket(two.parse().unwrap()), same, "{one} {two}");
        }
    }
}
