//! Members, links, agent keys, pauses, quiet hours, and the chain they are written to. D8.

use crate::bench::{Bench, credential_id, enrolment, invited, opened, org, set};
use approvals::people::{Act, By, Fact, NotifyTarget, Quiet, Reply, Revealed, Target};
use approvals::{MemberId, Organization, Role};
use canon::Digest;
use env::{Duration, Timestamp};
use ledger::{Aggregate, Coded, Effect, Entry, Head};

#[test]
fn the_chain_rule_is_what_the_page_says() {
    let (bench, _) = Bench::founded(1);
    let mut prev = Digest::ZERO;
    for (at, entry) in bench.entries.iter().enumerate() {
        assert_eq!(entry.hash, Digest::of(&[prev.as_bytes().as_slice(), &entry.bytes].concat()));
        assert_eq!(canon::canonicalize(&entry.bytes).unwrap(), entry.bytes);
        let text = String::from_utf8(entry.bytes.clone()).unwrap();
        assert!(
            text.starts_with(r#"{"at":"2026-"#) && text.contains(&format!(r#","n":{},"type":""#, at + 1)),
            "{text}"
        );
        assert!(!text.contains("Ana"), "a person's name is not in the chain: {text}");
        prev = entry.hash;
    }
}

fn check_forged(name: &str, forge: impl Fn(&mut Entry), expected: &str) {
    let (bench, _) = Bench::founded(2);
    // The second entry is Ana's, with her name beside it.
    let prev = Head { seq: 1, hash: bench.entries[0].hash };
    let mut entry = bench.entries[1].clone();
    forge(&mut entry);
    let opened = Organization::open(&entry, prev);
    assert_eq!(opened.map_or_else(|fault| fault.code, |_| "opened"), expected, "{name}");
}

fn rehash(entry: &mut Entry, from: &str, to: &str) {
    let text = String::from_utf8(entry.bytes.clone()).unwrap();
    assert!(text.contains(from), "{text}");
    entry.bytes = text.replacen(from, to, 1).into_bytes();
    entry.hash = Digest::of_parts(&[entry.prev.as_bytes(), &entry.bytes]);
}

#[test]
fn a_forged_entry_does_not_open() {
    check_forged("nothing", |_| {}, "opened");
    check_forged("erased", |entry| entry.payload = None, "opened");
    check_forged("number", |entry| entry.seq = 3, "entry_number");
    check_forged("link", |entry| entry.prev = Digest::ZERO, "entry_link");
    check_forged("hash", |entry| entry.hash = Digest::ZERO, "entry_hash");
    check_forged("bytes", |entry| entry.bytes.push(b' '), "entry_hash");
    check_forged("embedded number", |entry| rehash(entry, r#""n":2"#, r#""n":7"#), "entry_form");
    check_forged("blank", |entry| rehash(entry, r#""n":2"#, r#""n": 2"#), "entry_form");
    check_forged("surplus member", |entry| rehash(entry, r#""n":2"#, r#""n":2,"o":1"#), "entry_form");
    check_forged("surplus within", |entry| rehash(entry, r#""member":"#, r#""a":1,"member":"#), "entry_form");
    check_forged("type", |entry| rehash(entry, "member_added", "member_made"), "shape");
    check_forged("duplicate", |entry| rehash(entry, r#""n":2"#, r#""n":2,"n":2"#), "duplicate_key");
    let swap = |entry: &mut Entry| entry.payload = Some(ledger::Payload::new(b"{}".to_vec()));
    check_forged("payload", swap, "payload_mismatch");
    let lie = |entry: &mut Entry| entry.payload.as_mut().unwrap().bytes.push(b' ');
    check_forged("payload bytes", lie, "payload_mismatch");
}

#[test]
fn an_erased_name_leaves_the_chain_whole() {
    let (bench, ana) = Bench::founded(3);
    let bare: Vec<Entry> =
        bench.entries.iter().cloned().map(|entry| Entry { payload: None, ..entry }).collect();
    let (mut state, mut head) = (Default::default(), Head::EMPTY);
    for event in opened(&bare) {
        head = Head { seq: head.seq + 1, hash: bare[head.seq as usize].hash };
        Organization::evolve(&mut state, &event, head);
    }
    assert_eq!(state.member(&ana).unwrap().name, None);
    assert_eq!(bench.state.member(&ana).unwrap().name.as_deref(), Some("Ana"));
    assert_eq!(state.member(&ana).unwrap().passkeys, bench.state.member(&ana).unwrap().passkeys);
}

#[test]
fn founding_happens_once_and_by_the_server() {
    let found = |org: &str, name: &str, owner: &str| Act::Found {
        org: approvals::OrgId(org.to_owned()),
        name: name.to_owned(),
        owner: owner.to_owned(),
    };
    for (org, name, owner, expected) in [
        ("home", "Home", "Ana", "done"),
        ("Home", "Home", "Ana", "bad_id"),
        ("", "Home", "Ana", "bad_id"),
        ("home", "", "Ana", "name_empty"),
        ("home", "Home", "A\u{202E}na", "name_suspicious"),
        ("home", "H\u{43E}me", "Ana", "name_suspicious"),
        ("home", "Home", &"a".repeat(10_240), "too_long"),
    ] {
        let reply = Bench::empty(1).act(&By::Server, found(org, name, owner));
        assert_eq!(reply.map_or_else(|r| r.code(), |_| "done"), expected, "{org} {name} {owner:.9}");
    }
    let stranger = By::Member(MemberId("ana".to_owned()));
    assert_eq!(
        Bench::empty(1).act(&stranger, found("home", "Home", "Ana")).unwrap_err().code(),
        "role_missing"
    );
    assert_eq!(Bench::empty(1).act(&By::Server, Act::IssueCodes).unwrap_err().code(), "no_organization");
    let (mut bench, _) = Bench::founded(1);
    assert_eq!(
        bench.act(&By::Server, found("home", "Home", "Ben")).unwrap_err().code(),
        "organization_exists"
    );
}

#[test]
fn a_link_works_once_and_for_a_week() {
    let (mut bench, ana) = Bench::founded(4);
    let by = By::Member(ana.clone());
    let add = Act::AddMember { name: "Ben".to_owned(), roles: set(&[Role::Viewer]) };
    let Reply::Member { member: ben } = bench.act(&by, add).unwrap() else { panic!() };
    let link = |bench: &mut Bench| invited(bench.act(&by, Act::Invite { member: ben.clone() }).unwrap()).1;
    let code = |bench: &mut Bench, secret: &Revealed, key| {
        bench.enrol(secret, key).map_or_else(|r| r.code(), |_| "done")
    };

    let first = link(&mut bench);
    let second = link(&mut bench);
    assert_eq!(code(&mut bench, &first, 2), "invite_unknown", "a newer link voids an older one");
    bench.wait(7 * 24 * 3600);
    assert_eq!(code(&mut bench, &second, 2), "invite_expired");
    let third = link(&mut bench);
    assert_eq!(code(&mut bench, &Revealed::new("guess"), 2), "invite_unknown");
    assert_eq!(code(&mut bench, &third, 1), "credential_taken");
    assert_eq!(code(&mut bench, &third, 2), "done");
    assert_eq!(code(&mut bench, &third, 3), "invite_used");
    assert!(bench.state.passkey(&credential_id(2), bench.now()).is_some_and(|(member, _)| member.id == ben));
    // The owner cannot make a link into Ben's account any more; Ben can, and so can whoever runs the server.
    assert_eq!(bench.code(&ana, Act::Invite { member: ben.clone() }), "needs_recovery");
    assert_eq!(bench.code(&ben, Act::Invite { member: ben.clone() }), "done");
    bench.act(&By::Server, Act::Invite { member: ben.clone() }).unwrap();
    assert_eq!(bench.code(&ben, enrolment(None, 4)), "done");
    assert_eq!(bench.state.member(&ben).unwrap().active_passkeys(bench.now()).count(), 2);
    assert!(
        format!("{:?}", bench.act(&By::Server, Act::Invite { member: ben }).unwrap())
            .contains("Revealed(..)")
    );
}

#[test]
fn an_owner_always_remains() {
    let (mut bench, ana) = Bench::founded(5);
    let remove = |member: &MemberId| Act::RemoveMember { member: member.clone() };
    let roles =
        |member: &MemberId, roles: &[Role]| Act::SetRoles { member: member.clone(), roles: set(roles) };
    assert_eq!(bench.code(&ana, remove(&ana)), "last_owner");
    assert_eq!(bench.code(&ana, roles(&ana, &[Role::Approver])), "last_owner");
    assert_eq!(bench.code(&ana, roles(&ana, &[])), "roles_empty");
    assert_eq!(bench.act(&By::Server, remove(&ana)).unwrap_err().code(), "last_owner");
    assert_eq!(
        bench.code(&ana, Act::RevokePasskey { member: ana.clone(), credential_id: credential_id(1) }),
        "last_passkey"
    );
    let ben = bench.join(&ana, "Ben", &[Role::Owner], 2);
    assert_eq!(bench.code(&ana, roles(&ana, &[Role::Approver])), "done");
    assert_eq!(bench.code(&ana, remove(&ben)), "role_missing");
    assert_eq!(bench.code(&ben, remove(&ben)), "last_owner");
    assert_eq!(bench.code(&ben, remove(&ana)), "done");
    assert_eq!(bench.code(&ana, Act::IssueCodes), "no_member");
    assert_eq!(bench.code(&ben, remove(&ana)), "no_member");
}

#[test]
fn with_a_member_goes_all_they_had() {
    let (mut bench, ana) = Bench::founded(6);
    let ben = bench.join(&ana, "Ben", &[Role::Approver], 2);
    let by = By::Member(ben.clone());
    let Reply::AgentKey { secret, .. } =
        bench.act(&by, Act::IssueAgentKey { label: "laptop".to_owned() }).unwrap()
    else {
        panic!()
    };
    let Reply::Codes { codes } = bench.act(&by, Act::IssueCodes).unwrap() else { panic!() };
    let (_, link) = invited(bench.act(&by, Act::Invite { member: ben.clone() }).unwrap());
    let until = bench.now() + Duration::from_secs(3600);
    bench.act(&By::Member(ana.clone()), Act::Delegate { to: ben.clone(), until }).unwrap();
    let epoch = bench.state.member(&ben).unwrap().epoch;
    assert!(
        bench.state.session(&ben, epoch).is_ok() && bench.state.agent(secret.expose(), bench.now()).is_ok()
    );

    bench.act(&By::Member(ana.clone()), Act::RemoveMember { member: ben.clone() }).unwrap();
    assert_eq!(bench.state.session(&ben, epoch).unwrap_err().code(), "session_ended");
    assert_eq!(bench.state.agent(secret.expose(), bench.now()).unwrap_err().code(), "agent_key_unknown");
    assert_eq!(
        bench.act(&By::Server, Act::SpendCode { code: codes[0].clone() }).unwrap_err().code(),
        "code_unknown"
    );
    assert_eq!(bench.enrol(&link, 3).unwrap_err().code(), "invite_unknown");
    assert!(bench.state.passkey(&credential_id(2), bench.now()).is_none());
    assert!(bench.state.member(&ana).unwrap().delegation.is_none());
    assert_eq!(bench.state.person(&ben, bench.now()).unwrap_err().code(), "no_member");
}

#[test]
fn agent_keys_live_while_they_are_used() {
    const DAY: u64 = 24 * 3600;
    let (mut bench, ana) = Bench::founded(7);
    let by = By::Member(ana.clone());
    let issue = |bench: &mut Bench| match bench
        .act(&by, Act::IssueAgentKey { label: "laptop".to_owned() })
        .unwrap()
    {
        Reply::AgentKey { key, secret } => (key, secret),
        reply => panic!("{reply:?}"),
    };
    let (key, secret) = issue(&mut bench);
    assert!(secret.expose().starts_with("csk_") && secret.expose().len() == 47);
    let known = bench.state.agent_key(&key).unwrap();
    assert!(secret.expose().ends_with(&known.last4) && known.last4.len() == 4);
    assert_eq!(known.label.as_deref(), Some("laptop"));
    for entry in &bench.entries {
        assert!(!String::from_utf8_lossy(&entry.bytes).contains(secret.expose()), "only its hash is kept");
    }
    // Its use is recorded at most once a day.
    let touch = |bench: &mut Bench| {
        let before = bench.entries.len();
        bench.act(&By::Server, Act::TouchAgentKey { key: key.clone() }).unwrap();
        bench.entries.len() - before
    };
    for (wait, recorded) in [(0, 0), (DAY - 1, 0), (1, 1), (10, 0), (DAY, 1), (89 * DAY, 1)] {
        bench.wait(wait);
        assert_eq!(bench.state.wants_touch(&key, bench.now()), recorded == 1);
        assert_eq!(touch(&mut bench), recorded, "after {wait}");
    }
    bench.wait(90 * DAY - 1);
    assert!(bench.state.agent(secret.expose(), bench.now()).is_ok());
    bench.wait(1);
    assert_eq!(bench.state.agent(secret.expose(), bench.now()).unwrap_err().code(), "agent_key_idle");
    assert_eq!(
        bench.act(&By::Server, Act::TouchAgentKey { key: key.clone() }).unwrap_err().code(),
        "no_agent_key"
    );

    // Ten living keys a person; the idle one does not count.
    let mut keys: Vec<_> = (0..10).map(|_| issue(&mut bench)).collect();
    assert_eq!(bench.code(&ana, Act::IssueAgentKey { label: "x".to_owned() }), "too_many");
    let (key, secret) = keys.pop().unwrap();
    bench.act(&by, Act::RevokeAgentKey { key: key.clone() }).unwrap();
    assert_eq!(bench.state.agent(secret.expose(), bench.now()).unwrap_err().code(), "agent_key_unknown");
    assert_eq!(bench.code(&ana, Act::RevokeAgentKey { key }), "no_agent_key");
    assert_eq!(bench.code(&ana, Act::IssueAgentKey { label: "x".to_owned() }), "done");
}

#[test]
fn one_switch_stops_an_agent_a_room_or_everything() {
    let (mut bench, ana) = Bench::founded(8);
    let ben = bench.join(&ana, "Ben", &[Role::Approver], 2);
    let agent = |bench: &mut Bench| match bench
        .act(&By::Member(ben.clone()), Act::IssueAgentKey { label: "x".to_owned() })
        .unwrap()
    {
        Reply::AgentKey { key, secret } => (Target::AgentKey { key }, secret),
        reply => panic!("{reply:?}"),
    };
    let (mine, secret) = agent(&mut bench);
    let (_, other) = agent(&mut bench);
    let room = Target::Stream { stream: "room/r1".to_owned() };
    let next = Target::Stream { stream: "room/r2".to_owned() };
    let pause = |target: &Target| Act::Pause { target: target.clone(), reason: "odd offers".to_owned() };
    let resume = |target: &Target| Act::Resume { target: target.clone() };
    let running = |bench: &Bench| {
        let now = bench.now();
        [
            bench.state.agent(secret.expose(), now).is_ok(),
            bench.state.agent(other.expose(), now).is_ok(),
            bench.state.running([&room]).is_ok(),
            bench.state.running([&next]).is_ok(),
        ]
    };
    assert_eq!(running(&bench), [true; 4]);
    assert_eq!(bench.code(&ben, pause(&mine)), "done");
    assert_eq!(running(&bench), [false, true, true, true]);
    assert_eq!(bench.state.agent(secret.expose(), bench.now()).unwrap_err().code(), "paused");
    assert_eq!(bench.code(&ben, pause(&mine)), "already_paused");
    assert_eq!(bench.code(&ana, pause(&room)), "done");
    assert_eq!(running(&bench), [false, true, false, true]);
    assert_eq!(bench.code(&ana, pause(&Target::Everything {})), "done");
    assert_eq!(running(&bench), [false; 4]);
    assert_eq!(bench.code(&ana, Act::IssueAgentKey { label: "y".to_owned() }), "paused");
    // Each is lifted by itself, and on record with its reason beside it.
    assert_eq!(bench.code(&ana, resume(&Target::Everything {})), "done");
    assert_eq!(running(&bench), [false, true, false, true]);
    assert_eq!(bench.code(&ana, resume(&Target::Everything {})), "not_paused");
    assert_eq!(bench.code(&ben, resume(&mine)), "done");
    let (_, kept) = bench.state.pauses().find(|(target, _)| **target == room).unwrap();
    assert_eq!((kept.reason.as_deref(), &kept.by), (Some("odd offers"), &By::Member(ana.clone())));
    // What an owner stopped, the agent's member does not set going.
    assert_eq!(bench.code(&ana, pause(&mine)), "done");
    assert_eq!(bench.code(&ben, resume(&mine)), "role_missing");
    let bad = Target::Stream { stream: "nonsense".to_owned() };
    assert_eq!(bench.code(&ana, pause(&bad)), "bad_id");
    assert_eq!(bench.code(&ana, pause(&Target::AgentKey { key: "none".to_owned() })), "no_agent_key");
}

#[test]
fn delegations_have_an_end_and_a_way_back() {
    let (mut bench, ana) = Bench::founded(9);
    let ben = bench.join(&ana, "Ben", &[Role::Viewer], 2);
    let cleo = bench.join(&ana, "Cleo", &[Role::Viewer], 3);
    let to = |bench: &Bench, to: &MemberId, secs: u64| Act::Delegate {
        to: to.clone(),
        until: bench.now() + Duration::from_secs(secs),
    };
    for (whom, secs, expected) in [
        (&ana, 60, "bad_delegation"),
        (&ben, 0, "bad_delegation"),
        (&ben, 90 * 24 * 3600 + 1, "bad_delegation"),
        (&MemberId("nobody".to_owned()), 60, "no_member"),
        (&ben, 90 * 24 * 3600, "done"),
        (&cleo, 60, "done"),
    ] {
        let act = to(&bench, whom, secs);
        assert_eq!(bench.code(&ana, act), expected, "{whom} {secs}");
    }
    let told = Effect::Notify {
        member: format!("home/{cleo}"),
        title: "Somebody asks you to answer for them".to_owned(),
        link: "/me".to_owned(),
    };
    assert!(bench.effects.contains(&told));
    let end = Act::EndDelegation { member: ana.clone() };
    assert_eq!(bench.code(&ben, end.clone()), "role_missing");
    assert_eq!(bench.code(&cleo, end.clone()), "done");
    assert_eq!(bench.code(&ana, end), "no_delegation");
}

fn check_quiet(from: u16, to: u16, offset: i16, at: &str, until: Option<&str>) {
    let now: Timestamp = at.parse().unwrap();
    let end = Quiet { from, to, offset }.until(now);
    assert_eq!(end.map(|end| end.to_string()).as_deref(), until, "{from}-{to} {offset:+} at {at}");
}

#[test]
fn quiet_hours_pass_midnight_and_follow_the_offset() {
    check_quiet(22 * 60, 7 * 60, 0, "2026-11-30T21:59:59.999Z", None);
    check_quiet(22 * 60, 7 * 60, 0, "2026-11-30T22:00:00.000Z", Some("2026-12-01T07:00:00.000Z"));
    check_quiet(22 * 60, 7 * 60, 0, "2026-12-01T06:59:59.999Z", Some("2026-12-01T07:00:00.000Z"));
    check_quiet(22 * 60, 7 * 60, 0, "2026-12-01T07:00:00.000Z", None);
    check_quiet(22 * 60, 7 * 60, 120, "2026-11-30T20:00:00.000Z", Some("2026-12-01T05:00:00.000Z"));
    check_quiet(22 * 60, 7 * 60, -300, "2026-11-30T22:00:00.000Z", None);
    check_quiet(12 * 60, 13 * 60, 330, "2026-11-30T06:45:30.000Z", Some("2026-11-30T07:30:00.000Z"));
    check_quiet(0, 1, -840, "1969-12-31T14:00:00.000Z", Some("1969-12-31T14:01:00.000Z"));
}

#[test]
fn quiet_hours_and_targets_are_set_by_oneself() {
    let (mut bench, ana) = Bench::founded(10);
    let quiet = |from, to, offset| Act::SetQuiet { quiet: Some(Quiet { from, to, offset }) };
    for (act, expected) in [
        (quiet(0, 0, 0), "bad_quiet_hours"),
        (quiet(1440, 1, 0), "bad_quiet_hours"),
        (quiet(0, 1440, 0), "bad_quiet_hours"),
        (quiet(0, 1, 841), "bad_quiet_hours"),
        (quiet(0, 1439, 840), "done"),
    ] {
        assert_eq!(bench.code(&ana, act.clone()), expected, "{act:?}");
    }
    assert!(bench.state.notify(&ana, bench.now()).unwrap().1.is_some());
    assert_eq!(bench.code(&ana, Act::SetQuiet { quiet: None }), "done");
    assert!(bench.state.notify(&ana, bench.now()).unwrap().1.is_none());

    let email = |address: &str| NotifyTarget::Email { address: address.to_owned() };
    for (targets, expected) in [
        (vec![email("ana@example.com\r\nBcc: x")], "bad_notify_target"),
        (vec![email("")], "bad_notify_target"),
        (vec![email(&"a".repeat(2_001))], "bad_notify_target"),
        (vec![email("a@example.com"); 9], "too_many"),
        (vec![email("ana@example.com")], "done"),
    ] {
        assert_eq!(bench.code(&ana, Act::SetNotify { targets: targets.clone() }), expected, "{targets:?}");
    }
    assert_eq!(bench.state.notify(&ana, bench.now()).unwrap().0, [email("ana@example.com")]);
    let last = bench.entries.last().unwrap();
    assert!(!String::from_utf8_lossy(&last.bytes).contains("example.com"), "addresses are beside the chain");
    // Setting what is set writes nothing.
    let before = bench.entries.len();
    assert_eq!(bench.code(&ana, Act::SetNotify { targets: vec![email("ana@example.com")] }), "done");
    assert_eq!(bench.entries.len(), before);
}

#[test]
fn a_target_is_added_and_removed_by_oneself_or_as_gone_by_the_server() {
    let (mut bench, ana) = Bench::founded(13);
    let email = |address: &str| NotifyTarget::Email { address: address.to_owned() };
    let push = |auth: &str| NotifyTarget::WebPush {
        endpoint: "https://push.example.com/1".to_owned(),
        p256dh: "key".to_owned(),
        auth: auth.to_owned(),
    };
    let add = |target: NotifyTarget| Act::AddNotify { target };
    for target in [email("a@example.com"), push("old"), push("new"), email("a@example.com")] {
        assert_eq!(bench.code(&ana, add(target)), "done");
    }
    let known = bench.state.notify(&ana, bench.now()).unwrap().0.to_vec();
    assert_eq!(known, [push("new"), email("a@example.com")], "each receiver once");
    assert_eq!(bench.code(&ana, add(email("a b"))), "bad_notify_target");

    let ben = bench.join(&ana, "Ben", &[Role::Owner], 2);
    let remove = |target: &NotifyTarget| Act::RemoveNotify { member: ana.clone(), target: target.id() };
    assert_eq!(bench.code(&ben, remove(&push("new"))), "role_missing", "an owner does not cut others off");
    assert_eq!(bench.code(&ana, remove(&email("a@example.com"))), "done");
    assert_eq!(bench.act(&By::Server, remove(&push("new"))), Ok(Reply::Done));
    assert!(bench.state.notify(&ana, bench.now()).unwrap().0.is_empty());
    let facts = opened(&bench.entries);
    let by: Vec<_> = facts
        .iter()
        .filter_map(|event| match &event.fact {
            Fact::NotifySet { by, .. } => Some(by.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(by[by.len() - 2..], [None, Some(By::Server)]);
    // What is not there is not removed twice.
    let before = bench.entries.len();
    assert_eq!(bench.act(&By::Server, remove(&push("new"))), Ok(Reply::Done));
    assert_eq!(bench.entries.len(), before);
}

#[test]
fn revoking_sessions_ends_those_of_earlier_epochs() {
    let (mut bench, ana) = Bench::founded(11);
    assert!(bench.state.session(&ana, 0).is_ok());
    assert_eq!(bench.code(&ana, Act::RevokeSessions { member: ana.clone() }), "done");
    assert_eq!(bench.state.session(&ana, 0).unwrap_err().code(), "session_ended");
    assert!(bench.state.session(&ana, 1).is_ok());
    assert_eq!(bench.state.session(&ana, 2).unwrap_err().code(), "session_ended");
    let facts = opened(&bench.entries);
    assert!(matches!(facts.last().unwrap().fact, Fact::SessionsRevoked { epoch: 1, .. }));
    assert_eq!(bench.state.org(), Some(&org()));
}
