//! D7: back in by a printed code or by the organization's admins, and the old keys out.

use crate::bench::{Bench, credential_id, enrolment, invited};
use approvals::people::{Act, By, Reply, Revealed};
use approvals::{MemberId, Role};
use ledger::{Coded, Effect};

fn codes(bench: &mut Bench, member: &MemberId) -> Vec<Revealed> {
    match bench.act(&By::Member(member.clone()), Act::IssueCodes).unwrap() {
        Reply::Codes { codes } => codes,
        reply => panic!("{reply:?}"),
    }
}

fn spend(bench: &mut Bench, code: &str) -> Result<Revealed, &'static str> {
    let spent = bench.act(&By::Server, Act::SpendCode { code: Revealed::new(code) });
    spent.map(|reply| invited(reply).1).map_err(|refusal| refusal.code())
}

#[test]
fn a_printed_code_opens_once_and_closes_the_lost_keys() {
    let (mut bench, ana) = Bench::founded(1);
    let printed = codes(&mut bench, &ana);
    assert_eq!(printed.len(), 8);
    let typed = printed[0].expose().to_ascii_uppercase().replace('-', " ");
    let link = spend(&mut bench, &typed).unwrap();
    assert_eq!(spend(&mut bench, printed[0].expose()).unwrap_err(), "code_unknown");
    assert_eq!(spend(&mut bench, "").unwrap_err(), "code_unknown");
    assert_eq!(bench.state.member(&ana).unwrap().codes_left(), 7);

    let epoch = bench.state.member(&ana).unwrap().epoch;
    assert!(
        bench.state.passkey(&credential_id(1), bench.now()).is_some(),
        "nothing ends before the new key is in"
    );
    bench.enrol(&link, 2).unwrap();
    assert!(bench.state.passkey(&credential_id(1), bench.now()).is_none());
    assert!(bench.state.passkey(&credential_id(2), bench.now()).is_some());
    assert!(bench.state.session(&ana, epoch).is_err());
    assert_eq!(bench.enrol(&link, 3).unwrap_err().code(), "invite_used");
    let link = spend(&mut bench, printed[1].expose()).unwrap();
    let lost = bench.act(&By::Server, enrolment(Some(&link), 1));
    assert_eq!(lost.unwrap_err().code(), "credential_taken", "a lost key does not come back");
    let told = bench.effects.iter().filter(|effect| matches!(effect, Effect::Notify { .. })).count();
    assert_eq!(told, 4, "two enrolments, two codes");
}

#[test]
fn a_recovery_link_is_good_for_an_hour_and_new_codes_end_old_ones() {
    let (mut bench, ana) = Bench::founded(2);
    let old = codes(&mut bench, &ana);
    let new = codes(&mut bench, &ana);
    assert_eq!(spend(&mut bench, old[0].expose()).unwrap_err(), "code_unknown");
    let link = spend(&mut bench, new[0].expose()).unwrap();
    bench.wait(3600);
    assert_eq!(bench.enrol(&link, 2).unwrap_err().code(), "invite_expired");
    assert!(bench.state.passkey(&credential_id(1), bench.now()).is_some());
}

fn vouch(bench: &mut Bench, by: &MemberId, member: &MemberId) -> Result<Reply, &'static str> {
    bench
        .act(&By::Member(by.clone()), Act::Vouch { member: member.clone() })
        .map_err(|refusal| refusal.code())
}

#[test]
fn a_majority_of_the_other_owners_lets_a_member_back_in() {
    let (mut bench, ana) = Bench::founded(3);
    let ben = bench.join(&ana, "Ben", &[Role::Owner], 2);
    let cleo = bench.join(&ana, "Cleo", &[Role::Owner], 3);
    let dana = bench.join(&ana, "Dana", &[Role::Owner], 4);
    let eve = bench.join(&ana, "Eve", &[Role::Approver], 5);

    // An owner's word counts from the seventh day on.
    assert_eq!(vouch(&mut bench, &ben, &ana), Err("owner_too_new"));
    bench.wait(7 * 24 * 3600);
    // Three other owners: two must vouch, each once, neither the member nor somebody without the role.
    assert_eq!(vouch(&mut bench, &ana, &ana), Err("role_missing"));
    assert_eq!(vouch(&mut bench, &eve, &ana), Err("role_missing"));
    assert_eq!(vouch(&mut bench, &ben, &ana), Ok(Reply::Vouched { missing: 1 }));
    assert_eq!(vouch(&mut bench, &ben, &ana), Err("already_vouched"));
    // A vouch counts for a week.
    bench.wait(7 * 24 * 3600);
    assert_eq!(vouch(&mut bench, &cleo, &ana), Ok(Reply::Vouched { missing: 1 }));
    // Nor does one of somebody who is no owner any more.
    let roles = std::iter::once(Role::Viewer).collect();
    bench.act(&By::Member(ben.clone()), Act::SetRoles { member: cleo.clone(), roles }).unwrap();
    assert_eq!(vouch(&mut bench, &dana, &ana), Ok(Reply::Vouched { missing: 1 }));
    let (member, link) = invited(vouch(&mut bench, &ben, &ana).unwrap());
    assert_eq!(member, ana);
    // Used up: the next recovery starts anew.
    assert_eq!(vouch(&mut bench, &ben, &ana), Ok(Reply::Vouched { missing: 1 }));
    bench.enrol(&link, 6).unwrap();
    assert!(bench.state.passkey(&credential_id(1), bench.now()).is_none());
    assert_eq!(bench.state.member(&ana).unwrap().active_passkeys(bench.now()).count(), 1);
}

