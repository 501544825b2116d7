//! Finds numbers, dates and amounts that no claim covers (seed section 3, rule 1). Digits only, of any alphabet: numbers in
//! words, and days such as "next Friday", are not seen.

use crate::List;
use crate::limit::TermValue;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The facts in `text` that none of `covered` says, each once and as written. Two numbers are the same whatever their
/// grouping; a currency or percent sign must agree where both have one; a date without a year is the same in any year.
pub fn untagged(text: &str, covered: &[&str]) -> Vec<String> {
    let mut known = Known::default();
    covered.iter().for_each(|text| known.learn(text));
    uncovered(text, &[&known])
}

/// The same against what was learned.
pub(crate) fn uncovered(text: &str, known: &[&Known]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for fact in scan(text) {
        if !known.iter().any(|known| known.covers(&fact.reading)) && !found.contains(&fact.written) {
            found.push(fact.written);
        }
    }
    found
}

/// How a typed value may be written in words.
pub(crate) fn spellings(value: &TermValue) -> Vec<String> {
    vec![value.spelled()]
}

/// The facts that texts have said, to be looked up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Known {
    /// The units that each decimal was written with.
    numbers: BTreeMap<String, BTreeSet<Option<String>>>,
    /// The years that each month and day were written with.
    days: BTreeMap<(u8, u8), BTreeSet<Option<u16>>>,
    times: BTreeSet<String>,
}

impl Known {
    pub fn learn(&mut self, text: &str) {
        for fact in scan(text) {
            match fact.reading {
                Reading::Number { decimals, unit } => {
                    for decimal in decimals {
                        self.numbers.entry(decimal).or_default().insert(unit.clone());
                    }
                }
                Reading::Day { year, month, day } => {
                    self.days.entry((month, day)).or_default().insert(year);
                }
                Reading::Time(time) => {
                    self.times.insert(time);
                }
            }
        }
    }

    fn covers(&self, reading: &Reading) -> bool {
        match reading {
            Reading::Number { decimals, unit } => {
                decimals.iter().filter_map(|decimal| self.numbers.get(decimal)).any(|units| fits(units, unit))
            }
            Reading::Day { year, month, day } => {
                self.days.get(&(*month, *day)).is_some_and(|years| fits(years, year))
            }
            Reading::Time(time) => self.times.contains(time),
        }
    }
}

/// Whether one of these agrees: what either does not say is no difference.
fn fits<T: Ord>(said: &BTreeSet<Option<T>>, one: &Option<T>) -> bool {
    one.is_none() || said.contains(&None) || said.contains(one)
}

struct Fact {
    written: String,
    reading: Reading,
}

enum Reading {
    /// Every way the digits may be read, as plain decimals, and the unit that was written with them.
    Number {
        decimals: Vec<String>,
        unit: Option<String>,
    },
    Day {
        year: Option<u16>,
        month: u8,
        day: u8,
    },
    Time(String),
}

/// Words and signs in order: the text cut where digits, letters and signs meet.
struct Token<'a> {
    text: &'a str,
    /// Digits as the plain ones.
    plain: Cow<'a, str>,
    class: Class,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Digits,
    Letters,
    Space,
    Sign,
}

fn scan(text: &str) -> Vec<Fact> {
    let mut facts = Vec::new();
    // Every fact has a digit.
    if !text.chars().any(is_digit) {
        return facts;
    }
    let tokens = tokens(text);
    let mut at = 0;
    let mut items = 0;
    while at < tokens.len() {
        let read = if is(&tokens, at, Class::Digits) {
            if names_something(&tokens, at, &mut items) {
                None
            } else {
                iso_date(&tokens, at)
                    .or_else(|| time(&tokens, at))
                    .or_else(|| day_first(&tokens, at))
                    .or_else(|| number(&tokens, at))
            }
        } else {
            month_first(&tokens, at)
        };
        match read {
            Some((reading, end)) => {
                let from = start_with_unit(&tokens, at, &reading);
                let written =
                    tokens.get(from..end).unwrap_or_default().iter().map(|token| token.text).collect();
                facts.push(Fact { written, reading });
                at = end.max(at + 1);
            }
            None => at += 1,
        }
    }
    facts
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let class = |c: char| match c {
        c if is_digit(c) => Class::Digits,
        c if c.is_alphabetic() || c == '_' => Class::Letters,
        c if c.is_whitespace() => Class::Space,
        _ => Class::Sign,
    };
    let mut tokens: Vec<Token<'_>> = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let kind = class(first);
        let end = if kind == Class::Sign {
            first.len_utf8()
        } else {
            rest.find(|c: char| class(c) != kind).unwrap_or(rest.len())
        };
        let (head, tail) = rest.split_at(end);
        let folds = kind == Class::Digits && !head.is_ascii();
        let plain = if folds { head.chars().map(plain_digit).collect() } else { Cow::Borrowed(head) };
        tokens.push(Token { text: head, plain, class: kind });
        rest = tail;
    }
    tokens
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
        || (!c.is_ascii()
            && (plain_digit(c) != c
                || matches!(c, '\u{bc}'..='\u{be}' | '\u{2150}'..='\u{2189}' | '\u{2460}'..='\u{249b}'
                    | '\u{24ea}'..='\u{24ff}' | '\u{2776}'..='\u{2793}')))
}

