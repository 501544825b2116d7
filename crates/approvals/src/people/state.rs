use super::wire::{NotifyTarget, Quiet, Target};
use super::{AGENT_KEY_IDLE, By};
use crate::{Credentials, MemberId, OrgId, Passkey, Person, Power, Refusal, Role, Site, may};
use env::Timestamp;
use keys::SecretHash;
use std::collections::{BTreeMap, BTreeSet};

/// What an organization's chain folds to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct State {
    pub(super) org: Option<OrgId>,
    pub(super) name: String,
    pub(super) members: BTreeMap<MemberId, Member>,
    pub(super) invites: Vec<Invite>,
    pub(super) agent_keys: BTreeMap<String, AgentKey>,
    pub(super) pauses: BTreeMap<Target, Pause>,
}

/// A member, past ones included.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    pub id: MemberId,
    /// `None` once erased.
    pub name: Option<String>,
    pub roles: BTreeSet<Role>,
    pub since: Timestamp,
    /// Since when they have been an owner without a break.
    pub owner_since: Option<Timestamp>,
    pub removed: Option<Timestamp>,
    /// Revoked ones included.
    pub passkeys: Vec<Passkey>,
    pub delegation: Option<Delegation>,
    pub quiet: Option<Quiet>,
    /// A session made in an earlier epoch is no longer one.
    pub epoch: u32,
    pub notify: Vec<NotifyTarget>,
    pub(super) codes: Vec<SecretHash>,
    pub(super) vouches: BTreeMap<MemberId, Timestamp>,
}

impl Member {
    pub fn is_active(&self) -> bool {
        self.removed.is_none()
    }

    pub fn may(&self, power: Power) -> bool {
        self.is_active() && may(&self.roles, power)
    }

    /// How many printed recovery codes are unspent.
    pub fn codes_left(&self) -> usize {
        self.codes.len()
    }

