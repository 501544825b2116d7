//! The weaknesses of spec 7 that a room remedies. Those about answers and limits are in `answers` and `escalation`;
//! W-13 and W-19 are the store's and the server's.

use crate::table::*;
use keys::{Algorithm, Signer, SoftwareSigner};
use pxp::command::{
    Actor, Disclose, Disclosed, Enrol, Join, Leave, Rotate, Seal, Send, Share, Unshare, WithdrawOffer,
};
use pxp::view::{self, Viewer};
use pxp::wire::{Origin, ProposalInput, Source, Verdict, most};
use pxp::{Command, EnvelopeInput, Policy, Reply, Ruling, Scope, Status};

fn reviewed(envelope: EnvelopeInput, ids: &[&str]) -> EnvelopeInput {
    EnvelopeInput { reviews: ids.iter().map(|id| review(id, Verdict::Accept)).collect(), ..envelope }
}

fn flags(sent: &pxp::Sent) -> Vec<&str> {
    sent.protocol_flags.iter().map(|flag| flag.code.as_str()).collect()
}

#[test]
fn w01_an_invite_works_once_and_gives_another_secret() {
    let mut table = Table::opened(2, policy());
    let (_, invite) = table.invites[0].clone();
    let actor = table.state.authenticate(&invite, table.now()).unwrap();
    assert_eq!(actor, Actor::Invite { seat: b() });
    let join = Join { actor, seat: b(), agent: None, key: None, principal: None };
    let Reply::Joined { seat_secret: Some(secret), principal_link: Some(link), .. } =
        table.run(Command::Join(join.clone())).unwrap()
    else {
        panic!()
    };
    assert_ne!(secret.expose(), invite);
    assert_eq!(table.code(Command::Join(join)), "invite_used");
    assert_eq!(table.state.authenticate(&invite, table.now()), None);
    assert!(table.state.is_burned(&invite));
    assert_eq!(table.state.authenticate(secret.expose(), table.now()), Some(Actor::Seat { seat: b() }));
    // The opener's secret opens nothing of seat B, and an invite is for one seat.
    let other = Join { actor: Actor::Seat { seat: A }, seat: b(), agent: None, key: None, principal: None };
    assert_eq!(table.code(Command::Join(other)), "not_permitted");
    let seal = Seal { actor: Actor::Seat { seat: A }, seat: b(), card: card(b()) };
    assert_eq!(table.code(Command::Seal(seal)), "not_permitted");
    // Only hashes are on record, and a principal's link burns as well.
    for kept in [&invite, &secret.expose().to_owned(), &link.expose().to_owned()] {
        assert!(!table.published().contains(kept.as_str()));
    }
    table.enrol(b(), link.expose());
    assert_eq!(table.state.authenticate(link.expose(), table.now()), None);
    let again =
        Enrol { actor: Actor::Link { seat: b() }, seat: b(), as_member: None, passkey: None, key: None };
    assert_eq!(table.code(Command::Enrol(again)), "invite_used");
}

#[test]
fn w01_an_invite_of_another_seat_is_unknown() {
    let mut table = Table::opened(3, policy());
    let join =
        Join { actor: Actor::Invite { seat: b() }, seat: c(), agent: None, key: None, principal: None };
    assert_eq!(table.code(Command::Join(join)), "invite_unknown");
}