/// The ASCII digit that a digit of another alphabet, or a raised, lowered or circled one, stands for; else itself.
fn plain_digit(c: char) -> char {
    let code = u32::from(c);
    let below = ZEROS.partition_point(|zero| *zero <= code).checked_sub(1);
    let zero = below.and_then(|at| ZEROS.get(at)).copied().filter(|zero| code - zero < 10);
    let one = || ONES.iter().copied().find(|one| (*one..one + 9).contains(&code));
    let digit = match c {
        '\u{b9}' => Some(1),
        '\u{b2}' => Some(2),
        '\u{b3}' => Some(3),
        '\u{24ea}' | '\u{24ff}' => Some(0),
        '\u{2071}'..='\u{2073}' => None,
        _ => zero.map(|zero| code - zero).or_else(|| one().map(|one| code - one + 1)),
    };
    digit.and_then(|digit| char::from_digit(digit, 10)).unwrap_or(c)
}

/// Where the digits from 0 to 9 of each alphabet begin, raised, lowered and with a comma among them (Unicode 16).
const ZEROS: [u32; 78] = [
    0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50, 0xed0,
    0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50,
    0x2070, 0x2080, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10, 0x104a0, 0x10d30,
    0x10d40, 0x11066, 0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x116d0,
    0x116da, 0x11730, 0x118e0, 0x11950, 0x11bf0, 0x11c50, 0x11d50, 0x11da0, 0x11f50, 0x16130, 0x16a60,
    0x16ac0, 0x16b50, 0x16d70, 0x1ccf0, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0,
    0x1e4f0, 0x1e5f0, 0x1e950, 0x1f101, 0x1fbf0,
];

/// Where those from 1 to 9 begin: in circles, in brackets, with a full stop, on black.
const ONES: [u32; 7] = [0x2460, 0x2474, 0x2488, 0x24f5, 0x2776, 0x2780, 0x278a];

