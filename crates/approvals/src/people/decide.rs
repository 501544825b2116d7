use super::state::{Member, State};
use super::wire::{Act, Command, NotifyTarget, Quiet, Reply, Revealed, Target};
use super::{
    By, CODES, DELEGATION_MAX, Event, Fact, INVITE_LIFE, MAX_AGENT_KEYS, MAX_MEMBERS, MAX_NOTIFY_TARGETS,
    MAX_PASSKEYS, Private, RECOVERY_LIFE, VOUCH_LIFE,
};
use crate::ask::digest;
use crate::text::{self, MAX_NAME};
use crate::{MemberId, OrgId, Power, Refusal, Role};
use canon::{Digest, Salt};
use env::{Duration, Env, Timestamp};
use keys::{PublicKey, SecretHash};
use ledger::{Decision, Effect, Pointer, StreamId};
use std::collections::BTreeSet;

type Decided = Result<Decision<Event, Reply>, Refusal>;

/// Under this key every organization is found.
const INDEX: &str = "orgs";
/// Where a person looks after their own keys.
const ACCOUNT: &str = "/me";

pub(super) fn decide(state: &State, command: &Command, env: &mut Env) -> Decided {
    let by = &command.by;
    if let Act::Found { org, name, owner } = &command.act {
        return found(state, by, (org, name, owner), env);
    }
    if state.org.is_none() {
        return Err(Refusal::NoOrganization);
    }
    if let By::Member(member) = by {
        state.member(member)?;
    }
    match &command.act {
        Act::Found { .. } => Err(Refusal::AlreadyFounded),
        Act::AddMember { name, roles } => add_member(state, by, name, roles, env),
        Act::RemoveMember { member } => remove_member(state, by, member, env),
        Act::SetRoles { member, roles } => set_roles(state, by, member, roles, env),
        Act::Invite { member } => invite(state, by, member, env),
        Act::Enrol { invite, credential_id, key } => {
            enrol(state, by, invite.as_ref(), (credential_id, key), env)
        }
        Act::RevokePasskey { member, credential_id } => revoke_passkey(state, by, member, credential_id, env),
        Act::IssueCodes => issue_codes(state, by, env),
        Act::SpendCode { code } => spend_code(state, code, env),
        Act::Vouch { member } => vouch(state, by, member, env),
        Act::Delegate { to, until } => delegate(state, by, to, *until, env),
        Act::EndDelegation { member } => end_delegation(state, by, member, env),
        Act::SetQuiet { quiet } => set_quiet(state, by, *quiet, env),
        Act::IssueAgentKey { label } => issue_agent_key(state, by, label, env),
        Act::RevokeAgentKey { key } => revoke_agent_key(state, by, key, env),
        Act::TouchAgentKey { key } => touch_agent_key(state, by, key, env),
        Act::Pause { target, reason } => pause(state, by, target, reason, env),
        Act::Resume { target } => resume(state, by, target, env),
        Act::RevokeSessions { member } => revoke_sessions(state, by, member, env),
        Act::SetNotify { targets } => set_notify(state, by, targets, env),
        Act::AddNotify { target } => add_notify(state, by, target, env),
        Act::RemoveNotify { member, target } => remove_notify(state, by, member, target, env),
    }
}

/// What finds this organization: the list of all.
pub(super) fn pointers(state: &State) -> Vec<(String, String)> {
    state.org.iter().map(|org| (INDEX.to_owned(), org.0.clone())).collect()
}

fn found(state: &State, by: &By, (org, name, owner): (&OrgId, &str, &str), env: &mut Env) -> Decided {
    if state.org.is_some() {
        return Err(Refusal::AlreadyFounded);
    }
    if *by != By::Server {
        return Err(Refusal::MayNot);
    }
    if !org.is_valid() {
        return Err(Refusal::BadId { place: "/org" });
    }
    text::identifier(name, MAX_NAME, "/name")?;
    text::identifier(owner, MAX_NAME, "/owner")?;
    let member = MemberId(env.id(12));
    let mut out = Facts::new(env);
    out.fact(Fact::Founded { by: By::Server, org: org.clone(), name: name.to_owned() });
    let roles = BTreeSet::from([Role::Owner, Role::Approver]);
    out.member(env, By::Server, member.clone(), roles, owner);
    let reply = out.invite(env, By::Server, member, INVITE_LIFE, false);
    let mut decision = out.reply(reply);
    decision.pointers.push(Pointer::Set { key: INDEX.to_owned(), item: org.0.clone() });
    Ok(decision)
}

