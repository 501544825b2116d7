//! The organization's pages: its people, one's own passkeys and quiet hours, agent keys, and the switches that stop things.

use crate::page::{Fault, Secret, Shell, done, html, once};
use crate::visitor::{Fields, Member, Posted, Visitor};
use crate::words;
use approvals::people::{Act, AgentKey, Quiet, Target};
use approvals::{MemberId, Power, Role, may};
use askama::Template;
use axum::response::Response;
use env::Duration;
use server::{Done, Error};
use std::collections::BTreeSet;

#[derive(Template)]
#[template(path = "people.html")]
struct People {
    shell: Shell,
    org: String,
    manages: bool,
    members: Vec<Line>,
    roles: Vec<RoleLine>,
}

#[derive(Debug)]
struct Line {
    id: String,
    name: String,
    you: bool,
    active: bool,
    roles: Vec<&'static str>,
    has: Vec<RoleLine>,
    passkeys: usize,
}

#[derive(Debug, Clone)]
struct RoleLine {
    name: &'static str,
    means: &'static str,
    on: bool,
}

pub(crate) async fn people(visitor: Visitor) -> Result<Response, Fault> {
    let member = visitor.member()?;
    let state = visitor.app.organization(&member.session.org).await?;
    let now = visitor.app.now();
    let members = state.members().map(|one| Line {
        id: one.id.to_string(),
        name: words::shown(one.name.as_deref().unwrap_or("(erased)")),
        you: one.id == member.session.member,
        active: one.is_active(),
        roles: one.roles.iter().map(|role| role.as_str()).collect(),
        has: roles(Some(&one.roles)),
        passkeys: one.active_passkeys(now).count(),
    });
    Ok(html(&People {
        org: words::shown(state.name()),
        manages: may(&member.roles, Power::ManagePeople),
        members: members.collect(),
        roles: roles(None),
        shell: visitor.shell("People", None).await?,
    }))
}

pub(crate) async fn act_on_people(posted: Posted) -> Result<Response, Fault> {
    let Posted { visitor, fields } = posted;
    let member = visitor.member()?;
    let id = || MemberId(fields.one("member").to_owned());
    let act = match fields.one("act") {
        "add" => {
            let add = Act::AddMember { name: fields.one("name").to_owned(), roles: read_roles(&fields) };
            let Done::Member { member: added } = perform(&visitor, member, add, "/people").await? else {
                return Err(Error::Bug("a new member has no id".to_owned()).into());
            };
            Act::Invite { member: MemberId(added) }
        }
        "invite" => Act::Invite { member: id() },
        "roles" => Act::SetRoles { member: id(), roles: read_roles(&fields) },
        "remove" => Act::RemoveMember { member: id() },
        "vouch" => Act::Vouch { member: id() },
        "end_sessions" => Act::RevokeSessions { member: id() },
        _ => return Err(no_such_act()),
    };
    match perform(&visitor, member, act, "/people").await? {
        Done::Link { link, expires_at, .. } => {
            let note = format!("Send it to them alone. It works once, until {}.", words::when(expires_at));
            let secret = Secret { label: "Enrolment link", note, value: link };
            let shell = visitor.shell("An enrolment link", None).await?;
            Ok(once(
                shell,
                "Keep it now: it is shown once.",
                vec![secret],
                None,
                ("/people", "Back to people"),
            ))
        }
        _ => Ok(done("/people", "saved")),
    }
}

#[derive(Template)]
#[template(path = "me.html")]
struct Me {
    shell: Shell,
    org: String,
    member: String,
    roles: Vec<RoleLine>,
    passkeys: Vec<PasskeyLine>,
    codes: usize,
    others: Vec<(String, String)>,
    delegation: Option<(String, String)>,
    quiet: Option<(String, String, String)>,
    targets: usize,
}

#[derive(Debug)]
struct PasskeyLine {
    id: String,
    short: String,
    since: String,
    until: Option<String>,
}

pub(crate) async fn me(visitor: Visitor) -> Result<Response, Fault> {
    let member = visitor.member()?;
    let state = visitor.app.organization(&member.session.org).await?;
    let own = state.member(&member.session.member).map_err(|error| Error::of(&error))?;
    let now = visitor.app.now();
    let name_of = |id: &MemberId| {
        let name = state.member(id).ok().and_then(|member| member.name.clone());
        words::shown(&name.unwrap_or_else(|| id.to_string()))
    };
    let others = state.members().filter(|other| other.is_active() && other.id != own.id);
    Ok(html(&Me {
        org: member.session.org.to_string(),
        member: own.id.to_string(),
        roles: roles(Some(&own.roles)).into_iter().filter(|role| role.on).collect(),
        passkeys: own
            .passkeys
            .iter()
            .map(|passkey| PasskeyLine {
                id: passkey.credential_id.clone(),
                short: passkey.credential_id.chars().take(10).collect(),
                since: words::when(passkey.since),
                until: passkey.until.map(words::when),
            })
            .collect(),
        codes: own.codes_left(),
        others: others.map(|other| (other.id.to_string(), name_of(&other.id))).collect(),
        delegation: own
            .delegation
            .as_ref()
            .filter(|delegation| delegation.is_active(now))
            .map(|delegation| (name_of(&delegation.to), words::when(delegation.until))),
        quiet: own.quiet.map(|quiet| (clock(quiet.from), clock(quiet.to), offset(quiet.offset))),
        targets: own.notify.len(),
        shell: visitor.shell("You", None).await?,
    }))
}

