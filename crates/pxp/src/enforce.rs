//! What the server does to an envelope before it is recorded (spec 5 and its remedies W-04 to W-08, W-23): origins are
//! resolved, reviews are complete, offers are exact, and what the seat may not decide alone goes to its principal.

mod authority;
mod claims;
mod sight;

pub(crate) use claims::normal;
pub(crate) use sight::Sight;

use crate::command::Policy;
use crate::envelope::{Accepts, CommittedInput, EnvelopeClaim, Flag, Proposal, Review};
use crate::event::Reason;
use crate::state::{Offer, State};
use crate::wire::{Cited, ProposalInput, Status, most};
use crate::{ClaimId, Refusal, SeatId, facts};
use authority::Subject;
use canon::Digest;
use env::Timestamp;

/// An envelope after enforcement, but for what depends on its place in the room.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Applied {
    pub status: Status,
    pub claims: Vec<EnvelopeClaim>,
    pub reviews: Vec<Review>,
    pub proposal: Option<Proposal>,
    pub accepts: Option<Accepts>,
    pub authority: Vec<Cited>,
    pub flags: Vec<Flag>,
    pub question: Option<Asked>,
    /// Why the principal is needed: for their eyes.
    pub reasons: Vec<Reason>,
}

/// A question as it goes to the principal.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Asked {
    /// The server's words where it asks of its own accord; else the seat's, which the input commits to.
    pub words: Option<String>,
    pub claims: Vec<ClaimId>,
    pub offer: Option<Digest>,
    pub matter: Option<Digest>,
    pub forced: bool,
}

/// The number of the next envelope.
pub(crate) fn next_seq(state: &State) -> u64 {
    u64::try_from(state.envelopes.len()).unwrap_or(u64::MAX).saturating_add(1)
}

pub(crate) fn apply(
    state: &State,
    seat: SeatId,
    card: Sight<'_>,
    input: &CommittedInput,
    now: Timestamp,
) -> Result<Applied, Refusal> {
    let gone = || Refusal::Bug("the room is gone".to_owned());
    let policy = &state.room.as_ref().ok_or_else(gone)?.policy;
    let seq = next_seq(state);
    let mut flags = Vec::new();
    let reviews = claims::review(state, seat, card, input)?;
    let made = claims::make(state, seat, card, seq, &input.claims, &mut flags)?;
    let mut applied = Applied {
        status: input.status,
        proposal: None,
        accepts: None,
        authority: Vec::new(),
        question: None,
        reasons: Vec::new(),
        claims: made,
        reviews,
        flags,
    };
    if let Some(proposal) = &input.proposal {
        applied.proposal = Some(propose(state, card, policy, proposal, &mut applied, now)?);
    }
    tagged(state, input, &mut applied);
    match input.status {
        Status::Agree => agree(state, seat, card, input, &mut applied, now)?,
        Status::Escalate => ask(state, seat, card, input, &mut applied)?,
        Status::Continue => offer(state, seat, card, &mut applied)?,
    }
    Ok(applied)
}

fn propose(
    state: &State,
    card: Sight<'_>,
    policy: &Policy,
    input: &ProposalInput,
    applied: &mut Applied,
    now: Timestamp,
) -> Result<Proposal, Refusal> {
    let mut depends_on: Vec<ClaimId> = Vec::new();
    for (index, id) in input.depends_on.iter().enumerate() {
        let place = format!("/proposal/depends_on/{index}");
        let id = claims::resolve(state, &applied.claims, id, place)?;
        if !depends_on.contains(&id) {
            depends_on.push(id);
        }
    }
    if depends_on.is_empty() {
        applied.flags.push(Flag::new("no_dependencies", "the offer names no claim that it depends on"));
    }
    let seconds = [policy.offer_seconds, input.expires_in_seconds].into_iter().flatten().min();
    if input.expires_in_seconds == Some(0) {
        let place = "/proposal/expires_in_seconds".to_owned();
        return Err(Refusal::BadValue { place, detail: "an offer stands for a second at least".into() });
    }
    Ok(Proposal {
        terms: input.terms.clone(),
        depends_on,
        values: input.values.clone(),
        authority: resolve_authority(
            card,
            &input.authority,
            input.terms.len(),
            "/proposal/authority",
            &mut applied.flags,
        )?,
        expires_at: seconds.map(|seconds| now + env::Duration::from_secs(u64::from(seconds))),
    })
}