fn add_member(state: &State, by: &By, name: &str, roles: &BTreeSet<Role>, env: &mut Env) -> Decided {
    manages_people(state, by)?;
    if roles.is_empty() {
        return Err(Refusal::NoRoles);
    }
    text::identifier(name, MAX_NAME, "/name")?;
    at_most("members", state.members().filter(|member| member.is_active()).count(), MAX_MEMBERS)?;
    let member = MemberId(env.id(12));
    let mut out = Facts::new(env);
    out.member(env, by.clone(), member.clone(), roles.clone(), name);
    if roles.contains(&Role::Owner) {
        out.tell_owners(state, by);
    }
    Ok(out.reply(Reply::Member { member }))
}

fn remove_member(state: &State, by: &By, member: &MemberId, env: &mut Env) -> Decided {
    if own(by) != Some(member) {
        manages_people(state, by)?;
    }
    state.member(member)?;
    if state.owners().all(|owner| owner == member) {
        return Err(Refusal::LastOwner);
    }
    Facts::one(env, Fact::MemberRemoved { by: by.clone(), member: member.clone() })
}

fn set_roles(state: &State, by: &By, member: &MemberId, roles: &BTreeSet<Role>, env: &mut Env) -> Decided {
    manages_people(state, by)?;
    let known = state.member(member)?;
    if roles.is_empty() {
        return Err(Refusal::NoRoles);
    }
    if !roles.contains(&Role::Owner) && state.owners().all(|owner| owner == member) {
        return Err(Refusal::LastOwner);
    }
    if known.roles == *roles {
        return Ok(Facts::new(env).reply(Reply::Done));
    }
    let mut out = Facts::new(env);
    out.fact(Fact::RolesSet { by: by.clone(), member: member.clone(), roles: roles.clone() });
    if roles.contains(&Role::Owner) && !known.roles.contains(&Role::Owner) {
        out.tell_owners(state, by);
    }
    Ok(out.reply(Reply::Done))
}

/// Nobody but the server can make a link into somebody else's account once that person has enrolled.
fn invite(state: &State, by: &By, member: &MemberId, env: &mut Env) -> Decided {
    let known = state.member(member)?;
    if own(by) != Some(member) {
        manages_people(state, by)?;
        if *by != By::Server && !known.passkeys.is_empty() {
            return Err(Refusal::NeedsRecovery);
        }
    }
    let mut out = Facts::new(env);
    let reply = out.invite(env, by.clone(), member.clone(), INVITE_LIFE, false);
    Ok(out.reply(reply))
}

fn enrol(
    state: &State,
    by: &By,
    invite: Option<&Revealed>,
    (credential_id, key): (&str, &PublicKey),
    env: &mut Env,
) -> Decided {
    let (member, used, recovery) = match invite {
        Some(secret) => {
            let invite = state.invite(secret.expose(), env.now())?;
            (invite.member.clone(), Some(invite.secret), invite.recovery)
        }
        None => (own(by).ok_or(Refusal::MayNot)?.clone(), None, false),
    };
    let known = state.member(&member)?;
    let base64url = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    if !(1..=1_364).contains(&credential_id.len()) || !credential_id.bytes().all(base64url) {
        return Err(Refusal::BadId { place: "/credential_id" });
    }
    let mut enrolled = state.members().flat_map(|member| &member.passkeys);
    if enrolled.any(|passkey| passkey.credential_id == credential_id || passkey.key == *key) {
        return Err(Refusal::CredentialTaken);
    }
    if !recovery {
        at_most("passkeys", known.active_passkeys(env.now()).count(), MAX_PASSKEYS)?;
    }
    let mut out = Facts::new(env);
    out.fact(Fact::PasskeyEnrolled {
        member: member.clone(),
        credential_id: credential_id.to_owned(),
        key: *key,
        invite: used,
        recovery,
    });
    out.tell(state, &member, "A passkey was added to your account");
    Ok(out.reply(Reply::Member { member }))
}

