//! The patterns of the event schema: `^`, then items of one character class and a count, then `$`. ASCII, full match.
//!
//! An item takes as many characters as it may and gives none back, so a pattern whose item could take what the next one
//! needs is refused when it is read; the schema has none.

/// A compiled pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pattern(Vec<Item>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Item {
    /// One bit an ASCII character.
    class: u128,
    min: usize,
    max: usize,
}

impl Pattern {
    /// `None` for what is written otherwise.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut rest = text.strip_prefix('^')?.strip_suffix('$')?;
        let mut items: Vec<Item> = Vec::new();
        while !rest.is_empty() {
            let (class, after) = class(rest)?;
            let (min, max, after) = count(after)?;
            if let Some(last) = items.last()
                && last.min != last.max
                && last.class & class != 0
            {
                return None;
            }
            items.push(Item { class, min, max });
            rest = after;
        }
        Some(Self(items))
    }

    pub(crate) fn matches(&self, text: &str) -> bool {
        let mut rest = text.as_bytes();
        for item in &self.0 {
            let taken = rest.iter().take(item.max).take_while(|&&byte| item.class & bit(byte) != 0).count();
            if taken < item.min {
                return false;
            }
            rest = rest.get(taken..).unwrap_or_default();
        }
        rest.is_empty()
    }
}

const fn bit(byte: u8) -> u128 {
    if byte < 128 { 1 << byte } else { 0 }
}

fn class(text: &str) -> Option<(u128, &str)> {
    let mut chars = text.chars();
    match chars.next()? {
        '\\' => match chars.next()? {
            'd' => Some((range(b'0', b'9'), chars.as_str())),
            '.' => Some((bit(b'.'), chars.as_str())),
            _ => None,
        },
        '[' => {
            let (inside, after) = chars.as_str().split_once(']')?;
            let mut class = 0;
            let mut bytes = inside.as_bytes();
            while let Some((&from, rest)) = bytes.split_first() {
                if let [b'-', to, rest @ ..] = rest {
                    class |= range(from, *to);
                    bytes = rest;
                } else {
                    class |= bit(from);
                    bytes = rest;
                }
            }
            (!inside.contains(['\\', '^']) && class != 0).then_some((class, after))
        }
        plain if plain.is_ascii() && !"(){}*+?.|^$]".contains(plain) => {
            Some((bit(u8::try_from(plain).ok()?), chars.as_str()))
        }
        _ => None,
    }
}

fn range(from: u8, to: u8) -> u128 {
    (from..=to).fold(0, |class, byte| class | bit(byte))
}

fn count(text: &str) -> Option<(usize, usize, &str)> {
    if let Some(after) = text.strip_prefix('+') {
        return Some((1, usize::MAX, after));
    }
    if let Some(after) = text.strip_prefix('*') {
        return Some((0, usize::MAX, after));
    }
    let Some(inside) = text.strip_prefix('{') else { return Some((1, 1, text)) };
    let (inside, after) = inside.split_once('}')?;
    let (min, max) = inside.split_once(',').unwrap_or((inside, inside));
    Some((min.parse().ok()?, max.parse().ok()?, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_matched_is_the_whole_text() {
        let check = |pattern: &str, text: &str, expected: Option<bool>| {
            assert_eq!(Pattern::parse(pattern).map(|p| p.matches(text)), expected, "{pattern} {text}");
        };
        let id = "^[A-Za-z0-9._:-]+$";
        check(id, "a.b_c:d-9", Some(true));
        check(id, "", Some(false));
        check(id, "a b", Some(false));
        check(id, "a\n", Some(false));
        check(id, "\u{e9}", Some(false));
        check("^[0-9a-f]{4}$", "09af", Some(true));
        check("^[0-9a-f]{4}$", "09aF", Some(false));
        check("^[0-9a-f]{4}$", "09af0", Some(false));
        check(r"^\d{2}:\d{2}\.\d{1}Z$", "12:34.5Z", Some(true));
        check(r"^\d{2}:\d{2}\.\d{1}Z$", "12:34x5Z", Some(false));
        check(r"^\d{1}$", "\u{663}", Some(false));
        check("^[A-Za-z0-9+/]+={0,2}$", "ab==", Some(true));
        check("^[A-Za-z0-9+/]+={0,2}$", "ab===", Some(false));
        check("^[A-Za-z0-9+/]+={0,2}$", "a=b", Some(false));
        check("^[a-z]+[a-z0-9]$", "ab", None);
        check("^(a|b)$", "a", None);
        check("[a-z]+", "a", None);
    }
}