fn is(tokens: &[Token<'_>], at: usize, class: Class) -> bool {
    tokens.get(at).is_some_and(|token| token.class == class)
}

fn text<'t>(tokens: &'t [Token<'_>], at: usize) -> &'t str {
    tokens.get(at).map_or("", |token| &token.plain)
}

/// In characters.
fn length(text: &str) -> usize {
    text.chars().count()
}

fn before<'t>(tokens: &'t [Token<'_>], at: usize, back: usize) -> &'t str {
    at.checked_sub(back).map_or("", |at| text(tokens, at))
}

/// Whether digits name something instead of saying how much: a claim or question (`B1.1`, `q1`), a clause of a card
/// (`must_haves[0]`), a short name (`A4`), the next item of a list. Nothing that a unit stands beside does.
fn names_something(tokens: &[Token<'_>], at: usize, items: &mut u32) -> bool {
    let digits = text(tokens, at);
    if digits.len() > 4 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return false;
    }
    let first = at == 0 || before(tokens, at, 1).contains('\n');
    if first && matches!(text(tokens, at + 1), "." | ")") && is(tokens, at + 2, Class::Space) {
        let next = digits.parse() == Ok(*items + 1) && !has_unit(tokens, at, at + 2);
        *items += u32::from(next);
        return next;
    }
    if before(tokens, at, 1) == "[" && text(tokens, at + 1) == "]" {
        let list = before(tokens, at, 2);
        let is_list = List::ALL.iter().any(|one| one.as_str() == list);
        return is_list && digits.len() <= 3 && !has_unit(tokens, at, at + 2);
    }
    if before(tokens, at, 1) == "." {
        let claim = at.checked_sub(2).is_some_and(|prev| is_numbered_by_a_seat(tokens, prev));
        return claim && is_ordinal(digits, 2) && !has_unit(tokens, at - 1, at + 1);
    }
    let letters = before(tokens, at, 1);
    let glued = at.checked_sub(1).is_some_and(|prev| is(tokens, prev, Class::Letters));
    let short = letters == "q"
        || (letters.starts_with(|c: char| c.is_ascii_uppercase())
            && letters.bytes().all(|b| b.is_ascii_alphabetic()));
    let name = is_numbered_by_a_seat(tokens, at) || (short && digits.len() <= 3);
    // A claim's name goes on after the full stop: its unit would stand there.
    let dotted = text(tokens, at + 1) == "." && is(tokens, at + 2, Class::Digits);
    let end = if dotted { at + 3 } else { at + 1 };
    let whole = !dotted || is_ordinal(text(tokens, at + 2), 2);
    glued && currency(letters).is_none() && name && whole && !has_unit(tokens, at - 1, end)
}

/// `A12` of the claim `A12.3`.
fn is_numbered_by_a_seat(tokens: &[Token<'_>], at: usize) -> bool {
    matches!(before(tokens, at, 1).as_bytes(), [b'A'..=b'H']) && is_ordinal(text(tokens, at), 4)
}

fn is_ordinal(digits: &str, most: usize) -> bool {
    digits.len() <= most && !digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit())
}

/// Whether a currency or a percent sign stands before or after, spaces and other signs aside.
fn has_unit(tokens: &[Token<'_>], from: usize, end: usize) -> bool {
    let money = |word: &str| {
        let (upper, lower) = (word.to_ascii_uppercase(), word.to_ascii_lowercase());
        currency(word).is_some()
            || (upper != "ADA" && currency(&upper).is_some())
            || currency(&lower).is_some()
    };
    let between = |token: &&Token<'_>| {
        token.class == Class::Space
            || (token.class == Class::Sign && token.text != "%" && currency(token.text).is_none())
    };
    let near = |token: Option<&Token<'_>>| token.is_some_and(|token| token.text == "%" || money(token.text));
    near(tokens.get(..from).unwrap_or_default().iter().rev().take(4).find(|token| !between(token)))
        || near(tokens.get(end..).unwrap_or_default().iter().take(4).find(|token| !between(token)))
}

/// `2026-05-04`.
fn iso_date(tokens: &[Token<'_>], at: usize) -> Option<(Reading, usize)> {
    let (year, month, day) = (text(tokens, at), text(tokens, at + 2), text(tokens, at + 4));
    if length(year) != 4 || length(month) != 2 || length(day) != 2 {
        return None;
    }
    (text(tokens, at + 1) == "-" && text(tokens, at + 3) == "-")
        .then(|| self::day(Some(year.parse().ok()?), month.parse().ok()?, day))
        .flatten()
        .map(|reading| (reading, at + 5))
}

/// `18:30`.
fn time(tokens: &[Token<'_>], at: usize) -> Option<(Reading, usize)> {
    let (hour, minute) = (text(tokens, at), text(tokens, at + 2));
    let clock = text(tokens, at + 1) == ":" && is(tokens, at + 2, Class::Digits);
    (clock && length(minute) == 2 && length(hour) <= 2)
        .then(|| (Reading::Time(format!("{:0>2}:{minute}", hour)), at + 3))
}

/// `4 May`, `4th of May 2026`.
fn day_first(tokens: &[Token<'_>], at: usize) -> Option<(Reading, usize)> {
    let mut next = at + 1;
    if matches!(text(tokens, next), "st" | "nd" | "rd" | "th") || text(tokens, next) == "." {
        next += 1;
    }
    next = spaces(tokens, next)?;
    if text(tokens, next) == "of" {
        next = spaces(tokens, next + 1)?;
    }
    let month = month(text(tokens, next))?;
    let (year, end) = year(tokens, next + 1);
    day(year, month, text(tokens, at)).map(|reading| (reading, end))
}

/// `May 4`, `May 4th, 2026`.
fn month_first(tokens: &[Token<'_>], at: usize) -> Option<(Reading, usize)> {
    let month = month(text(tokens, at))?;
    let mut next = at + 1;
    if text(tokens, next) == "." {
        next += 1;
    }
    next = spaces(tokens, next)?;
    let digits = text(tokens, next);
    let mut end = next + 1;
    if matches!(text(tokens, end), "st" | "nd" | "rd" | "th") {
        end += 1;
    }
    let (year, end) = year(tokens, end);
    day(year, month, digits).map(|reading| (reading, end))
}

fn year(tokens: &[Token<'_>], at: usize) -> (Option<u16>, usize) {
    let comma = usize::from(text(tokens, at) == ",");
    let found = spaces(tokens, at + comma).filter(|next| length(text(tokens, *next)) == 4);
    match found.and_then(|next| text(tokens, next).parse().ok().map(|year| (year, next))) {
        Some((year, next)) => (Some(year), next + 1),
        None => (None, at),
    }
}

fn spaces(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    is(tokens, at, Class::Space).then_some(at + 1)
}

fn day(year: Option<u16>, month: u8, digits: &str) -> Option<Reading> {
    let day: u8 = digits.parse().ok()?;
    ((1..=31).contains(&day) && (1..=12).contains(&month)).then_some(Reading::Day { year, month, day })
}

fn month(word: &str) -> Option<u8> {
    const MONTHS: [(&str, u8); 12] = [
        ("january", 1),
        ("february", 2),
        ("march", 3),
        ("april", 4),
        ("may", 5),
        ("june", 6),
        ("july", 7),
        ("august", 8),
        ("september", 9),
        ("october", 10),
        ("november", 11),
        ("december", 12),
    ];
    let word = word.to_lowercase();
    let short = |name: &str| word.len() == 3 && name.starts_with(&word);
    MONTHS
        .iter()
        .find(|(name, _)| *name == word || short(name) || (word == "sept" && *name == "september"))
        .map(|(_, number)| *number)
}

/// Digits with their grouping and fraction, and the unit beside them.
fn number(tokens: &[Token<'_>], at: usize) -> Option<(Reading, usize)> {
    let mut groups = vec![text(tokens, at)];
    let mut separators: Vec<&str> = Vec::new();
    let mut end = at + 1;
    while is(tokens, end + 1, Class::Digits) {
        let (separator, group) = (text(tokens, end), text(tokens, end + 1));
        let grouping = matches!(separator, "," | "." | "'" | "\u{2019}");
        let spaced = matches!(separator, " " | "\u{a0}" | "\u{202f}")
            && length(group) == 3
            && groups.iter().all(|g| length(g) <= 3);
        if !grouping && !spaced {
            break;
        }
        separators.push(separator);
        groups.push(group);
        end += 2;
    }
    let (scaled, unit_end) = scale(tokens, end);
    let decimals =
        readings(&groups, &separators).into_iter().map(|decimal| shift(&decimal, scaled)).collect();
    let (unit, end) = unit(tokens, at, unit_end);
    Some((Reading::Number { decimals, unit }, end))
}

/// `10k` is 10000.
fn scale(tokens: &[Token<'_>], at: usize) -> (usize, usize) {
    match text(tokens, at) {
        "k" | "K" => (3, at + 1),
        "m" | "M" if !is(tokens, at + 1, Class::Digits) => (0, at),
        _ => (0, at),
    }
}

fn unit(tokens: &[Token<'_>], at: usize, end: usize) -> (Option<String>, usize) {
    let prefix = match before(tokens, at, 1) {
        gap if gap.trim().is_empty() => before(tokens, at, 2),
        glued => glued,
    };
    if let Some(code) = currency(prefix) {
        return (Some(code.to_owned()), end);
    }
    let gap = usize::from(is(tokens, end, Class::Space));
    match text(tokens, end + gap) {
        "%" => (Some("%".to_owned()), end + gap + 1),
        word => match currency(word) {
            Some(code) => (Some(code.to_owned()), end + gap + 1),
            None => (None, end),
        },
    }
}

fn start_with_unit(tokens: &[Token<'_>], at: usize, reading: &Reading) -> usize {
    if !matches!(reading, Reading::Number { unit: Some(_), .. }) {
        return at;
    }
    if currency(before(tokens, at, 1)).is_some() {
        return at - 1;
    }
    let spaced = at > 0 && is(tokens, at - 1, Class::Space) && currency(before(tokens, at, 2)).is_some();
    if spaced { at - 2 } else { at }
}

fn currency(word: &str) -> Option<&'static str> {
    Some(match word {
        "€" | "EUR" | "euro" | "euros" => "EUR",
        "$" | "\u{ff04}" | "USD" | "dollar" | "dollars" => "USD",
        "£" | "\u{ffe1}" | "GBP" | "pounds" => "GBP",
        "¥" | "\u{ffe5}" | "JPY" | "yen" => "JPY",
        "CHF" => "CHF",
        "ADA" | "₳" => "ADA",
        _ => return None,
    })
}

/// Every plain decimal the groups may mean: the last separator may be the fraction's, or all may group thousands.
fn readings(groups: &[&str], separators: &[&str]) -> Vec<String> {
    let mut readings = Vec::new();
    let thousands = groups.iter().skip(1).all(|group| length(group) == 3);
    if thousands {
        readings.push(trim(&groups.concat(), ""));
    }
    if let (Some((fraction, whole)), Some(last)) = (groups.split_last(), separators.last())
        && matches!(*last, "." | ",")
    {
        let grouped = whole.iter().skip(1).all(|group| length(group) == 3);
        let other = separators.iter().rev().skip(1).all(|separator| separator != last);
        if grouped && other {
            readings.push(trim(&whole.concat(), fraction));
        }
    }
    if readings.is_empty() {
        readings.push(groups.join("."));
    }
    readings
}

fn trim(whole: &str, fraction: &str) -> String {
    let whole = whole.trim_start_matches('0');
    let fraction = fraction.trim_end_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") }
}

fn shift(decimal: &str, by: usize) -> String {
    if by == 0 || !decimal.is_ascii() {
        return decimal.to_owned();
    }
    let (whole, fraction) = decimal.split_once('.').unwrap_or((decimal, ""));
    let padded = format!("{fraction:0<by$}");
    let (up, rest) = padded.split_at(by);
    trim(&format!("{whole}{up}"), rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, covered: &[&str], expected: &[&str]) {
        assert_eq!(untagged(text, covered), expected, "{text:?} under {covered:?}");
    }

    #[test]
    fn facts_that_no_claim_covers() {
        check("We offer 950 EUR on 4 May", &[], &["950 EUR", "4 May"]);
        check("We offer 950 EUR", &["the price is 950.00 EUR"], &[]);
        check("We offer €950", &["950 EUR it is"], &[]);
        check("We offer EUR 950", &["950 USD it is"], &["EUR 950"]);
        check("We offer 950", &["950 EUR it is"], &[]);
        check("1,000 guests", &["1000 guests"], &[]);
        check("1.000 guests", &["1000 guests"], &[]);
        check("1 000 000 pages", &["1,000,000"], &[]);
        check("10k pages", &["10000 pages"], &[]);
        check("1,234.50 EUR", &["1.234,5 EUR"], &[]);
        check("80%", &["81%"], &["80%"]);
        check("on May 4th, 2026", &["2026-05-04"], &[]);
        check("on 4 May", &["on 2026-05-04"], &[]);
        check("on 4 May 2027", &["on 2026-05-04"], &["4 May 2027"]);
        check("at 18:30", &["18:30 sharp"], &[]);
        check("at 18:30", &["at 18:45"], &["18:30"]);
        check("five guests may come", &[], &[]);
    }

    #[test]
    fn names_are_no_facts() {
        check("as B1.1 and A12.3 say, see must_haves[0] and q2, on A4 paper", &[], &[]);
        check("1. first\n2. second", &[], &[]);
        check("", &[], &[]);
    }

    #[test]
    fn what_only_looks_like_a_name_is_a_fact() {
        for (text, expected) in [
            ("[9999] EUR", "9999"),
            ("price[9999]", "9999"),
            ("must_haves[950] EUR", "950"),
            ("\u{ff19}\u{ff19}\u{ff19}\u{ff19} EUR", "\u{ff19}\u{ff19}\u{ff19}\u{ff19} EUR"),
            ("\u{669}\u{669} guests", "\u{669}\u{669}"),
            ("\u{1d7d7}\u{2079}\u{2468} guests", "\u{1d7d7}\u{2079}\u{2468}"),
            ("2\u{bd} days", "2\u{bd}"),
            ("EUR x9999", "9999"),
            ("EUR X999", "999"),
            ("x9999 guests", "9999"),
            ("No_9999 EUR", "9999 EUR"),
            ("No_9999 guests", "9999"),
            ("Nr9999", "9999"),
            ("A950 eur", "950"),
            ("A9999.00 agreed", "9999.00"),
            ("A950.1 EUR", "950.1 EUR"),
            ("9999) EUR", "9999"),
            ("85. EUR by card", "85"),
            ("1) EUR by card", "1"),
        ] {
            check(text, &["the price is 850.00 EUR"], &[expected]);
        }
        check("\u{ff18}\u{ff15}\u{ff10} EUR on \u{664} May", &["850 EUR on 4 May"], &[]);
        check("1. first\n3. third", &[], &["3"]);
    }

    #[test]
    fn a_fact_is_named_once() {
        check("80 seats, yes 80 seats", &[], &["80"]);
    }
}
