//! Text that strangers wrote, before a person reads it (UTS 39 and its neighbours).
//!
//! The bytes that are hashed and signed are never changed here: [`show`] only says how they are displayed.

use crate::Refusal;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use unicode_security::MixedScript as _;
use unicode_security::mixed_script::AugmentedScriptSet;

/// The longest identifier: a person's, an agent's or a counterparty's name. In characters.
pub const MAX_NAME: usize = 100;

/// What is odd about a text. Listed above the text in a brief.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Suspicion {
    /// Control characters other than line feed and tab.
    Control,
    /// Characters that turn the reading direction.
    Bidi,
    /// Characters without a glyph: zero-width, fillers, soft hyphens, variation selectors out of place.
    Hidden,
    /// Tag characters (U+E0000 to U+E007F): text that only machines read.
    Tag,
    /// Letters of several scripts within one word.
    MixedScript,
    /// More combining marks on one letter than any language uses.
    Stacked,
    /// A host name in its `xn--` spelling.
    Punycode,
    /// Spaces that are not the plain one.
    OddSpace,
}

impl Suspicion {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Control => "control_character",
            Self::Bidi => "bidi_character",
            Self::Hidden => "hidden_character",
            Self::Tag => "tag_character",
            Self::MixedScript => "mixed_script",
            Self::Stacked => "stacked_marks",
            Self::Punycode => "punycode_host",
            Self::OddSpace => "odd_space",
        }
    }

    /// One line for a person.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Control => "The text contains control characters.",
            Self::Bidi => "The text contains characters that change the reading direction.",
            Self::Hidden => "The text contains characters that cannot be seen.",
            Self::Tag => "The text contains tag characters, which only machines read.",
            Self::MixedScript => "A word mixes letters of several alphabets.",
            Self::Stacked => "Marks are stacked on a letter.",
            Self::Punycode => "A host name is written in its xn-- form.",
            Self::OddSpace => "The text contains unusual spaces.",
        }
    }
}

/// The text with everything that cannot be seen, or that moves what can, written out as `⟨U+202E⟩`. Line feeds and tabs
/// stay. No two texts are shown alike by this: `⟨` itself is written out too.
pub fn show(text: &str) -> String {
    written_out(text, |c| c == '⟨')
}

/// The same, but for `⟨`, which stays: a text that was shown already is not changed.
pub fn reveal(text: &str) -> Cow<'_, str> {
    if text.chars().any(|c| oddity(c).is_some()) {
        Cow::Owned(written_out(text, |_| false))
    } else {
        Cow::Borrowed(text)
    }
}

fn written_out(text: &str, further: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = None;
    for (at, c) in text.char_indices() {
        let after = text.get(at..).and_then(|rest| rest.chars().nth(1));
        if further(c) || (oddity(c).is_some() && !fits_emoji(before, c, after)) {
            // Writing to a String cannot fail.
            let _ = write!(out, "⟨U+{:04X}⟩", u32::from(c));
        } else {
            out.push(c);
        }
        before = Some(c);
    }
    out
}

/// What is odd about the text, each kind once, in a fixed order.
pub fn suspicious(text: &str) -> Vec<Suspicion> {
    let mut found = BTreeSet::new();
    let mut before = None;
    let mut marks = 0_usize;
    for (at, c) in text.char_indices() {
        let after = text.get(at..).and_then(|rest| rest.chars().nth(1));
        if let Some(odd) = oddity(c)
            && !fits_emoji(before, c, after)
        {
            found.insert(odd);
        }
        marks = if is_mark(c) { marks.saturating_add(1) } else { 0 };
        if marks > 3 {
            found.insert(Suspicion::Stacked);
        }
        before = Some(c);
    }
    for word in text.split(|c: char| c.is_whitespace()) {
        if !is_one_script(word) {
            found.insert(Suspicion::MixedScript);
        }
        let labels = word.split(|c: char| !(c.is_alphanumeric() || c == '-'));
        if labels
            .into_iter()
            .any(|label| label.get(..4).is_some_and(|head| head.eq_ignore_ascii_case("xn--")))
        {
            found.insert(Suspicion::Punycode);
        }
    }
    found.into_iter().collect()
}

