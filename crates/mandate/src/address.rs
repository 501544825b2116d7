//! Cardano addresses (CIP-19 in bech32, BIP 173), as an action's recipient may spell them (spec 1.1).

use crate::text::{KeyHash, TextError, spelled};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smol_str::SmolStr;
use std::fmt;
use std::str::FromStr;

/// A Shelley payment address: base (types 0 to 3) or enterprise (6, 7). Pointer, Byron and reward addresses are refused,
/// and so is upper case, bech32m, and a prefix that is not the network's.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Address {
    text: SmolStr,
    network: Network,
    payment: Credential,
    stake: Option<Credential>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Network {
    Test,
    Main,
}

/// What must sign, or run, to spend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Credential {
    Key(KeyHash),
    Script(KeyHash),
}

impl Credential {
    pub const fn hash(&self) -> &KeyHash {
        match self {
            Self::Key(hash) | Self::Script(hash) => hash,
        }
    }
}

impl Network {
    /// The chain tag of an authorization, and the network number in an address.
    pub const fn tag(self) -> u8 {
        match self {
            Self::Test => 0,
            Self::Main => 1,
        }
    }

    /// The checksum after the prefix.
    const fn checksum(self) -> u32 {
        match self {
            Self::Test => 0x0bda_92c6,
            Self::Main => 0x1774_7fcb,
        }
    }

    const fn prefix(self) -> &'static str {
        match self {
            Self::Test => "addr_test",
            Self::Main => "addr",
        }
    }
}

impl Address {
    pub fn new(network: Network, payment: Credential, stake: Option<Credential>) -> Self {
        let text = encode(network.prefix(), &bytes(network, payment, stake)).into();
        Self { text, network, payment, stake }
    }

    /// As outputs and wallets write it (CIP-19).
    pub fn to_bytes(&self) -> Vec<u8> {
        bytes(self.network, self.payment, self.stake)
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }
    pub const fn network(&self) -> Network {
        self.network
    }
    pub const fn payment(&self) -> &Credential {
        &self.payment
    }
    pub const fn stake(&self) -> Option<&Credential> {
        self.stake.as_ref()
    }
}

