//! Files of Masumi jobs: crate `mandate` knows the hashes.

use crate::report::{Check, Stop};
use crate::{Kind, Report};
use ::mandate::job::Job;

/// What the `type` says.
pub(crate) const TYPE: &str = Job::TYPE;

/// The hashes are compared with what stands in the file. Whether they are those of the payment, the chain says.
pub(crate) fn check(value: canon::Value<'_>, report: &mut Report) -> Check {
    report.kind = Some(Kind::MasumiJob);
    // No key of the trust file is in it.
    report.pinned = false;
    let job: Job = canon::from_value(value).map_err(|error| Stop::shape(&error))?;
    report.fact("payment", &job.blockchain_identifier);
    report.fact("input_hash", job.input_hash);
    report.fact("result_hash", job.result_hash);
    let delivered = job.check().map_err(|fault| Stop::refused(fault.code, &fault.place, "see the code"))?;
    report.fact("outcome", delivered.decision.as_str());
    report.fact("receipt", delivered.receipt.receipt_hash);
    Ok(())
}
