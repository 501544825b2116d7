//! The four cases in which a seat is made to ask (seed section 5, D27, W-04), and what a ruling then allows.

use crate::table::*;
use pxp::limit::{Limit, Op};
use pxp::wire::{Origin, ProposalInput, Verdict};
use pxp::{CardInput, ClaimId, EnvelopeInput, Ruling, SeatId, Status};

fn codes(sent: &pxp::Sent) -> Vec<&str> {
    sent.protocol_flags
        .iter()
        .map(|flag| flag.code.as_str())
        .filter(|code| *code != "untagged_fact")
        .collect()
}

fn priced(cents: i64) -> EnvelopeInput {
    let proposal = ProposalInput { values: vec![price(cents)], ..proposal("The hall", &["new1"]) };
    EnvelopeInput { proposal: Some(proposal), ..offer("") }
}

/// Seat A offers at a price, seat B (who may pay 900) accepts.
fn accepted_at(cents: i64) -> (Table, pxp::Sent) {
    let card = |seat: SeatId| if seat == A { card(seat) } else { limited(seat) };
    let mut table = Table::sealed_with(2, policy(), card);
    let hash = table.send(A, priced(cents)).unwrap().offer_hash.unwrap();
    let reviewed = EnvelopeInput { reviews: vec![review("A1.1", Verdict::Accept)], ..agree(hash) };
    let sent = table.send(b(), reviewed).unwrap();
    (table, sent)
}

#[test]
fn w04_case_one_a_term_beyond_a_limit_forces_a_question() {
    let (table, sent) = accepted_at(90_000);
    assert_eq!((sent.status, codes(&sent).len()), (Status::Agree, 0));
    assert!(table.state.agreement.is_some());

    let (table, sent) = accepted_at(90_001);
    assert_eq!(sent.status, Status::Escalate);
    assert_eq!(codes(&sent), ["limit_crossed"]);
    assert!(table.state.agreement.is_none());
    let question = table.state.pending().unwrap();
    assert!(question.forced && question.seat == b() && question.offer.is_some());
    assert!(table.state.envelopes[1].accepts.is_none());
    // What the limit is stays with its side.
    assert!(!table.published().contains("at most") && !table.published().contains("900.00"));
    let reason = &question.body.as_ref().unwrap().reasons[0];
    assert_eq!(reason.subject, "price: at most 900.00 EUR (may_agree_to[0])");
}

#[test]
fn w04_case_one_a_limit_that_cannot_be_read_forces_a_question() {
    let unreadable = |proposal: ProposalInput| {
        let mut table = Table::sealed_with(2, policy(), limited);
        let sent = table.send(A, EnvelopeInput { proposal: Some(proposal), ..offer("") }).unwrap();
        assert_eq!(sent.status, Status::Escalate);
        assert_eq!(codes(&sent), ["limit_unreadable"]);
    };
    unreadable(proposal("The hall", &["new1"]));
    let mut dollars = price(100);
    dollars.unit = Some("USD".into());
    unreadable(ProposalInput { values: vec![dollars], ..proposal("The hall", &["new1"]) });
    let mut other = price(100);
    other.label = "deposit".into();
    unreadable(ProposalInput { values: vec![other], ..proposal("The hall", &["new1"]) });
    // Beside a value that holds, another that a person would take for the same.
    for alike in ["pr ice", "pri-ce", "PRlCE", "pr1ce"] {
        let mut other = price(9_999_900);
        other.label = alike.into();
        unreadable(ProposalInput { values: vec![price(100), other], ..proposal("The hall", &["new1"]) });
    }
    let mut deposit = price(9_999_900);
    deposit.label = "Deposit".into();
    let values = vec![price(100), deposit];
    let mut table = Table::sealed_with(2, policy(), limited);
    let proposal = ProposalInput { values, ..proposal("The hall", &["new1"]) };
    assert_eq!(
        table.send(A, EnvelopeInput { proposal: Some(proposal), ..offer("") }).unwrap().status,
        Status::Continue
    );
}

#[test]
fn w04_case_one_a_term_that_no_clause_covers_forces_a_question() {
    for clauses in [vec![], vec!["known_facts[0]"], vec!["must_never[0]"], vec!["may_agree_to[9]"]] {
        let mut table = Table::sealed();
        let authority =
            vec![pxp::wire::Cited { term: 0, clauses: clauses.iter().map(|c| (*c).to_owned()).collect() }];
        let proposal = ProposalInput { authority, ..proposal("The hall", &["new1"]) };
        let sent = table.send(A, EnvelopeInput { proposal: Some(proposal), ..offer("") }).unwrap();
        assert_eq!(sent.status, Status::Escalate, "{clauses:?}");
        assert!(codes(&sent).contains(&"term_uncited"), "{clauses:?}");
        assert_eq!(codes(&sent).contains(&"authority_unresolved"), clauses == ["may_agree_to[9]"]);
    }
}