/// Accepts exactly the offer that is named (W-08), unless the seat's principal must be asked first.
fn agree(
    state: &State,
    seat: SeatId,
    card: Sight<'_>,
    input: &CommittedInput,
    applied: &mut Applied,
    now: Timestamp,
) -> Result<(), Refusal> {
    let hash = input.accepts.ok_or(Refusal::AcceptsMissing)?;
    let offer = state.offer(hash).ok_or(Refusal::OfferUnknown)?;
    if offer.seat == seat {
        return Err(Refusal::OfferOwn);
    }
    let past = offer.expires_at.is_some_and(|end| now >= end);
    crate::decide::open_offer(offer.standing, past)?;
    if state.last_ruling(seat, offer.matter) == Some(crate::Ruling::Deny) {
        return Err(Refusal::DeniedByPrincipal);
    }
    let cited =
        resolve_authority(card, &input.authority, offer.terms.len(), "/authority", &mut applied.flags)?;
    let reasons = authority::reasons(state, seat, card, &subject(offer, &cited), &applied.reviews);
    if reasons.is_empty() {
        applied.accepts = Some(Accepts {
            seq: offer.seq,
            proposal_hash: offer.proposal_hash,
            offer_hash: Some(offer.hash),
        });
        applied.authority = cited;
        return Ok(());
    }
    let terms = offer.terms.join("; ");
    let question = format!("May your agent accept the offer of seat {}: {terms}", offer.seat);
    force(applied, reasons, question, Some(offer.hash), offer.matter);
    Ok(())
}

/// An offer of the seat's own binds it, so it is checked like an acceptance.
fn offer(state: &State, seat: SeatId, card: Sight<'_>, applied: &mut Applied) -> Result<(), Refusal> {
    let Some(proposal) = &applied.proposal else { return Ok(()) };
    let matter = proposal.matter(seat)?;
    if state.last_ruling(seat, matter) == Some(crate::Ruling::Deny) {
        return Err(Refusal::DeniedByPrincipal);
    }
    let reasons = authority::reasons(state, seat, card, &own(proposal, matter), &applied.reviews);
    if !reasons.is_empty() {
        let question = format!("May your agent offer this: {}", proposal.terms.join("; "));
        force(applied, reasons, question, None, matter);
    }
    Ok(())
}

/// A question of the proxy's own accord. What the server would have asked about the same offer is asked with it.
fn ask(
    state: &State,
    seat: SeatId,
    card: Sight<'_>,
    input: &CommittedInput,
    applied: &mut Applied,
) -> Result<(), Refusal> {
    let empty = || Refusal::Empty { place: "/escalation/question".into() };
    let asked = input.escalation.as_ref().ok_or_else(empty)?;
    let mut claims = Vec::new();
    for (index, id) in asked.claims.iter().enumerate() {
        claims.push(claims::resolve(state, &applied.claims, id, format!("/escalation/claims/{index}"))?);
    }
    let (matter, reasons) = match (asked.offer_hash, &applied.proposal) {
        (Some(hash), _) => {
            let offer = state.offer(hash).ok_or(Refusal::OfferUnknown)?;
            let subject = subject(offer, &[]);
            let reasons = authority::reasons(state, seat, card, &subject, &applied.reviews);
            (Some(offer.matter), reasons)
        }
        (None, Some(proposal)) => {
            let matter = proposal.matter(seat)?;
            let subject = own(proposal, matter);
            let reasons = authority::reasons(state, seat, card, &subject, &applied.reviews);
            (Some(matter), reasons)
        }
        (None, None) => (None, Vec::new()),
    };
    applied.reasons = reasons;
    applied.question = Some(Asked { words: None, claims, offer: asked.offer_hash, matter, forced: false });
    Ok(())
}

