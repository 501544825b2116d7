//! Signed-in people: a cookie this server can check without a table, and what protects forms.

use crate::{Config, Error};
use approvals::{MemberId, OrgId};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use canon::{Salt, commit};
use env::{Duration, Timestamp};
use http::{HeaderMap, HeaderValue, header};
use serde::{Deserialize, Serialize};

/// How long a session lives.
const LIFE: Duration = Duration::from_secs(30 * 24 * 3600);
const DOMAIN: &str = "countersign.session.v1";
const ROOM_DOMAIN: &str = "countersign.room-cookie.v1";
const CHALLENGE_DOMAIN: &str = "countersign.challenge.v1";
const CSRF_DOMAIN: &str = "countersign.csrf.v1";

/// A member who proved a passkey. `epoch` dies with all of the member's sessions, `name` with this one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// The session's public name: what an entry or evidence may say of it.
    pub name: String,
    pub org: OrgId,
    pub member: MemberId,
    pub epoch: u32,
    pub until: Timestamp,
}

/// A one-time thing to sign, and what it is for. Held by the browser, made by us, valid a few minutes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Challenge {
    pub purpose: String,
    pub nonce: String,
    pub until: Timestamp,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RoomCookie {
    room: String,
    secret: String,
}

/// Seals what browsers carry for us. Processes that hold the same server key read each other's.
#[derive(Clone)]
pub struct Seals {
    key: Salt,
    secure: bool,
}

impl Seals {
    pub(crate) fn new(key: [u8; 32], config: &Config) -> Self {
        Self { key: Salt::from_bytes(key), secure: config.is_https() }
    }

    /// A fresh session and the `Set-Cookie` value that begins it.
    pub fn begin(&self, env: &mut env::Env, org: OrgId, member: MemberId, epoch: u32) -> (Session, String) {
        let session = Session { name: env.id(16), org, member, epoch, until: env.now() + LIFE };
        let cookie = self.cookie(self.session_name(), &self.seal(DOMAIN, &session), LIFE.as_secs());
        (session, cookie)
    }

    /// The `Set-Cookie` value that ends the browser's session.
    pub fn end(&self) -> String {
        self.cookie(self.session_name(), "", 0)
    }

    /// The session of a request: sealed by us and not yet over. Whether its epoch still holds is the organization's to say.
    pub fn session(&self, headers: &HeaderMap, now: Timestamp) -> Option<Session> {
        let sealed = cookie_value(headers, self.session_name())?;
        let session: Session = self.unseal(DOMAIN, sealed)?;
        (now < session.until).then_some(session)
    }

    /// The token every form of this session carries in its `csrf` field.
    pub fn csrf(&self, session: &Session) -> String {
        commit(&self.key, CSRF_DOMAIN, session.name.as_bytes()).base64url()
    }

    pub fn check_csrf(&self, session: &Session, token: &str) -> Result<(), Error> {
        if keys::equal(self.csrf(session).as_bytes(), token.as_bytes()) {
            Ok(())
        } else {
            Err(Error::Forbidden {
                code: "bad_csrf_token",
                text: "the form is out of date: load the page again".to_owned(),
            })
        }
    }

    /// A `Set-Cookie` value by which a browser keeps a room's credential, so that pages need no script to show it.
    pub fn room_cookie(&self, room: &str, secret: &str) -> String {
        let sealed = self.seal(ROOM_DOMAIN, &RoomCookie { room: room.to_owned(), secret: secret.to_owned() });
        self.cookie(&format!("{}room_{room}", self.prefix()), &sealed, LIFE.as_secs())
    }

    /// The credential a browser keeps for the room.
    pub fn room_secret(&self, headers: &HeaderMap, room: &str) -> Option<String> {
        let sealed = cookie_value(headers, &format!("{}room_{room}", self.prefix()))?;
        let cookie: RoomCookie = self.unseal(ROOM_DOMAIN, sealed)?;
        (cookie.room == room).then_some(cookie.secret)
    }

    /// A `Set-Cookie` value by which a browser keeps the proof of a mandate approver's key.
    pub(crate) fn approver_cookie(&self, sealed: &str, age: u64) -> String {
        self.cookie(&format!("{}approver", self.prefix()), sealed, age)
    }

    /// The `Set-Cookie` value that ends it.
    pub fn end_approver(&self) -> String {
        self.approver_cookie("", 0)
    }