#[test]
fn w03_a_seat_with_a_key_signs_every_envelope() {
    let key = SoftwareSigner::from_seed(Algorithm::Ed25519, &[5; 32]).unwrap();
    let other = SoftwareSigner::from_seed(Algorithm::Ed25519, &[6; 32]).unwrap();
    let mut table = Table::empty(6);
    let plan = pxp::command::Open { key: Some(key.public()), ..open(2, policy()) };
    table.run(Command::Open(plan)).unwrap();
    let join =
        Join { actor: Actor::Invite { seat: b() }, seat: b(), agent: None, key: None, principal: None };
    table.run(Command::Join(join)).unwrap();
    table.seal(A, card(A)).unwrap();
    table.seal(b(), card(b())).unwrap();
    let sign = |by: &SoftwareSigner, id: &str, envelope: &EnvelopeInput| {
        let hash = pxp::signing_bytes(&room_id(), A, id, envelope).unwrap();
        Some(by.sign(hash.as_bytes()).unwrap().base64url())
    };
    let with = |msg_id: Option<&str>, signature, envelope: &EnvelopeInput| {
        let msg_id = msg_id.map(str::to_owned);
        Command::Send(Send { msg_id, signature, ..send(A, envelope.clone()) })
    };
    let envelope = offer("The hall");
    assert_eq!(table.code(with(Some("m1"), None, &envelope)), "signature_required");
    assert_eq!(table.code(with(None, sign(&key, "m1", &envelope), &envelope)), "signature_required");
    assert_eq!(table.code(with(Some("m2"), sign(&key, "m1", &envelope), &envelope)), "bad_signature");
    assert_eq!(table.code(with(Some("m1"), sign(&other, "m1", &envelope), &envelope)), "bad_signature");
    assert_eq!(table.code(with(Some("m1"), sign(&key, "m1", &say("other")), &envelope)), "bad_signature");
    let mut asking = escalate("May I?", &[]);
    assert_eq!(table.code(with(Some("m1"), Some("x".into()), &asking)), "salt_required");
    asking.escalation.as_mut().unwrap().salt = Some(canon::Salt::from_bytes([1; 32]));
    assert_eq!(table.code(with(Some("m1"), sign(&key, "m1", &asking), &asking)), "ok");
    table
        .run(Command::Answer(pxp::command::Answer {
            actor: Actor::Seat { seat: A },
            seat: A,
            answer: ruling("q1", Ruling::Allow, &[]),
            proof: relayed(),
        }))
        .unwrap();
    assert_eq!(table.code(with(Some("m3"), sign(&key, "m3", &envelope), &envelope)), "ok");
    // A seat without a key signs nothing, and the brief says which is which.
    let unsigned = Send { signature: Some("x".into()), msg_id: Some("m".into()), ..send(b(), say("hello")) };
    assert_eq!(table.code(Command::Send(unsigned)), "bad_signature");
    table
        .run(Command::Leave(Leave { actor: Actor::Seat { seat: A }, seat: A, reason: String::new() }))
        .unwrap();
    let brief = table.state.brief.as_ref().unwrap().brief.as_ref().unwrap();
    assert_eq!(brief.parties[0].signed_by, Some(key.public().thumbprint().to_string()));
    assert!(brief.notes.iter().any(|note| note.starts_with("Seat B does not sign")));
    assert!(!brief.notes.iter().any(|note| note.starts_with("Seat A does not sign")));
}

#[test]
fn w05_stated_means_the_own_card_says_so() {
    let check = |reference: &str, quote: Option<&str>, origin: Origin, code: &[&str]| {
        let mut table = Table::sealed();
        table.send(A, offer("The hall")).unwrap();
        let mut stated = claim("eighty people come", Origin::Stated, Some(reference));
        stated.quote = quote.map(str::to_owned);
        let sent = table
            .send(b(), reviewed(EnvelopeInput { claims: vec![stated], ..say("hello") }, &["A1.1"]))
            .unwrap();
        assert_eq!(
            (table.state.claims[1].origin, flags(&sent)),
            (origin, code.to_vec()),
            "{reference} {quote:?}"
        );
    };
    check("known_facts[0]", Some("80 guests"), Origin::Stated, &[]);
    check("known_facts[0]", Some("90 guests"), Origin::Assumed, &["quote_not_in_clause"]);
    check("known_facts[0]", Some(" "), Origin::Assumed, &["quote_not_in_clause"]);
    check("A1.1", None, Origin::Assumed, &["restated_claim"]);
    check("B1.1", None, Origin::Assumed, &["ref_unresolved"]);
    check("seat A", None, Origin::Assumed, &["ref_unresolved"]);
}

