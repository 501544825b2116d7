//! The scripted demonstration: two cards, four messages, one question with fixed answers.

use super::room::{Side, State, TermAuthority};
use canon::Value;

/// The answers the demo offers.
pub const OPTIONS: [&str; 2] = ["Yes, up to 950 EUR", "No, stay at 900 EUR"];

/// The demo's topic and the names of its seats.
pub const TOPIC: &str = "Hire of a hall on 4 May";
pub const NAMES: [&str; 2] = ["Ana", "Ben"];

const CARDS: [&str; 2] = [
    r#"{"principal":{"name":"Ana","role":"host of a meeting"},"goal":"Rent the hall on 4 May",
        "must_haves":["Seats for 80"],"may_agree_to":["Up to 900 EUR"],"must_never":["Pay in cash"],
        "escalate_when":["The price is above 900 EUR"],"known_facts":["80 guests confirmed"]}"#,
    r#"{"principal":{"name":"Ben","role":"keeper of the hall"},"goal":"Rent out the hall at a fair price",
        "must_haves":["Payment before the day"],"may_agree_to":["940 EUR"],"must_never":["Rent for under 880 EUR"],
        "escalate_when":["More than 90 guests"],"known_facts":["The hall has 90 seats"]}"#,
];

const ENVELOPES: [&str; 5] = [
    r#"{"message":"We need the hall on 4 May for 80 guests.","status":"continue",
        "claims":[{"text":"80 guests are confirmed","origin":"stated","ref":"known_facts[0]"},
                  {"text":"Ben prefers payment by transfer","origin":"assumed"}]}"#,
    r#"{"message":"The hall is free. 940 EUR by transfer.","status":"continue",
        "reviews":[{"claim_id":"A1.1","verdict":"accept","reason":""},
                   {"claim_id":"A1.2","verdict":"accept","reason":""}],
        "claims":[{"text":"The hall has 90 seats","origin":"stated","ref":"known_facts[0]"}],
        "proposal":{"terms":["Hall on 4 May","940 EUR by transfer before the day"],"depends_on":["new1","A1.2"]}}"#,
    r#"{"message":"940 EUR is above what I may agree to; I ask Ana.","status":"escalate",
        "reviews":[{"claim_id":"B2.1","verdict":"accept","reason":""}],
        "escalation":{"question":"The hall costs 940 EUR, above your 900. May I agree?","reason":"The price is above 900 EUR"}}"#,
    r#"{"message":"Ana agrees.","status":"agree"}"#,
    r#"{"message":"Ana stays at 900 EUR.","status":"continue",
        "proposal":{"terms":["Hall on 4 May","900 EUR by transfer before the day"],"depends_on":["B2.1","A1.2"]}}"#,
];
const LAST: &str = r#"{"message":"Agreed at 900 EUR.","status":"agree"}"#;

/// The card a seat of the demo seals.
pub fn card(side: Side) -> Value<'static> {
    let [a, b] = CARDS;
    read(if side == Side::A { a } else { b })
}

/// Whose message comes next, and which. `None`: the demo waits for its visitor, or is over.
pub fn next(state: &State) -> Option<(Side, Value<'static>)> {
    let side = state.turn.filter(|_| state.demo && state.pending.is_none() && !state.ended())?;
    let [opening, offer, question, yes, no] = ENVELOPES;
    let refused = state.envelopes.iter().any(|envelope| {
        envelope
            .answer
            .as_deref()
            .is_some_and(|answer| OPTIONS.iter().position(|option| *option == answer) == Some(1))
    });
    let envelope = match state.envelopes.len() {
        0 => opening,
        1 => offer,
        2 => question,
        3 if refused => no,
        3 => yes,
        4 => LAST,
        _ => return None,
    };
    Some((side, read(envelope)))
}

/// What the terms of the demo rest on.
pub fn authority(state: &State) -> Vec<TermAuthority> {
    let accepted = state.envelopes.iter().rev().find_map(|envelope| envelope.accepts.as_ref());
    let terms = accepted
        .and_then(|accepts| state.envelopes.iter().find(|envelope| envelope.seq == accepts.seq))
        .and_then(|envelope| envelope.proposal.as_ref())
        .map(|proposal| proposal.terms.clone())
        .unwrap_or_default();
    let map = |(place, term): (usize, String)| {
        let (a, b, note) = match place {
            0 => ("must_haves", "may_agree_to", "The date both cards are about."),
            _ => ("amendment", "may_agree_to", "Ana was asked and answered."),
        };
        TermAuthority { term, a: a.to_owned(), b: b.to_owned(), note: note.to_owned() }
    };
    terms.into_iter().enumerate().map(map).collect()
}

fn read(text: &'static str) -> Value<'static> {
    // INVARIANT: the texts above are JSON.
    canon::parse(text.as_bytes()).unwrap_or(Value::Null)
}