fn revoke_passkey(state: &State, by: &By, member: &MemberId, credential_id: &str, env: &mut Env) -> Decided {
    let known = state.member(member)?;
    let oneself = own(by) == Some(member);
    if !oneself {
        manages_people(state, by)?;
    }
    let active: Vec<_> = known.active_passkeys(env.now()).collect();
    if !active.iter().any(|passkey| passkey.credential_id == credential_id) {
        return Err(Refusal::UnknownCredential);
    }
    if active.len() == 1 && known.codes.is_empty() && (oneself || state.owners().all(|owner| owner == member))
    {
        return Err(Refusal::LastPasskey);
    }
    let mut out = Facts::new(env);
    out.fact(Fact::PasskeyRevoked {
        by: by.clone(),
        member: member.clone(),
        credential_id: credential_id.to_owned(),
    });
    // Whoever holds the lost device may hold a session as well.
    out.fact(Fact::SessionsRevoked {
        by: by.clone(),
        member: member.clone(),
        epoch: known.epoch.saturating_add(1),
    });
    Ok(out.reply(Reply::Done))
}

fn issue_codes(state: &State, by: &By, env: &mut Env) -> Decided {
    let member = own(by).ok_or(Refusal::MayNot)?;
    state.member(member)?;
    let codes: Vec<Revealed> = std::iter::repeat_with(|| code(env)).take(CODES).collect();
    let hashes = codes.iter().map(|code| SecretHash::of(&plain_code(code.expose()))).collect();
    let mut out = Facts::new(env);
    out.fact(Fact::CodesIssued { member: member.clone(), codes: hashes });
    Ok(out.reply(Reply::Codes { codes }))
}

fn spend_code(state: &State, code: &Revealed, env: &mut Env) -> Decided {
    let hash = SecretHash::of(&plain_code(code.expose()));
    let mut found = None;
    for member in state.members().filter(|member| member.is_active()) {
        for known in &member.codes {
            if *known == hash {
                found = Some(&member.id);
            }
        }
    }
    let member = found.ok_or(Refusal::CodeUnknown)?;
    let mut out = Facts::new(env);
    out.fact(Fact::CodeSpent { member: member.clone(), code: hash });
    out.tell(state, member, "A recovery code of yours was used");
    let reply = out.invite(env, By::Member(member.clone()), member.clone(), RECOVERY_LIFE, true);
    Ok(out.reply(reply))
}

fn vouch(state: &State, by: &By, member: &MemberId, env: &mut Env) -> Decided {
    let admin = own(by).ok_or(Refusal::MayNot)?;
    manages_people(state, by)?;
    let known = state.member(member)?;
    if admin == member {
        return Err(Refusal::MayNot);
    }
    let vouchers = state.vouchers(member, env.now());
    if !vouchers.contains(admin) {
        return Err(Refusal::OwnerTooNew);
    }
    let fresh = |since: &Timestamp| env.now().since(*since) < VOUCH_LIFE;
    if known.vouches.get(admin).is_some_and(fresh) {
        return Err(Refusal::AlreadyVouched);
    }
    let standing = known
        .vouches
        .iter()
        .filter(|(by, since)| *by != admin && vouchers.contains(by) && fresh(since))
        .count();
    let missing = quorum(vouchers.len()).saturating_sub(standing.saturating_add(1));
    let mut out = Facts::new(env);
    out.fact(Fact::RecoveryVouched { by: admin.clone(), member: member.clone() });
    out.tell(state, member, "An admin vouched for the recovery of your account");
    if missing > 0 {
        return Ok(out.reply(Reply::Vouched { missing }));
    }
    let reply = out.invite(env, by.clone(), member.clone(), RECOVERY_LIFE, true);
    Ok(out.reply(reply))
}

