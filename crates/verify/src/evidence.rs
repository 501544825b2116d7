//! Evidence bundles: crate `pcm` knows the format and the rules, this file the trust and the report.

use crate::report::{Check, Evidence, Stop};
use crate::{Crew, Report, Trust};
use pcm::bundle::{self, Outcome};

/// A bundle proves nothing by itself: it carries no log key.
pub(crate) fn check(bytes: &[u8], trust: Option<&Trust>, crew: &dyn Crew, report: &mut Report) -> Check {
    let Some(trust) = trust.and_then(|trust| trust.evidence.as_ref()) else {
        return Err(Stop::unusable(
            "trust_missing",
            "",
            "evidence is checked with a trust file that names logs and algs",
        ));
    };
    let found = bundle::verify(bytes, trust, crew);
    for (name, value) in &found.facts {
        report.fact(name, value);
    }
    let failed = found.first_failure();
    let outcome = match failed.map(|check| (check.check, check.problems.first())) {
        Some((_, Some(problem))) if found.outcome == Outcome::Unusable => {
            Err(Stop::unusable(problem.code, &problem.place, &problem.why))
        }
        Some((_, Some(problem))) => Err(Stop::refused(problem.code, &problem.place, &problem.why)),
        // INVARIANT: a check that fails names a problem.
        Some((check, None)) => Err(Stop::refused("bad_structure", "", check)),
        None => Ok(()),
    };
    report.evidence = Some(Evidence {
        first_failure: failed.map(|check| check.check),
        integrity: found.integrity,
        assurance: found.assurance,
        checks: found.checks,
    });
    outcome
}