pub(crate) async fn act_on_me(posted: Posted) -> Result<Response, Fault> {
    let Posted { visitor, fields } = posted;
    let member = visitor.member()?;
    let own = member.session.member.clone();
    let act = match fields.one("act") {
        "revoke" => Act::RevokePasskey { member: own, credential_id: fields.one("passkey").to_owned() },
        "codes" => Act::IssueCodes,
        "delegate" => {
            let days = fields.within("days", 1..=90)?;
            let until = visitor.app.now() + Duration::from_secs(days * 86_400);
            Act::Delegate { to: MemberId(fields.one("to").to_owned()), until }
        }
        "end_delegation" => Act::EndDelegation { member: own },
        "quiet" => Act::SetQuiet { quiet: Some(read_quiet(&fields)?) },
        "no_quiet" => Act::SetQuiet { quiet: None },
        "end_sessions" => Act::RevokeSessions { member: own },
        _ => return Err(no_such_act()),
    };
    match perform(&visitor, member, act, "/me").await? {
        Done::Codes { codes } => {
            let note = "Print them and keep them away from this device. Each works once; earlier codes no longer work.";
            let secret = Secret { label: "Recovery codes", note: note.into(), value: codes.join("\n") };
            let shell = visitor.shell("Your recovery codes", None).await?;
            Ok(once(shell, "Keep them now: they are shown once.", vec![secret], None, ("/me", "Back")))
        }
        _ => Ok(done("/me", "saved")),
    }
}

#[derive(Template)]
#[template(path = "keys.html")]
struct Keys {
    shell: Shell,
    may_issue: bool,
    mcp: String,
    keys: Vec<KeyLine>,
}

#[derive(Debug)]
struct KeyLine {
    id: String,
    label: String,
    last4: String,
    issued: String,
    used: String,
    active: bool,
}

pub(crate) async fn keys(visitor: Visitor) -> Result<Response, Fault> {
    let member = visitor.member()?;
    let state = visitor.app.organization(&member.session.org).await?;
    let now = visitor.app.now();
    Ok(html(&Keys {
        may_issue: may(&member.roles, Power::RunAgents),
        mcp: visitor.app.config().link("/mcp"),
        keys: state.agent_keys(&member.session.member).map(|key| key_line(key, key.is_active(now))).collect(),
        shell: visitor.shell("Agent keys", None).await?,
    }))
}

pub(crate) async fn act_on_keys(posted: Posted) -> Result<Response, Fault> {
    let Posted { visitor, fields } = posted;
    let member = visitor.member()?;
    let act = match fields.one("act") {
        "issue" => Act::IssueAgentKey { label: fields.one("label").to_owned() },
        "revoke" => Act::RevokeAgentKey { key: fields.one("key").to_owned() },
        _ => return Err(no_such_act()),
    };
    match perform(&visitor, member, act, "/keys").await? {
        Done::AgentKey { secret, .. } => {
            let mcp = visitor.app.config().link("/mcp");
            let secrets = vec![
                Secret {
                    label: "Agent key",
                    note: "Your agent sends it in a header. Never put it into a prompt or a link.".into(),
                    value: secret.clone(),
                },
                Secret {
                    label: "For Claude Code",
                    note: "Run this once where the agent works.".into(),
                    value: format!(
                        "claude mcp add --transport http countersign {mcp} --header \"Authorization: Bearer {secret}\""
                    ),
                },
            ];
            let shell = visitor.shell("A new agent key", None).await?;
            Ok(once(shell, "Keep it now: it is shown once.", secrets, None, ("/keys", "Back to agent keys")))
        }
        _ => Ok(done("/keys", "revoked")),
    }
}

#[derive(Template)]
#[template(path = "stop.html")]
struct Stop {
    shell: Shell,
    may_stop: bool,
    everything: bool,
    stops: Vec<StopLine>,
    keys: Vec<KeyLine>,
    rooms: Vec<(String, String)>,
}

#[derive(Debug)]
struct StopLine {
    what: String,
    target: String,
    reason: String,
    at: String,
}