#[test]
fn w04_case_two_a_typed_condition_that_matches_forces_a_question() {
    fn card_with_trigger(seat: SeatId) -> CardInput {
        let trigger = Limit { op: Op::Gt, clause: "escalate_when[0]".parse().unwrap(), ..at_most_900() };
        CardInput { limits: vec![trigger], ..card(seat) }
    }
    let mut table = Table::sealed_with(2, policy(), card_with_trigger);
    let sent = table.send(A, priced(90_000)).unwrap();
    assert_eq!(sent.status, Status::Continue);
    table
        .send(b(), EnvelopeInput { reviews: vec![review("A1.1", Verdict::Accept)], ..say("higher") })
        .unwrap();
    let sent = table.send(A, priced(90_001)).unwrap();
    assert_eq!((sent.status, codes(&sent)), (Status::Escalate, vec!["escalate_when"]));
}

#[test]
fn w04_case_three_an_own_conflict_unresolved_forces_a_question() {
    let mut table = Table::sealed();
    let hash = table.send(A, offer("The hall")).unwrap().offer_hash.unwrap();
    let conflicted = EnvelopeInput { reviews: vec![review("A1.1", Verdict::Conflict)], ..agree(hash) };
    let sent = table.send(b(), conflicted).unwrap();
    assert_eq!((sent.status, codes(&sent)), (Status::Escalate, vec!["conflict_unresolved"]));
    assert_eq!(table.state.pending().unwrap().claims, ["A1.1".parse::<ClaimId>().unwrap()]);
    // A later accept does not undo it, nor does a ruling that clears nothing.
    table.answer(b(), ruling("q1", Ruling::Allow, &[])).unwrap();
    let accepted = EnvelopeInput { reviews: vec![review("A1.1", Verdict::Accept)], ..agree(hash) };
    let sent = table.send(b(), accepted).unwrap();
    assert_eq!((sent.status, codes(&sent)), (Status::Escalate, vec!["conflict_unresolved"]));
    table.answer(b(), ruling("q2", Ruling::Allow, &["A1.1"])).unwrap();
    assert_eq!(table.send(b(), agree(hash)).unwrap().status, Status::Agree);
    let brief = table.state.brief.as_ref().unwrap().brief.as_ref().unwrap();
    assert!(brief.disputed[0].cleared);
    assert_eq!(brief.unverified_dependencies.len(), 1, "cleared is not verified");
}

#[test]
fn w04_case_four_an_assumption_under_a_must_have_forces_a_question() {
    let touching = || {
        let mut touching = review("A1.1", Verdict::Accept);
        touching.touches = vec!["must_haves[0]".into()];
        vec![touching]
    };
    let mut table = Table::sealed();
    let hash = table.send(A, offer("The hall")).unwrap().offer_hash.unwrap();
    let sent = table.send(b(), EnvelopeInput { reviews: touching(), ..agree(hash) }).unwrap();
    assert_eq!((sent.status, codes(&sent)), (Status::Escalate, vec!["assumed_must_have"]));
    table.answer(b(), ruling("q1", Ruling::Allow, &[])).unwrap();
    assert_eq!(table.send(b(), agree(hash)).unwrap().status, Status::Agree, "allowed for this very offer");

    // The same claim, once it is verified, stands in nobody's way.
    let mut table = Table::sealed();
    let hash = table.send(A, offer("The hall")).unwrap().offer_hash.unwrap();
    crate::answers::vouch(&mut table, A, "A1.1", true).unwrap();
    let sent = table.send(b(), EnvelopeInput { reviews: touching(), ..agree(hash) }).unwrap();
    assert_eq!(sent.status, Status::Agree);

    // What the agent itself attaches, now or with the claim, is no principal's word.
    let source = || pxp::wire::Source {
        uri: "https://example.test/plan".into(),
        sha256: canon::Digest::of(b"anything"),
    };
    let mut table = Table::sealed();
    let hash = table.send(A, offer("The hall")).unwrap().offer_hash.unwrap();
    let attach = pxp::command::AttachSource {
        actor: pxp::Actor::Seat { seat: A },
        seat: A,
        claim: "A1.1".parse().unwrap(),
        source: source(),
    };
    table.run(pxp::Command::AttachSource(attach)).unwrap();
    let sent = table.send(b(), EnvelopeInput { reviews: touching(), ..agree(hash) }).unwrap();
    assert_eq!((sent.status, codes(&sent)), (Status::Escalate, vec!["assumed_must_have"]));
    let mut table = Table::sealed();
    let mut sourced = offer("The hall");
    sourced.claims[0].source = Some(source());
    let hash = table.send(A, sourced).unwrap().offer_hash.unwrap();
    let sent = table.send(b(), EnvelopeInput { reviews: touching(), ..agree(hash) }).unwrap();
    assert_eq!((sent.status, codes(&sent)), (Status::Escalate, vec!["assumed_must_have"]));
    crate::answers::vouch(&mut table, A, "A1.1", true).unwrap();
    table.answer(b(), ruling("q1", Ruling::Amend, &[])).unwrap();
    assert_eq!(table.send(b(), agree(hash)).unwrap().status, Status::Agree);
}