/// Accepts a name that people tell each other apart by. Refused: empty or blank at an end, longer than `max`
/// characters, controls, hidden, bidi or tag characters, unusual spaces, line feeds, several scripts (Latin beside
/// Chinese, Japanese or Korean is one).
pub fn identifier(text: &str, max: usize, place: &'static str) -> Result<(), Refusal> {
    if text.is_empty() {
        return Err(Refusal::NameEmpty { place });
    }
    if text.chars().count() > max {
        return Err(Refusal::TooLong { place, max });
    }
    if text.trim() != text || text.contains("  ") {
        return Err(Refusal::NameSuspicious { place, why: Suspicion::OddSpace });
    }
    if text.contains(['\n', '\t']) {
        return Err(Refusal::NameSuspicious { place, why: Suspicion::Control });
    }
    if let Some(&why) = suspicious(text).first() {
        return Err(Refusal::NameSuspicious { place, why });
    }
    if is_one_script(text) {
        Ok(())
    } else {
        Err(Refusal::NameSuspicious { place, why: Suspicion::MixedScript })
    }
}

/// The known name that this one could be mistaken for: another spelling with the same skeleton (UTS 39 section 4), letter
/// case and spaces left aside. An equal name is no look-alike.
pub fn look_alike<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let ours = skeletons(name);
    let mut found = None;
    for candidate in known {
        if candidate == name {
            return None;
        }
        let theirs = skeletons(candidate);
        if found.is_none() && ours.iter().any(|skeleton| theirs.contains(skeleton)) {
            found = Some(candidate);
        }
    }
    found
}

/// Two skeletons: an `I` may pass for an `l`, and, its case folded, for an `i`.
fn skeletons(name: &str) -> [String; 2] {
    let flat: String = name.chars().filter(|c| !c.is_whitespace() && oddity(*c).is_none()).collect();
    let fold = |text: &str| unicode_security::skeleton(text).flat_map(char::to_lowercase).collect::<String>();
    [fold(&flat.to_lowercase()), fold(&flat)]
}

fn is_one_script(text: &str) -> bool {
    if text.is_single_script() {
        return true;
    }
    let rest: String = text.chars().filter(|c| !is_latin(*c)).collect();
    let AugmentedScriptSet { hanb, jpan, kore, .. } = rest.as_str().resolve_script_set();
    hanb || jpan || kore
}

fn is_latin(c: char) -> bool {
    matches!(c, 'A'..='Z' | 'a'..='z' | '\u{C0}'..='\u{24F}' | '\u{1E00}'..='\u{1EFF}')
}

fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36F}' | '\u{483}'..='\u{489}' | '\u{1AB0}'..='\u{1AFF}' | '\u{1DC0}'..='\u{1DFF}'
        | '\u{20D0}'..='\u{20FF}' | '\u{FE20}'..='\u{FE2F}')
}

/// A variation selector or a joiner where emoji have one.
fn fits_emoji(before: Option<char>, c: char, after: Option<char>) -> bool {
    let emoji = |c: Option<char>| {
        matches!(
            c,
            Some('\u{203C}'..='\u{203D}' | '\u{2194}'..='\u{2BFF}' | '\u{3030}' | '\u{1F000}'..='\u{1FAFF}')
        )
    };
    match c {
        '\u{FE0E}' | '\u{FE0F}' => emoji(before),
        '\u{200D}' => (emoji(before) || before == Some('\u{FE0F}')) && emoji(after),
        _ => false,
    }
}

