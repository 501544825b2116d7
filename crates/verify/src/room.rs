//! Room bundles: crate `pxp` knows the format and the rules, this file the order, the trust and the log.

use crate::report::{Check, Stop};
use crate::{Report, Trust, log};
use ledger::{Fault, StreamId};
use pxp::bundle::{Bundle, fold};
use pxp::state::Phase;

/// What the `type` says.
pub(crate) const TYPE: &str = Bundle::TYPE;

pub(crate) fn check(bytes: &[u8], trust: Option<&Trust>, report: &mut Report) -> Check {
    let bundle = Bundle::parse(bytes).map_err(refused)?;
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

fn refused(fault: Fault) -> Stop {
    Stop::refused(fault.code, &fault.place, "see the code")
}