/// How many of those who may vouch must: a majority, and never one alone.
const fn quorum(vouchers: usize) -> usize {
    let majority = (vouchers / 2).saturating_add(1);
    if majority < 2 { 2 } else { majority }
}

fn delegate(state: &State, by: &By, to: &MemberId, until: Timestamp, env: &mut Env) -> Decided {
    let member = own(by).ok_or(Refusal::MayNot)?;
    state.running([])?;
    state.member(to)?;
    let (now, until) = (env.now().to_millis(), until.to_millis());
    if to == member || until <= now || until.since(now) > DELEGATION_MAX {
        return Err(Refusal::BadDelegation);
    }
    let mut out = Facts::new(env);
    out.fact(Fact::Delegated { member: member.clone(), to: to.clone(), until });
    out.tell(state, to, "Somebody asks you to answer for them");
    Ok(out.reply(Reply::Done))
}

fn end_delegation(state: &State, by: &By, member: &MemberId, env: &mut Env) -> Decided {
    let delegation = state.member(member)?.delegation.as_ref().ok_or(Refusal::NoDelegation)?;
    if own(by) != Some(member) && own(by) != Some(&delegation.to) {
        manages_people(state, by)?;
    }
    Facts::one(env, Fact::DelegationEnded { by: by.clone(), member: member.clone() })
}

fn set_quiet(state: &State, by: &By, quiet: Option<Quiet>, env: &mut Env) -> Decided {
    let member = own(by).ok_or(Refusal::MayNot)?;
    quiet.as_ref().map(Quiet::check).transpose()?;
    if state.member(member)?.quiet == quiet {
        return Ok(Facts::new(env).reply(Reply::Done));
    }
    Facts::one(env, Fact::QuietSet { member: member.clone(), quiet })
}

fn issue_agent_key(state: &State, by: &By, label: &str, env: &mut Env) -> Decided {
    let member = own(by).ok_or(Refusal::MayNot)?;
    has(state.member(member)?, Power::RunAgents)?;
    state.running([])?;
    text::identifier(label, MAX_NAME, "/label")?;
    let now = env.now();
    at_most("agent keys", state.agent_keys(member).filter(|key| key.is_active(now)).count(), MAX_AGENT_KEYS)?;
    let key = env.id(12);
    let secret = Revealed::new(format!("csk_{}", env.secret()));
    let last4 = secret.expose().get(secret.expose().len().saturating_sub(4)..).unwrap_or_default().to_owned();
    let private = private(env, Some(label.to_owned()), Vec::new());
    let mut out = Facts::new(env);
    let fact = |sealed| Fact::AgentKeyIssued {
        member: member.clone(),
        key: key.clone(),
        secret: SecretHash::of(secret.expose()),
        last4: last4.clone(),
        sealed,
    };
    out.sealed(fact, private);
    Ok(out.reply(Reply::AgentKey { key, secret }))
}

fn revoke_agent_key(state: &State, by: &By, key: &str, env: &mut Env) -> Decided {
    let known = state.agent_key(key).filter(|key| key.revoked.is_none()).ok_or(Refusal::NoAgentKey)?;
    if own(by) != Some(&known.member) {
        stops(state, by)?;
    }
    Facts::one(env, Fact::AgentKeyRevoked { by: by.clone(), key: key.to_owned() })
}

fn touch_agent_key(state: &State, by: &By, key: &str, env: &mut Env) -> Decided {
    if *by != By::Server {
        return Err(Refusal::MayNot);
    }
    state.agent_key(key).filter(|key| key.is_active(env.now())).ok_or(Refusal::NoAgentKey)?;
    if !state.wants_touch(key, env.now()) {
        return Ok(Facts::new(env).reply(Reply::Done));
    }
    Facts::one(env, Fact::AgentKeyUsed { key: key.to_owned() })
}

