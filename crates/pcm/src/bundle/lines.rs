//! How far the log's word is seconded, as one line (spec 3.14).

use super::Ground;
use crate::anchor::Anchor;
use crate::{Checkpoint, Class, Trust};
use env::Timestamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    /// Nobody else has seen it, or the run approved itself.
    Dev,
    /// Only the operator's own witnesses have.
    Local,
    Witnessed,
}

impl Level {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Dev => "dev",
            Self::Local => "local",
            Self::Witnessed => "witnessed",
        }
    }

    /// An anchor counts as a witness.
    fn of(checkpoint: &Checkpoint, anchor: Option<&Anchor>, trust: &Trust) -> Self {
        let classes: Vec<_> =
            checkpoint.seen.iter().map(|seen| seen.class).chain(anchor.map(|anchor| anchor.class)).collect();
        let independent = classes.iter().filter(|class| **class != Class::Operator).count();
        match independent {
            _ if independent >= trust.required().max(1) => Self::Witnessed,
            _ if !classes.is_empty() => Self::Local,
            _ => Self::Dev,
        }
    }
}

/// `notes` are the checkpoints of the registry, which cap the level. `proven`: no retirement of a key can be withheld.
pub(crate) fn assurance(
    ground: &Ground,
    notes: &[Checkpoint],
    trust: &Trust,
    self_approved: bool,
    proven: bool,
) -> String {
    let (checkpoint, anchor) = (&ground.checkpoint, ground.anchor.as_ref());
    let own = if self_approved { Level::Dev } else { Level::of(checkpoint, anchor, trust) };
    let cap = notes.iter().map(|note| Level::of(note, None, trust)).min().filter(|cap| *cap < own);
    let mut seen: Vec<_> = checkpoint.seen.iter().collect();
    seen.sort_by_key(|seen| seen.at);
    let by: Vec<_> = seen
        .iter()
        .map(|one| format!("{} ({}) at {}", one.witness, one.class.as_str(), second(one.at)))
        .collect();
    let times =
        seen.iter().map(|seen| (seen.class, seen.at)).chain(anchor.map(|anchor| (anchor.class, anchor.at)));
    let earliest = times.filter(|(class, _)| *class != Class::Operator).map(|(_, at)| at).min();
    let mut line = vec![
        cap.unwrap_or(own).as_str().to_owned(),
        "records ed25519".to_owned(),
        format!(
            "checkpoint {} ({})",
            if checkpoint.hybrid { "Ed25519 + SLH-DSA-SHA2-128s" } else { "Ed25519 only" },
            checkpoint.origin
        ),
        if by.is_empty() {
            "no witness cosignature".to_owned()
        } else {
            format!("cosigned ed25519 by {}", by.join(", "))
        },
    ];
    line.extend(anchor.map(|anchor| {
        let (log, class, at) = (&anchor.log, anchor.class.as_str(), second(anchor.at));
        format!("anchored in Rekor {log} ({class}) at {at} (ECDSA P-256 entry, RFC 3161 time)")
    }));
    line.extend(earliest.map(|at| format!("earliest independent anchor {}", second(at))));
    line.extend(cap.map(|cap| format!("capped by the run-set's registry notes ({})", cap.as_str())));
    line.extend(self_approved.then(|| "approvals: self".to_owned()));
    line.extend((!proven).then(|| "key retirements not proven complete".to_owned()));
    line.join("; ")
}

fn second(at: Timestamp) -> String {
    let text = at.to_string();
    format!("{}Z", text.get(..19).unwrap_or_default())
}