#[test]
fn what_was_allowed_is_that_offer_and_no_other() {
    let mut table = Table::sealed_with(2, policy(), limited);
    let sent = table.send(A, priced(95_000)).unwrap();
    assert_eq!(sent.status, Status::Escalate);
    let draft = sent.offer_hash.unwrap();
    table.answer(A, ruling("q1", Ruling::Allow, &[])).unwrap();
    // A draft binds nobody; the same content, sent again, does.
    let sent = table.send(A, priced_again(95_000)).unwrap();
    assert_eq!(sent.status, Status::Continue);
    let reviews = vec![review("A1.1", Verdict::Accept)];
    assert_eq!(
        table.send_code(b(), EnvelopeInput { reviews: reviews.clone(), ..agree(draft) }),
        "offer_draft"
    );
    table.send(b(), EnvelopeInput { reviews, ..say("hm") }).unwrap();
    let sent = table.send(A, priced_again(95_001)).unwrap();
    assert_eq!((sent.status, codes(&sent)), (Status::Escalate, vec!["limit_crossed"]));
}

/// The same content as a first offer of seat A: it depends on the claim made then.
fn priced_again(cents: i64) -> EnvelopeInput {
    let proposal = ProposalInput { values: vec![price(cents)], ..proposal("The hall", &["A1.1"]) };
    EnvelopeInput { proposal: Some(proposal), ..say("As my principal said") }
}

#[test]
fn what_was_denied_stays_denied() {
    let (mut table, _) = accepted_at(95_000);
    let hash = table.state.offers[0].hash;
    table.answer(b(), ruling("q1", Ruling::Deny, &[])).unwrap();
    assert_eq!(table.send_code(b(), agree(hash)), "denied_by_principal");
    table.send(b(), say("no")).unwrap();
}

#[test]
fn an_amended_limit_replaces_the_old_one() {
    let (mut table, _) = accepted_at(95_000);
    let hash = table.state.offers[0].hash;
    let mut answer = ruling("q1", Ruling::Amend, &[]);
    let mut raised = at_most_900();
    raised.value = pxp::limit::Operand::One(pxp::limit::Scalar::Integer(95_000));
    raised.clause = "amendment[0]".parse().unwrap();
    answer.limits = vec![raised];
    table.answer(b(), answer).unwrap();
    assert_eq!(table.state.seat(b()).unwrap().card.as_ref().unwrap().limits.len(), 1);
    assert_eq!(table.send(b(), agree(hash)).unwrap().status, Status::Agree);
}

#[test]
fn a_question_about_an_offer_carries_what_the_server_would_ask() {
    let card = |seat: SeatId| if seat == A { card(seat) } else { limited(seat) };
    let mut table = Table::sealed_with(2, policy(), card);
    let hash = table.send(A, priced(95_000)).unwrap().offer_hash.unwrap();
    let mut asking = escalate("May I take it?", &["A1.1"]);
    asking.escalation.as_mut().unwrap().offer_hash = Some(hash);
    let sent = table.send(b(), asking).unwrap();
    assert!(sent.protocol_flags.is_empty());
    let question = table.state.pending().unwrap();
    assert!(!question.forced);
    let reasons: Vec<&str> =
        question.body.as_ref().unwrap().reasons.iter().map(|reason| reason.code.as_str()).collect();
    assert_eq!(reasons, ["limit_crossed", "term_uncited"]);
    table.answer(b(), ruling("q1", Ruling::Allow, &[])).unwrap();
    let accepted = EnvelopeInput {
        reviews: vec![review("A1.1", Verdict::Accept)],
        authority: Vec::new(),
        ..agree(hash)
    };
    assert_eq!(table.send(b(), accepted).unwrap().status, Status::Agree);
    let brief = table.state.brief.as_ref().unwrap().brief.as_ref().unwrap();
    let basis: Vec<&str> = brief.authority[0].seats.iter().map(|seat| seat.basis.as_str()).collect();
    assert_eq!(basis, ["clause", "answer"]);
}

#[test]
fn origins_do_not_matter_to_what_is_asked_of_whom() {
    // A question goes to the asking side's principal alone, and names the claim's text for them.
    let mut table = Table::sealed();
    let claims = vec![claim("The floor is new", Origin::Assumed, None)];
    table.send(A, EnvelopeInput { claims, ..say("hello") }).unwrap();
    table.send(b(), escalate("Is the floor new?", &["A1.1"])).unwrap();
    let asks = table.state.asks();
    assert_eq!((asks.len(), asks[0].id.as_str()), (1, "q1"));
    let text = String::from_utf8(canon::to_vec(&asks[0].brief).unwrap()).unwrap();
    assert!(text.contains("The floor is new") && text.contains("Ben never pays in cash"));
    assert!(!text.contains("Ana never pays in cash"));
}
