//! Room bundles: crate `pxp` knows the format and the rules, this file the order, the trust and the log.

use crate::report::{Check, Stop};
use crate::{Report, Trust, log};
use ledger::{Fault, StreamId};
use pxp::bundle::{BriefProof, Bundle, Folded};
use pxp::state::Phase;

/// What the `type` says.
pub(crate) const TYPE: &str = Bundle::TYPE;

pub(crate) fn check(bytes: &[u8], trust: Option<&Trust>, report: &mut Report) -> Check {
    let bundle: Bundle = canon::from_slice(bytes).map_err(|error| Stop::shape(&error))?;
    if bundle.profile != "strict" {
        return Err(Stop::refused("bad_profile", "/profile", "only rooms of profile strict are exported"));
    }
    report.fact("room", &bundle.room);
    report.fact("entries", bundle.head.n);
    report.fact("head", bundle.head.hash);
    report.fact("withheld", bundle.withheld.len());
    let entries = bundle.entries().map_err(refused)?;
    log::known_server(&bundle.keys.server, trust)?;
    bundle.check_head(&entries).map_err(refused)?;
    let folded = bundle.replay(&entries).map_err(refused)?;
    bundle.check_brief(&folded).map_err(refused)?;
    report.unchecked = folded.unchecked.iter().map(ToString::to_string).collect();
    if let Some(trust) = trust.filter(|trust| !trust.origins.is_empty()) {
        origins(&folded, trust)?;
    }
    report.fact(
        "outcome",
        match folded.state.phase {
            Phase::Ended(outcome) => outcome.word(),
            Phase::Drafting | Phase::Negotiating | Phase::Awaiting(_) => "open",
        },
    );
    let stream: StreamId = bundle
        .room
        .stream()
        .parse()
        .map_err(|_| Stop::refused("bad_room", "/room", "no room has that name"))?;
    log::check(bundle.log.as_ref(), &stream, &bundle.head, &bundle.keys.server, trust, report)
}

/// Every passkey signed for sites the verifier knows.
fn origins(folded: &Folded, trust: &Trust) -> Check {
    let untrusted = folded.origins.iter().filter(|(origin, _)| !trust.origins.contains(*origin));
    match untrusted.map(|(_, entry)| entry).min() {
        None => Ok(()),
        Some(entry) => Err(Stop::refused(
            "origin_untrusted",
            format!("entry {entry}"),
            "a passkey signed for a site that is not in the trust file",
        )),
    }
}

/// What the `type` of a brief's proof says.
pub(crate) const BRIEF: &str = BriefProof::TYPE;

/// A brief under its server's signature: what it says of the room rests on that server, and on the log.
pub(crate) fn check_brief(value: canon::Value<'_>, trust: Option<&Trust>, report: &mut Report) -> Check {
    let proof: BriefProof = canon::from_value(value).map_err(|error| Stop::shape(&error))?;
    report.fact("room", &proof.room);
    report.fact("outcome", &proof.brief.outcome);
    report.fact("head", proof.head.hash);
    log::known_server(&proof.keys.server, trust)?;
    proof.check().map_err(refused)?;
    let stream: StreamId = proof
        .room
        .stream()
        .parse()
        .map_err(|_| Stop::refused("bad_room", "/room", "no room has that name"))?;
    log::check(proof.log.as_ref(), &stream, &proof.head, &proof.keys.server, trust, report)
}

fn refused(fault: Fault) -> Stop {
    Stop::refused(fault.code, &fault.place, "see the code")
}