    pub fn active_passkeys(&self, at: Timestamp) -> impl Iterator<Item = &Passkey> {
        self.passkeys.iter().filter(move |passkey| passkey.is_active(at))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delegation {
    pub to: MemberId,
    pub since: Timestamp,
    pub until: Timestamp,
}

impl Delegation {
    pub fn is_active(&self, at: Timestamp) -> bool {
        self.since <= at && at < self.until
    }
}

/// A one-time link, used ones included.
#[derive(Debug, Clone, PartialEq)]
pub struct Invite {
    pub member: MemberId,
    pub expires_at: Timestamp,
    pub recovery: bool,
    pub used: bool,
    pub(super) secret: SecretHash,
}

/// A key by which an agent acts for a member. The secret itself is nowhere.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentKey {
    pub id: String,
    pub member: MemberId,
    /// `None` once erased.
    pub label: Option<String>,
    /// The secret's last four characters, by which a person recognises it.
    pub last4: String,
    pub issued_at: Timestamp,
    /// At most a day behind.
    pub used_at: Timestamp,
    pub revoked: Option<Timestamp>,
    pub(super) secret: SecretHash,
}

impl AgentKey {
    pub fn is_active(&self, at: Timestamp) -> bool {
        self.revoked.is_none() && at.since(self.used_at) < AGENT_KEY_IDLE
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Pause {
    pub by: By,
    pub at: Timestamp,
    /// `None` once erased.
    pub reason: Option<String>,
}

impl State {
    pub const fn org(&self) -> Option<&OrgId> {
        self.org.as_ref()
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Everybody, past members included, by id.
    pub fn members(&self) -> impl Iterator<Item = &Member> {
        self.members.values()
    }

    /// An active member.
    pub fn member(&self, id: &MemberId) -> Result<&Member, Refusal> {
        self.members.get(id).filter(|member| member.is_active()).ok_or(Refusal::NoMember)
    }

    /// What the member is at this instant, own roles and delegated ones.
    pub fn person(&self, id: &MemberId, now: Timestamp) -> Result<Person, Refusal> {
        let org = self.org.clone().ok_or(Refusal::NoOrganization)?;
        let member = self.member(id)?;
        let acts_for = self
            .members
            .values()
            .filter(|from| from.is_active())
            .filter(|from| from.delegation.as_ref().is_some_and(|d| d.to == *id && d.is_active(now)))
            .map(|from| (from.id.clone(), from.roles.clone()))
            .collect();
        Ok(Person::Member { org, member: id.clone(), roles: member.roles.clone(), acts_for })
    }

    /// Everything by which the member could prove an answer; the caller adds the session or agent it has verified.
    pub fn credentials(
        &self,
        id: &MemberId,
        site: Option<Site>,
        now: Timestamp,
    ) -> Result<Credentials, Refusal> {
        let person = self.person(id, now)?;
        let passkeys = self.member(id)?.passkeys.clone();
        Ok(Credentials { passkeys, site, ..Credentials::of(person) })
    }

    /// The active member whose active passkey this is: for signing in.
    pub fn passkey(&self, credential_id: &str, now: Timestamp) -> Option<(&Member, &Passkey)> {
        let active = self.members.values().filter(|member| member.is_active());
        active
            .flat_map(|member| member.active_passkeys(now).map(move |passkey| (member, passkey)))
            .find(|(_, passkey)| passkey.credential_id == credential_id)
    }

    /// An unused link by its secret. Every link is compared, each in constant time.
    pub fn invite(&self, secret: &str, now: Timestamp) -> Result<&Invite, Refusal> {
        let hash = SecretHash::of(secret);
        let mut found = None;
        for invite in &self.invites {
            if invite.secret == hash {
                found = Some(invite);
            }
        }
        let invite = found.ok_or(Refusal::InviteUnknown)?;
        if invite.used {
            Err(Refusal::InviteUsed)
        } else if now >= invite.expires_at {
            Err(Refusal::InviteExpired)
        } else {
            Ok(invite)
        }
    }

    /// The member's session of this epoch still is one.
    pub fn session(&self, id: &MemberId, epoch: u32) -> Result<&Member, Refusal> {
        let member = self.member(id).map_err(|_| Refusal::SessionEnded)?;
        if member.epoch == epoch { Ok(member) } else { Err(Refusal::SessionEnded) }
    }

    /// An agent's key by its secret, if it lives, its member does and neither is paused.
    pub fn agent(&self, secret: &str, now: Timestamp) -> Result<&AgentKey, Refusal> {
        let hash = SecretHash::of(secret);
        let mut found = None;
        for key in self.agent_keys.values() {
            if key.secret == hash {
                found = Some(key);
            }
        }
        let key = found.filter(|key| key.revoked.is_none()).ok_or(Refusal::AgentKeyUnknown)?;
        let member = self.member(&key.member).map_err(|_| Refusal::AgentKeyUnknown)?;
        if !member.may(Power::RunAgents) {
            return Err(Refusal::MayNot);
        }
        if !key.is_active(now) {
            return Err(Refusal::AgentKeyIdle);
        }
        self.running([&Target::AgentKey { key: key.id.clone() }])?;
        Ok(key)
    }

    /// The member's agent keys, dead ones included.
    pub fn agent_keys(&self, id: &MemberId) -> impl Iterator<Item = &AgentKey> {
        self.agent_keys.values().filter(move |key| key.member == *id)
    }

    pub fn agent_key(&self, key: &str) -> Option<&AgentKey> {
        self.agent_keys.get(key)
    }

    /// Refuses with `paused` if any of these, or everything, was stopped.
    pub fn running<'a>(&self, targets: impl IntoIterator<Item = &'a Target>) -> Result<(), Refusal> {
        let stopped = self.pauses.contains_key(&Target::Everything {})
            || targets.into_iter().any(|target| self.pauses.contains_key(target));
        if stopped { Err(Refusal::Paused) } else { Ok(()) }
    }

    pub fn pauses(&self) -> impl Iterator<Item = (&Target, &Pause)> {
        self.pauses.iter()
    }

    /// Whether the key's use is due to be recorded.
    pub fn wants_touch(&self, key: &str, now: Timestamp) -> bool {
        self.agent_keys
            .get(key)
            .is_some_and(|key| key.is_active(now) && now.since(key.used_at) >= super::TOUCH_EVERY)
    }

    /// Where and when to tell the member something: their targets, and the end of their quiet hours if those reign.
    pub fn notify(
        &self,
        id: &MemberId,
        now: Timestamp,
    ) -> Result<(&[NotifyTarget], Option<Timestamp>), Refusal> {
        let member = self.member(id)?;
        Ok((&member.notify, member.quiet.and_then(|quiet| quiet.until(now))))
    }

    /// The active members who may answer what is asked of this audience, delegates included.
    pub fn audience(&self, audience: &crate::Audience, now: Timestamp) -> Vec<&MemberId> {
        let able = |member: &&Member| {
            self.person(&member.id, now).is_ok_and(|person| person.right(audience).is_some())
        };
        self.members
            .values()
            .filter(|member| member.is_active())
            .filter(able)
            .map(|member| &member.id)
            .collect()
    }

    /// Whose vouch counts for the member: the other owners, each from [`super::VOUCH_AFTER`] on. So nobody makes owners today
    /// to be let into an account today.
    pub(super) fn vouchers(&self, id: &MemberId, now: Timestamp) -> BTreeSet<&MemberId> {
        let settled = |since: Timestamp| now.since(since) >= super::VOUCH_AFTER;
        self.members
            .values()
            .filter(|member| member.id != *id && member.may(Power::ManagePeople))
            .filter(|member| member.owner_since.is_some_and(settled))
            .map(|member| &member.id)
            .collect()
    }

    pub(super) fn owners(&self) -> impl Iterator<Item = &MemberId> {
        self.members.values().filter(|member| member.may(Power::ManagePeople)).map(|member| &member.id)
    }
}
