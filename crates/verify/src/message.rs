//! Messages that carry their proofs: crate `pcm` judges, this file has the trust, the clock and the report.

use crate::report::{Check, Stop};
use crate::{Claim, Message, Report, Trust};
use pcm::message::{At, Class, Overall, verify};

/// Whether bytes are to be judged as a message: they say so, or the trust is a message's and they are not even JSON.
pub(crate) fn looks_like(value: Option<&canon::Value<'_>>, trust: Option<&Trust>) -> bool {
    match value {
        Some(value) => value.get("pcm").is_some() && !pcm::message::Receiver::is(value),
        None => trust.is_some_and(|trust| trust.messages.is_some()),
    }
}

/// A message proves nothing without a receiver's trust and a clock.
pub(crate) fn check(bytes: &[u8], trust: Option<&Trust>, report: &mut Report) -> Check {
    let missing = |code, what| Stop::unusable(code, "", what);
    let known = trust.and_then(|trust| trust.messages.as_ref().map(|receiver| (trust, receiver)));
    let Some((trust, receiver)) = known else {
        return Err(missing("trust_missing", "a message is checked with a trust file that names speakers"));
    };
    let Some(now) = trust.now else {
        return Err(missing("now_missing", "a message is judged at an instant"));
    };
    let judged = verify(bytes, receiver, &At { now, receiver: trust.receiver.as_deref(), replay: None });
    if let Some(checkpoint) = &judged.checkpoint {
        report.fact("log", &checkpoint.origin);
        report.fact("size", checkpoint.size);
        report.fact("root", checkpoint.root);
        report.fact("witnesses", checkpoint.seen.len());
    }
    let claims = judged.claims.iter().map(|finding| Claim {
        id: finding.id.clone(),
        verdict: finding.verdict.as_str(),
        code: finding.verdict.code().map(pcm::message::Code::as_str),
    });
    report.message = Some(Message {
        overall: judged.overall.as_str(),
        class: judged.fault.as_ref().map(|fault| fault.code.class()).map(Class::as_str),
        claims: claims.collect(),
        grant: judged.grant.map(|hash| hash.prefixed()),
    });
    match (judged.overall, judged.fault) {
        (Overall::Accept, _) => Ok(()),
        (Overall::AcceptUnproven, Some(fault)) => {
            Err(Stop::unproven(fault.code.as_str(), &fault.place, &fault.detail))
        }
        (_, Some(fault)) => Err(Stop::refused(fault.code.as_str(), &fault.place, &fault.detail)),
        // INVARIANT: whatever is not accepted has a fault.
        (_, None) => Err(Stop::refused("bad_schema", "", "refused")),
    }
}
