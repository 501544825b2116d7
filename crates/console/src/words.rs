//! Plain words for what the protocol names, and how times, hashes and amounts are shown.

use approvals::Standing;
use approvals::text::Suspicion;
use askama::filters::{Escaper, Html};
use canon::Digest;
use env::Timestamp;
use pxp::wire::{Origin, Verdict};
use pxp::{Ruling, State, Status};
use std::collections::BTreeSet;
use std::fmt;

/// How every template writes every value: what cannot be seen, or moves what can, written out, then as text of HTML.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Visible;

impl Escaper for Visible {
    fn write_escaped_str<W: fmt::Write>(&self, dest: W, text: &str) -> fmt::Result {
        Html.write_escaped_str(dest, &approvals::text::reveal(text))
    }
}

/// Strangers' text for a page: hidden characters written out. The template escapes it.
pub(crate) fn shown(text: &str) -> String {
    approvals::text::show(text)
}

/// What is odd about these texts, a sentence each.
pub(crate) fn odd<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<&'static str> {
    let found: BTreeSet<Suspicion> = texts.into_iter().flat_map(approvals::text::suspicious).collect();
    found.into_iter().map(Suspicion::sentence).collect()
}

/// The same, saying of what.
pub(crate) fn odd_in<'a>(of: &str, texts: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    odd(texts).into_iter().map(|sentence| format!("{of}: {sentence}")).collect()
}

/// Seats whose card names another person than the room was opened for.
pub(crate) fn renamed(state: &State) -> Vec<String> {
    let renamed = state.seats.iter().filter(|seat| seat.card_hash.is_some() && seat.name != seat.planned);
    let sentence = |seat: &pxp::state::Seat| {
        let (planned, name) = (shown(&seat.planned), shown(&seat.name));
        format!("Seat {} was opened for “{planned}”; its card names “{name}”.", seat.id)
    };
    renamed.map(sentence).collect()
}

/// The state of a room: its word, and one sentence that explains it.
pub(crate) fn room_status(status: &str) -> (&'static str, &'static str) {
    match status {
        "drafting" => ("Getting ready", "Each side still has to seal its card. The agents talk after that."),
        "negotiating" => ("Talking", "The agents are negotiating within the sealed cards."),
        "paused" => ("Waiting for a person", "The agents have stopped until a person has answered."),
        "agreed" => {
            ("Agreed", "Every side has accepted exactly the same offer. Nothing can be added to it here.")
        }
        "stalled" => ("Stalled", "The room ended without an agreement."),
        "withdrawn" => ("Withdrawn", "One side left. The room ended without an agreement."),
        _ => ("Unknown", ""),
    }
}

/// Why a room stalled.
pub(crate) fn stall(reason: &str) -> String {
    match reason {
        "turns" => "The agreed number of turns was used up.".to_owned(),
        "turn_deadline" => "An agent did not answer in time.".to_owned(),
        "escalation_deadline" => "A person did not answer in time.".to_owned(),
        other => shown(other),
    }
}

/// Where a claim comes from: a word and its meaning.
pub(crate) const fn origin(origin: Origin) -> (&'static str, &'static str) {
    match origin {
        Origin::Stated => ("stated", "A person said so: it rests on their sealed card or their answer."),
        Origin::Sourced => ("sourced", "It names a document. Check the document before you rely on it."),
        Origin::Assumed => ("assumed", "Only the agent's own word. Nobody has confirmed it."),
    }
}

/// How far a line of a question may be trusted.
pub(crate) const fn standing(standing: Standing) -> (&'static str, &'static str) {
    match standing {
        Standing::Checked => ("checked", "checked by this server"),
        Standing::Stated => ("stated", "said by a person"),
        Standing::Sourced => ("sourced", "from a named document"),
        Standing::Claimed => ("assumed", "only an agent's word"),
    }
}

pub(crate) const fn verdict(verdict: Verdict) -> (&'static str, &'static str) {
    match verdict {
        Verdict::Accept => ("accept", "accepts"),
        Verdict::Challenge => ("challenge", "challenges"),
        Verdict::Conflict => ("conflict", "contradicts"),
    }
}