#[test]
fn w05_a_restated_claim_keeps_its_origin_unless_a_source_is_bound() {
    let check = |restated: pxp::wire::ClaimInput, origin: Origin, verified: bool| {
        let mut table = Table::sealed();
        table.send(A, offer("The hall")).unwrap();
        table
            .send(
                b(),
                reviewed(EnvelopeInput { claims: vec![restated.clone()], ..say("as said") }, &["A1.1"]),
            )
            .unwrap();
        let made = &table.state.claims[1];
        assert_eq!((made.origin, table.state.is_verified(made)), (origin, verified), "{restated:?}");
        assert_eq!(made.restates.as_ref().map(|id| id.as_str()), Some("A1.1"));
    };
    check(claim("THE HALL is free!", Origin::Stated, Some("known_facts[0]")), Origin::Assumed, false);
    check(claim("The hall is free", Origin::Sourced, Some("lease.pdf")), Origin::Assumed, false);
    check(claim("It is available", Origin::Stated, Some("A1.1")), Origin::Assumed, false);
    let mut bound = claim("The hall is free", Origin::Sourced, Some("lease.pdf"));
    bound.source = Some(Source { uri: "https://example.test/lease".into(), sha256: canon::Digest::of(b"x") });
    check(bound, Origin::Sourced, true);
}

#[test]
fn w05_a_source_without_digest_verifies_nothing() {
    let mut table = Table::sealed();
    let mut bound = claim("The roof is new", Origin::Sourced, Some("survey"));
    bound.source =
        Some(Source { uri: "https://example.test/survey".into(), sha256: canon::Digest::of(b"x") });
    let claims = vec![claim("The floor is new", Origin::Sourced, Some("survey")), bound];
    table.send(A, EnvelopeInput { claims, ..say("hello") }).unwrap();
    let verified: Vec<bool> = table.state.claims.iter().map(|claim| table.state.is_verified(claim)).collect();
    assert_eq!(verified, [false, true]);
}

#[test]
fn w08_offers_are_accepted_by_hash_and_lapse() {
    let withdraw = |seat, offer_hash| WithdrawOffer {
        actor: Actor::Seat { seat },
        seat,
        offer_hash,
        reason: "no".into(),
    };
    let mut table = Table::sealed();
    let hash = table.send(A, offer("The hall")).unwrap().offer_hash.unwrap();
    let unnamed = EnvelopeInput { accepts: None, ..agree(hash) };
    assert_eq!(table.send_code(b(), reviewed(unnamed, &["A1.1"])), "accepts_missing");
    assert_eq!(table.code(Command::WithdrawOffer(withdraw(b(), hash))), "not_permitted");
    table.run(Command::WithdrawOffer(withdraw(A, hash))).unwrap();
    assert_eq!(table.code(Command::WithdrawOffer(withdraw(A, hash))), "offer_withdrawn");
    assert_eq!(table.send_code(b(), reviewed(agree(hash), &["A1.1"])), "offer_withdrawn");

    // By time, exactly.
    let lapsing = || {
        let mut table = Table::sealed_with(2, Policy { offer_seconds: Some(60), ..Policy::default() }, card);
        let hash = table.send(A, offer("The hall")).unwrap().offer_hash.unwrap();
        (table, hash)
    };
    let (mut table, hash) = lapsing();
    table.source.advance(env::Duration::from_secs(59));
    table.send(b(), reviewed(agree(hash), &["A1.1"])).unwrap();
    assert!(table.state.agreement.is_some());
    let (mut table, hash) = lapsing();
    table.source.advance(env::Duration::from_secs(60));
    assert_eq!(table.send_code(b(), reviewed(agree(hash), &["A1.1"])), "offer_expired");
    table.run(Command::Tick).unwrap();
    assert!(table.kinds().contains(&"offer_expired".to_owned()));
    assert_eq!(table.send_code(b(), reviewed(agree(hash), &["A1.1"])), "offer_expired");

    // The own side's offer is nobody's to accept.
    let mut table = Table::sealed();
    let hash = table.send(A, offer("The hall")).unwrap().offer_hash.unwrap();
    table.send(b(), reviewed(say("hm"), &["A1.1"])).unwrap();
    assert_eq!(table.send_code(A, agree(hash)), "offer_own");
}