fn pause(state: &State, by: &By, target: &Target, reason: &str, env: &mut Env) -> Decided {
    may_stop(state, by, target)?;
    if state.pauses.contains_key(target) {
        return Err(Refusal::AlreadyPaused);
    }
    if reason.chars().count() > 500 {
        return Err(Refusal::TooLong { place: "/reason", max: 500 });
    }
    let private = private(env, Some(reason.to_owned()), Vec::new());
    let mut out = Facts::new(env);
    out.sealed(|sealed| Fact::Paused { by: by.clone(), target: target.clone(), sealed }, private);
    Ok(out.reply(Reply::Done))
}

fn resume(state: &State, by: &By, target: &Target, env: &mut Env) -> Decided {
    may_stop(state, by, target)?;
    let pause = state.pauses.get(target).ok_or(Refusal::NotPaused)?;
    // What an owner or operator stopped, the agent's own member does not set going again.
    if pause.by != *by {
        stops(state, by)?;
    }
    Facts::one(env, Fact::Resumed { by: by.clone(), target: target.clone() })
}

fn revoke_sessions(state: &State, by: &By, member: &MemberId, env: &mut Env) -> Decided {
    let known = state.member(member)?;
    if own(by) != Some(member) {
        manages_people(state, by)?;
    }
    let epoch = known.epoch.saturating_add(1);
    Facts::one(env, Fact::SessionsRevoked { by: by.clone(), member: member.clone(), epoch })
}

fn set_notify(state: &State, by: &By, targets: &[NotifyTarget], env: &mut Env) -> Decided {
    let member = own(by).ok_or(Refusal::MayNot)?;
    if targets.len() > MAX_NOTIFY_TARGETS {
        return Err(Refusal::TooMany { what: "notification targets", max: MAX_NOTIFY_TARGETS });
    }
    targets.iter().try_for_each(NotifyTarget::check)?;
    if state.member(member)?.notify == targets {
        return Ok(Facts::new(env).reply(Reply::Done));
    }
    Ok(notify_set(None, member, targets.to_vec(), env))
}

fn add_notify(state: &State, by: &By, target: &NotifyTarget, env: &mut Env) -> Decided {
    let known = &state.member(own(by).ok_or(Refusal::MayNot)?)?.notify;
    let kept = known.iter().filter(|other| !other.is_same_receiver(target)).cloned();
    let targets: Vec<_> = kept.chain([target.clone()]).collect();
    set_notify(state, by, &targets, env)
}

fn remove_notify(state: &State, by: &By, member: &MemberId, target: &Digest, env: &mut Env) -> Decided {
    let server = match by {
        By::Server => Some(By::Server),
        By::Member(own) if own == member => None,
        By::Member(_) => return Err(Refusal::MayNot),
    };
    let known = &state.member(member)?.notify;
    let kept: Vec<_> = known.iter().filter(|other| other.id() != *target).cloned().collect();
    if kept.len() == known.len() {
        return Ok(Facts::new(env).reply(Reply::Done));
    }
    Ok(notify_set(server, member, kept, env))
}

fn notify_set(
    by: Option<By>,
    member: &MemberId,
    targets: Vec<NotifyTarget>,
    env: &mut Env,
) -> Decision<Event, Reply> {
    let private = private(env, None, targets);
    let mut out = Facts::new(env);
    out.sealed(|sealed| Fact::NotifySet { by, member: member.clone(), sealed }, private);
    out.reply(Reply::Done)
}

const fn own(by: &By) -> Option<&MemberId> {
    match by {
        By::Server => None,
        By::Member(member) => Some(member),
    }
}

fn has(member: &Member, power: Power) -> Result<(), Refusal> {
    if member.may(power) { Ok(()) } else { Err(Refusal::MayNot) }
}

fn manages_people(state: &State, by: &By) -> Result<(), Refusal> {
    own(by).map_or(Ok(()), |member| has(state.member(member)?, Power::ManagePeople))
}

