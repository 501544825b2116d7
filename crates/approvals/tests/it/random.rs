//! Random commands by random people: the state that grew equals the state replayed, and what must hold holds.

use crate::bench::{Bench, credential_id, enrolment, public, set};
use approvals::people::{Act, By, NotifyTarget, Quiet, Reply, Revealed, Target};
use approvals::{MemberId, Power, Role};
use env::Duration;
use proptest::prelude::*;

/// Numbers that become a command once the organization they meet is known.
#[derive(Debug, Clone)]
struct Step {
    by: u8,
    act: u8,
    whom: u8,
    what: u8,
    wait: u32,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (any::<u8>(), any::<u8>(), any::<u8>(), any::<u8>(), 0_u32..400_000)
        .prop_map(|(by, act, whom, what, wait)| Step { by, act, whom, what, wait });
    proptest::collection::vec(step, 1..60)
}

#[derive(Default)]
struct Loot {
    links: Vec<Revealed>,
    codes: Vec<Revealed>,
    keys: Vec<(String, Revealed)>,
}

fn act(step: &Step, bench: &Bench, whom: &MemberId, loot: &Loot) -> Act {
    let member = whom.clone();
    let pick = |list: &[Revealed]| list.get(usize::from(step.what) % list.len().max(1)).cloned();
    let roles = set(&Role::ALL).into_iter().filter(|role| step.what >> (*role as u8) & 1 == 1).collect();
    let key = loot.keys.get(usize::from(step.what) % loot.keys.len().max(1)).map(|(key, _)| key.clone());
    let target = match step.whom % 3 {
        0 => Target::Everything {},
        1 => Target::Stream { stream: format!("room/r{}", step.what % 2) },
        _ => Target::AgentKey { key: key.clone().unwrap_or_default() },
    };
    match step.act % 19 {
        0 => Act::AddMember { name: format!("Ben {}", step.what), roles },
        1 => Act::RemoveMember { member },
        2 => Act::SetRoles { member, roles },
        3 => Act::Invite { member },
        4 => enrolment(pick(&loot.links).as_ref(), step.what % 16 + 1),
        5 => enrolment(None, step.what % 16 + 1),
        6 => Act::RevokePasskey { member, credential_id: credential_id(step.what % 16 + 1) },
        7 => Act::IssueCodes,
        8 => Act::SpendCode { code: pick(&loot.codes).unwrap_or_else(|| Revealed::new("x")) },
        9 => Act::Vouch { member },
        10 => Act::Delegate {
            to: member,
            until: bench.now() + Duration::from_secs(u64::from(step.what) * 10_000),
        },
        11 => Act::EndDelegation { member },
        12 => Act::SetQuiet {
            quiet: Some(Quiet { from: u16::from(step.what), to: u16::from(step.whom), offset: 0 }),
        },
        13 => Act::IssueAgentKey { label: "agent".to_owned() },
        14 => Act::RevokeAgentKey { key: key.unwrap_or_default() },
        15 => Act::TouchAgentKey { key: key.unwrap_or_default() },
        16 => Act::Pause { target, reason: "r".to_owned() },
        17 => Act::Resume { target },
        _ => Act::SetNotify {
            targets: vec![NotifyTarget::Email { address: format!("b{}@example.com", step.what) }],
        },
    }
}

fn holds(bench: &Bench, loot: &Loot) {
    let (state, now) = (&bench.state, bench.now());
    assert_eq!(*state, bench.replayed());
    assert!(state.members().any(|member| member.may(Power::ManagePeople)), "an owner remains");
    for member in state.members() {
        assert!(member.active_passkeys(now).count() <= 10 && member.codes_left() <= 8);
        assert!(state.agent_keys(&member.id).filter(|key| key.is_active(now)).count() <= 10);
        if !member.is_active() {
            assert!(member.active_passkeys(now).count() == 0 && member.delegation.is_none());
            assert!(state.person(&member.id, now).is_err() && state.notify(&member.id, now).is_err());
        }
    }
    for key in 1..=16 {
        let owners =
            state.members().filter(|m| m.passkeys.iter().any(|passkey| passkey.key == public(key))).count();
        assert!(owners <= 1, "one passkey, one person");
    }
    for (id, secret) in &loot.keys {
        if let Ok(key) = state.agent(secret.expose(), now) {
            let member = state.member(&key.member).unwrap();
            assert!(key.id == *id && member.may(Power::RunAgents) && state.running([]).is_ok());
        }
    }
    for text in bench.entries.iter().map(|entry| String::from_utf8_lossy(&entry.bytes)) {
        let secrets = loot.links.iter().chain(&loot.codes).chain(loot.keys.iter().map(|(_, secret)| secret));
        assert!(
            secrets.into_iter().all(|secret| !text.contains(secret.expose())),
            "no secret is in the chain"
        );
        assert!(!text.contains("example.com") && !text.contains("Ben"), "nor a name or an address");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn an_organization_is_what_its_entries_say(seed in any::<u64>(), steps in steps()) {
        let (mut bench, _) = Bench::founded(seed);
        let mut loot = Loot::default();
        for step in &steps {
            bench.wait(u64::from(step.wait));
            let people: Vec<MemberId> = bench.state.members().map(|member| member.id.clone()).collect();
            let someone = |n: u8| people[usize::from(n) % people.len()].clone();
            let by = if step.by < 40 { By::Server } else { By::Member(someone(step.by)) };
            let act = act(step, &bench, &someone(step.whom), &loot);
            let before = (bench.state.clone(), bench.entries.len());
            match bench.act(&by, act) {
                Ok(Reply::Invite { secret, .. }) => loot.links.push(secret),
                Ok(Reply::Codes { codes }) => loot.codes.extend(codes),
                Ok(Reply::AgentKey { key, secret }) => loot.keys.push((key, secret)),
                Ok(Reply::Done | Reply::Member { .. } | Reply::Vouched { .. }) => {}
                Err(_) => prop_assert!(before == (bench.state.clone(), bench.entries.len()), "a refusal changes nothing"),
            }
        }
        holds(&bench, &loot);
    }
}