fn oddity(c: char) -> Option<Suspicion> {
    match c {
        '\n' | '\t' | ' ' => None,
        '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => {
            Some(Suspicion::Bidi)
        }
        '\u{E0000}'..='\u{E007F}' => Some(Suspicion::Tag),
        '\u{2028}' | '\u{2029}' => Some(Suspicion::Control),
        c if c.is_control() => Some(Suspicion::Control),
        '\u{AD}'
        | '\u{34F}'
        | '\u{600}'..='\u{605}'
        | '\u{6DD}'
        | '\u{70F}'
        | '\u{890}'
        | '\u{891}'
        | '\u{8E2}'
        | '\u{115F}'
        | '\u{1160}'
        | '\u{17B4}'
        | '\u{17B5}'
        | '\u{180B}'..='\u{180F}'
        | '\u{200B}'..='\u{200D}'
        | '\u{2060}'..='\u{2065}'
        | '\u{206A}'..='\u{206F}'
        | '\u{2800}'
        | '\u{3164}'
        | '\u{FE00}'..='\u{FE0F}'
        | '\u{FEFF}'
        | '\u{FFA0}'
        | '\u{FFF0}'..='\u{FFFC}'
        | '\u{110BD}'
        | '\u{110CD}'
        | '\u{13430}'..='\u{1343F}'
        | '\u{1BCA0}'..='\u{1BCA3}'
        | '\u{1D173}'..='\u{1D17A}'
        | '\u{E0080}'..='\u{E0FFF}' => Some(Suspicion::Hidden),
        // Private use and noncharacters: no font agrees on what they look like.
        '\u{E000}'..='\u{F8FF}' | '\u{FDD0}'..='\u{FDEF}' | '\u{F0000}'..='\u{10FFFF}' => {
            Some(Suspicion::Hidden)
        }
        c if u32::from(c) & 0xFFFE == 0xFFFE => Some(Suspicion::Hidden),
        '\u{A0}' | '\u{1680}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => {
            Some(Suspicion::OddSpace)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_show(text: &str, expected: &str) {
        assert_eq!(show(text), expected, "{text:?}");
    }

    #[test]
    fn hidden_characters_become_visible() {
        check_show("INV-\u{202E}100", "INV-⟨U+202E⟩100");
        check_show("pay\u{200B}ee", "pay⟨U+200B⟩ee");
        check_show("ok\u{E0041}", "ok⟨U+E0041⟩");
        check_show("a\u{0}b\rc\u{1B}[0m\u{7F}\u{9B}", "a⟨U+0000⟩b⟨U+000D⟩c⟨U+001B⟩[0m⟨U+007F⟩⟨U+009B⟩");
        check_show("line\n\ttwo", "line\n\ttwo");
        check_show("Grüße, 東京 👍 ❤\u{FE0F} 👩\u{200D}💻", "Grüße, 東京 👍 ❤\u{FE0F} 👩\u{200D}💻");
        check_show("a\u{FE0F}", "a⟨U+FE0F⟩");
        check_show("12\u{A0}000", "12⟨U+00A0⟩000");
        check_show("⟨U+202E⟩", "⟨U+27E8⟩U+202E⟩");
        check_show("\u{2028}\u{FEFF}\u{3164}\u{E000}\u{FFFF}", "⟨U+2028⟩⟨U+FEFF⟩⟨U+3164⟩⟨U+E000⟩⟨U+FFFF⟩");
    }

    fn check_suspicious(text: &str, expected: &[Suspicion]) {
        assert_eq!(suspicious(text), expected, "{text:?}");
    }

    #[test]
    fn oddities_are_named() {
        check_suspicious("Amazon Ltd, 12,000.00 EUR", &[]);
        check_suspicious("Приватбанк and Amazon", &[]);
        check_suspicious("Amaz\u{43E}n", &[Suspicion::MixedScript]);
        check_suspicious("\u{202E}x\u{E0041}\u{7}", &[Suspicion::Control, Suspicion::Bidi, Suspicion::Tag]);
        check_suspicious("https://xn--mazon-3ve.com/pay", &[Suspicion::Punycode]);
        check_suspicious("mail me at shop.XN--80ak6aa92e.com", &[Suspicion::Punycode]);
        check_suspicious("e\u{301}\u{301}\u{301}\u{301}", &[Suspicion::Stacked]);
        check_suspicious("a\u{3000}b", &[Suspicion::OddSpace]);
    }

    fn check_identifier(text: &str, good: bool) {
        assert_eq!(identifier(text, MAX_NAME, "/name").is_ok(), good, "{text:?}");
    }

    #[test]
    fn identifiers_are_plain() {
        for good in
            ["Ana", "Müller & Söhne", "Sony ソニー株式会社", "삼성 Samsung", "Γιώργος", "O'Brien-2", "東京"]
        {
            check_identifier(good, true);
        }
        for bad in [
            "",
            " Ana",
            "Ana ",
            "A  B",
            "Ana\nBen",
            "Amaz\u{43E}n",
            "Ana\u{202E}",
            "A\u{200D}na",
            "A\u{A0}B",
            "Ivan Иван",
            "x\u{E0041}",
            "xn--80ak6aa92e.com",
        ] {
            check_identifier(bad, false);
        }
        check_identifier(&"a".repeat(100), true);
        check_identifier(&"a".repeat(101), false);
        check_identifier(&"a".repeat(10_240), false);
    }

    fn check_look_alike(name: &str, expected: Option<&str>) {
        assert_eq!(look_alike(name, ["Amazon", "PayPal", "Morgan", "Ana", "Иван"]), expected, "{name:?}");
    }

    #[test]
    fn look_alikes_of_known_names_are_found() {
        check_look_alike("Amazon", None);
        check_look_alike("Acme", None);
        check_look_alike("Amaz\u{43E}n", Some("Amazon"));
        check_look_alike("AMAZ0N", Some("Amazon"));
        check_look_alike("Ama\u{200B}zon", Some("Amazon"));
        check_look_alike("amazon", Some("Amazon"));
        check_look_alike("Ama zon", Some("Amazon"));
        check_look_alike("PayPaI", Some("PayPal"));
        check_look_alike("PayPa1", Some("PayPal"));
        check_look_alike("Rnorgan", Some("Morgan"));
        check_look_alike("rnorgan", Some("Morgan"));
        check_look_alike("Аna", Some("Ana"));
    }
}
