//! Finds numbers, dates and amounts that no claim covers (seed section 3, rule 1). Digits only: numbers in words, and
//! days such as "next Friday", are not seen.

use crate::limit::TermValue;

/// The facts in `text` that none of `covered` says, each once and as written. Two numbers are the same whatever their
/// grouping; a currency or percent sign must agree where both have one; a date without a year is the same in any year.
pub fn untagged(text: &str, covered: &[&str]) -> Vec<String> {
    let known: Vec<Fact> = covered.iter().flat_map(|text| scan(text)).collect();
    let mut found: Vec<String> = Vec::new();
    for fact in scan(text) {
        if !known.iter().any(|other| other.agrees(&fact)) && !found.contains(&fact.written) {
            found.push(fact.written);
        }
    }
    found
}

/// How a typed value may be written in words.
pub(crate) fn spellings(value: &TermValue) -> Vec<String> {
    vec![value.spelled()]
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

impl Fact {
    fn agrees(&self, other: &Self) -> bool {
        match (&self.reading, &other.reading) {
            (Reading::Number { decimals, unit }, Reading::Number { decimals: decimals2, unit: unit2 }) => {
                decimals.iter().any(|decimal| decimals2.contains(decimal))
                    && (unit.is_none() || unit2.is_none() || unit == unit2)
            }
            (Reading::Day { year, month, day }, Reading::Day { year: year2, month: month2, day: day2 }) => {
                (month, day) == (month2, day2) && (year.is_none() || year2.is_none() || year == year2)
            }
            (Reading::Time(a), Reading::Time(b)) => a == b,
            _ => false,
        }
    }
}

/// Words and signs in order: the text cut where digits, letters and signs meet.
struct Token<'a> {
    text: &'a str,
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
    let tokens = tokens(text);
    let mut facts = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let read = if is(&tokens, at, Class::Digits) && !is_part_of_a_name(&tokens, at) {
            iso_date(&tokens, at)
                .or_else(|| time(&tokens, at))
                .or_else(|| day_first(&tokens, at))
                .or_else(|| number(&tokens, at))
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
        c if c.is_ascii_digit() => Class::Digits,
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
        tokens.push(Token { text: head, class: kind });
        rest = tail;
    }
    tokens
}

fn is(tokens: &[Token<'_>], at: usize, class: Class) -> bool {
    tokens.get(at).is_some_and(|token| token.class == class)
}

fn text<'a>(tokens: &[Token<'a>], at: usize) -> &'a str {
    tokens.get(at).map_or("", |token| token.text)
}

fn before<'a>(tokens: &[Token<'a>], at: usize, back: usize) -> &'a str {
    at.checked_sub(back).map_or("", |at| text(tokens, at))
}

/// Digits glued to letters before them (`B1.1`, `q1`, `A4`) or in brackets (`must_haves[0]`) name something, and so does
/// the number of a list item.
fn is_part_of_a_name(tokens: &[Token<'_>], at: usize) -> bool {
    let glued = at.checked_sub(1).is_some_and(|prev| is(tokens, prev, Class::Letters))
        && currency(before(tokens, at, 1)).is_none();
    let after_name = before(tokens, at, 1) == "."
        && at
            .checked_sub(2)
            .is_some_and(|prev| is(tokens, prev, Class::Digits) && is_part_of_a_name(tokens, prev));
    let bracketed = before(tokens, at, 1) == "[" && text(tokens, at + 1) == "]";
    let first = at == 0 || before(tokens, at, 1).contains('\n');
    let listed = first && matches!(text(tokens, at + 1), "." | ")") && is(tokens, at + 2, Class::Space);
    glued || after_name || bracketed || listed
}

/// `2026-05-04`.
fn iso_date(tokens: &[Token<'_>], at: usize) -> Option<(Reading, usize)> {
    let (year, month, day) = (text(tokens, at), text(tokens, at + 2), text(tokens, at + 4));
    if year.len() != 4 || month.len() != 2 || day.len() != 2 {
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
    (text(tokens, at + 1) == ":" && minute.len() == 2 && hour.len() <= 2 && is(tokens, at + 2, Class::Digits))
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
    let found = spaces(tokens, at + comma).filter(|next| text(tokens, *next).len() == 4);
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
            && group.len() == 3
            && groups.iter().all(|g| g.len() <= 3);
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
        "$" | "USD" | "dollar" | "dollars" => "USD",
        "£" | "GBP" | "pounds" => "GBP",
        "¥" | "JPY" | "yen" => "JPY",
        "CHF" => "CHF",
        "ADA" | "₳" => "ADA",
        _ => return None,
    })
}

/// Every plain decimal the groups may mean: the last separator may be the fraction's, or all may group thousands.
fn readings(groups: &[&str], separators: &[&str]) -> Vec<String> {
    let mut readings = Vec::new();
    let thousands = groups.iter().skip(1).all(|group| group.len() == 3);
    if thousands {
        readings.push(trim(&groups.concat(), ""));
    }
    if let (Some((fraction, whole)), Some(last)) = (groups.split_last(), separators.last())
        && matches!(*last, "." | ",")
    {
        let grouped = whole.iter().skip(1).all(|group| group.len() == 3);
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
    if by == 0 {
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
    fn a_fact_is_named_once() {
        check("80 seats, yes 80 seats", &[], &["80"]);
    }
}
