//! What a node says no with, by what helps (spec 2.4): build again, or not at all; and the rule, where a script names it.

use crate::ChainError;

/// The error behind a node's words.
pub(crate) fn refusal(text: &str) -> ChainError {
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if let Some(rule) = rule(text) {
        return ChainError::Rejected { invariant: Some(rule), error: shortened(text) };
    }
    if has(&[
        "BadInputs",
        "ValueNotConserved",
        "unknownOutputReferences",
        "UnknownInputs",
        "already been spent",
    ]) {
        return ChainError::Contention(shortened(text));
    }
    if has(&["OutsideValidityInterval", "outsideOfValidityInterval"]) {
        return ChainError::expired(&shortened(text));
    }
    ChainError::Rejected { invariant: None, error: shortened(text) }
}

/// The last rule that the traces say is false. The vault's rules are written in capitals.
pub(crate) fn rule(text: &str) -> Option<String> {
    let (before, _) = text.rsplit_once(" ? False")?;
    let start = before.rfind(|letter: char| !letter.is_ascii_alphanumeric());
    let rule = start.map_or(before, |at| before.get(at + 1..).unwrap_or_default());
    let (letter, digits) = rule.split_at_checked(1)?;
    let known = "bdkmrsuvw".contains(letter) && (1..=2).contains(&digits.len());
    let known = known && digits.bytes().all(|digit| digit.is_ascii_digit());
    known.then(|| if letter == "r" { rule.to_uppercase() } else { rule.to_owned() })
}

/// As much of it as is kept.
pub(crate) fn shortened(text: &str) -> String {
    text.chars().take(1000).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_is_the_last_that_is_false() {
        for (text, expected) in [
            ("r6 ? False", Some("R6")),
            ("x; b4 ? False", Some("b4")),
            ("[\"r2 ? False\",\"r16 ? False\"]", Some("R16")),
            ("other ? False", None),
            ("r ? False", None),
            ("r161 ? False", None),
            ("rx ? False", None),
            ("r6 ? True", None),
            ("é6 ? False", None),
        ] {
            assert_eq!(rule(text).as_deref(), expected, "{text}");
        }
    }
}
