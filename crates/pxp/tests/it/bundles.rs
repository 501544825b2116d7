//! A room as a file: it verifies with public keys alone (N07), a lost tail shows (N08), and every edit is found.

use crate::table::*;
use keys::{Algorithm, Signer, SoftwareSigner};
use ledger::log::{SignedHead, head_message};
use ledger::{Fault, StreamId};
use pxp::bundle::{self, Attested, Bundle};
use pxp::command::{Disclose, Disclosed};
use pxp::view::Viewer;
use pxp::wire::{Origin, Verdict};
use pxp::{Command, EnvelopeInput, Ruling, Scope};
use std::sync::Arc;

fn server() -> SoftwareSigner {
    SoftwareSigner::from_seed(Algorithm::Ed25519, &[1; 32]).unwrap()
}

fn attest(table: &Table) -> Attested {
    let last = table.entries.last().unwrap();
    let stream = StreamId::new("room", "r00m").unwrap();
    let signature = server().sign(&head_message(&stream, last.seq, &last.hash)).unwrap();
    Attested {
        key: server().public(),
        head: SignedHead { n: last.seq, hash: last.hash, signature },
        log: None,
    }
}

pub fn export(table: &Table, viewer: Viewer) -> Bundle {
    bundle::assemble(&table.state, &table.entries, viewer, attest(table)).unwrap()
}

/// A whole room: claims of all origins, a challenge, a question, a counter-offer, a disclosure, an agreement.
pub fn whole_room() -> Table {
    let mut table = Table::sealed_with(2, policy(), card);
    let claims = vec![
        claim("80 guests are confirmed", Origin::Stated, Some("known_facts[0]")),
        claim("The hall holds 100", Origin::Sourced, Some("fire permit")),
        claim("The floor is new", Origin::Assumed, None),
    ];
    let proposal = proposal("The hall for an evening", &["new1", "new3"]);
    table.send(A, EnvelopeInput { claims, proposal: Some(proposal), ..say("An offer") }).unwrap();
    let reviews = vec![
        review("A1.1", Verdict::Accept),
        review("A1.2", Verdict::Accept),
        review("A1.3", Verdict::Challenge),
    ];
    table.send(b(), EnvelopeInput { reviews, ..escalate("Shall I trust the floor?", &["A1.3"]) }).unwrap();
    let mut answer = ruling("q1", Ruling::Allow, &["A1.3"]);
    answer.public_summary = Some("The floor does not matter".into());
    table.answer(b(), answer).unwrap();
    let counter = crate::table::proposal("The hall for an evening and a night", &["A1.3"]);
    table.send(b(), EnvelopeInput { proposal: Some(counter), ..say("A counter") }).unwrap();
    let disclose = Disclose {
        actor: principal(A),
        seat: A,
        to: b(),
        what: Disclosed::Clause("must_haves[0]".parse().unwrap()),
    };
    table.run(Command::Disclose(disclose)).unwrap();
    let hash = table.state.offers.last().unwrap().hash;
    table.send(A, agree(hash)).unwrap();
    assert!(table.state.agreement.is_some());
    table
}

#[test]
fn n07_a_bundle_verifies_for_each_viewer() {
    let table = whole_room();
    for viewer in [
        Viewer::Seat(A),
        Viewer::Principal(b()),
        Viewer::Share(Scope::Transcript),
        Viewer::Share(Scope::Ledger),
    ] {
        let bytes = export(&table, viewer).to_vec().unwrap();
        let folded = bundle::check(&Bundle::parse(&bytes).unwrap()).unwrap();
        assert_eq!(folded.partial, viewer == Viewer::Share(Scope::Ledger));
        if !folded.partial {
            assert_eq!(folded.state.brief, table.state.brief);
            assert_eq!(folded.state.offers, table.state.offers);
        }
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(text.contains("Ana never pays in cash"), viewer == Viewer::Seat(A));
        assert_eq!(text.contains("Shall I trust the floor?"), viewer == Viewer::Principal(b()));
        assert_eq!(text.contains("My private words"), viewer == Viewer::Principal(b()));
        assert_eq!(text.contains("A counter"), viewer != Viewer::Share(Scope::Ledger));
    }
    for viewer in [Viewer::Nobody, Viewer::Share(Scope::Brief)] {
        assert!(bundle::assemble(&table.state, &table.entries, viewer, attest(&table)).is_err());
    }
}

