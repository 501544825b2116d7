//! Room bundles: crate `pxp` knows the format and the rules, this file the order, the trust and the log.

use crate::report::{Check, Stop};
use crate::{Report, Trust, log};
use ledger::{Entry, Fault, Head, StreamId};
use pxp::Event;
use pxp::bundle::{BriefProof, Bundle, fold};
use pxp::event::Body;
use pxp::state::Phase;

/// What the `type` says.
pub(crate) const TYPE: &str = Bundle::TYPE;

pub(crate) fn check(value: canon::Value<'_>, trust: Option<&Trust>, report: &mut Report) -> Check {
    let bundle: Bundle = canon::from_value(value).map_err(|error| Stop::shape(&error))?;
    if bundle.profile != "strict" {
        return Err(Stop::refused("bad_profile", "/profile", "only rooms of profile strict are exported"));
    }
    report.fact("room", &bundle.room);
    report.fact("entries", bundle.head.n);
    report.fact("head", bundle.head.hash);
    report.fact("withheld", bundle.withheld.len());
    let mut entries = bundle.entries().map_err(refused)?;
    log::known_server(&bundle.keys.server, trust)?;
    bundle.check_head(&entries).map_err(refused)?;
    bundle.attach(&mut entries).map_err(refused)?;
    let folded = fold(&entries).map_err(refused)?;
    bundle.check_brief(&folded).map_err(refused)?;
    if let Some(trust) = trust.filter(|trust| !trust.origins.is_empty()) {
        origins(&entries, trust)?;
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
fn origins(entries: &[Entry], trust: &Trust) -> Check {
    for entry in entries {
        let prev = Head { seq: entry.seq.saturating_sub(1), hash: entry.prev };
        let proofs = match Event::open(entry, prev).map_err(refused)?.body {
            Some(Body::Answer(answer)) => vec![Some(answer.proof), answer.confirmation],
            Some(Body::Proof(proof)) => vec![Some(*proof)],
            _ => continue,
        };
        let mut told =
            proofs.iter().flatten().filter_map(|proof| proof.site.as_ref()).flat_map(|site| &site.origins);
        if told.any(|origin| !trust.origins.contains(origin)) {
            let place = format!("entry {}", entry.seq);
            return Err(Stop::refused(
                "origin_untrusted",
                place,
                "a passkey signed for a site that is not in the trust file",
            ));
        }
    }
    Ok(())
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