#[test]
fn w09_the_same_terms_with_other_dependencies_are_another_offer() {
    let mut table = Table::sealed();
    let first = table.send(A, offer("The hall")).unwrap().offer_hash;
    table.send(b(), reviewed(say("hm"), &["A1.1"])).unwrap();
    let free = EnvelopeInput { proposal: Some(proposal("The hall", &[])), ..say("again") };
    let sent = table.send(A, free).unwrap();
    assert_ne!(sent.offer_hash, first);
    assert_eq!(table.state.offers[0].proposal_hash, table.state.offers[1].proposal_hash);
    assert_eq!(flags(&sent), ["no_dependencies"]);
}

#[test]
fn w10_share_links_have_a_scope_an_end_and_can_be_revoked() {
    let mut table = Table::sealed();
    table.send(A, offer("The hall")).unwrap();
    let share = |scope, expires_at| Share { actor: Actor::Seat { seat: A }, seat: A, scope, expires_at };
    let end = table.now() + env::Duration::from_secs(60);
    let Reply::Shared { id, secret } =
        table.run(Command::Share(share(Scope::Transcript, Some(end)))).unwrap()
    else {
        panic!()
    };
    let found = table.state.authenticate(secret.expose(), table.now());
    assert_eq!(found, Some(Actor::Share { id: id.clone(), scope: Scope::Transcript }));
    assert!(!table.published().contains(secret.expose()));
    let view = view::room(&table.state, Viewer::Share(Scope::Transcript), table.now()).unwrap();
    assert_eq!(view.transcript.len(), 1);
    assert!(view.you.is_none());
    assert_eq!(table.state.authenticate(secret.expose(), end), None, "it has expired");
    let foreign = Unshare { actor: Actor::Seat { seat: b() }, seat: b(), share: id.clone() };
    assert_eq!(table.code(Command::Unshare(foreign)), "share_unknown");
    table.run(Command::Unshare(Unshare { actor: Actor::Seat { seat: A }, seat: A, share: id })).unwrap();
    assert_eq!(table.state.authenticate(secret.expose(), table.now()), None, "it is revoked");
    let past = Some(table.now());
    assert_eq!(table.code(Command::Share(share(Scope::Brief, past))), "bad_value");
    // A reader changes nothing.
    let reader = Actor::Share { id: "s1".parse().unwrap(), scope: Scope::Transcript };
    assert_eq!(
        table.code(Command::Leave(Leave { actor: reader, seat: A, reason: String::new() })),
        "not_permitted"
    );
}

#[test]
fn w10_a_rotated_secret_is_dead() {
    let mut table = Table::sealed();
    let old = table.secrets[0].clone();
    let Reply::Rotated { seat_secret, .. } =
        table.run(Command::Rotate(Rotate { actor: Actor::Seat { seat: A }, seat: A })).unwrap()
    else {
        panic!()
    };
    assert_eq!(table.state.authenticate(&old, table.now()), None);
    assert_eq!(table.state.authenticate(seat_secret.expose(), table.now()), Some(Actor::Seat { seat: A }));
}

#[test]
fn w10_a_view_holds_nothing_of_another_side() {
    let mut table = Table::sealed();
    table.send(A, escalate("May I?", &[])).unwrap();
    for viewer in
        [Viewer::Seat(b()), Viewer::Principal(b()), Viewer::Share(Scope::Transcript), Viewer::Nobody]
    {
        let view = view::room(&table.state, viewer, table.now()).unwrap();
        let text = String::from_utf8(canon::to_vec(&view).unwrap()).unwrap();
        assert!(!text.contains("Ana never pays in cash") && !text.contains("May I?"), "{viewer:?}");
        for secret in table.secrets.iter().chain(&table.principals) {
            assert!(!text.contains(secret.as_str()), "{viewer:?}");
        }
    }
    let other = view::room(&table.state, Viewer::Seat(b()), table.now()).unwrap();
    assert_eq!(other.counterparts[0].card_hash, table.state.seat(A).unwrap().card_hash, "but its hash");
}

