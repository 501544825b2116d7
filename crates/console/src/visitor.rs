//! Who looks at a page, and what a form brought.

use crate::page::Fault;
use approvals::{MemberId, OrgId, Role};
use axum::extract::{Form, FromRequest, FromRequestParts, Path, Request};
use axum::http::request::Parts;
use canon::Digest;
use env::Timestamp;
use http::{HeaderMap, header};
use pxp::RoomId;
use server::mandates::Refused;
use server::{App, Caller, ClientAddress, Error, Link, Session};
use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, Ipv4Addr};

/// Who sends a request with a browser: a signed-in member, the holder of a room's credential, or nobody in particular.
#[derive(Debug, Clone)]
pub(crate) struct Visitor {
    pub app: App,
    pub member: Option<Member>,
    pub address: IpAddr,
    /// The word of what was just done, from the query.
    pub said: Option<String>,
    headers: HeaderMap,
}

/// A signed-in person.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub session: Session,
    pub roles: BTreeSet<Role>,
    pub name: String,
}

impl Member {
    pub fn caller(&self) -> Caller {
        Caller::Member { session: self.session.clone(), roles: self.roles.clone() }
    }
}

impl Visitor {
    pub fn member(&self) -> Result<&Member, Fault> {
        self.member.as_ref().ok_or_else(|| Error::Unauthenticated.into())
    }

    /// What the browser sent, without a bearer secret.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// How many approvals of mandates wait for the keys of this visitor; `None` without a key.
    pub async fn approvals(&self) -> Result<Option<usize>, Error> {
        if !self.app.keeps_mandates() {
            return Ok(None);
        }
        let failed =
            |refused: Refused| Error::Unavailable { code: "mandates_unavailable", text: refused.text };
        let reader = self.app.reader(&self.headers).await.map_err(failed)?;
        if !reader.is_somebody() {
            return Ok(None);
        }
        self.app.approvals_count(&reader).await.map(Some).map_err(failed)
    }

    /// As whom this visitor stands in the room: by a personal credential for it, else as the signed-in member, else by
    /// whatever else this browser keeps for the room.
    pub async fn stand(&self, room: &RoomId) -> Result<Caller, Fault> {
        let held = self.app.authenticate(&self.headers, Some(&Link::to(room.clone()))).await?;
        let personal = matches!(held, Caller::Principal { .. } | Caller::Link { .. } | Caller::Invite { .. });
        if !personal && let Some(member) = &self.member {
            let caller = member.caller();
            if self.app.standpoint(&caller, room, None).await.is_ok() {
                return Ok(caller);
            }
        }
        match held {
            Caller::Nobody => Err(Error::Unauthenticated.into()),
            Caller::Member { .. } | Caller::Agent { .. } => Err(Error::Missing.into()),
            held => Ok(held),
        }
    }

    /// Whose secret this is in the room, whatever else the browser brings.
    pub async fn holder(&self, room: &RoomId, secret: &str) -> Result<Caller, Fault> {
        let link = Link { room: room.clone(), secret: Some(secret.to_owned()) };
        Ok(self.app.authenticate(&HeaderMap::new(), Some(&link)).await?)
    }

    /// The credential this browser keeps for the room.
    pub fn held(&self, room: &RoomId) -> Option<String> {
        self.app.seals().room_secret(&self.headers, room.as_str())
    }

    /// The token of this visitor's forms: of their session, else of the credential they keep for the room.
    pub fn csrf(&self, room: Option<&str>) -> String {
        self.app.seals().csrf(&self.forms(room))
    }

    fn check_csrf(&self, room: Option<&str>, token: &str) -> Result<(), Error> {
        self.app.seals().check_csrf(&self.forms(room), token)
    }

    /// What forms are bound to. Without any credential there is nothing to bind to: then only the origin protects a form.
    fn forms(&self, room: Option<&str>) -> Session {
        if let Some(member) = &self.member {
            return member.session.clone();
        }
        let secret = room.and_then(|room| self.app.seals().room_secret(&self.headers, room));
        let name = Digest::of_parts(&[b"forms\0", secret.unwrap_or_default().as_bytes()]).to_string();
        Session {
            name,
            org: OrgId(String::new()),
            member: MemberId(String::new()),
            epoch: 0,
            until: Timestamp::EPOCH,
        }
    }
}