#[test]
fn a_signed_seat_and_signed_evidence_verify_offline() {
    let key = SoftwareSigner::from_seed(Algorithm::P256, &[5; 32]).unwrap();
    let person = SoftwareSigner::from_seed(Algorithm::Ed25519, &[6; 32]).unwrap();
    let mut table = Table::empty(9);
    let pxp::Reply::Opened { principal_link: Some(link), .. } = table
        .run(Command::Open(pxp::command::Open { key: Some(key.public()), ..open(2, policy()) }))
        .unwrap()
    else {
        panic!()
    };
    let actor = table.state.authenticate(link.expose(), table.now()).unwrap();
    let enrol =
        pxp::command::Enrol { actor, seat: A, as_member: None, passkey: None, key: Some(person.public()) };
    table.run(Command::Enrol(enrol)).unwrap();
    let actor = pxp::Actor::Invite { seat: b() };
    table
        .run(Command::Join(pxp::command::Join { actor, seat: b(), agent: None, key: None, principal: None }))
        .unwrap();
    table.seal(A, card(A)).unwrap();
    table.seal(b(), card(b())).unwrap();
    let mut asking = escalate("May I?", &[]);
    asking.escalation.as_mut().unwrap().salt = Some(canon::Salt::from_bytes([1; 32]));
    let hash = pxp::signing_bytes(&room_id(), A, "m1", &asking).unwrap();
    let signature = Some(key.sign(hash.as_bytes()).unwrap().base64url());
    table
        .run(Command::Send(pxp::command::Send { msg_id: Some("m1".into()), signature, ..send(A, asking) }))
        .unwrap();
    let answer = ruling("q1", Ruling::Deny, &[]);
    let ask = &table.state.asks()[0];
    let proof =
        crate::answers::signed(&person, ask, approvals::Decided::Decline, Some(&answer.body().unwrap()));
    table.run(Command::Answer(pxp::command::Answer { actor: principal(A), seat: A, answer, proof })).unwrap();
    let folded = bundle::check(&export(&table, Viewer::Seat(A))).unwrap();
    assert_eq!((folded.signatures, folded.evidence), (1, 1));
    // The other side verifies the signature too, though the words of the question are not theirs.
    let folded = bundle::check(&export(&table, Viewer::Seat(b()))).unwrap();
    assert_eq!((folded.signatures, folded.evidence), (1, 0));
    let mut swapped = export(&table, Viewer::Seat(b()));
    swapped.keys.seats.clear();
    assert_eq!(bundle::check(&swapped).unwrap_err(), Fault::new("bad_seat_keys", "/keys/seats"));
}

#[test]
fn n08_a_lost_tail_and_every_other_edit_is_found() {
    let table = whole_room();
    let check = |edit: fn(&mut Bundle), code: &str| {
        let mut bundle = export(&table, Viewer::Seat(A));
        edit(&mut bundle);
        assert_eq!(bundle::check(&bundle).unwrap_err().code, code);
    };
    check(|bundle| drop(bundle.entries.pop()), "bad_head");
    check(|bundle| drop(bundle.entries.remove(0)), "bad_number");
    check(|bundle| bundle.entries.swap(3, 4), "bad_number");
    check(|bundle| bundle.entries[4].at = start() + env::Duration::from_secs(1), "bad_hash");
    check(|bundle| bundle.entries[4].prev = canon::Digest::ZERO, "bad_prev");
    check(|bundle| bundle.head.hash = canon::Digest::ZERO, "bad_head");
    check(|bundle| bundle.head.signature = server().sign(b"x").unwrap(), "bad_head_signature");
    check(
        |bundle| {
            bundle.keys.server = SoftwareSigner::from_seed(Algorithm::Ed25519, &[2; 32]).unwrap().public()
        },
        "bad_head_signature",
    );
    check(|bundle| bundle.payloads.values_mut().for_each(|text| text.push(' ')), "bad_payload");
    check(|bundle| drop(bundle.payloads.pop_first()), "bad_withheld");
    check(|bundle| bundle.withheld.push(canon::Digest::of(b"x")), "bad_withheld");
    check(
        |bundle| drop(bundle.payloads.insert(canon::Digest::of(b"{}").to_string(), "{}".into())),
        "extra_payload",
    );
    check(|bundle| bundle.brief.as_mut().unwrap().topic.push('!'), "bad_brief");
    check(|bundle| bundle.room = "other".parse().unwrap(), "bad_head_signature");
    check(|bundle| bundle.entries.clear(), "no_entries");
}