#[test]
fn w14_nothing_is_cut() {
    let check = |envelope: EnvelopeInput, code: &str, place: &str| {
        let mut table = Table::sealed();
        let refusal = table.send(A, envelope).unwrap_err();
        let found = (ledger::Coded::code(&refusal), ledger::Coded::place(&refusal).unwrap_or_default());
        assert_eq!(found, (code, place.to_owned()));
        assert!(table.state.envelopes.is_empty());
    };
    let long = |n: usize| "x".repeat(n);
    check(say(&long(most::MESSAGE + 1)), "too_long", "/message");
    check(say(" "), "empty", "/message");
    let claims =
        |n: usize| (0..n).map(|i| claim(&format!("c{i}"), Origin::Assumed, None)).collect::<Vec<_>>();
    check(EnvelopeInput { claims: claims(9), ..say("m") }, "too_many", "/claims");
    check(
        EnvelopeInput { claims: vec![claim(&long(401), Origin::Assumed, None)], ..say("m") },
        "too_long",
        "/claims/0/text",
    );
    check(
        EnvelopeInput { claims: vec![claim("", Origin::Assumed, None)], ..say("m") },
        "empty",
        "/claims/0/text",
    );
    let hidden = Some("known_facts[0]\u{202e}");
    check(
        EnvelopeInput { claims: vec![claim("c", Origin::Stated, hidden)], ..say("m") },
        "hidden_characters",
        "/claims/0/ref",
    );
    let terms = |terms: Vec<String>| EnvelopeInput {
        proposal: Some(ProposalInput { terms, ..proposal("x", &[]) }),
        ..say("m")
    };
    check(terms(vec![]), "empty", "/proposal/terms");
    check(terms(vec!["t".into(), " ".into()]), "empty", "/proposal/terms/1");
    check(terms(vec!["t".into(); 11]), "too_many", "/proposal/terms");
    check(terms(vec![long(301)]), "too_long", "/proposal/terms/0");
    check(terms(vec!["\u{1f600}".repeat(151)]), "too_long", "/proposal/terms/0");
    check(
        EnvelopeInput { proposal: Some(proposal("t", &["new1"])), ..say("m") },
        "unknown_claim",
        "/proposal/depends_on/0",
    );
    check(
        EnvelopeInput { proposal: Some(proposal("t", &["B7.7"])), ..say("m") },
        "unknown_claim",
        "/proposal/depends_on/0",
    );
    check(
        EnvelopeInput { reviews: vec![review("B1.1", Verdict::Accept)], ..say("m") },
        "unknown_claim",
        "/reviews/0/claim_id",
    );
    check(escalate(&long(401), &[]), "too_long", "/escalation/question");
    check(escalate("q", &["B1.1"]), "unknown_claim", "/escalation/claims/0");

    // Text at its limit is kept byte for byte.
    let mut table = Table::sealed();
    let text = format!(" {}\u{202e}\u{0} ", long(most::MESSAGE - 4));
    table.send(A, say(&text)).unwrap();
    assert_eq!(table.state.envelopes[0].message, text);
}

#[test]
fn w14_cards_are_refused_with_their_place() {
    let check = |edit: fn(&mut pxp::CardInput), code: &str, place: &str| {
        let mut table = Table::joined(2, policy());
        let mut input = card(A);
        edit(&mut input);
        let refusal = table.seal(A, input).unwrap_err();
        let found = (ledger::Coded::code(&refusal), ledger::Coded::place(&refusal).unwrap_or_default());
        assert_eq!(found, (code, place.to_owned()));
    };
    check(|card| card.goal.clear(), "empty", "/goal");
    check(|card| card.must_haves.clear(), "empty", "/must_haves");
    check(|card| card.must_never = vec!["x".into(); 13], "too_many", "/must_never");
    check(|card| card.known_facts.push("x".repeat(301)), "too_long", "/known_facts/1");
    check(|card| card.principal.role = "own\u{200b}er".into(), "hidden_characters", "/principal/role");
    let bad_clause = |card: &mut pxp::CardInput| {
        let mut limit = at_most_900();
        limit.clause = "may_agree_to[9]".parse().unwrap();
        card.limits.push(limit);
    };
    check(bad_clause, "unknown_clause", "/limits/0/clause");
    check(
        |card| card.limits.push(pxp::limit::Limit { unit: None, ..at_most_900() }),
        "bad_value",
        "/limits/0",
    );
}