    /// The proof a browser keeps, sealed.
    pub(crate) fn approver<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        cookie_value(headers, &format!("{}approver", self.prefix()))
    }

    /// Seals a challenge for the browser to bring back.
    pub(crate) fn challenge(&self, env: &mut env::Env, purpose: &str) -> (Challenge, String) {
        let until = env.now() + Duration::from_secs(600);
        let challenge = Challenge { purpose: purpose.to_owned(), nonce: env.secret(), until };
        let sealed = self.seal(CHALLENGE_DOMAIN, &challenge);
        (challenge, sealed)
    }

    pub(crate) fn open_challenge(
        &self,
        sealed: &str,
        purpose: &str,
        now: Timestamp,
    ) -> Result<Challenge, Error> {
        self.unseal::<Challenge>(CHALLENGE_DOMAIN, sealed)
            .filter(|challenge| challenge.purpose == purpose && now < challenge.until)
            .ok_or_else(|| {
                Error::malformed("challenge_expired", "/challenge", "the challenge is over: ask for another")
            })
    }

    pub(crate) fn seal<T: Serialize>(&self, domain: &str, value: &T) -> String {
        let body = canon::to_vec(value).unwrap_or_default();
        let mac = commit(&self.key, domain, &body);
        format!("{}.{}", URL_SAFE_NO_PAD.encode(&body), mac.base64url())
    }

    pub(crate) fn unseal<T: serde::de::DeserializeOwned>(&self, domain: &str, sealed: &str) -> Option<T> {
        let (body, mac) = sealed.split_once('.')?;
        let body = URL_SAFE_NO_PAD.decode(body).ok()?;
        let expected = commit(&self.key, domain, &body).base64url();
        if !keys::equal(expected.as_bytes(), mac.as_bytes()) {
            return None;
        }
        canon::from_slice(&body).ok()
    }

    fn cookie(&self, name: &str, value: &str, age: u64) -> String {
        let secure = if self.secure { "; Secure" } else { "" };
        format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={age}{secure}")
    }

    const fn prefix(&self) -> &'static str {
        if self.secure { "__Host-countersign_" } else { "countersign_" }
    }

    const fn session_name(&self) -> &'static str {
        if self.secure { "__Host-countersign_session" } else { "countersign_session" }
    }
}

impl std::fmt::Debug for Seals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seals(..)")
    }
}

/// The bearer secret of a request, if it brings one. The scheme's case does not matter.
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let only = values.next()?;
    if values.next().is_some() {
        return None;
    }
    let (scheme, secret) = only.to_str().ok()?.split_once(' ')?;
    let secret = secret.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !secret.is_empty()).then_some(secret)
}

fn cookie_value<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value: &HeaderValue| value.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::{Source, Virtual};

    #[test]
    fn a_session_is_good_only_as_sealed_and_only_in_time() {
        let source = Virtual::new(1, Timestamp::EPOCH);
        let seals = Seals::new([7; 32], &Config::default());
        let (session, cookie) =
            seals.begin(&mut source.env(), OrgId("home".into()), MemberId("m1".into()), 3);
        let pair = cookie.split(';').next().unwrap().to_owned();
        let read = |seals: &Seals, pair: &str, now| {
            let mut headers = HeaderMap::new();
            headers.insert(header::COOKIE, format!("other=1; {pair}").parse().unwrap());
            seals.session(&headers, now)
        };
        assert_eq!(read(&seals, &pair, Timestamp::EPOCH).as_ref(), Some(&session));
        assert_eq!(read(&seals, &pair, session.until), None);
        assert_eq!(read(&Seals::new([8; 32], &Config::default()), &pair, Timestamp::EPOCH), None);
        assert_eq!(read(&seals, &pair.replace('.', "A."), Timestamp::EPOCH), None);
        assert!(seals.check_csrf(&session, &seals.csrf(&session)).is_ok());
        assert!(seals.check_csrf(&session, "x").is_err());
        assert!(cookie.contains("HttpOnly; SameSite=Lax"));
    }

    #[test]
    fn bearer_secrets() {
        for (value, expected) in [
            ("Bearer abc", Some("abc")),
            ("bEARER abc", Some("abc")),
            ("Basic abc", None),
            ("Bearer ", None),
            ("abc", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, value.parse().unwrap());
            assert_eq!(bearer(&headers), expected, "{value}");
        }
    }
}
