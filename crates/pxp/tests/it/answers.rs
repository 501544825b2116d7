//! Principals' answers and evidence (W-02, W-06, W-11, W-12, W-22, D6), and vouching for claims (W-07).

use crate::table::*;
use approvals::{Decided, Evidence};
use keys::{Algorithm, Signer, SoftwareSigner};
use ledger::{Coded, Pointer};
use pxp::command::{Answer, AttachSource, Confirm, ConfirmClaim, Enrol};
use pxp::view::{self, Viewer};
use pxp::wire::{Origin, Source, Verdict};
use pxp::{Actor, AnswerInput, By, Command, EnvelopeInput, Proof, Refusal, Reply, Ruling, SeatId};

pub fn vouch(table: &mut Table, seat: SeatId, claim: &str, accept: bool) -> Result<Reply, Refusal> {
    let claim = claim.parse().unwrap();
    table.run(Command::ConfirmClaim(ConfirmClaim {
        actor: principal(seat),
        seat,
        claim,
        accept,
        proof: session(),
    }))
}

fn signer(byte: u8) -> SoftwareSigner {
    SoftwareSigner::from_seed(Algorithm::Ed25519, &[byte; 32]).unwrap()
}

/// Seat A's principal holds an Ed25519 key instead of a session.
fn with_key(key: &SoftwareSigner) -> Table {
    let mut table = Table::empty(3);
    let Reply::Opened { principal_link: Some(link), invites, .. } =
        table.run(Command::Open(open(2, policy()))).unwrap()
    else {
        panic!()
    };
    let actor = table.state.authenticate(link.expose(), table.now()).unwrap();
    let enrol = Enrol { actor, seat: A, as_member: None, passkey: None, key: Some(key.public()) };
    table.run(Command::Enrol(enrol)).unwrap();
    let actor = table.state.authenticate(invites[0].secret.expose(), table.now()).unwrap();
    let join = pxp::command::Join { actor, seat: b(), agent: None, key: None, principal: None };
    table.run(Command::Join(join)).unwrap();
    table.seal(A, card(A)).unwrap();
    table.seal(b(), card(b())).unwrap();
    table.send(A, escalate("May I pay 950?", &[])).unwrap();
    table
}

pub fn signed(key: &SoftwareSigner, ask: &approvals::Ask, decided: Decided, body: Option<&str>) -> Proof {
    let nonce = "fedcba9876543210".to_owned();
    let statement = ask.statement(decided, body, &nonce).hash();
    Proof {
        by: By::Holder,
        nonce,
        evidence: Evidence::Ed25519 {
            thumbprint: key.public().thumbprint().to_string(),
            signature: key.sign(statement.as_bytes()).unwrap().base64url(),
        },
        statement: Some(statement),
        key: Some(key.public()),
        site: None,
    }
}

#[test]
fn a_seat_brings_its_key_when_it_joins() {
    let mut table = Table::joined(2, policy());
    let (seat, actor) = (b(), Actor::Seat { seat: b() });
    let late =
        pxp::command::Join { actor, seat, agent: None, key: Some(signer(7).public()), principal: None };
    assert_eq!(table.code(Command::Join(late)), "bad_key");
}

#[test]
fn a_signed_answer_is_for_exactly_what_was_asked_and_said() {
    let key = signer(7);
    let check = |edit: fn(&mut Proof, &mut AnswerInput), code: &str| {
        let mut table = with_key(&key);
        let mut answer = ruling("q1", Ruling::Allow, &[]);
        let mut proof = signed(&key, &table.state.asks()[0], Decided::Approve, Some(&answer.body().unwrap()));
        edit(&mut proof, &mut answer);
        assert_eq!(table.code(Command::Answer(Answer { actor: principal(A), seat: A, answer, proof })), code);
    };
    check(|_, _| {}, "ok");
    check(|_, answer| answer.text = "Other words".into(), "statement_mismatch");
    check(|_, answer| answer.ruling = Ruling::Deny, "statement_mismatch");
    check(|proof, _| proof.nonce = "another-nonce-0000".into(), "statement_mismatch");
    check(|proof, _| proof.statement = None, "statement_mismatch");
    check(|proof, _| proof.key = None, "bad_signature");
    check(|proof, _| proof.key = Some(signer(8).public()), "wrong_person");
    check(
        |proof, _| {
            if let Evidence::Ed25519 { signature, .. } = &mut proof.evidence {
                *signature = signer(8).sign(b"x").unwrap().base64url();
            }
        },
        "bad_signature",
    );
}

