//! What commands carry, and what is handed back.

use super::event::By;
use crate::{MemberId, OrgId, Refusal, Role};
use canon::Digest;
use env::{Duration, Timestamp};
use keys::PublicKey;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use zeroize::Zeroizing;

/// A command to an organization: who gives it, and what for. Whoever runs it has authenticated `by`.
#[derive(Debug, Clone)]
pub struct Command {
    pub by: By,
    pub act: Act,
}

#[derive(Debug, Clone)]
pub enum Act {
    /// The first owner, and a link for them to enrol. By the server, on an empty stream.
    Found {
        org: OrgId,
        name: String,
        owner: String,
    },
    AddMember {
        name: String,
        roles: BTreeSet<Role>,
    },
    RemoveMember {
        member: MemberId,
    },
    SetRoles {
        member: MemberId,
        roles: BTreeSet<Role>,
    },
    /// A one-time link by which the member enrols a passkey. For oneself, for somebody who never enrolled, or by the
    /// server; refused otherwise: that is what recovery is for.
    Invite {
        member: MemberId,
    },
    /// The passkey's registration has been verified. `invite` is the link's secret; without it, `by` adds one to their own.
    Enrol {
        invite: Option<Revealed>,
        credential_id: String,
        key: PublicKey,
    },
    RevokePasskey {
        member: MemberId,
        credential_id: String,
    },
    /// New printed codes for oneself; the earlier ones end.
    IssueCodes,
    /// Spends a code for a recovery link. Given by nobody in particular: the code says who it is.
    SpendCode {
        code: Revealed,
    },
    /// An admin confirms, by other means than this server, that the member lost their keys. With enough of them a recovery
    /// link comes out.
    Vouch {
        member: MemberId,
    },
    Delegate {
        to: MemberId,
        until: Timestamp,
    },
    /// By the member, by whom it was given to, or by an owner.
    EndDelegation {
        member: MemberId,
    },
    SetQuiet {
        quiet: Option<Quiet>,
    },
    IssueAgentKey {
        label: String,
    },
    RevokeAgentKey {
        key: String,
    },
    /// The key was just used: recorded at most once a day. By the server.
    TouchAgentKey {
        key: String,
    },
    Pause {
        target: Target,
        reason: String,
    },
    Resume {
        target: Target,
    },
    RevokeSessions {
        member: MemberId,
    },
    SetNotify {
        targets: Vec<NotifyTarget>,
    },
    /// One more target of one's own. The same browser again takes the place of its earlier subscription.
    AddNotify {
        target: NotifyTarget,
    },
    /// By oneself; by the server where the receiver says that it is gone.
    RemoveNotify {
        member: MemberId,
        /// [`NotifyTarget::id`]. One that is not there is no fault.
        target: Digest,
    },
}

/// What the caller of a command is told. Secrets appear here once and are kept nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    Done,
    Member {
        member: MemberId,
    },
    /// The enrolment link's secret.
    Invite {
        member: MemberId,
        secret: Revealed,
        expires_at: Timestamp,
    },
    Codes {
        codes: Vec<Revealed>,
    },
    /// How many more admins must vouch.
    Vouched {
        missing: usize,
    },
    AgentKey {
        key: String,
        secret: Revealed,
    },
}

/// A secret on its way to its owner: wiped when dropped, never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Revealed(Zeroizing<String>);

impl Revealed {
    pub fn new(secret: impl Into<String>) -> Self {
        Self(Zeroizing::new(secret.into()))
    }

    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Revealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Revealed(..)")
    }
}

/// What a person can stop.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Target {
    AgentKey {
        key: String,
    },
    /// A room, a mandate, a grant: whatever has a stream, by its id (`room/7k2mzq4d0a`).
    Stream {
        stream: String,
    },
    Everything {},
}

/// When not to be disturbed: from one minute of the day to another, in a fixed offset from UTC. May pass midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quiet {
    /// Minute of the day, 0 to 1439.
    pub from: u16,
    /// The first minute that is no longer quiet.
    pub to: u16,
    /// Minutes east of UTC, -840 to 840.
    pub offset: i16,
}

const DAY: i64 = 1440;

impl Quiet {
    pub(super) fn check(&self) -> Result<(), Refusal> {
        let good = i64::from(self.from) < DAY
            && i64::from(self.to) < DAY
            && self.from != self.to
            && (-840..=840).contains(&self.offset);
        if good { Ok(()) } else { Err(Refusal::BadQuietHours) }
    }

    /// When the quiet that reigns at `now` ends; `None` if none does.
    pub fn until(&self, now: Timestamp) -> Option<Timestamp> {
        let (from, to) = (i64::from(self.from), i64::from(self.to));
        let local = now.as_secs().div_euclid(60) + i64::from(self.offset);
        let minute = local.rem_euclid(DAY);
        let quiet = if from < to { (from..to).contains(&minute) } else { minute >= from || minute < to };
        quiet.then(|| {
            let minutes = u64::try_from((to - minute).rem_euclid(DAY)).unwrap_or(0);
            let start = Timestamp::from_secs(now.as_secs().div_euclid(60).saturating_mul(60));
            start + Duration::from_secs(minutes.saturating_mul(60))
        })
    }
}

/// Where a member is told that something waits. The crate that delivers checks more than the form.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum NotifyTarget {
    /// A browser's push subscription (RFC 8030, RFC 8291): `p256dh` and `auth` in unpadded base64url.
    WebPush {
        endpoint: String,
        p256dh: String,
        auth: String,
    },
    /// A topic of an ntfy server.
    Ntfy {
        server: String,
        topic: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<String>,
    },
    Email {
        address: String,
    },
    /// `secret` is `whsec_` and the base64 of 24 to 64 bytes (Standard Webhooks).
    Webhook {
        url: String,
        secret: String,
    },
}

impl NotifyTarget {
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::WebPush { .. } => "web_push",
            Self::Ntfy { .. } => "ntfy",
            Self::Email { .. } => "email",
            Self::Webhook { .. } => "webhook",
        }
    }

    /// Names the target: SHA-256 of its canonical JSON.
    pub fn id(&self) -> Digest {
        crate::ask::digest(self)
    }

    /// Whether both reach the same receiver, so that one of them is enough.
    pub(super) fn is_same_receiver(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::WebPush { endpoint, .. }, Self::WebPush { endpoint: earlier, .. }) => endpoint == earlier,
            _ => self == other,
        }
    }

    pub(super) fn check(&self) -> Result<(), Refusal> {
        let fields: Vec<&str> = match self {
            Self::WebPush { endpoint, p256dh, auth } => vec![endpoint, p256dh, auth],
            Self::Ntfy { server, topic, token } => vec![server, topic, token.as_deref().unwrap_or("-")],
            Self::Email { address } => vec![address],
            Self::Webhook { url, secret } => vec![url, secret],
        };
        if fields.iter().any(|field| field.is_empty() || field.len() > 2_000) {
            return Err(Refusal::BadNotifyTarget { why: "a field is empty or longer than 2000 bytes" });
        }
        if fields.iter().any(|field| field.bytes().any(|b| !b.is_ascii_graphic())) {
            return Err(Refusal::BadNotifyTarget {
                why: "a field has blanks, controls or non-ascii characters",
            });
        }
        Ok(())
    }
}

impl fmt::Debug for NotifyTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NotifyTarget({})", self.kind())
    }
}
