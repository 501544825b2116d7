use super::state::{AgentKey, Delegation, Invite, Member, Pause, State};
use super::{Event, Fact, Target};
use crate::{MemberId, Passkey, Role};
use env::Timestamp;

/// Folds one fact. A fact that does not fit (no chain of ours has one) changes nothing.
pub(super) fn evolve(state: &mut State, event: &Event) {
    let at = event.at;
    let private = event.private.as_ref();
    let text = || private.and_then(|private| private.text.clone());
    match &event.fact {
        Fact::Founded { org, name, .. } => {
            state.org = Some(org.clone());
            name.clone_into(&mut state.name);
        }
        Fact::MemberAdded { member, roles, .. } => {
            let added = Member {
                id: member.clone(),
                name: text(),
                roles: roles.clone(),
                since: at,
                owner_since: roles.contains(&Role::Owner).then_some(at),
                removed: None,
                passkeys: Vec::new(),
                delegation: None,
                quiet: None,
                epoch: 0,
                notify: Vec::new(),
                codes: Vec::new(),
                vouches: Default::default(),
            };
            state.members.insert(member.clone(), added);
        }
        Fact::MemberRemoved { member, .. } => remove(state, member, at),
        Fact::RolesSet { member, roles, .. } => change(state, member, |member| {
            let since = member.owner_since.unwrap_or(at);
            member.owner_since = roles.contains(&Role::Owner).then_some(since);
            roles.clone_into(&mut member.roles);
        }),
        Fact::Invited { member, secret, expires_at, recovery, .. } => {
            state.invites.retain(|invite| invite.used || invite.member != *member);
            change(state, member, |member| member.vouches.clear());
            state.invites.push(Invite {
                member: member.clone(),
                expires_at: *expires_at,
                recovery: *recovery,
                used: false,
                secret: *secret,
            });
        }
        Fact::PasskeyEnrolled { member, credential_id, key, invite, recovery } => {
            for known in &mut state.invites {
                known.used |= Some(known.secret) == *invite;
            }
            change(state, member, |member| {
                if *recovery {
                    member.passkeys.iter_mut().for_each(|passkey| revoke(passkey, at));
                    member.epoch = member.epoch.saturating_add(1);
                }
                member.passkeys.push(Passkey {
                    credential_id: credential_id.clone(),
                    key: *key,
                    since: at,
                    until: None,
                });
            });
        }
        Fact::PasskeyRevoked { member, credential_id, .. } => change(state, member, |member| {
            let named = member.passkeys.iter_mut().filter(|passkey| passkey.credential_id == *credential_id);
            named.for_each(|passkey| revoke(passkey, at));
        }),
        Fact::CodesIssued { member, codes } => {
            change(state, member, |member| codes.clone_into(&mut member.codes))
        }
        Fact::CodeSpent { member, code } => {
            change(state, member, |member| member.codes.retain(|known| known != code));
        }
        Fact::RecoveryVouched { by, member } => change(state, member, |member| {
            member.vouches.insert(by.clone(), at);
        }),
        Fact::Delegated { member, to, until } => change(state, member, |member| {
            member.delegation = Some(Delegation { to: to.clone(), since: at, until: *until });
        }),
        Fact::DelegationEnded { member, .. } => change(state, member, |member| member.delegation = None),
        Fact::QuietSet { member, quiet } => change(state, member, |member| member.quiet = *quiet),
        Fact::AgentKeyIssued { member, key, secret, last4, .. } => {
            let issued = AgentKey {
                id: key.clone(),
                member: member.clone(),
                label: text(),
                last4: last4.clone(),
                issued_at: at,
                used_at: at,
                revoked: None,
                secret: *secret,
            };
            state.agent_keys.insert(key.clone(), issued);
        }
        Fact::AgentKeyRevoked { key, .. } => {
            if let Some(key) = state.agent_keys.get_mut(key) {
                key.revoked = key.revoked.or(Some(at));
            }
        }
        Fact::AgentKeyUsed { key } => {
            if let Some(key) = state.agent_keys.get_mut(key) {
                key.used_at = at;
            }
        }
        Fact::Paused { by, target, .. } => {
            state.pauses.insert(target.clone(), Pause { by: by.clone(), at, reason: text() });
        }
        Fact::Resumed { target, .. } => {
            state.pauses.remove(target);
        }
        Fact::SessionsRevoked { member, epoch, .. } => change(state, member, |member| member.epoch = *epoch),
        Fact::NotifySet { member, .. } => {
            let targets = private.map(|private| private.targets.clone()).unwrap_or_default();
            change(state, member, |member| member.notify = targets);
        }
    }
}

fn change(state: &mut State, id: &MemberId, change: impl FnOnce(&mut Member)) {
    if let Some(member) = state.members.get_mut(id) {
        change(member);
    }
}

fn revoke(passkey: &mut Passkey, at: Timestamp) {
    passkey.until = passkey.until.or(Some(at));
}

/// With a member go their passkeys, sessions, links, codes, agent keys, targets and delegations in both directions.
fn remove(state: &mut State, id: &MemberId, at: Timestamp) {
    change(state, id, |member| {
        member.removed = Some(at);
        member.epoch = member.epoch.saturating_add(1);
        member.passkeys.iter_mut().for_each(|passkey| revoke(passkey, at));
        member.codes.clear();
        member.notify.clear();
        member.delegation = None;
        member.vouches.clear();
    });
    state.invites.retain(|invite| invite.used || invite.member != *id);
    for member in state.members.values_mut() {
        if member.delegation.as_ref().is_some_and(|delegation| delegation.to == *id) {
            member.delegation = None;
        }
        member.vouches.remove(id);
    }
    for key in state.agent_keys.values_mut().filter(|key| key.member == *id) {
        key.revoked = key.revoked.or(Some(at));
        state.pauses.remove(&Target::AgentKey { key: key.id.clone() });
    }
}