pub(crate) const fn ruling(ruling: Ruling) -> &'static str {
    match ruling {
        Ruling::Allow => "allowed it",
        Ruling::Deny => "refused it",
        Ruling::Amend => "gave new instructions",
    }
}

pub(crate) const fn envelope_status(status: Status) -> Option<&'static str> {
    match status {
        Status::Continue => None,
        Status::Agree => Some("agrees"),
        Status::Escalate => Some("asks its person"),
    }
}

/// `must_haves[0]` as `must have 1`.
pub(crate) fn clause(reference: &str) -> String {
    let Some((list, index)) = reference.strip_suffix(']').and_then(|rest| rest.split_once('[')) else {
        return shown(reference);
    };
    let word = match list {
        "must_haves" => "must have",
        "may_agree_to" => "may agree to",
        "must_never" => "must never",
        "escalate_when" => "ask me when",
        "known_facts" => "known fact",
        "amendment" => "later answer",
        _ => return shown(reference),
    };
    match index.parse::<u32>() {
        Ok(index) => format!("{word} {}", index.saturating_add(1)),
        Err(_) => shown(reference),
    }
}

/// What an entry of a room's record tells, in plain words.
pub(crate) fn entry(kind: &str) -> &'static str {
    match kind {
        "room_opened" => "The room was opened",
        "agent_joined" => "An agent took its seat",
        "principal_enrolled" => "A person took responsibility for a seat",
        "card_sealed" => "A card was sealed",
        "card_superseded" => "A sealed card was replaced",
        "envelope" => "An agent sent a message",
        "review" => "An agent judged a claim of another side",
        "escalation" => "A person was asked",
        "answer_relayed" => "An agent passed on an answer; it waits to be confirmed",
        "answer_disowned" => "A person said that they did not give an answer",
        "principal_answer" => "A person answered",
        "claim_confirmed" => "A person confirmed or denied a claim",
        "source_attached" => "A document was attached to a claim",
        "offer_withdrawn" => "An offer was withdrawn",
        "offer_expired" => "An offer lapsed",
        "agreement" => "Every side accepted the same offer",
        "turn_limit" => "The agreed number of turns was used up",
        "stalled" => "Somebody did not answer in time",
        "withdrawn" => "A side left",
        "brief" => "The brief was written",
        "disclosed" => "A card, or a line of one, was shown to another side",
        "share_created" => "A reading link was made",
        "share_revoked" => "A reading link was ended",
        "seat_rotated" => "A seat's link was replaced",
        "room_paused" => "The room was stopped",
        "room_resumed" => "The room went on",
        _ => "An entry of another kind",
    }
}

/// `4f2a 91c0 …`: a hash to read aloud or compare.
pub(crate) fn groups(digest: &Digest) -> Vec<String> {
    let hex: Vec<char> = digest.to_string().chars().collect();
    hex.chunks(4).map(|four| four.iter().collect()).collect()
}

/// The first eight digits, to tell hashes apart at a glance.
pub(crate) fn short(digest: &Digest) -> String {
    digest.to_string().chars().take(8).collect()
}

/// `30 Nov 2026, 09:21 UTC`.
pub(crate) fn when(at: Timestamp) -> String {
    spelled(&at.to_string()).unwrap_or_else(|| at.to_string())
}

fn spelled(rfc3339: &str) -> Option<String> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (date, time) = rfc3339.split_once('T')?;
    let mut parts = date.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let month = MONTHS.get(month.parse::<usize>().ok()?.checked_sub(1)?)?;
    Some(format!("{} {month} {year}, {} UTC", day.trim_start_matches('0'), time.get(..5)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_clauses_in_words() {
        assert_eq!(when(Timestamp::EPOCH), "1 Jan 1970, 00:00 UTC");
        assert_eq!(when(Timestamp::from_secs(1_796_030_460)), "30 Nov 2026, 09:21 UTC");
        assert_eq!(clause("must_haves[0]"), "must have 1");
        assert_eq!(clause("amendment[2]"), "later answer 3");
        assert_eq!(clause("a\u{202e}b"), "a⟨U+202E⟩b");
    }
}