#[test]
fn w15_agreement_and_brief_are_one_append() {
    let mut table = Table::sealed();
    let hash = table.send(A, offer("The hall")).unwrap().offer_hash.unwrap();
    let before = table.entries.len();
    table.send(b(), reviewed(agree(hash), &["A1.1"])).unwrap();
    assert_eq!(table.kinds()[before..], ["envelope", "review", "agreement", "brief"]);
    let recorded = table.state.brief.as_ref().unwrap();
    let brief = recorded.brief.as_ref().unwrap();
    assert_eq!(brief.hash().unwrap(), recorded.hash);
    assert_eq!(brief.ledger_head.hash, table.entries[table.entries.len() - 2].hash);
}

#[test]
fn w16_every_term_has_its_authority_on_every_side() {
    let mut table = Table::sealed();
    let hash = table.send(A, offer("The hall")).unwrap().offer_hash.unwrap();
    table.send(b(), reviewed(agree(hash), &["A1.1"])).unwrap();
    let view = view::brief(&table.state, Viewer::Principal(b())).unwrap();
    let seats = &view.brief.authority[0].seats;
    let told: Vec<(&str, Vec<&str>)> = seats
        .iter()
        .map(|seat| (seat.basis.as_str(), seat.clauses.iter().map(String::as_str).collect()))
        .collect();
    assert_eq!(told, [("clause", vec!["may_agree_to[0]"]), ("clause", vec!["may_agree_to[0]"])]);
    assert_eq!(view.your_clauses[0].text, "Up to 900 EUR for the evening");
    assert!(view::brief(&table.state, Viewer::Nobody).is_none());
    assert!(view::brief(&table.state, Viewer::Share(Scope::Brief)).unwrap().your_clauses.is_empty());
}

#[test]
fn w17_an_offer_can_be_withdrawn_out_of_turn_but_not_after_agreement() {
    let withdraw =
        |offer_hash| WithdrawOffer { actor: principal(A), seat: A, offer_hash, reason: String::new() };
    let mut table = Table::sealed();
    let hash = table.send(A, offer("The hall")).unwrap().offer_hash.unwrap();
    table.send(b(), reviewed(escalate("May I?", &[]), &["A1.1"])).unwrap();
    table.run(Command::WithdrawOffer(withdraw(hash))).unwrap();
    table.answer(b(), ruling("q1", Ruling::Allow, &[])).unwrap();
    assert_eq!(table.send_code(b(), agree(hash)), "offer_withdrawn");

    let mut table = Table::sealed();
    let hash = table.send(A, offer("The hall")).unwrap().offer_hash.unwrap();
    table.send(b(), reviewed(agree(hash), &["A1.1"])).unwrap();
    assert_eq!(table.code(Command::WithdrawOffer(withdraw(hash))), "room_ended");
}

#[test]
fn w18_seats_move_round_robin_and_questions_cost_no_turn() {
    let mut table = Table::sealed_with(3, policy(), card);
    for seat in [A, b(), c(), A] {
        assert_eq!(table.state.turn, Some(seat));
        table.send(seat, escalate("May I?", &[])).unwrap();
        let id = table.state.pending().unwrap().id.to_string();
        table.answer(seat, ruling(&id, Ruling::Deny, &[])).unwrap();
        assert_eq!(table.state.turn, Some(seat), "the same seat moves again");
        table.send(seat, say("on")).unwrap();
    }
    assert_eq!(table.state.turns, 4);
    let mut plan = open(8, policy());
    plan.seats.push(plan.seats[7].clone());
    assert_eq!(Table::empty(1).code(Command::Open(plan.clone())), "too_many");
    plan.seats.truncate(1);
    assert_eq!(Table::empty(1).code(Command::Open(plan)), "bad_value");
}

