//! A told brief as plain text, for a terminal or a printer.

use super::told::{Group, Known, Line, Told, VERIFIED, tell};
use super::{Brief, HeadLine};
use crate::Refusal;

/// Columns of a line.
const WIDTH: usize = 96;

/// The brief as plain text: the same bytes for the same brief and the same knowledge.
pub fn text(brief: &Brief, known: &Known) -> Result<String, Refusal> {
    let Told { topic, agreed, short, terms, below_terms, rests_on, unverified, challenged, asked, record } =
        tell(brief, known);
    let mut page = Page::default();
    page.wrapped("", &format!("DECISION BRIEF: {topic}"));
    page.wrapped(
        "",
        &format!(
            "Room {}, written {}. A line marked ! needs your attention.",
            brief.room, brief.generated_at
        ),
    );
    page.section("In short", &short, "");
    if agreed {
        page.heading("What was agreed, and on whose authority");
        for (index, term) in terms.iter().enumerate() {
            page.wrapped(&format!("{}. ", index + 1), &format!("\"{}\"", term.text));
            for value in &term.values {
                page.wrapped("   = ", value);
            }
            page.lines("   ", &term.sides);
        }
        for line in &below_terms {
            page.wrapped("", &line.to_string());
        }
        page.section(
            "What the agreement rests on",
            &rests_on,
            "The accepted offer names no claim that it rests on.",
        );
    }
    page.heading("What is unverified");
    page.wrapped("", VERIFIED);
    for Group { heading, lines } in &unverified {
        page.wrapped("", &format!("{heading}:"));
        page.lines("  ", lines);
    }
    if unverified.is_empty() {
        page.wrapped("", "Nothing: every claim in the record is verified.");
    }
    page.section("What was challenged", &challenged, "Nothing.");
    page.section("Who was asked, and what they said", &asked, "No person was asked during the negotiation.");
    page.section("The record", &record, "");
    let HeadLine { n, hash } = &brief.ledger_head;
    page.wrapped("", &format!("The record up to the end has {n} entries. Hash of the last:"));
    page.wrapped("  ", &hash.to_string());
    page.wrapped("", "Hash of this brief, the same for every side:");
    page.wrapped("  ", &brief.hash()?.to_string());
    Ok(page.0)
}

#[derive(Default)]
struct Page(String);

impl Page {
    fn heading(&mut self, text: &str) {
        self.0.push('\n');
        self.0.push_str(&text.to_uppercase());
        self.0.push('\n');
    }

    /// A heading with its lines; `none` stands where there are none.
    fn section(&mut self, heading: &str, lines: &[Line], none: &str) {
        self.heading(heading);
        if lines.is_empty() {
            self.wrapped("", none);
        }
        self.lines("", lines);
    }

    fn lines(&mut self, indent: &str, lines: &[Line]) {
        for line in lines {
            let mark = if line.warns { '!' } else { '-' };
            self.wrapped(&format!("{indent}{mark} "), &line.to_string());
            for under in &line.under {
                self.wrapped(&format!("{indent}    "), &under.to_string());
            }
        }
    }

    /// Words after `first`, broken at spaces, later lines indented by as much.
    fn wrapped(&mut self, first: &str, text: &str) {
        let indent = first.chars().count();
        let mut column = indent;
        self.0.push_str(first);
        for (index, word) in text.split_whitespace().enumerate() {
            let length = word.chars().count();
            if index > 0 && column + 1 + length > WIDTH {
                self.0.push('\n');
                self.0.extend(std::iter::repeat_n(' ', indent));
                column = indent;
            } else if index > 0 {
                self.0.push(' ');
                column += 1;
            }
            self.0.push_str(word);
            column += length;
        }
        self.0.push('\n');
    }
}