pub(crate) async fn stop(visitor: Visitor) -> Result<Response, Fault> {
    let member = visitor.member()?;
    let state = visitor.app.organization(&member.session.org).await?;
    let now = visitor.app.now();
    let stops = state.pauses().map(|(target, pause)| StopLine {
        what: match target {
            Target::Everything {} => "Everything".to_owned(),
            Target::AgentKey { key } => {
                let label = state.agent_key(key).and_then(|key| key.label.clone());
                format!("Agent key “{}”", words::shown(&label.unwrap_or_else(|| key.clone())))
            }
            Target::Stream { stream } => format!("Room {}", words::shown(stream.trim_start_matches("room/"))),
        },
        target: spelled(target),
        reason: words::shown(pause.reason.as_deref().unwrap_or_default()),
        at: words::when(pause.at),
    });
    let keys = state.members().flat_map(|one| state.agent_keys(&one.id)).filter(|key| key.is_active(now));
    let rooms = visitor.app.list_rooms(&member.caller(), 100).await?;
    let going =
        rooms.into_iter().filter(|room| !matches!(room.status.as_str(), "agreed" | "stalled" | "withdrawn"));
    Ok(html(&Stop {
        may_stop: may(&member.roles, Power::Stop),
        everything: state.pauses().any(|(target, _)| matches!(target, Target::Everything {})),
        stops: stops.collect(),
        keys: keys.map(|key| key_line(key, true)).collect(),
        rooms: going.map(|room| (room.room_id, words::shown(&room.topic))).collect(),
        shell: visitor.shell("Stop", None).await?,
    }))
}

pub(crate) async fn act_on_stops(posted: Posted) -> Result<Response, Fault> {
    let Posted { visitor, fields } = posted;
    let member = visitor.member()?;
    let target = read_stop(fields.one("target"))?;
    let reason = fields.one("reason").to_owned();
    let (act, said) = match fields.one("act") {
        "stop" => (Act::Pause { target, reason }, "stopped"),
        "go" => (Act::Resume { target }, "running"),
        _ => return Err(no_such_act()),
    };
    perform(&visitor, member, act, "/stop").await?;
    Ok(done("/stop", said))
}

pub(crate) async fn perform(visitor: &Visitor, member: &Member, act: Act, back: &str) -> Result<Done, Fault> {
    visitor.app.act(&member.session, act, None).await.map_err(|error| Fault::from(error).back_to(back))
}

fn roles(of: Option<&BTreeSet<Role>>) -> Vec<RoleLine> {
    let means = |role| match role {
        Role::Owner => "decides who belongs here, and can stop things",
        Role::Approver => "answers what is asked of the organization",
        Role::Viewer => "reads what concerns them",
        Role::Auditor => "reads everything, changes nothing",
        Role::Operator => "runs agents, and can stop things",
    };
    let on = |role: &Role| of.is_some_and(|roles| roles.contains(role));
    Role::ALL.iter().map(|role| RoleLine { name: role.as_str(), means: means(*role), on: on(role) }).collect()
}

fn read_roles(fields: &Fields) -> BTreeSet<Role> {
    let chosen: Vec<&str> = fields.all("role").collect();
    Role::ALL.into_iter().filter(|role| chosen.contains(&role.as_str())).collect()
}

fn key_line(key: &AgentKey, active: bool) -> KeyLine {
    KeyLine {
        id: key.id.clone(),
        label: words::shown(key.label.as_deref().unwrap_or("(erased)")),
        last4: key.last4.clone(),
        issued: words::when(key.issued_at),
        used: words::when(key.used_at),
        active,
    }
}

fn read_quiet(fields: &Fields) -> Result<Quiet, Error> {
    let bad = |name: &str| Error::malformed("bad_field", format!("/{name}"), "write a time as 22:00");
    let minute = |name: &str| {
        let (hour, minute) = fields.one(name).split_once(':').ok_or_else(|| bad(name))?;
        let read = |text: &str| text.parse::<u16>().map_err(|_| bad(name));
        Ok::<u16, Error>(read(hour)?.saturating_mul(60).saturating_add(read(minute)?))
    };
    let hours: i16 = fields.parse("offset")?;
    Ok(Quiet { from: minute("from")?, to: minute("to")?, offset: hours.saturating_mul(60) })
}

fn clock(minute: u16) -> String {
    format!("{:02}:{:02}", minute / 60, minute % 60)
}

fn offset(minutes: i16) -> String {
    format!("UTC{}{:02}:{:02}", if minutes < 0 { '-' } else { '+' }, minutes.abs() / 60, minutes.abs() % 60)
}

/// A target as a form carries it.
fn spelled(target: &Target) -> String {
    match target {
        Target::Everything {} => "everything".to_owned(),
        Target::AgentKey { key } => format!("key:{key}"),
        Target::Stream { stream } => format!("stream:{stream}"),
    }
}

fn read_stop(text: &str) -> Result<Target, Error> {
    match text.split_once(':') {
        None if text == "everything" => Ok(Target::Everything {}),
        Some(("key", key)) => Ok(Target::AgentKey { key: key.to_owned() }),
        Some(("stream", stream)) => Ok(Target::Stream { stream: stream.to_owned() }),
        _ => Err(Error::malformed("bad_field", "/target", "choose what to stop")),
    }
}

pub(crate) fn no_such_act() -> Fault {
    Error::malformed("bad_field", "/act", "no such action").into()
}