fn stops(state: &State, by: &By) -> Result<(), Refusal> {
    own(by).map_or(Ok(()), |member| has(state.member(member)?, Power::Stop))
}

/// Owners and operators stop anything that exists; anybody their own agents.
fn may_stop(state: &State, by: &By, target: &Target) -> Result<(), Refusal> {
    match target {
        Target::AgentKey { key } => {
            let known =
                state.agent_key(key).filter(|key| key.revoked.is_none()).ok_or(Refusal::NoAgentKey)?;
            if own(by) == Some(&known.member) { Ok(()) } else { stops(state, by) }
        }
        Target::Stream { stream } => {
            stream.parse::<StreamId>().map_err(|_| Refusal::BadId { place: "/target/stream" })?;
            stops(state, by)
        }
        Target::Everything {} => stops(state, by),
    }
}

const fn at_most(what: &'static str, have: usize, max: usize) -> Result<(), Refusal> {
    if have < max { Ok(()) } else { Err(Refusal::TooMany { what, max }) }
}

fn private(env: &mut Env, text: Option<String>, targets: Vec<NotifyTarget>) -> Private {
    Private { salt: Salt::from_bytes(env.bytes32()), text, targets }
}

/// A code to print: 20 characters of 5 bits each, in groups of five.
fn code(env: &mut Env) -> Revealed {
    let groups: Vec<String> = std::iter::repeat_with(|| env.id(5)).take(4).collect();
    Revealed::new(groups.join("-"))
}

/// What a person typed: case, blanks and hyphens do not count.
fn plain_code(typed: &str) -> String {
    typed.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// A decision in the making; everything in it happened at one instant.
struct Facts {
    at: Timestamp,
    events: Vec<Event>,
    effects: Vec<Effect>,
}

impl Facts {
    fn new(env: &Env) -> Self {
        Self { at: env.now().to_millis(), events: Vec::new(), effects: Vec::new() }
    }

    fn one(env: &Env, fact: Fact) -> Decided {
        let mut out = Self::new(env);
        out.fact(fact);
        Ok(out.reply(Reply::Done))
    }

    fn fact(&mut self, fact: Fact) {
        self.events.push(Event { at: self.at, fact, private: None });
    }

    fn sealed(&mut self, fact: impl FnOnce(Digest) -> Fact, private: Private) {
        self.events.push(Event { at: self.at, fact: fact(digest(&private)), private: Some(private) });
    }

    fn member(&mut self, env: &mut Env, by: By, member: MemberId, roles: BTreeSet<Role>, name: &str) {
        let private = private(env, Some(name.to_owned()), Vec::new());
        self.sealed(|sealed| Fact::MemberAdded { by, member, roles, sealed }, private);
    }

    fn invite(&mut self, env: &mut Env, by: By, member: MemberId, life: Duration, recovery: bool) -> Reply {
        let secret = Revealed::new(env.secret());
        let expires_at = (self.at + life).to_millis();
        let hash = SecretHash::of(secret.expose());
        self.fact(Fact::Invited { by, member: member.clone(), secret: hash, expires_at, recovery });
        Reply::Invite { member, secret, expires_at }
    }

    /// An effect names a member as `org/member`.
    fn tell(&mut self, state: &State, member: &MemberId, title: &str) {
        let org = state.org.as_ref().map_or("", |org| &org.0);
        self.effects.push(Effect::Notify {
            member: format!("{org}/{member}"),
            title: title.to_owned(),
            link: ACCOUNT.to_owned(),
        });
    }

    /// A new owner may vouch for recoveries one day: those who are owners now hear of them before.
    fn tell_owners(&mut self, state: &State, by: &By) {
        for owner in state.owners().filter(|owner| Some(*owner) != own(by)) {
            self.tell(state, owner, "Somebody was made an owner of your organization");
        }
    }

    fn reply(self, answer: Reply) -> Decision<Event, Reply> {
        Decision { events: self.events, effects: self.effects, pointers: Vec::new(), answer }
    }
}
