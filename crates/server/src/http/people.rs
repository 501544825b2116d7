//! People over HTTP: passkeys, sessions, the inbox, the organization.

use super::{From, Signed, Strict};
use crate::people::{Ceremony, Done};
use crate::{App, Error};
use approvals::people::{Act, Quiet, Target};
use approvals::{MemberId, NotifyTarget, OrgId, Role};
use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use env::Timestamp;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use keys::webauthn::{Assertion, Registration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EnrolBegin {
    org: String,
    /// The secret of the enrolment link; absent: the signed-in member adds a passkey.
    #[serde(default)]
    invite: Option<String>,
}

/// What a browser needs to enrol a passkey.
#[utoipa::path(post, path = "/api/enrolment/begin", tag = "people", operation_id = "begin_enrolment", responses((status = 200)))]
pub(crate) async fn begin_enrolment(
    State(app): State<App>,
    from: From,
    Strict(body): Strict<EnrolBegin>,
) -> Result<Json<Ceremony>, Error> {
    let org = known(&app, body.org)?;
    Ok(Json(app.begin_enrolment(&org, body.invite.as_deref(), &from.caller).await?))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EnrolFinish {
    org: String,
    #[serde(default)]
    invite: Option<String>,
    ticket: String,
    #[schemars(with = "std::collections::BTreeMap<String, String>")]
    registration: Registration,
}

/// Who is signed in.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Me {
    org: String,
    member: String,
    name: Option<String>,
    #[schemars(with = "Vec<String>")]
    roles: BTreeSet<Role>,
    #[schemars(with = "String")]
    until: Timestamp,
    /// The key with which a browser subscribes to web push (`applicationServerKey`); absent where web push is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    web_push_key: Option<String>,
}

/// Enrols the passkey and signs its owner in.
#[utoipa::path(post, path = "/api/enrolment/finish", tag = "people", operation_id = "finish_enrolment", responses((status = 200)))]
pub(crate) async fn finish_enrolment(
    State(app): State<App>,
    from: From,
    Strict(body): Strict<EnrolFinish>,
) -> Result<Response, Error> {
    let org = known(&app, body.org)?;
    let invite = body.invite.as_deref();
    let (session, cookie) =
        app.finish_enrolment(&org, invite, &from.caller, &body.ticket, &body.registration).await?;
    with_cookie(Json(about(&app, &session).await?).into_response(), &cookie)
}

/// What a browser needs to sign in with a passkey.
#[utoipa::path(post, path = "/api/session/begin", tag = "people", operation_id = "begin_sign_in", responses((status = 200)))]
pub(crate) async fn begin_sign_in(State(app): State<App>) -> Json<Ceremony> {
    Json(app.begin_sign_in())
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SignIn {
    ticket: String,
    #[schemars(with = "std::collections::BTreeMap<String, String>")]
    assertion: Assertion,
}

/// Signs in with a passkey; the session is a cookie.
#[utoipa::path(post, path = "/api/session", tag = "people", operation_id = "sign_in", responses((status = 200)))]
pub(crate) async fn finish_sign_in(
    State(app): State<App>,
    Strict(body): Strict<SignIn>,
) -> Result<Response, Error> {
    let (session, cookie) = app.finish_sign_in(&body.ticket, &body.assertion).await?;
    with_cookie(Json(about(&app, &session).await?).into_response(), &cookie)
}

/// Ends the session: its cookie and every copy of it.
#[utoipa::path(delete, path = "/api/session", tag = "people", operation_id = "sign_out", responses((status = 204)))]
pub(crate) async fn sign_out(State(app): State<App>, headers: HeaderMap) -> Result<Response, Error> {
    with_cookie(StatusCode::NO_CONTENT.into_response(), &app.sign_out(&headers).await?)
}

/// Who is signed in.
#[utoipa::path(get, path = "/api/me", tag = "people", operation_id = "me", responses((status = 200)))]
pub(crate) async fn me(State(app): State<App>, signed: Signed) -> Result<Json<Me>, Error> {
    Ok(Json(about(&app, &signed.session).await?))
}

/// Every question the signed-in person may answer, the most urgent first.
#[utoipa::path(get, path = "/api/inbox", tag = "people", operation_id = "inbox", responses((status = 200)))]
pub(crate) async fn inbox(State(app): State<App>, signed: Signed) -> Result<Response, Error> {
    let waiting = app.inbox(&signed.session).await?;
    Ok(Json(serde_json::json!({ "waiting": waiting })).into_response())
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Organization {
    org: String,
    name: String,
    members: Vec<MemberLine>,
    agent_keys: Vec<KeyLine>,
    #[schemars(with = "Vec<serde_json::Value>")]
    paused: Vec<Target>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MemberLine {
    member: String,
    name: Option<String>,
    #[schemars(with = "Vec<String>")]
    roles: BTreeSet<Role>,
    active: bool,
    passkeys: usize,
}

/// An agent key of the one who asks.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct KeyLine {
    key: String,
    label: Option<String>,
    last4: String,
    active: bool,
    #[schemars(with = "String")]
    used_at: Timestamp,
}

/// The signed-in member's organization: its people, their own agent keys, what is stopped.
#[utoipa::path(get, path = "/api/organization", tag = "people", operation_id = "organization", responses((status = 200)))]
pub(crate) async fn organization(
    State(app): State<App>,
    signed: Signed,
) -> Result<Json<Organization>, Error> {
    let state = app.organization(&signed.session.org).await?;
    let now = app.now();
    Ok(Json(Organization {
        org: signed.session.org.0.clone(),
        name: state.name().to_owned(),
        members: state
            .members()
            .map(|member| MemberLine {
                member: member.id.0.clone(),
                name: member.name.clone(),
                roles: member.roles.clone(),
                active: member.is_active(),
                passkeys: member.active_passkeys(now).count(),
            })
            .collect(),
        agent_keys: state
            .agent_keys(&signed.session.member)
            .map(|key| KeyLine {
                key: key.id.clone(),
                label: key.label.clone(),
                last4: key.last4.clone(),
                active: key.is_active(now),
                used_at: key.used_at,
            })
            .collect(),
        paused: state.pauses().map(|(target, _)| target.clone()).collect(),
    }))
}

/// What a member does to their organization. It decides whether they may.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "act", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum ActBody {
    AddMember {
        name: String,
        #[schemars(with = "Vec<String>")]
        roles: BTreeSet<Role>,
    },
    RemoveMember {
        member: String,
    },
    SetRoles {
        member: String,
        #[schemars(with = "Vec<String>")]
        roles: BTreeSet<Role>,
    },
    Invite {
        member: String,
    },
    RevokePasskey {
        member: String,
        credential_id: String,
    },
    IssueCodes {},
    Vouch {
        member: String,
    },
    Delegate {
        to: String,
        #[schemars(with = "String")]
        until: Timestamp,
    },
    EndDelegation {
        member: String,
    },
    SetQuiet {
        #[schemars(with = "Option<serde_json::Value>")]
        quiet: Option<Quiet>,
    },
    IssueAgentKey {
        label: String,
    },
    RevokeAgentKey {
        key: String,
    },
    Pause {
        #[schemars(with = "serde_json::Value")]
        target: Target,
        reason: String,
    },
    Resume {
        #[schemars(with = "serde_json::Value")]
        target: Target,
    },
    RevokeSessions {
        member: String,
    },
    SetNotify {
        #[schemars(with = "Vec<serde_json::Value>")]
        targets: Vec<NotifyTarget>,
    },
    AddNotify {
        #[schemars(with = "serde_json::Value")]
        target: NotifyTarget,
    },
    RemoveNotify {
        member: String,
        /// SHA-256 of the target's canonical JSON, in hex.
        #[schemars(with = "String")]
        target: canon::Digest,
    },
}

impl std::convert::From<ActBody> for Act {
    fn from(body: ActBody) -> Self {
        match body {
            ActBody::AddMember { name, roles } => Self::AddMember { name, roles },
            ActBody::RemoveMember { member } => Self::RemoveMember { member: MemberId(member) },
            ActBody::SetRoles { member, roles } => Self::SetRoles { member: MemberId(member), roles },
            ActBody::Invite { member } => Self::Invite { member: MemberId(member) },
            ActBody::RevokePasskey { member, credential_id } => {
                Self::RevokePasskey { member: MemberId(member), credential_id }
            }
            ActBody::IssueCodes {} => Self::IssueCodes,
            ActBody::Vouch { member } => Self::Vouch { member: MemberId(member) },
            ActBody::Delegate { to, until } => Self::Delegate { to: MemberId(to), until },
            ActBody::EndDelegation { member } => Self::EndDelegation { member: MemberId(member) },
            ActBody::SetQuiet { quiet } => Self::SetQuiet { quiet },
            ActBody::IssueAgentKey { label } => Self::IssueAgentKey { label },
            ActBody::RevokeAgentKey { key } => Self::RevokeAgentKey { key },
            ActBody::Pause { target, reason } => Self::Pause { target, reason },
            ActBody::Resume { target } => Self::Resume { target },
            ActBody::RevokeSessions { member } => Self::RevokeSessions { member: MemberId(member) },
            ActBody::SetNotify { targets } => Self::SetNotify { targets },
            ActBody::AddNotify { target } => Self::AddNotify { target },
            ActBody::RemoveNotify { member, target } => {
                Self::RemoveNotify { member: MemberId(member), target }
            }
        }
    }
}

/// An act on the signed-in member's organization. Secrets in the answer are shown once.
#[utoipa::path(post, path = "/api/organization/acts", tag = "people", operation_id = "act", responses((status = 200)))]
pub(crate) async fn act(
    State(app): State<App>,
    signed: Signed,
    Strict(body): Strict<ActBody>,
) -> Result<Json<Done>, Error> {
    Ok(Json(app.act(&signed.session, body.into(), signed.once).await?))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecoverBody {
    code: String,
}

/// Spends a printed recovery code for an enrolment link.
#[utoipa::path(post, path = "/api/recovery/{org}", tag = "people", operation_id = "recover", params(("org" = String, Path)), responses((status = 200)))]
pub(crate) async fn recover(
    State(app): State<App>,
    Path(org): Path<String>,
    from: From,
    Strict(body): Strict<RecoverBody>,
) -> Result<Json<Done>, Error> {
    let org = known(&app, org)?;
    Ok(Json(app.spend_code(&org, &body.code, from.once).await?))
}

async fn about(app: &App, session: &crate::Session) -> Result<Me, Error> {
    let state = app.organization(&session.org).await?;
    let member = state.member(&session.member).map_err(|_| Error::Unauthenticated)?;
    Ok(Me {
        org: session.org.0.clone(),
        member: session.member.0.clone(),
        name: member.name.clone(),
        roles: member.roles.clone(),
        until: session.until,
        web_push_key: app.web_push_key(),
    })
}

/// An organization of this server; others are refused like a wrong link.
fn known(app: &App, org: String) -> Result<OrgId, Error> {
    if app.config().organizations.contains(&org) { Ok(OrgId(org)) } else { Err(Error::Unauthenticated) }
}

fn with_cookie(mut response: Response, cookie: &str) -> Result<Response, Error> {
    let value = HeaderValue::from_str(cookie).map_err(|error| Error::Bug(error.to_string()))?;
    response.headers_mut().append(header::SET_COOKIE, value);
    Ok(response)
}