impl FromStr for Address {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Self, TextError> {
        read(text).ok_or(TextError("a Shelley payment address in lower-case bech32"))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

spelled!(held: [] Address);

const LONGEST: usize = 200;
const LETTERS: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
/// The value of each letter; 255 for what is none.
const VALUES: [u8; 256] = values();

#[expect(clippy::indexing_slicing, reason = "evaluated when compiled")]
#[expect(clippy::as_conversions, reason = "evaluated when compiled")]
const fn values() -> [u8; 256] {
    let mut values = [255; 256];
    let mut at = 0_u8;
    while at < 32 {
        values[LETTERS[at as usize] as usize] = at;
        at += 1;
    }
    values
}

fn read(text: &str) -> Option<Address> {
    if text.len() > LONGEST {
        return None;
    }
    let prefixed = |network: Network| text.strip_prefix(network.prefix())?.strip_prefix('1');
    let (network, data) = match (prefixed(Network::Test), prefixed(Network::Main)) {
        (Some(data), _) => (Network::Test, data),
        (_, Some(data)) => (Network::Main, data),
        (None, None) => return None,
    };
    let (data, checksum) = data.as_bytes().split_last_chunk::<6>()?;
    let (mut check, mut letters) = (network.checksum(), 0);
    let mut value = |letter: &u8| {
        let value = VALUES.get(usize::from(*letter)).copied().unwrap_or(255);
        check = polymod(check, value);
        letters |= value;
        u64::from(value)
    };
    // Eight letters are five bytes.
    let mut bytes = [0_u8; 60];
    for (bytes, letters) in bytes.as_chunks_mut::<5>().0.iter_mut().zip(data.chunks(8)) {
        let bits = letters.iter().fold(0, |bits, letter| (bits << 5) | value(letter));
        let [_, _, _, read @ ..] = (bits << (40 - 5 * letters.len())).to_be_bytes();
        *bytes = read;
    }
    for letter in checksum {
        value(letter);
    }
    // Constant 1 is bech32. What is left of the last letter is less than a letter, and zeros.
    let (length, left) = (data.len() * 5 / 8, data.len() * 5 % 8);
    if check != 1 || letters > 31 || left > 4 || *bytes.get(length)? != 0 {
        return None;
    }
    let (head, rest) = bytes.get(..length)?.split_first()?;
    if head & 15 != network.tag() {
        return None;
    }
    let (payment, stake) = rest.split_at_checked(28)?;
    let payment = KeyHash::from_bytes(payment.try_into().ok()?);
    let stake = || stake.try_into().ok().map(KeyHash::from_bytes);
    let (payment, stake) = match head >> 4 {
        0 => (Credential::Key(payment), Some(Credential::Key(stake()?))),
        1 => (Credential::Script(payment), Some(Credential::Key(stake()?))),
        2 => (Credential::Key(payment), Some(Credential::Script(stake()?))),
        3 => (Credential::Script(payment), Some(Credential::Script(stake()?))),
        6 if length == 29 => (Credential::Key(payment), None),
        7 if length == 29 => (Credential::Script(payment), None),
        _ => return None,
    };
    Some(Address { text: text.into(), network, payment, stake })
}

fn bytes(network: Network, payment: Credential, stake: Option<Credential>) -> Vec<u8> {
    let kind = match (payment, stake) {
        (Credential::Key(_), Some(Credential::Key(_))) => 0,
        (Credential::Script(_), Some(Credential::Key(_))) => 1,
        (Credential::Key(_), Some(Credential::Script(_))) => 2,
        (Credential::Script(_), Some(Credential::Script(_))) => 3,
        (Credential::Key(_), None) => 6,
        (Credential::Script(_), None) => 7,
    };
    let mut bytes = vec![(kind << 4) | network.tag()];
    bytes.extend_from_slice(payment.hash().as_bytes());
    bytes.extend(stake.iter().flat_map(|stake| stake.hash().as_bytes()));
    bytes
}

fn encode(prefix: &str, bytes: &[u8]) -> String {
    let mut text = format!("{prefix}1");
    let mut check = expanded(prefix);
    let (mut bits, mut width) = (0_u32, 0_u32);
    let mut push = |text: &mut String, value: u32| {
        let value = u8::try_from(value & 31).unwrap_or(0);
        check = polymod(check, value);
        text.extend(LETTERS.get(usize::from(value)).map(|&letter| char::from(letter)));
    };
    for &byte in bytes {
        bits = ((bits << 8) | u32::from(byte)) & 0xfff;
        width += 8;
        while width >= 5 {
            width -= 5;
            push(&mut text, bits >> width);
        }
    }
    if width > 0 {
        push(&mut text, bits << (5 - width));
    }
    let end = (0..6).fold(check, |check, _| polymod(check, 0)) ^ 1;
    for at in (0..6).rev() {
        let value = (end >> (5 * at)) & 31;
        text.extend(usize::try_from(value).ok().and_then(|at| LETTERS.get(at)).map(|&l| char::from(l)));
    }
    text
}

/// The checksum after the prefix.
fn expanded(prefix: &str) -> u32 {
    let high = prefix.bytes().fold(1, |check, b| polymod(check, b >> 5));
    prefix.bytes().fold(polymod(high, 0), |check, b| polymod(check, b & 31))
}

fn polymod(check: u32, value: u8) -> u32 {
    // INVARIANT: 30 bits less 25 leave five, and the table has 32 rows.
    let row = usize::try_from((check >> 25) & 31).unwrap_or(0);
    ((check & 0x1ff_ffff) << 5) ^ u32::from(value) ^ FEEDBACK.get(row).copied().unwrap_or(0)
}

/// What the five bits that leave put back, for each of their 32 values.
const FEEDBACK: [u32; 32] = feedback();

#[expect(clippy::indexing_slicing, reason = "evaluated when compiled")]
const fn feedback() -> [u32; 32] {
    const GENERATORS: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
    let mut table = [0; 32];
    let mut row = 0;
    while row < 32 {
        let mut bit = 0;
        while bit < 5 {
            if (row >> bit) & 1 == 1 {
                table[row] ^= GENERATORS[bit];
            }
            bit += 1;
        }
        row += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "addr_test1vzs6rgdp5xs6rgdp5xs6rgdp5xs6rgdp5xs6rgdp5xs6rggfw5wvl";
    const ESCROW: &str = "addr_test1wqplkq2g25g5ctsdaapk69dmxmp0lt005kw6dtat4k9yzdclx093f";
    const SINK: &str = "addr_test1wq3vnggra5ljl2tunqkhd4hz4agvt422cvrfswcedj8um2cwsu3l3";
    const STAKED: &str = "addr_test1xqg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyfzyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3qln0vfx";
    /// CIP-19's test vectors for mainnet: base key/key, pointer, reward; and a Byron address.
    const MAIN: &str = "addr1qx2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzer3n0d3vllmyqwsx5wktcd8cc3sq835lu7drv2xwl2wywfgse35a3x";
    const POINTER: &str = "addr1gx2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzer5pnz75xxcrzqf96k";
    const REWARD: &str = "stake1uyehkck0lajq8gr28t9uxnuvgcqrc6070x3k9r8048z8y5gh6ffgw";

    fn parts(text: &str) -> Option<(u8, bool, String, Option<bool>)> {
        let address = text.parse::<Address>().ok()?;
        assert_eq!(Address::new(address.network, address.payment, address.stake), address);
        let script = |credential: &Credential| matches!(credential, Credential::Script(_));
        Some((
            address.network.tag(),
            script(&address.payment),
            address.payment.hash().to_string(),
            address.stake.as_ref().map(script),
        ))
    }

    #[test]
    fn addresses_are_read_and_written_alike() {
        let check = |text: &str, expected: (u8, bool, &str, Option<bool>)| {
            let (network, script, hash, stake) = expected;
            assert_eq!(parts(text), Some((network, script, hash.to_owned(), stake)), "{text}");
        };
        check(KEY, (0, false, "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1", None));
        check(ESCROW, (0, true, "03fb014855114c2e0def436d15bb36c2ffadefa59da6afabad8a4137", None));
        check(SINK, (0, true, "22c9a103ed3f2fa97c982d76d6e2af50c5d54ac306983b196c8fcdab", None));
        check(STAKED, (0, true, "11111111111111111111111111111111111111111111111111111111", Some(true)));
        check(MAIN, (1, false, "9493315cd92eb5d8c4304e67b7e16ae36d61d34502694657811a2c8e", Some(false)));
    }

    #[test]
    fn other_addresses_are_refused() {
        let check = |text: &str| assert_eq!(parts(text), None, "{text}");
        for bad in [
            POINTER,
            REWARD,
            "",
            "1",
            "addr1",
            "addr_test1",
            "Ae2tdPwUPEZFRbyhz3cpfC2CumGzNkFBN2L42rcUc2yjQpEkxDbkPodpMAi",
        ] {
            check(bad);
        }
        check(&KEY.to_uppercase());
        check(&KEY.replace("vl", "vq"));
        check(&format!("{KEY}q"));
        check(&KEY.replacen("addr_test", "addr", 1));
        // Right checksum over the wrong things: lengths, networks, kinds, prefixes.
        for (prefix, head, length) in [
            ("addr_test", 0x60, 28),
            ("addr_test", 0x60, 27),
            ("addr_test", 0x60, 57),
            ("addr_test", 0x00, 29),
            ("addr_test", 0x00, 58),
            ("addr_test", 0x62, 29),
            ("addr_test", 0x61, 29),
            ("addr", 0x60, 29),
            ("addr_test", 0x80, 29),
            ("addr_test", 0xe0, 29),
            ("addr_tes", 0x60, 29),
        ] {
            let mut bytes = vec![7; length];
            bytes[0] = head;
            check(&encode(prefix, &bytes));
        }
        // Bech32m has another constant; one more letter of padding.
        let bytes: Vec<u8> = std::iter::once(0x60).chain([7; 28]).collect();
        assert!(parts(&encode("addr_test", &bytes)).is_some());
    }

    #[test]
    fn a_prefix_begins_the_checksum() {
        for network in [Network::Test, Network::Main] {
            assert_eq!(network.checksum(), expanded(network.prefix()));
        }
    }

    #[test]
    fn every_letter_counts() {
        for at in 0..KEY.len() {
            for letter in "qp1_a".chars().filter(|&letter| KEY.chars().nth(at) != Some(letter)) {
                let mut text = KEY.to_owned();
                text.replace_range(at..=at, &letter.to_string());
                assert_eq!(parts(&text), None, "{text}");
            }
        }
    }
}
