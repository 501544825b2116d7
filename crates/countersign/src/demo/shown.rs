//! The decision brief as plain text.

use pxp::Brief;
use pxp::view::shown;

pub fn brief(brief: &Brief) -> String {
    let mut page = Page::default();
    page.heading(&format!("DECISION BRIEF  {}", shown(&brief.topic)));
    let name = |seat: pxp::SeatId| {
        brief
            .parties
            .iter()
            .find(|party| party.seat == seat)
            .map_or_else(|| seat.to_string(), |party| shown(&party.name))
    };
    match &brief.agreement {
        None => page.line(&format!(
            "No agreement: {} {}",
            brief.outcome,
            brief.reason.as_deref().unwrap_or_default()
        )),
        Some(agreement) => {
            let accepted: Vec<String> = agreement.accepted_by.iter().map(|line| name(line.seat)).collect();
            page.line(&format!(
                "Agreed: offered by {}, accepted by {}",
                name(agreement.proposed_by),
                accepted.join(", ")
            ));
            page.line(&format!("Offer {}", agreement.offer_hash));
        }
    }
    page.heading("What was agreed, and on whose authority");
    for term in &brief.authority {
        page.line(&format!("- {}", shown(&term.term)));
        for seat in &term.seats {
            let rests = match seat.basis.as_str() {
                "none" => "NO AUTHORITY NAMED".to_owned(),
                _ => {
                    let mut on: Vec<String> = seat.clauses.clone();
                    on.extend(seat.answers.iter().map(|answer| format!("answer to {answer}")));
                    on.join(", ")
                }
            };
            page.line(&format!("    {}: {rests}", name(seat.seat)));
        }
    }
    page.heading("What nobody has verified");
    for claim in &brief.unverified_in_record {
        let depends = brief.unverified_dependencies.iter().any(|other| other.id == claim.id);
        let weight =
            if depends { "the agreement depends on it" } else { "the agreement does not depend on it" };
        page.line(&format!("- \"{}\" ({}, {weight})", shown(&claim.text), name(claim.seat)));
    }
    page.none_if_empty(brief.unverified_in_record.is_empty());
    page.heading("Who was asked");
    for asked in &brief.escalations {
        let ruling = asked.ruling.map_or("no answer", |ruling| match ruling {
            pxp::Ruling::Allow => "allowed it",
            pxp::Ruling::Deny => "denied it",
            pxp::Ruling::Amend => "gave new instructions",
        });
        let how = asked.evidence.as_deref().unwrap_or("none");
        page.line(&format!(
            "- {} {ruling} ({}, evidence: {how})",
            shown(&asked.principal),
            asked.question_id
        ));
    }
    page.none_if_empty(brief.escalations.is_empty());
    page.heading("Flags");
    for flag in &brief.protocol_flags {
        page.line(&format!("- {} by {}: {}", flag.code, name(flag.seat), shown(&flag.message)));
    }
    page.none_if_empty(brief.protocol_flags.is_empty());
    for note in &brief.notes {
        page.line(&format!("Note: {note}"));
    }
    page.line("");
    page.line(&format!("Record up to entry {}: {}", brief.ledger_head.n, brief.ledger_head.hash));
    page.0
}

#[derive(Default)]
struct Page(String);

impl Page {
    fn heading(&mut self, text: &str) {
        self.line("");
        self.line(text);
    }
    fn line(&mut self, text: &str) {
        self.0.push_str(text);
        self.0.push('\n');
    }
    fn none_if_empty(&mut self, empty: bool) {
        if empty {
            self.line("- nothing");
        }
    }
}