impl FromRequestParts<App> for Visitor {
    type Rejection = Fault;
    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Fault> {
        let mut headers = parts.headers.clone();
        headers.remove(header::AUTHORIZATION);
        let member = match app.authenticate(&headers, None).await? {
            Caller::Member { session, roles } => {
                let org = app.organization(&session.org).await?;
                let known = org.member(&session.member).map_err(|error| Error::of(&error))?;
                let name = known.name.clone().unwrap_or_else(|| session.member.to_string());
                Some(Member { session, roles, name })
            }
            _ => None,
        };
        let address = parts
            .extensions
            .get::<ClientAddress>()
            .map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |address| address.0);
        let said = parts.uri.query().and_then(|query| query.strip_prefix("said=")).map(str::to_owned);
        Ok(Self { app: app.clone(), member, address, said, headers })
    }
}

/// A form that this visitor was shown.
#[derive(Debug)]
pub(crate) struct Posted {
    pub visitor: Visitor,
    pub fields: Fields,
}

impl FromRequest<App> for Posted {
    type Rejection = Fault;
    async fn from_request(request: Request, app: &App) -> Result<Self, Fault> {
        let (mut parts, body) = request.into_parts();
        let visitor = Visitor::from_request_parts(&mut parts, app).await?;
        let path = Path::<HashMap<String, String>>::from_request_parts(&mut parts, app).await;
        let room = path.ok().and_then(|Path(mut path)| path.remove("room"));
        let Form(pairs) = Form::<Vec<(String, String)>>::from_request(Request::from_parts(parts, body), app)
            .await
            .map_err(|rejection| Error::malformed("bad_form", "", rejection.body_text()))?;
        let fields = Fields::of(pairs);
        visitor.check_csrf(room.as_deref(), fields.one("csrf"))?;
        Ok(Self { visitor, fields })
    }
}

/// The fields of a form, blanks around them removed and line ends as `\n`.
#[derive(Debug, Default)]
pub(crate) struct Fields(Vec<(String, String)>);

impl Fields {
    pub fn of(pairs: Vec<(String, String)>) -> Self {
        let clean = |value: String| value.replace("\r\n", "\n").trim().to_owned();
        Self(pairs.into_iter().map(|(name, value)| (name, clean(value))).collect())
    }

    /// The first field of the name; empty if there is none.
    pub fn one(&self, name: &str) -> &str {
        self.0.iter().find(|(field, _)| field == name).map_or("", |(_, value)| value.as_str())
    }

    pub fn some(&self, name: &str) -> Option<String> {
        Some(self.one(name)).filter(|value| !value.is_empty()).map(str::to_owned)
    }

    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(field, _)| field == name).map(|(_, value)| value.as_str())
    }

    /// The lines of a field, empty ones left out.
    pub fn lines(&self, name: &str) -> Vec<String> {
        self.one(name).lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }

    pub fn parse<T: std::str::FromStr>(&self, name: &str) -> Result<T, Error> {
        let bad = || Error::malformed("bad_field", format!("/{name}"), "this field is missing or misspelled");
        self.one(name).parse().map_err(|_| bad())
    }

    /// A whole number in a range; nothing else is read as one.
    pub fn within(&self, name: &str, range: std::ops::RangeInclusive<u64>) -> Result<u64, Error> {
        let number = self.parse(name)?;
        if range.contains(&number) {
            return Ok(number);
        }
        let text = format!("{} to {}", range.start(), range.end());
        Err(Error::malformed("bad_field", format!("/{name}"), text))
    }

    /// SHA-256 over all fields: what an idempotency key stands for.
    pub fn digest(&self) -> Digest {
        let parts: Vec<String> = self.0.iter().map(|(name, value)| format!("{name}={value}\0")).collect();
        Digest::of(parts.concat().as_bytes())
    }
}

/// A room's id from a path. What is none is refused like a room that is not there.
pub(crate) fn room_id(text: &str) -> Result<RoomId, Fault> {
    text.parse().map_err(|_| Error::Missing.into())
}
