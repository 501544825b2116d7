//! Who may what (D11), one row a deed.

use crate::bench::{Bench, credential_id, set};
use approvals::people::{Act, By, Reply, Target};
use approvals::{MemberId, Power, Role, may};
use ledger::Coded;

#[test]
fn each_role_has_its_powers() {
    use Power::{Answer, ManagePeople, ReadAll, RunAgents, Stop};
    for (role, powers) in [
        (Role::Owner, vec![ManagePeople, RunAgents, Stop, ReadAll]),
        (Role::Approver, vec![Answer, RunAgents]),
        (Role::Viewer, vec![]),
        (Role::Auditor, vec![ReadAll]),
        (Role::Operator, vec![RunAgents, Stop]),
    ] {
        let has: Vec<Power> = Power::ALL.into_iter().filter(|power| may(&set(&[role]), *power)).collect();
        assert_eq!(has, powers, "{role:?}");
    }
    assert!(Power::ALL.into_iter().all(|power| may(&set(&Role::ALL), power)));
    assert!(!Power::ALL.into_iter().any(|power| may(&set(&[]), power)));
}

/// Whether each role, in the order of [`Role::ALL`], may do it to Zoe, who is an approver with an agent, or to oneself.
fn check(name: &str, act: impl Fn(&MemberId, &MemberId, &str) -> Act, expected: [bool; 5]) {
    let got = Role::ALL.map(|role| {
        let (mut bench, ana) = Bench::founded(9);
        let zoe = bench.join(&ana, "Zoe", &[Role::Approver], 2);
        let issue = Act::IssueAgentKey { label: "x".to_owned() };
        let Reply::AgentKey { key, .. } = bench.act(&By::Member(zoe.clone()), issue).unwrap() else {
            panic!()
        };
        let actor = bench.join(&ana, "Ben", &[role], 3);
        bench.wait(7 * 24 * 3600);
        match bench.act(&By::Member(actor.clone()), act(&actor, &zoe, &key)) {
            Ok(_) => true,
            Err(refusal) => {
                assert_eq!(refusal.code(), "role_missing", "{name} by {role:?}");
                false
            }
        }
    });
    assert_eq!(got, expected, "{name}: {:?}", Role::ALL);
}

#[test]
fn who_may_what() {
    // Owner, approver, viewer, auditor, operator.
    let (owner, nobody, all) = ([true, false, false, false, false], [false; 5], [true; 5]);
    let (runs, stops) = ([true, true, false, false, true], [true, false, false, false, true]);
    let name = || "Eve".to_owned();
    check("add a member", |_, _, _| Act::AddMember { name: name(), roles: set(&[Role::Viewer]) }, owner);
    check("remove another", |_, zoe, _| Act::RemoveMember { member: zoe.clone() }, owner);
    check("leave", |me, _, _| Act::RemoveMember { member: me.clone() }, all);
    check("set roles", |_, zoe, _| Act::SetRoles { member: zoe.clone(), roles: set(&[Role::Viewer]) }, owner);
    check("raise oneself", |me, _, _| Act::SetRoles { member: me.clone(), roles: set(&Role::ALL) }, owner);
    check("a link for oneself", |me, _, _| Act::Invite { member: me.clone() }, all);
    let revoke = |_: &MemberId, zoe: &MemberId, _: &str| Act::RevokePasskey {
        member: zoe.clone(),
        credential_id: credential_id(2),
    };
    check("revoke another's passkey", revoke, owner);
    check("end another's sessions", |_, zoe, _| Act::RevokeSessions { member: zoe.clone() }, owner);
    check("end one's sessions", |me, _, _| Act::RevokeSessions { member: me.clone() }, all);
    check("vouch", |_, zoe, _| Act::Vouch { member: zoe.clone() }, owner);
    check("print codes", |_, _, _| Act::IssueCodes, all);
    check("issue an agent key", |_, _, _| Act::IssueAgentKey { label: name() }, runs);
    check("revoke another's agent key", |_, _, key| Act::RevokeAgentKey { key: key.to_owned() }, stops);
    let pause = |target| Act::Pause { target, reason: String::new() };
    check("pause another's agent", |_, _, key| pause(Target::AgentKey { key: key.to_owned() }), stops);
    check("pause a room", |_, _, _| pause(Target::Stream { stream: "room/r1".to_owned() }), stops);
    check("pause everything", |_, _, _| pause(Target::Everything {}), stops);
    check("record a key's use", |_, _, key| Act::TouchAgentKey { key: key.to_owned() }, nobody);
    check("be told", |_, _, _| Act::SetNotify { targets: Vec::new() }, all);
    check("rest", |_, _, _| Act::SetQuiet { quiet: None }, all);
}

#[test]
fn an_owner_cannot_enter_the_account_of_somebody_who_enrolled() {
    let (mut bench, ana) = Bench::founded(10);
    let ben = bench.join(&ana, "Ben", &[Role::Approver], 2);
    assert_eq!(bench.code(&ana, Act::Invite { member: ben.clone() }), "needs_recovery");
    // An agent key dies with its member's right to run agents, and comes back with it.
    let issue = Act::IssueAgentKey { label: "x".to_owned() };
    let Reply::AgentKey { secret, .. } = bench.act(&By::Member(ben.clone()), issue).unwrap() else {
        panic!()
    };
    let roles = |role| Act::SetRoles { member: ben.clone(), roles: set(&[role]) };
    let code =
        |bench: &Bench| bench.state.agent(secret.expose(), bench.now()).map_or_else(|r| r.code(), |_| "good");
    assert_eq!(code(&bench), "good");
    assert_eq!(bench.code(&ana, roles(Role::Viewer)), "done");
    assert_eq!(code(&bench), "role_missing");
    assert_eq!(bench.code(&ana, roles(Role::Operator)), "done");
    assert_eq!(code(&bench), "good");
}