#[test]
fn w20_labels_change_eight_times() {
    let mut table = Table::joined(2, policy());
    let label = |name: String| {
        let actor = Actor::Seat { seat: b() };
        Command::Join(Join { actor, seat: b(), agent: Some(name), key: None, principal: None })
    };
    let count = table.entries.len();
    assert_eq!(table.code(label("Agent B".into())), "ok");
    assert_eq!(table.entries.len(), count, "the same label is no entry");
    for n in 0..8 {
        assert_eq!(table.code(label(format!("label {n}"))), "ok");
    }
    assert_eq!(table.code(label("one more".into())), "label_limit");
}

#[test]
fn w20_questions_cost_no_turn_but_end_at_a_hundred() {
    let mut table = Table::sealed();
    for n in 1..=most::QUESTIONS_PER_ROOM {
        table.send(A, escalate("May I?", &[])).unwrap();
        table.answer(A, ruling(&format!("q{n}"), Ruling::Deny, &[])).unwrap();
    }
    assert_eq!(table.send_code(A, escalate("May I?", &[])), "room_limit");
    table.send(A, say("then not")).unwrap();
}

#[test]
fn w21_every_refusal_has_a_code_and_whose_fault_it_is() {
    let refusal = Table::sealed().send(b(), say("hello")).unwrap_err();
    assert_eq!(ledger::Coded::code(&refusal), "not_your_turn");
    assert_eq!(ledger::Coded::who(&refusal), ledger::Who::Conflict);
    assert!(ledger::Coded::retryable(&refusal));
    assert_eq!(refusal.to_string(), "it is the turn of seat A");
}

#[test]
fn w23_every_new_claim_is_reviewed_before_a_reply() {
    let mut table = Table::sealed();
    let hash = table.send(A, offer("The hall")).unwrap().offer_hash.unwrap();
    for envelope in [say("hello"), agree(hash), offer("The garden")] {
        let refusal = table.send(b(), envelope).unwrap_err();
        assert_eq!(refusal.to_string(), "claims not reviewed yet: A1.1");
    }
    let own = EnvelopeInput { reviews: vec![review("A1.1", Verdict::Accept)], ..say("hello") };
    table.send(b(), own).unwrap();
    assert_eq!(table.kinds().last().unwrap(), "review");
    let own = EnvelopeInput { reviews: vec![review("A1.1", Verdict::Accept)], ..say("hello") };
    assert_eq!(table.send_code(A, own), "own_claim");
}

#[test]
fn w24_a_recorded_envelope_never_changes() {
    let mut table = Table::sealed();
    table.send(A, escalate("May I?", &[])).unwrap();
    let before = table.state.envelopes[0].hash().unwrap();
    table.answer(A, ruling("q1", Ruling::Allow, &[])).unwrap();
    assert_eq!(table.state.envelopes[0].hash().unwrap(), before);
}

#[test]
fn w25_hidden_characters_are_shown() {
    assert_eq!(view::shown("in\u{202e}voice"), "in⟨U+202E⟩voice");
    let mut table = Table::sealed();
    let claims = vec![claim("pay \u{202e}001", Origin::Assumed, None)];
    table.send(A, EnvelopeInput { claims, ..say("hello") }).unwrap();
    table.send(b(), escalate("Is this right?", &["A1.1"])).unwrap();
    let brief = &table.state.asks()[0].brief;
    assert_eq!(brief.warnings.len(), 1);
    let text = String::from_utf8(canon::to_vec(brief).unwrap()).unwrap();
    assert!(text.contains("⟨U+202E⟩") && !text.contains('\u{202e}'));
}

#[test]
fn w27_a_card_is_sealed_anew_while_drafting() {
    let mut table = Table::joined(2, policy());
    table.seal(A, card(A)).unwrap();
    let first = table.state.seat(A).unwrap().card_hash;
    table.seal(A, limited(A)).unwrap();
    assert_ne!(table.state.seat(A).unwrap().card_hash, first);
    let kinds = table.kinds();
    assert_eq!(kinds[kinds.len() - 3..], ["card_sealed", "card_superseded", "card_sealed"]);
    assert_eq!(view::status(&table.state), "drafting");
    table.seal(b(), card(b())).unwrap();
    let seal = Seal { actor: Actor::Seat { seat: A }, seat: A, card: card(A) };
    assert_eq!(table.code(Command::Seal(seal)), "sealed");
}

