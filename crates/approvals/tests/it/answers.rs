//! D6: what is signed is one answer to one ask. D7: a delegate may, a lost key may not.

use crate::bench::{Bench, ORIGIN, authenticator, credential_id, invited, org, public};
use approvals::people::{Act, By};
use approvals::{
    Accepts, Answer, Ask, Audience, Brief, Credentials, Decided, Evidence, EvidenceKind, Item, MemberId,
    Outcome, Person, PlainKey, Right, Role, Section, Site, Standing, check, inbox,
};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use canon::Digest;
use env::Duration;
use keys::{Algorithm, Signer, SoftwareSigner};
use ledger::Coded;

const NONCE: &str = "0123456789abcdef";
const ALL: [EvidenceKind; 5] = [
    EvidenceKind::Passkey,
    EvidenceKind::Ed25519,
    EvidenceKind::Wallet,
    EvidenceKind::Session,
    EvidenceKind::Relayed,
];

fn ask(bench: &Bench, audience: Audience) -> Ask {
    Ask {
        id: "q1".to_owned(),
        stream: "room/r1".to_owned(),
        protocol: "pxp".to_owned(),
        action_hash: Digest::of(b"refund 12.00 EUR"),
        brief: Brief {
            title: "A refund".to_owned(),
            question: "May it refund 12.00 EUR?".to_owned(),
            sections: vec![Section {
                heading: "What".to_owned(),
                items: vec![Item { label: None, text: "12.00 EUR".to_owned(), standing: Standing::Checked }],
            }],
            warnings: Vec::new(),
        },
        audience,
        accepts: Accepts { kinds: ALL.to_vec(), relayed_is_held: false },
        asked_at: bench.now(),
        expires_at: Some(bench.now() + Duration::from_secs(3600)),
    }
}

fn own(member: &MemberId) -> Audience {
    Audience::Member { org: org(), member: member.clone() }
}

fn site() -> Option<Site> {
    Some(Site { id: "countersign.example".to_owned(), origins: vec![ORIGIN.to_owned()] })
}

fn credentials(bench: &Bench, member: &MemberId) -> Credentials {
    bench.state.credentials(member, site(), bench.now()).unwrap()
}

fn answer(ask: &Ask, by: &MemberId, body: Option<&str>, evidence: Evidence) -> Answer {
    Answer {
        ask_id: ask.id.clone(),
        decision: Decided::Approve,
        body: body.map(str::to_owned),
        nonce: NONCE.to_owned(),
        by: Some(by.clone()),
        evidence,
    }
}

fn sign(hash: Digest, key: u8) -> Evidence {
    let signed = authenticator(key).assert(&hash.into()).unwrap();
    Evidence::Passkey {
        credential_id: signed.credential_id.to_string(),
        authenticator_data: URL_SAFE_NO_PAD.encode(&signed.authenticator_data),
        client_data_json: URL_SAFE_NO_PAD.encode(&signed.client_data_json),
        signature: URL_SAFE_NO_PAD.encode(&signed.signature),
    }
}

fn by_passkey(ask: &Ask, by: &MemberId, body: Option<&str>, key: u8) -> Answer {
    let hash = ask.statement(Decided::Approve, body, NONCE).hash();
    answer(ask, by, body, sign(hash, key))
}

fn code(ask: &Ask, answer: &Answer, keys: &Credentials, bench: &Bench) -> &'static str {
    match check(ask, answer, keys, bench.now()) {
        Ok(Outcome::Settled(_)) => "settled",
        Ok(Outcome::Held(_)) => "held",
        Err(refusal) => refusal.code(),
    }
}