#[test]
fn an_approval_never_becomes_a_decline_or_answers_another_question() {
    let key = signer(7);
    let mut table = with_key(&key);
    let allow = ruling("q1", Ruling::Allow, &[]);
    let proof = signed(&key, &table.state.asks()[0], Decided::Approve, Some(&allow.body().unwrap()));
    table
        .run(Command::Answer(Answer { actor: principal(A), seat: A, answer: allow, proof: proof.clone() }))
        .unwrap();
    table.send(A, escalate("May I pay 2000?", &[])).unwrap();
    let again = Answer { actor: principal(A), seat: A, answer: ruling("q2", Ruling::Allow, &[]), proof };
    assert_eq!(table.code(Command::Answer(again)), "statement_mismatch");
}

#[test]
fn a_passkey_answers_over_the_brief_that_was_shown() {
    use keys::webauthn::{Authenticator, Challenge};
    let mut device =
        Authenticator::new(Algorithm::P256, &[9; 32], "example.test", "https://example.test").unwrap();
    let id = device.id().to_string();
    let mut table = Table::empty(4);
    let Reply::Opened { principal_link: Some(link), invites, .. } =
        table.run(Command::Open(open(2, policy()))).unwrap()
    else {
        panic!()
    };
    let actor = table.state.authenticate(link.expose(), table.now()).unwrap();
    let passkey =
        approvals::Passkey { credential_id: id.clone(), key: device.public(), since: start(), until: None };
    let enrol = Enrol { actor, seat: A, as_member: None, passkey: Some(passkey), key: None };
    table.run(Command::Enrol(enrol)).unwrap();
    let actor = table.state.authenticate(invites[0].secret.expose(), table.now()).unwrap();
    table
        .run(Command::Join(pxp::command::Join { actor, seat: b(), agent: None, key: None, principal: None }))
        .unwrap();
    table.seal(A, card(A)).unwrap();
    table.seal(b(), card(b())).unwrap();
    table.send(A, escalate("May I?", &[])).unwrap();
    let answer = ruling("q1", Ruling::Allow, &[]);
    let nonce = "fedcba9876543210".to_owned();
    let ask = table.state.asks().remove(0);
    let statement = ask.statement(Decided::Approve, Some(&answer.body().unwrap()), &nonce).hash();
    let assertion = device.assert(&Challenge::from(statement)).unwrap();
    let told = canon::to_vec(&assertion).unwrap();
    let told = canon::parse(&told).unwrap();
    let part = |name: &str| told.get(name).unwrap().as_str().unwrap().to_owned();
    let proof = Proof {
        by: By::Holder,
        nonce,
        evidence: Evidence::Passkey {
            credential_id: part("credential_id"),
            authenticator_data: part("authenticator_data"),
            client_data_json: part("client_data_json"),
            signature: part("signature"),
        },
        statement: Some(statement),
        key: Some(device.public()),
        site: Some(approvals::Site {
            id: "example.test".into(),
            origins: vec!["https://example.test".into()],
        }),
    };
    let elsewhere = Proof {
        site: Some(approvals::Site { id: "other.test".into(), origins: vec!["https://other.test".into()] }),
        ..proof.clone()
    };
    let give = |proof| Answer { actor: principal(A), seat: A, answer: answer.clone(), proof };
    assert_eq!(table.code(Command::Answer(give(elsewhere))), "bad_signature");
    assert_eq!(table.code(Command::Answer(give(proof))), "ok");
    assert!(table.published().contains(r#""evidence":"passkey""#));
}

#[test]
fn w02_an_agent_cannot_pass_for_its_principal() {
    let mut table = Table::sealed();
    table.send(A, escalate("May I?", &[])).unwrap();
    let give =
        |actor: Actor, proof| Answer { actor, seat: A, answer: ruling("q1", Ruling::Allow, &[]), proof };
    for (answer, code) in [
        (give(Actor::Seat { seat: A }, session()), "evidence_not_accepted"),
        (give(Actor::Seat { seat: b() }, relayed()), "not_permitted"),
        (give(principal(b()), session()), "wrong_person"),
        (give(principal(A), relayed()), "evidence_not_accepted"),
        (give(Actor::Server, session()), "not_permitted"),
    ] {
        assert_eq!(table.code(Command::Answer(answer)), code);
    }
    // Relayed is taken where the policy takes it, and every reader is told.
    table.run(Command::Answer(give(Actor::Seat { seat: A }, relayed()))).unwrap();
    assert!(
        table.published().contains(r#""standing":"relayed""#) && table.published().contains(r#""via":"mcp""#)
    );
    let answer = table.state.claims.last().unwrap();
    assert!(!table.state.is_verified(answer), "relayed is not verified");
    table
        .run(Command::Leave(pxp::command::Leave { actor: principal(A), seat: A, reason: String::new() }))
        .unwrap();
    let brief = table.state.brief.as_ref().unwrap().brief.as_ref().unwrap();
    assert!(
        brief.notes.iter().any(|note| note.contains("passed on by the agent of seat A")),
        "{:?}",
        brief.notes
    );
    assert_eq!(brief.escalations[0].standing.as_deref(), Some("relayed"));
}

#[test]
fn a_disowned_relay_reopens_the_question() {
    let mut table = Table::sealed_with(2, holding(), card);
    table.send(A, escalate("May I?", &[])).unwrap();
    let relay = Answer {
        actor: Actor::Seat { seat: A },
        seat: A,
        answer: ruling("q1", Ruling::Allow, &[]),
        proof: relayed(),
    };
    table.run(Command::Answer(relay.clone())).unwrap();
    let confirm = |accept| Confirm {
        actor: principal(A),
        seat: A,
        question: "q1".parse().unwrap(),
        accept,
        proof: session(),
    };
    table.run(Command::Confirm(confirm(false))).unwrap();
    assert_eq!(table.state.asks()[0].id, "q1");
    assert_eq!(table.code(Command::Confirm(confirm(true))), "nothing_to_confirm");
    // The person may also simply answer, over a relay that waits.
    table.run(Command::Answer(relay)).unwrap();
    table.answer(A, ruling("q1", Ruling::Deny, &[])).unwrap();
    assert!(table.published().contains(r#""standing":"direct""#));
}

#[test]
fn w06_a_ruling_clears_only_what_it_names() {
    let disputed = || {
        let mut table = Table::sealed();
        let claims = vec![claim("one", Origin::Assumed, None), claim("two", Origin::Assumed, None)];
        let offered = EnvelopeInput {
            claims,
            proposal: Some(proposal("The hall", &["new1", "new2"])),
            ..say("an offer")
        };
        let hash = table.send(A, offered).unwrap().offer_hash.unwrap();
        let reviews = vec![review("A1.1", Verdict::Challenge), review("A1.2", Verdict::Challenge)];
        table
            .send(b(), EnvelopeInput { reviews, ..escalate("Shall I trust these?", &["A1.1", "A1.2"]) })
            .unwrap();
        (table, hash)
    };
    let check = |answer: AnswerInput, left: &[&str]| {
        let (mut table, hash) = disputed();
        table.answer(b(), answer).unwrap();
        let sent = table.send(b(), agree(hash)).unwrap();
        let flagged: Vec<&str> =
            table.state.pending().map(|q| q.claims.iter().map(|c| c.as_str()).collect()).unwrap_or_default();
        assert_eq!(flagged, left, "{:?}", sent.protocol_flags);
    };
    check(ruling("q1", Ruling::Deny, &[]), &["A1.1", "A1.2"]);
    check(ruling("q1", Ruling::Amend, &[]), &["A1.1", "A1.2"]);
    check(ruling("q1", Ruling::Allow, &[]), &["A1.1", "A1.2"]);
    check(ruling("q1", Ruling::Allow, &["A1.2"]), &["A1.1"]);
    check(ruling("q1", Ruling::Allow, &["A1.1", "A1.2"]), &[]);

    let (mut table, _) = disputed();
    let answers =
        |answer| Command::Answer(Answer { actor: principal(b()), seat: b(), answer, proof: session() });
    assert_eq!(table.code(answers(ruling("q1", Ruling::Deny, &["A1.1"]))), "misplaced");
    assert_eq!(table.code(answers(ruling("q1", Ruling::Allow, &["A1.3"]))), "unknown_claim");
}

#[test]
fn w07_claims_become_verified_or_denied() {
    let mut table = Table::sealed();
    table.send(A, offer("The hall")).unwrap();
    let verified = |table: &Table, id: &str| {
        let claim = table.state.claim(&id.parse().unwrap()).unwrap();
        table.state.is_verified(claim)
    };
    assert!(!verified(&table, "A1.1"));
    // A restated claim shares the standing of the first.
    let restated = vec![claim("the hall  is FREE.", Origin::Stated, Some("known_facts[0]"))];
    table
        .send(
            b(),
            EnvelopeInput {
                reviews: vec![review("A1.1", Verdict::Accept)],
                claims: restated,
                ..say("so it is")
            },
        )
        .unwrap();
    assert!(!verified(&table, "B2.1"));
    vouch(&mut table, A, "A1.1", true).unwrap();
    assert!(verified(&table, "A1.1") && verified(&table, "B2.1"));
    assert_eq!(vouch(&mut table, b(), "A1.1", false), Err(Refusal::ClaimSettled));
    vouch(&mut table, A, "A1.1", false).unwrap();
    assert!(!verified(&table, "A1.1") && !verified(&table, "B2.1"));

    let mut table = Table::sealed();
    table.send(A, offer("The hall")).unwrap();
    let attach = |seat, uri: &str| AttachSource {
        actor: Actor::Seat { seat },
        seat,
        claim: "A1.1".parse().unwrap(),
        source: Source { uri: uri.into(), sha256: canon::Digest::of(b"lease") },
    };
    assert_eq!(table.code(Command::AttachSource(attach(b(), "https://example.test/lease"))), "not_permitted");
    for bad in [
        "the lease",
        "javascript:0",
        "http://example.test/lease",
        "https://",
        "https://ana@example.test/lease",
        "https://example.test\\@evil.test/",
        "https://example.test/the lease",
        "https://ex\u{430}mple.test/lease",
        "https://a.XN--exmple-cua.test/lease",
        "https://example..test/",
        "https://example.test:/",
    ] {
        let refused = table.run(Command::AttachSource(attach(A, bad))).unwrap_err();
        assert_eq!((refused.code(), refused.place().as_deref()), ("bad_value", Some("/source/uri")), "{bad}");
    }
    assert_eq!(table.code(Command::AttachSource(attach(A, "HTTPS://example.test:8443/lease?page=2"))), "ok");
    assert!(verified(&table, "A1.1"));
    let agent = ConfirmClaim {
        actor: Actor::Seat { seat: A },
        seat: A,
        claim: "A1.1".parse().unwrap(),
        accept: true,
        proof: session(),
    };
    assert_eq!(table.code(Command::ConfirmClaim(agent)), "not_permitted");
}

#[test]
fn an_answer_is_an_amendment_and_a_stated_claim() {
    let mut table = Table::sealed();
    let before = table.state.seat(A).unwrap().card_hash;
    table.send(A, escalate("May I pay 950?", &[])).unwrap();
    table.answer(A, ruling("q1", Ruling::Amend, &[])).unwrap();
    let seat = table.state.seat(A).unwrap();
    assert_ne!(seat.card_hash, before);
    let card = seat.card.as_ref().unwrap();
    assert_eq!(card.amendments[0].answer, "My private words");
    assert_eq!(card.hash().unwrap(), seat.card_hash.unwrap());
    let claim = table.state.claims.last().unwrap();
    assert_eq!(
        (claim.id.as_str(), claim.origin, claim.speaker),
        ("Aq1", Origin::Stated, pxp::Speaker::Principal)
    );
    assert!(table.state.is_verified(claim));
    // A term may rest on it, and later envelopes are bound to the new card.
    let rests = pxp::wire::Cited { term: 0, clauses: vec!["amendment[0]".into()] };
    let proposal = pxp::wire::ProposalInput { authority: vec![rests], ..proposal("The garden", &["Aq1"]) };
    let sent = table.send(A, EnvelopeInput { proposal: Some(proposal), ..say("so") }).unwrap();
    assert_eq!(sent.status, pxp::Status::Continue);
    assert_eq!(
        Some(table.state.envelopes.last().unwrap().intent_hash),
        table.state.seat(A).unwrap().card_hash
    );
    // The other side need not review a principal's word.
    table.send(b(), say("fine")).unwrap();
}

#[test]
fn w19_a_view_since_another_leaves_out_what_was_seen_but_for_what_was_asked() {
    let mut table = Table::sealed();
    table.send(A, say("hello")).unwrap();
    table.send(b(), escalate("May I?", &[])).unwrap();
    let since = table.state.head().seq;
    table.answer(b(), ruling("q1", Ruling::Allow, &[])).unwrap();
    table.send(b(), say("welcome")).unwrap();
    let check = |since: u64, expected: &[u64]| {
        let view = view::room_since(&table.state, Viewer::Seat(A), table.now(), since).unwrap();
        let found: Vec<u64> = view.transcript.iter().map(|envelope| envelope.seq).collect();
        assert_eq!(found, expected, "since {since}");
        let whole = view::room(&table.state, Viewer::Seat(A), table.now()).unwrap();
        assert_eq!(view::RoomView { transcript: whole.transcript.clone(), ..view }, whole);
    };
    check(0, &[1, 2, 3]);
    check(since, &[2, 3]);
    check(table.state.head().seq, &[2]);
    check(u64::MAX, &[2]);
}

#[test]
fn w11_w12_words_of_questions_and_answers_are_private_and_unguessable() {
    let mut table = Table::sealed();
    table.send(A, escalate("May I go up to the moon?", &[])).unwrap();
    let mut answer = ruling("q1", Ruling::Allow, &[]);
    answer.text = "Yes, the moon at most".into();
    answer.public_summary = Some("Cleared to go on".into());
    table.answer(A, answer).unwrap();
    let other = view::room(&table.state, Viewer::Seat(b()), table.now()).unwrap();
    let text = String::from_utf8(canon::to_vec(&other).unwrap()).unwrap();
    assert!(!text.contains("moon") && text.contains("Cleared to go on"));
    let own = view::room(&table.state, Viewer::Seat(A), table.now()).unwrap();
    let text = String::from_utf8(canon::to_vec(&own).unwrap()).unwrap();
    assert!(text.contains("Yes, the moon at most") && text.contains("May I go up to the moon?"));
    let published = table.published();
    assert!(!published.contains("moon"));
    for guess in ["May I go up to the moon?", "Yes, the moon at most"] {
        assert!(!published.contains(&canon::Digest::of(guess.as_bytes()).to_string()));
    }
    assert!(published.contains("question_commitment") && published.contains("answer_commitment"));
}

#[test]
fn w22_an_answer_names_its_question() {
    let mut table = Table::sealed();
    let answers = |answer| Command::Answer(Answer { actor: principal(A), seat: A, answer, proof: session() });
    assert_eq!(table.code(answers(ruling("q1", Ruling::Allow, &[]))), "question_unknown");
    table.send(A, escalate("One?", &[])).unwrap();
    table.answer(A, ruling("q1", Ruling::Deny, &[])).unwrap();
    table.send(A, escalate("Two?", &[])).unwrap();
    assert_eq!(table.code(answers(ruling("q1", Ruling::Allow, &[]))), "question_answered");
    assert_eq!(table.state.pending().unwrap().id.as_str(), "q2");
}

#[test]
fn an_organization_answers_by_a_named_member() {
    let mut table = Table::empty(5);
    let mut plan = open(2, policy());
    plan.seats[0].principal = Some(approvals::Audience::Approvers { org: approvals::OrgId("acme".into()) });
    let Reply::Opened { principal_link, invites, .. } = table.run(Command::Open(plan)).unwrap() else {
        panic!()
    };
    assert!(principal_link.is_none(), "the organization answers");
    let actor = table.state.authenticate(invites[0].secret.expose(), table.now()).unwrap();
    table
        .run(Command::Join(pxp::command::Join { actor, seat: b(), agent: None, key: None, principal: None }))
        .unwrap();
    table.seal(A, card(A)).unwrap();
    table.seal(b(), card(b())).unwrap();
    table.send(A, escalate("May I?", &[])).unwrap();
    let set = Pointer::Set { key: "inbox/acme/approvers".into(), item: "r00m:q1".into() };
    assert!(table.pointers.contains(&set));
    let member = |org: &str| By::Member {
        org: approvals::OrgId(org.into()),
        member: approvals::MemberId("ana".into()),
        acting_for: None,
    };
    let give = |by: By| Answer {
        actor: Actor::Principal { seat: A, by: by.clone() },
        seat: A,
        answer: ruling("q1", Ruling::Allow, &[]),
        proof: Proof { by, ..session() },
    };
    assert_eq!(table.code(Command::Answer(give(member("other")))), "wrong_person");
    assert_eq!(table.code(Command::Answer(give(member("acme")))), "ok");
    assert!(
        table
            .pointers
            .contains(&Pointer::Clear { key: "inbox/acme/approvers".into(), item: "r00m:q1".into() })
    );
    assert!(table.published().contains(r#""member":"ana""#));
}