#[test]
fn facts_that_no_claim_covers_are_flagged_and_told() {
    let mut table = Table::sealed();
    let claims = vec![claim("80 guests are coming", Origin::Stated, Some("known_facts[0]"))];
    let sent = table.send(A, EnvelopeInput { claims, ..say("80 guests on 4 May for 950 EUR") }).unwrap();
    let found: Vec<(&str, &str)> =
        sent.protocol_flags.iter().map(|flag| (flag.code.as_str(), flag.message.as_str())).collect();
    assert_eq!(
        found,
        [("untagged_fact", "no claim covers \"4 May\""), ("untagged_fact", "no claim covers \"950 EUR\"")]
    );
    table.run(Command::Leave(Leave { actor: principal(A), seat: A, reason: String::new() })).unwrap();
    let brief = table.state.brief.as_ref().unwrap().brief.as_ref().unwrap();
    assert_eq!(brief.protocol_flags.len(), 2);
    // A typed value covers it.
    let mut table = Table::sealed_with(2, policy(), limited);
    let proposal =
        ProposalInput { values: vec![price(85_000)], ..proposal("The hall for 850 EUR", &["new1"]) };
    let sent = table.send(A, EnvelopeInput { proposal: Some(proposal), ..offer("") }).unwrap();
    assert_eq!((sent.status, flags(&sent).len()), (Status::Continue, 0));
}

#[test]
fn a_principal_shows_a_card_or_a_clause_and_it_verifies() {
    let mut table = Table::sealed();
    let show = |actor: Actor, what| Command::Disclose(Disclose { actor, seat: A, to: b(), what });
    let clause = Disclosed::Clause("must_never[0]".parse().unwrap());
    assert_eq!(table.code(show(Actor::Seat { seat: A }, clause)), "not_permitted");
    assert_eq!(
        table.code(show(principal(A), Disclosed::Clause("must_never[7]".parse().unwrap()))),
        "nothing_to_disclose"
    );
    table.run(show(principal(A), clause)).unwrap();
    table.run(show(principal(A), Disclosed::Card)).unwrap();
    let view = view::room(&table.state, Viewer::Seat(b()), table.now()).unwrap();
    assert!(view.disclosures.iter().all(|shown| shown.verified));
    assert_eq!(view.disclosures[0].clause.as_ref().unwrap().text, "Ana never pays in cash");
    assert!(view.disclosures[0].card.is_none());
    let root = table.state.seat(A).unwrap().clause_root.unwrap();
    let mut forged = view.disclosures[0].clause.clone().unwrap();
    assert!(forged.is_of(root).unwrap());
    forged.text.push('!');
    assert!(!forged.is_of(root).unwrap());
    let stranger = view::room(&table.state, Viewer::Share(Scope::Transcript), table.now()).unwrap();
    assert!(stranger.disclosures.is_empty());
}

#[test]
fn built_in_seats_are_moved_by_the_server_alone() {
    let mut table = Table::empty(8);
    let mut plan = open(2, policy());
    plan.seats[1].driver = pxp::command::Driver::BuiltIn;
    table.run(Command::Open(plan)).unwrap();
    let join =
        Join { actor: Actor::Server, seat: b(), agent: Some("House".into()), key: None, principal: None };
    table.run(Command::Join(join)).unwrap();
    table.seal(A, card(A)).unwrap();
    table.run(Command::Seal(Seal { actor: Actor::Server, seat: b(), card: card(b()) })).unwrap();
    table.send(A, say("hello")).unwrap();
    let wake = ledger::Effect::Wake { stream: "room/r00m".into(), at: table.now() };
    assert!(table.effects.contains(&wake), "{:?}", table.effects);
    assert_eq!(table.send_code(b(), say("as the agent")), "not_permitted");
    let server = Send { actor: Actor::Server, ..send(b(), say("as the server")) };
    assert_eq!(table.code(Command::Send(server)), "ok");
}