/// Turns the envelope into a question: what the seat wanted is not done.
fn force(
    applied: &mut Applied,
    reasons: Vec<Reason>,
    question: String,
    offer: Option<Digest>,
    matter: Digest,
) {
    let mut claims: Vec<ClaimId> = Vec::new();
    for reason in &reasons {
        let flag = authority::flag(reason);
        if !applied.flags.contains(&flag) {
            applied.flags.push(flag);
        }
        if let Ok(claim) = reason.subject.parse::<ClaimId>()
            && !claims.contains(&claim)
        {
            claims.push(claim);
        }
    }
    applied.status = Status::Escalate;
    applied.question = Some(Asked {
        words: Some(clip(&question, most::QUESTION)),
        claims,
        offer,
        matter: Some(matter),
        forced: true,
    });
    applied.reasons = reasons;
}

/// Keeps the clauses that the seat's card has; a flag says that others were named (W-16).
fn resolve_authority(
    card: Sight<'_>,
    cited: &[Cited],
    terms: usize,
    place: &str,
    flags: &mut Vec<Flag>,
) -> Result<Vec<Cited>, Refusal> {
    let mut resolved = Vec::new();
    for (index, one) in cited.iter().enumerate() {
        if usize::from(one.term) >= terms {
            let place = format!("{place}/{index}/term");
            return Err(Refusal::BadValue { place, detail: "the offer has no such term".into() });
        }
        let mut found = Vec::new();
        for clause in &one.clauses {
            let term = u32::from(one.term) + 1;
            let message = format!("term {term} cites {clause:?}, which the seat's card does not have");
            let flag = Flag::new("authority_unresolved", message);
            if card.allows(clause, &flag) {
                found.push(clause.clone());
            } else {
                flags.push(flag);
            }
        }
        if !found.is_empty() {
            resolved.push(Cited { term: one.term, clauses: found });
        }
    }
    Ok(resolved)
}

/// Flags facts that the seat relies on without a claim (seed section 3, rule 1).
fn tagged(state: &State, input: &CommittedInput, applied: &mut Applied) {
    let mut own = facts::Known::default();
    applied.claims.iter().for_each(|claim| own.learn(&claim.text));
    let values = applied.proposal.iter().flat_map(|proposal| &proposal.values);
    values.flat_map(facts::spellings).for_each(|text| own.learn(&text));
    let terms = input.proposal.iter().flat_map(|proposal| &proposal.terms);
    let mut found: Vec<String> = Vec::new();
    for text in std::iter::once(&input.message).chain(terms) {
        for fact in facts::uncovered(text, &[&own, &state.said.facts]) {
            if !found.contains(&fact) {
                found.push(fact);
            }
        }
    }
    let flag = |fact: String| Flag::new("untagged_fact", format!("no claim covers {fact:?}"));
    applied.flags.extend(found.into_iter().map(flag));
}

fn subject<'a>(offer: &'a Offer, cited: &'a [Cited]) -> Subject<'a> {
    Subject {
        terms: offer.terms.len(),
        values: &offer.values,
        depends_on: &offer.depends_on,
        authority: cited,
        matter: offer.matter,
        accepting: true,
    }
}

fn own(proposal: &Proposal, matter: Digest) -> Subject<'_> {
    Subject {
        terms: proposal.terms.len(),
        values: &proposal.values,
        depends_on: &proposal.depends_on,
        authority: &proposal.authority,
        matter,
        accepting: false,
    }
}

/// A generated question quotes terms as far as they fit; the ask shows them whole.
fn clip(text: &str, limit: usize) -> String {
    let mut units = 0_usize;
    let fits = |c: &char| {
        units += c.len_utf16();
        units < limit
    };
    if text.encode_utf16().count() <= limit {
        text.to_owned()
    } else {
        text.chars().take_while(fits).chain(std::iter::once('…')).collect()
    }
}