#[test]
fn nobody_lets_somebody_in_alone() {
    let (mut bench, ana) = Bench::founded(4);
    let ben = bench.join(&ana, "Ben", &[Role::Owner], 2);
    bench.wait(7 * 24 * 3600);
    // With two owners, and with one, the others have their codes and the server's operator.
    assert_eq!(vouch(&mut bench, &ben, &ana), Ok(Reply::Vouched { missing: 1 }));
    // Owners made up for the purpose vouch for nothing, and those who are owners are told of each.
    let told = |bench: &Bench| {
        let made = |effect: &&Effect| matches!(effect, Effect::Notify { title, link, .. } if title.contains("made an owner") && link == "/me");
        bench.effects.iter().filter(made).count()
    };
    let before = told(&bench);
    let puppet = bench.join(&ben, "Puppet", &[Role::Owner], 3);
    assert_eq!(told(&bench), before + 1, "Ana, not Ben who did it");
    let viewer = bench.join(&ben, "Viewer", &[Role::Viewer], 4);
    let roles = std::iter::once(Role::Owner).collect();
    bench.act(&By::Member(ben.clone()), Act::SetRoles { member: viewer.clone(), roles }).unwrap();
    assert_eq!(told(&bench), before + 3, "Ana and Puppet");
    for fresh in [&puppet, &viewer] {
        assert_eq!(vouch(&mut bench, fresh, &ana), Err("owner_too_new"));
    }
    // Losing the role and having it again starts the days anew.
    bench.wait(7 * 24 * 3600);
    for role in [Role::Viewer, Role::Owner] {
        let roles = std::iter::once(role).collect();
        bench.act(&By::Member(ana.clone()), Act::SetRoles { member: puppet.clone(), roles }).unwrap();
    }
    assert_eq!(vouch(&mut bench, &puppet, &ana), Err("owner_too_new"));
    assert_eq!(vouch(&mut bench, &ben, &ana), Ok(Reply::Vouched { missing: 1 }));
    assert_eq!(invited(vouch(&mut bench, &viewer, &ana).unwrap()).0, ana);
}

#[test]
fn a_lost_device_can_be_revoked_while_a_way_back_remains() {
    let (mut bench, ana) = Bench::founded(5);
    let ben = bench.join(&ana, "Ben", &[Role::Approver], 2);
    let revoke = |member: &MemberId, key| Act::RevokePasskey {
        member: member.clone(),
        credential_id: credential_id(key),
    };
    assert_eq!(bench.code(&ana, revoke(&ana, 1)), "last_passkey");
    codes(&mut bench, &ana);
    let epoch = bench.state.member(&ana).unwrap().epoch;
    assert_eq!(bench.code(&ben, revoke(&ana, 1)), "role_missing");
    assert_eq!(bench.code(&ana, revoke(&ben, 1)), "unknown_credential");
    assert_eq!(bench.code(&ana, revoke(&ana, 1)), "done");
    assert!(bench.state.session(&ana, epoch).is_err(), "with a device go the sessions");
    assert_eq!(bench.code(&ana, revoke(&ana, 1)), "unknown_credential");
    assert_eq!(bench.code(&ben, revoke(&ben, 2)), "last_passkey");
    assert_eq!(bench.code(&ana, revoke(&ben, 2)), "done");
    // Without a passkey Ben still is somebody who enrolled: only recovery lets him in.
    assert_eq!(bench.code(&ana, Act::Invite { member: ben }), "needs_recovery");
}