#[test]
fn whoever_can_rewrite_the_whole_chain_must_still_obey_the_rules() {
    let table = whole_room();
    let check = |edit: fn(&mut pxp::Event), code: &str| {
        let mut entries = Vec::new();
        let mut head = ledger::Head::EMPTY;
        let mut old = ledger::Head::EMPTY;
        for entry in &table.entries {
            let mut event = pxp::Event::open(entry, old).unwrap();
            old = ledger::Head { seq: entry.seq, hash: entry.hash };
            edit(&mut event);
            let event = pxp::Event::new(event.at, event.fact, event.body).unwrap();
            let forged = event.seal(head).unwrap();
            head = ledger::Head { seq: forged.seq, hash: forged.hash };
            entries.push(forged);
        }
        assert_eq!(bundle::fold(&entries).map(|_| ()).unwrap_err().code, code);
    };
    use pxp::Fact;
    use pxp::event::Body;
    check(
        |event| {
            if let Some(Body::Card(card)) = &mut event.body {
                card.goal.push('!');
            }
        },
        "bad_card_hash",
    );
    check(
        |event| {
            if let Fact::CardSealed(data) = &mut event.fact {
                data.clause_root = canon::Digest::ZERO;
            }
        },
        "bad_clause_root",
    );
    check(
        |event| {
            if let Some(Body::Envelope(recorded)) = &mut event.body {
                Arc::make_mut(&mut recorded.envelope).message.push('!');
            }
        },
        "bad_envelope_hash",
    );
    check(
        |event| {
            if let (Fact::EnvelopeSent(data), Some(Body::Envelope(recorded))) =
                (&mut event.fact, &mut event.body)
            {
                if let (Some(told), Some(sent)) = (
                    &mut Arc::make_mut(&mut recorded.envelope).proposal,
                    &mut Arc::make_mut(&mut recorded.input).proposal,
                ) {
                    told.terms[0].push('!');
                    sent.terms[0].push('!');
                }
                data.envelope_hash = recorded.envelope.hash().unwrap();
            }
        },
        "bad_offer_hash",
    );
    check(
        |event| {
            if let (Fact::EnvelopeSent(data), Some(Body::Envelope(recorded))) =
                (&mut event.fact, &mut event.body)
            {
                for claim in &mut Arc::make_mut(&mut recorded.envelope).claims {
                    claim.text.push('!');
                }
                data.envelope_hash = recorded.envelope.hash().unwrap();
            }
        },
        "bad_input",
    );
    check(
        |event| {
            if let Fact::Reviewed(data) = &mut event.fact {
                data.verdict = Verdict::Conflict;
            }
        },
        "bad_review",
    );
    check(
        |event| {
            if let Some(Body::Question(body)) = &mut event.body {
                body.question.push('!');
            }
        },
        "bad_commitment",
    );
    check(
        |event| {
            if let Fact::PrincipalAnswer(data) = &mut event.fact {
                data.ruling = Ruling::Deny;
            }
        },
        "bad_answer",
    );
    check(
        |event| {
            if let Fact::Agreement(data) = &mut event.fact {
                data.proposal_hash = canon::Digest::ZERO;
            }
        },
        "bad_agreement",
    );
    check(
        |event| {
            if let (Fact::BriefRecorded(data), Some(Body::Brief(brief))) = (&mut event.fact, &mut event.body)
            {
                brief.unverified_dependencies.clear();
                data.brief_hash = brief.hash().unwrap();
            }
        },
        "bad_brief",
    );
    check(
        |event| {
            if let Some(Body::Disclosure(shown)) = &mut event.body {
                shown.clause.as_mut().unwrap().text.push('!');
            }
        },
        "bad_disclosure",
    );
}
