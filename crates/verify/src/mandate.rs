//! Proofs of mandates: crate `mandate` knows the rules, this file the order, the trust and the log.

use crate::report::{Check, Stop};
use crate::{Kind, MAX_LINE, Report, Trust, export, log};
use ::mandate::proofs::{self, Proof};
use ::mandate::{Hashed, Replay};
use ledger::export::Header;
use ledger::{Entry, Fault, Head};
use std::io::BufRead;

/// What the `type` says.
pub(crate) const TYPE: &str = Proof::TYPE;
/// The kind of stream.
pub(crate) const KIND: &str = "mandate";

pub(crate) fn check(
    value: canon::Value<'_>,
    bytes: &[u8],
    trust: Option<&Trust>,
    report: &mut Report,
) -> Check {
    report.kind = Some(kind(&value));
    let proof: Proof = canon::from_value(value).map_err(|error| Stop::shape(&error))?;
    // One spelling: what a writer leaves out is not there, and what it writes is.
    let exact = canon::canonicalize(bytes).ok() == proof.to_vec().ok();
    let claims = [proof.brief.is_some(), proof.receipt.is_some(), proof.run.is_some()];
    if !exact || claims.into_iter().filter(|there| *there).count() > 1 {
        return Err(Stop::refused("shape", "", "not of the shape expected here"));
    }
    let header = &proof.export;
    if header.kind != ledger::export::TYPE {
        return Err(Stop::refused("shape", "/export/type", "not the header of an export"));
    }
    report.fact("stream", &header.stream);
    report.fact("entries", header.head.n);
    report.fact("head", header.head.hash);
    let replay = proof.check().map_err(refused)?;
    proof.check_claim(&replay).map_err(refused)?;
    verified(&replay, trust)?;
    facts(&replay, report);
    claimed(&proof, report);
    log::head(&header.stream, &header.head, &header.key, trust)?;
    log::check(header.log.as_ref(), &header.stream, &header.head, &header.key, trust, report)
}

/// The lines of a mandate's export, after its header.
pub(crate) fn lines(
    header: &Header,
    reader: &mut impl BufRead,
    trust: Option<&Trust>,
    report: &mut Report,
) -> Check {
    let mut replay = Replay::default();
    let mut head = Head::EMPTY;
    let mut line = Vec::new();
    loop {
        line.clear();
        // One byte more than the longest: what is longer is refused, not read.
        crate::take(reader, MAX_LINE + 1, b'\n', &mut line)?;
        if line.is_empty() {
            break;
        }
        let seq = head.seq.saturating_add(1);
        let read = export::bare(header.rule, &line, seq, Some(head.hash), &mut None)?;
        let entry = Entry { seq, prev: read.prev, hash: read.hash, bytes: read.body.to_vec(), payload: None };
        replay.read(&entry).map_err(refused)?;
        head = Head { seq, hash: entry.hash };
    }
    proofs::ends(header, head).map_err(refused)?;
    proofs::named(header, &replay).map_err(refused)?;
    verified(&replay, trust)?;
    facts(&replay, report);
    Ok(())
}

/// Every report that something was judged by is signed for by as many of the known verifiers as are demanded.
fn verified(replay: &Replay, trust: Option<&Trust>) -> Check {
    let Some(trust) = trust else { return Ok(()) };
    match replay.reports().find(|(_, keys)| !trust.verified_by(keys, 0)) {
        None => Ok(()),
        Some((seq, _)) => Err(Stop::refused(
            "verifiers_missing",
            format_args!("entry {seq}"),
            "too few of the verifiers in the trust file signed for its report",
        )),
    }
}

fn kind(value: &canon::Value<'_>) -> Kind {
    let there = |name| value.get(name).is_some();
    match (there("receipt"), there("run"), there("brief")) {
        (true, _, _) => Kind::Receipt,
        (_, true, _) => Kind::RunLog,
        (_, _, true) => Kind::MandateBrief,
        _ => Kind::MandateLog,
    }
}

fn facts(replay: &Replay, report: &mut Report) {
    if let Some(anchored) = replay.state().anchored() {
        let mandate = &anchored.mandate;
        report.fact("mandate", format_args!("{}@{}", mandate.id, mandate.version));
    }
    report.fact("authorizations", replay.state().authorizations().len());
}

fn claimed(proof: &Proof, report: &mut Report) {
    if let Some(claim) = &proof.receipt {
        report.fact("receipt", Hashed::hash(&claim.receipt));
        report.fact("outcome", claim.receipt.evaluation.outcome.as_str());
        if let Some(settled) = &claim.receipt.settlement {
            report.fact("settlement", settled.tx_hash);
        }
    }
    if let Some(claim) = &proof.run {
        report.fact("run", &claim.run_id);
        if let Some(anchor) = &claim.anchor {
            report.fact("settlement", anchor.tx_hash);
        }
    }
    if let Some(claim) = &proof.brief {
        report.fact("brief", claim.brief_hash);
    }
    if proof.transaction.is_some() {
        report.fact("transaction", "commits to this log");
    }
}

fn refused(fault: Fault) -> Stop {
    Stop::refused(fault.code, &fault.place, "see the code")
}