#[test]
fn the_statement_has_the_form_of_d6() {
    let (bench, ana) = Bench::founded(1);
    let ask = ask(&bench, own(&ana));
    let bytes = |body| canon::to_vec(&ask.statement(Decided::Decline, body, NONCE)).unwrap();
    let (action, brief) = (Digest::of(b"refund 12.00 EUR"), Digest::of(&canon::to_vec(&ask.brief).unwrap()));
    let plain = format!(
        r#"{{"action_hash":"{action}","ask_id":"q1","brief_hash":"{brief}","decision":"decline","nonce":"{NONCE}","v":1}}"#
    );
    assert_eq!(String::from_utf8(bytes(None)).unwrap(), plain);
    let reason = r#"{"reason":"refund"}"#;
    let with = plain.replacen(
        '{',
        &format!(r#"{{"action_hash":"{action}","answer_hash":"{}","#, Digest::of(reason.as_bytes())),
        1,
    );
    let with = with.replacen(&format!(r#","action_hash":"{action}","ask_id""#), r#","ask_id""#, 1);
    assert_eq!(String::from_utf8(bytes(Some(reason))).unwrap(), with);
    assert_eq!(ask.statement(Decided::Decline, None, NONCE).hash(), Digest::of(plain.as_bytes()));
}

/// Takes an answer that settles, changes one thing, and looks what becomes of it.
fn check_changed(name: &str, change: impl Fn(&mut Ask, &mut Answer), expected: &str) {
    let (bench, ana) = Bench::founded(2);
    let mut ask = ask(&bench, own(&ana));
    let mut answer = by_passkey(&ask, &ana, Some(r#"{"reason":"refund"}"#), 1);
    let keys = credentials(&bench, &ana);
    assert_eq!(code(&ask, &answer, &keys, &bench), "settled");
    change(&mut ask, &mut answer);
    assert_eq!(code(&ask, &answer, &keys, &bench), expected, "{name}");
}

#[test]
fn a_signed_answer_is_good_for_itself_alone() {
    check_changed("nothing", |_, _| {}, "settled");
    check_changed("approve to decline", |_, answer| answer.decision = Decided::Decline, "bad_evidence");
    check_changed(
        "another reason",
        |_, a| a.body = Some(r#"{"reason":"capture"}"#.to_owned()),
        "bad_evidence",
    );
    check_changed("no reason", |_, answer| answer.body = None, "bad_evidence");
    check_changed("another nonce", |_, answer| answer.nonce = "0123456789abcdeg".to_owned(), "bad_evidence");
    check_changed("another ask", |ask, _| ask.id = "q2".to_owned(), "wrong_ask");
    let rename = |ask: &mut Ask, answer: &mut Answer| {
        ask.id = "q2".to_owned();
        answer.ask_id = "q2".to_owned();
    };
    check_changed("renamed to another ask", rename, "bad_evidence");
    check_changed("another act", |ask, _| ask.action_hash = Digest::of(b"refund 99.00 EUR"), "bad_evidence");
    check_changed("another brief", |ask, _| ask.brief.sections[0].items[0].text.push('0'), "bad_evidence");
    check_changed("a hidden warning", |ask, _| ask.brief.warnings.push("look".to_owned()), "bad_evidence");
    check_changed(
        "spelled otherwise",
        |_, a| a.body = Some(r#"{ "reason":"refund"}"#.to_owned()),
        "body_not_canonical",
    );
    check_changed("twice", |_, a| a.body = Some(r#"{"a":1,"a":1}"#.to_owned()), "body_not_canonical");
    check_changed("short nonce", |_, answer| answer.nonce = "short".to_owned(), "bad_nonce");
    check_changed("odd nonce", |_, answer| answer.nonce = "0123456789abcde\u{202E}".to_owned(), "bad_nonce");
    check_changed("somebody else's name", |_, a| a.by = Some(MemberId("ben".to_owned())), "wrong_person");
    check_changed("nobody's name", |_, answer| answer.by = None, "wrong_person");
    check_changed(
        "asked of another",
        |ask, _| ask.audience = own(&MemberId("ben".to_owned())),
        "wrong_person",
    );
    let elsewhere = |ask: &mut Ask, _: &mut Answer| {
        ask.audience = Audience::Approvers { org: approvals::OrgId("other".to_owned()) };
    };
    check_changed("asked of another organization", elsewhere, "wrong_person");
    check_changed("late", |ask, _| ask.expires_at = Some(ask.asked_at), "ask_expired");
    check_changed(
        "not taken",
        |ask, _| ask.accepts.kinds = vec![EvidenceKind::Ed25519],
        "evidence_not_accepted",
    );
    let forged = |_: &mut Ask, answer: &mut Answer| {
        if let Evidence::Passkey { credential_id: id, .. } = &mut answer.evidence {
            *id = credential_id(2);
        }
    };
    check_changed("another credential", forged, "unknown_credential");
    let bytes = |_: &mut Ask, answer: &mut Answer| {
        if let Evidence::Passkey { signature, .. } = &mut answer.evidence {
            signature.push('=');
        }
    };
    check_changed("a padded signature", bytes, "bad_evidence");
}

#[test]
fn the_site_and_the_persons_presence_are_part_of_it() {
    let (bench, ana) = Bench::founded(3);
    let ask = ask(&bench, own(&ana));
    let good = by_passkey(&ask, &ana, None, 1);
    let keys = |site| bench.state.credentials(&ana, site, bench.now()).unwrap();
    let named = |id: &str, origin: &str| Some(Site { id: id.to_owned(), origins: vec![origin.to_owned()] });
    for (site, expected) in [
        (site(), "settled"),
        (named("countersign.example", "https://evil.example"), "bad_evidence"),
        (named("evil.example", ORIGIN), "bad_evidence"),
        (named("countersign.example", "https://countersign.example:8443"), "bad_evidence"),
        (None, "unknown_credential"),
    ] {
        assert_eq!(code(&ask, &good, &keys(site.clone()), &bench), expected, "{site:?}");
    }
    let mut lazy = authenticator(1);
    lazy.verifies = false;
    let hash = ask.statement(Decided::Approve, None, NONCE).hash();
    let signed = lazy.assert(&hash.into()).unwrap();
    let evidence = Evidence::Passkey {
        credential_id: credential_id(1),
        authenticator_data: URL_SAFE_NO_PAD.encode(&signed.authenticator_data),
        client_data_json: URL_SAFE_NO_PAD.encode(&signed.client_data_json),
        signature: URL_SAFE_NO_PAD.encode(&signed.signature),
    };
    assert_eq!(code(&ask, &answer(&ask, &ana, None, evidence), &keys(site()), &bench), "bad_evidence");
}

#[test]
fn each_kind_of_evidence_is_weighed() {
    let (bench, ana) = Bench::founded(4);
    let mut ask = ask(&bench, own(&ana));
    let signer = SoftwareSigner::from_seed(Algorithm::Ed25519, &[7; 32]).unwrap();
    let mut keys = credentials(&bench, &ana);
    keys.plain_keys.push(PlainKey { key: signer.public(), since: bench.now(), until: None });
    keys.session = Some("s1".to_owned());
    keys.agent = Some("k1".to_owned());
    let hash = ask.statement(Decided::Approve, None, NONCE).hash();
    let thumbprint = signer.public().thumbprint().to_string();
    let ed25519 = |message: &[u8]| Evidence::Ed25519 {
        thumbprint: thumbprint.clone(),
        signature: signer.sign(message).unwrap().base64url(),
    };
    let session = |name: &str| Evidence::Session { session: name.to_owned() };
    let relayed = |name: &str| Evidence::Relayed { agent: name.to_owned() };
    let word = || "00".to_owned();
    let wallet = Evidence::Wallet { address: word(), cose_sign1: word(), cose_key: word() };
    let stranger =
        Evidence::Ed25519 { thumbprint: "x".to_owned(), signature: signer.sign(b"").unwrap().base64url() };
    for held in [false, true] {
        ask.accepts.relayed_is_held = held;
        for (evidence, expected) in [
            (ed25519(hash.as_bytes()), "settled"),
            (ed25519(hash.to_string().as_bytes()), "bad_evidence"),
            (ed25519(b""), "bad_evidence"),
            (stranger.clone(), "unknown_credential"),
            (session("s1"), "settled"),
            (session("s2"), "unknown_credential"),
            (session(""), "unknown_credential"),
            (relayed("k1"), if held { "held" } else { "settled" }),
            (relayed("s1"), "unknown_credential"),
            (wallet.clone(), "evidence_not_supported"),
        ] {
            assert_eq!(
                code(&ask, &answer(&ask, &ana, None, evidence.clone()), &keys, &bench),
                expected,
                "{evidence:?}"
            );
        }
    }
    // Without a verified session or agent, naming none proves nothing either.
    let bare = credentials(&bench, &ana);
    for evidence in [session(""), session("s1"), relayed(""), relayed("k1")] {
        assert_eq!(code(&ask, &answer(&ask, &ana, None, evidence), &bare, &bench), "unknown_credential");
    }
}

#[test]
fn a_lost_key_answers_nothing_and_unlocks_nothing() {
    let (mut bench, ana) = Bench::founded(5);
    let by = By::Member(ana.clone());
    let (_, secret) = invited(bench.act(&by, Act::Invite { member: ana.clone() }).unwrap());
    bench.enrol(&secret, 2).unwrap();
    let ask = ask(&bench, own(&ana));
    let before = by_passkey(&ask, &ana, None, 1);
    let taken = check(&ask, &before, &credentials(&bench, &ana), bench.now()).unwrap();
    let at = bench.now();
    bench.wait(60);
    bench.act(&by, Act::RevokePasskey { member: ana.clone(), credential_id: credential_id(1) }).unwrap();
    let keys = credentials(&bench, &ana);
    assert_eq!(code(&ask, &before, &keys, &bench), "credential_revoked");
    assert_eq!(code(&ask, &by_passkey(&ask, &ana, None, 2), &keys, &bench), "settled");
    // What the key answered while it was good stays proven, at its time.
    assert_eq!(check(&ask, &before, &keys, at).unwrap(), taken);
    // A key enrolled later does not answer for an earlier instant.
    assert_eq!(taken.answered().credential, credential_id(1));
    let third = by_passkey(&ask, &ana, None, 3);
    let (_, secret) = invited(bench.act(&by, Act::Invite { member: ana.clone() }).unwrap());
    bench.enrol(&secret, 3).unwrap();
    let keys = credentials(&bench, &ana);
    assert_eq!(check(&ask, &third, &keys, at).unwrap_err().code(), "credential_revoked");
    assert_eq!(code(&ask, &third, &keys, &bench), "settled");
    assert_eq!(keys.passkeys.iter().filter(|passkey| passkey.key == public(3)).count(), 1);
}

#[test]
fn delegates_answer_while_the_delegation_lasts() {
    let (mut bench, ana) = Bench::founded(6);
    let ben = bench.join(&ana, "Ben", &[Role::Viewer], 2);
    let cleo = bench.join(&ana, "Cleo", &[Role::Approver], 3);
    let approvers = ask(&bench, Audience::Approvers { org: org() });
    let to_ana = ask(&bench, own(&ana));
    let ruling = |bench: &Bench, ask: &Ask, by: &MemberId, key: u8| {
        code(ask, &by_passkey(ask, by, None, key), &credentials(bench, by), bench)
    };
    assert_eq!(ruling(&bench, &approvers, &ben, 2), "wrong_person");
    assert_eq!(ruling(&bench, &to_ana, &cleo, 3), "wrong_person");
    assert_eq!(ruling(&bench, &approvers, &cleo, 3), "settled");

    let until = bench.now() + Duration::from_secs(600);
    bench.act(&By::Member(ana.clone()), Act::Delegate { to: ben.clone(), until }).unwrap();
    assert_eq!(ruling(&bench, &approvers, &ben, 2), "settled");
    assert_eq!(ruling(&bench, &to_ana, &ben, 2), "settled");
    let taken =
        check(&to_ana, &by_passkey(&to_ana, &ben, None, 2), &credentials(&bench, &ben), bench.now()).unwrap();
    assert_eq!(taken.answered().right, Right::For(ana.clone()));
    assert_eq!(taken.answered().by, Some(ben.clone()));
    // Ben's delegate does not get what Ben has from Ana.
    bench.act(&By::Member(ben.clone()), Act::Delegate { to: cleo.clone(), until }).unwrap();
    assert_eq!(ruling(&bench, &to_ana, &cleo, 3), "wrong_person");
    bench.wait(599);
    assert_eq!(ruling(&bench, &to_ana, &ben, 2), "settled");
    bench.wait(1);
    assert_eq!(ruling(&bench, &to_ana, &ben, 2), "wrong_person");
    assert_eq!(ruling(&bench, &to_ana, &ana, 1), "settled");
}

#[test]
fn the_inbox_holds_what_one_may_answer_now() {
    let (mut bench, ana) = Bench::founded(7);
    let ben = bench.join(&ana, "Ben", &[Role::Viewer], 2);
    let named = |id: &str, audience: Audience, secs: Option<u64>| Ask {
        id: id.to_owned(),
        expires_at: secs.map(|secs| bench.now() + Duration::from_secs(secs)),
        ..ask(&bench, audience)
    };
    let holder = Audience::Holder { stream: "room/r1".to_owned(), role: "principal:A".to_owned() };
    let asks = [
        named("late", own(&ana), None),
        named("org", Audience::Approvers { org: org() }, Some(500)),
        named("soon", own(&ana), Some(100)),
        named("bens", own(&ben), Some(300)),
        named("gone", own(&ana), Some(0)),
        named("link", holder.clone(), Some(50)),
        named("other", Audience::Approvers { org: approvals::OrgId("other".to_owned()) }, None),
    ];
    let ids =
        |person: &Person, now| inbox(&asks, person, now).iter().map(|w| w.ask.id.clone()).collect::<Vec<_>>();
    let (now, until) = (bench.now(), bench.now() + Duration::from_secs(200));
    let person = |bench: &Bench, member, at| bench.state.person(member, at).unwrap();
    assert_eq!(ids(&person(&bench, &ana, now), now), ["soon", "org", "late"]);
    assert_eq!(ids(&person(&bench, &ben, now), now), ["bens"]);
    bench.act(&By::Member(ana.clone()), Act::Delegate { to: ben.clone(), until }).unwrap();
    assert_eq!(ids(&person(&bench, &ben, now), now), ["soon", "bens", "org", "late"]);
    assert_eq!(ids(&person(&bench, &ben, until), until), ["bens"]);
    let by_link = Person::Holder { stream: "room/r1".to_owned(), role: "principal:A".to_owned() };
    assert_eq!(ids(&by_link, now), ["link"]);
    let other_seat = Person::Holder { stream: "room/r1".to_owned(), role: "principal:B".to_owned() };
    assert!(ids(&other_seat, now).is_empty());
    assert_eq!(bench.state.audience(&own(&ana), now).len(), 2);
    assert!(bench.state.audience(&holder, now).is_empty());
}
