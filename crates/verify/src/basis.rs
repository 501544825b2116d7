//! What verifiers say of a quote.

use crate::report::{Check, Stop};
use crate::{Report, Trust};
use ::mandate::basis::{BasisResult, Proof};

/// What the `type` says.
pub(crate) const TYPE: &str = Proof::TYPE;

pub(crate) fn check(
    value: canon::Value<'_>,
    bytes: &[u8],
    trust: Option<&Trust>,
    report: &mut Report,
) -> Check {
    let proof: Proof = canon::from_value(value).map_err(|error| Stop::shape(&error))?;
    // One spelling, as everywhere.
    if canon::canonicalize(bytes).ok() != canon::to_vec(&proof).ok() {
        return Err(Stop::refused("shape", "", "not of the shape expected here"));
    }
    let basis = proof.check().map_err(|code| Stop::refused(code, "/evidence", "see the code"))?;
    let keys: Vec<_> = proof.evidence.statements.iter().map(|signed| signed.key).collect();
    // It stands on its verifiers alone.
    if trust.is_some_and(|trust| !trust.verified_by(&keys, 1)) {
        let detail = "too few of the verifiers in the trust file signed for it";
        return Err(Stop::refused("verifiers_missing", "/evidence/statements", detail));
    }
    let result = match basis.result {
        BasisResult::OnMarket => "on market",
        BasisResult::OffMarket => "off market",
    };
    report.fact("quote", format_args!("{} {}", basis.quote.pair, basis.quote.rate));
    report.fact("result", result);
    report.fact("verifiers", keys.len());
    report.fact("report", basis.hash());
    Ok(())
}
