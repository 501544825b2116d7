use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether the address is one on the public internet. An IPv4 address within an IPv6 one (mapped, NAT64, ISATAP) is judged
/// as the IPv4 address; 6to4 and Teredo are refused whatever they carry. What the IANA special-purpose registries do not
/// call globally reachable is refused, and so is the one public address at which a cloud answers its own machines.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    !matches!(
        address.octets(),
        [0 | 10 | 127 | 224..=255, ..]
            | [100, 64..=127, ..]
            | [169, 254, ..]
            | [172, 16..=31, ..]
            | [192, 0, 0 | 2, _]
            | [192, 88, 99, _]
            | [192, 168, ..]
            | [198, 18 | 19, ..]
            | [198, 51, 100, _]
            | [203, 0, 113, _]
            | [168, 63, 129, 16]
    )
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        // RFC 4291 mapped, RFC 6052 NAT64.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        // Protocol assignments, among them Teredo and ORCHID; documentation; 6to4.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x2002, ..] | [0x3fff, 0..=0xfff, ..] => false,
        // ISATAP (RFC 5214).
        [0x2000..=0x3fff, _, _, _, 0 | 0x200, 0x5efe, high, low] => embedded(high, low),
        [0x2000..=0x3fff, ..] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(address: &str, public: bool) {
        assert_eq!(is_public(address.parse().unwrap()), public, "{address}");
    }

    #[test]
    fn only_public_addresses() {
        for address in ["1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.0", "172.15.0.1", "172.32.0.1"] {
            check(address, true);
        }
        for address in ["192.0.1.1", "198.17.0.1", "198.20.0.1", "223.255.255.255", "169.253.1.1", "11.0.0.1"]
        {
            check(address, true);
        }
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.100.100.200",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "169.254.170.2",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "168.63.129.16",
        ] {
            check(address, false);
        }
    }

    #[test]
    fn only_public_addresses_of_version_six() {
        for address in ["2606:4700:4700::1111", "2a00:1450:4001::1", "::ffff:1.1.1.1", "64:ff9b::8.8.8.8"] {
            check(address, true);
        }
        for address in [
            "::",
            "::1",
            "::127.0.0.1",
            "::1.1.1.1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::ffff:0:127.0.0.1",
            "64:ff9b::10.0.0.1",
            "64:ff9b::169.254.169.254",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:0:4136:e378:8000:63bf:3fff:fdd2",
            "2001:10::1",
            "2001:20::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "2002:808:808::",
            "2606:4700::5efe:10.0.0.1",
            "3fff::1",
            "3fff:fff::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            check(address, false);
        }
    }
}
