//! The hashes of spec 1.3, against this profile's own types.

use canon::Digest;
use pxp::wire::{Origin, Party};
use pxp::{Amendment, Card, Envelope, EnvelopeClaim, From, Proposal, Speaker, Status};

fn digest(text: &str) -> Digest {
    text.parse().unwrap()
}

fn card() -> Card {
    let list = |text: &str| vec![text.to_owned()];
    Card {
        pxp: "0".into(),
        principal: Party { name: "Ana".into(), role: String::new(), org: None },
        goal: "Rent the hall on 4 May".into(),
        must_haves: list("Seats for 80"),
        may_agree_to: list("Up to 900 EUR"),
        must_never: list("Pay in cash"),
        escalate_when: list("Date moves"),
        known_facts: list("80 guests confirmed"),
        amendments: Vec::new(),
        limits: Vec::new(),
        salt: None,
    }
}

fn proposal() -> Proposal {
    Proposal {
        terms: vec!["Hall on 4 May".into(), "950 EUR by transfer".into()],
        depends_on: vec!["A1.1".parse().unwrap()],
        values: Vec::new(),
        authority: Vec::new(),
        expires_at: None,
    }
}

#[test]
fn a_card_without_extras_is_the_v0_card() {
    let hash = digest("57e36abe5100403a33fd7f67a4273d9852880597833e560c577234118daeae19");
    assert_eq!(card().hash().unwrap(), hash);
    let amendment = Amendment {
        question: "May I pay 950?".into(),
        answer: "Yes, 950 at most".into(),
        at: "2026-11-30T09:00:00.000Z".parse().unwrap(),
    };
    let amended = digest("01cf857c526b77061a6597df31a4cbd49812ff989fdb2bad6d1ab5f6edf6b69c");
    assert_eq!(card().amended(amendment, &[]).unwrap().hash().unwrap(), amended);
}

#[test]
fn terms_and_envelope_have_the_v0_hashes() {
    let terms = digest("7eb0aef310f430163b670901ed2299bd2508b7bf2a8135c395b93c886eec0a6b");
    assert_eq!(proposal().proposal_hash().unwrap(), terms);
    let envelope = Envelope {
        pxp: "0".into(),
        room: "R1".parse().unwrap(),
        seq: 1,
        from: From {
            seat: pxp::SeatId::A,
            principal: "Ana".into(),
            speaker: Speaker::Proxy,
            agent: Some("Agent A".into()),
        },
        intent_hash: card().hash().unwrap(),
        message: "Offer".into(),
        claims: vec![EnvelopeClaim {
            id: "A1.1".parse().unwrap(),
            text: "80 guests are confirmed".into(),
            origin: Origin::Stated,
            reference: Some("known_facts[0]".into()),
            quote: None,
            source: None,
            touches: Vec::new(),
            restates: None,
        }],
        reviews: Vec::new(),
        status: Status::Continue,
        proposal: Some(proposal()),
        proposal_hash: Some(terms),
        offer_hash: None,
        accepts: None,
        authority: Vec::new(),
        escalation: None,
        protocol_flags: Vec::new(),
    };
    let hash = digest("b4502e145b278ae0b285ef29913429de62bb207c7831f17585d3a56ccaa549da");
    assert_eq!(envelope.hash().unwrap(), hash);
}

#[test]
fn a_salted_card_hides_behind_its_hash() {
    let salted = |byte| Card { salt: Some(canon::Salt::from_bytes([byte; 32])), ..card() };
    assert_ne!(salted(1).hash().unwrap(), card().hash().unwrap());
    assert_ne!(salted(1).hash().unwrap(), salted(2).hash().unwrap());
    assert_ne!(salted(1).clause_root().unwrap(), salted(2).clause_root().unwrap());
}

#[test]
fn an_offer_hash_covers_all_that_makes_an_offer() {
    let room = "R1".parse().unwrap();
    let other_room = "R2".parse().unwrap();
    let a = pxp::SeatId::A;
    let hash = proposal().offer_hash(&room, 1, a, Digest::ZERO).unwrap();
    let mut differing = vec![
        proposal().offer_hash(&other_room, 1, a, Digest::ZERO).unwrap(),
        proposal().offer_hash(&room, 2, a, Digest::ZERO).unwrap(),
        proposal().offer_hash(&room, 1, "B".parse().unwrap(), Digest::ZERO).unwrap(),
        proposal().offer_hash(&room, 1, a, Digest::of(b"card")).unwrap(),
    ];
    for edit in [
        |p: &mut Proposal| p.terms.push("more".into()),
        |p: &mut Proposal| p.depends_on.clear(),
        |p: &mut Proposal| p.values.push(crate::table::price(1)),
    ] {
        let mut edited = proposal();
        edit(&mut edited);
        differing.push(edited.offer_hash(&room, 1, a, Digest::ZERO).unwrap());
    }
    assert!(!differing.contains(&hash));
}
