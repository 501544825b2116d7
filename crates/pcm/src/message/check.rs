//! The order of checks (spec 4.2). Steps 1 to 14 refuse the whole message; no claim is read before all records and openings hold.

use super::call::View;
use super::claims;
use super::code::{Code, Overall, Verdict};
use super::grants::{self, Grant};
use super::receiver::Receiver;
use super::replay::{Acceptance, Replay};
use super::seen::Seen;
use super::shelf::Shelf;
use super::tools::registry;
use super::wire::{Fault, Message, Sender, Wire};
use crate::record::ALG;
use crate::{Checkpoint, Error, Keys, Position, Unverified};
use canon::{Digest, Value};
use env::Timestamp;
use keys::{PublicKey, Signature};
use ledger::merkle::verify_inclusions;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The value of `t` in what a message's key signs.
pub const TAG: &str = "countersign.pcm.message.v1";

/// When and as whom a message is judged.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "it borrows the caller's store")]
pub struct At<'a> {
    pub now: Timestamp,
    /// As which of the receivers of the trust document; `None` for any.
    pub receiver: Option<&'a str>,
    /// `None`: whether it was accepted before is not asked.
    pub replay: Option<&'a dyn Replay>,
}

/// What is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// What is written on it, once it can be read.
    pub heading: Option<Heading>,
    pub overall: Overall,
    /// Why it is rejected, or the first reason why it is not wholly proven.
    pub fault: Option<Fault>,
    /// One a claim, in their order; none if the message was refused before.
    pub claims: Vec<Finding>,
    /// The hash of the last grant, under which it is asked.
    pub grant: Option<Digest>,
    /// The checkpoint, once it is believed.
    pub checkpoint: Option<Checkpoint>,
    /// What to remember; absent if it is rejected.
    pub acceptance: Option<Acceptance>,
}

/// Whose it says it is. Believed only with the verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    pub hash: Digest,
    pub id: String,
    pub from: Sender,
    pub to: String,
    pub iat: Timestamp,
    pub exp: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub id: String,
    pub verdict: Verdict,
}

/// Judges a message.
pub fn verify(bytes: &[u8], receiver: &Receiver, at: &At<'_>) -> Judgement {
    judged(bytes, receiver, at, &Seen::default())
}

/// The same; checkpoints and keys that `seen` holds are not checked again.
pub(crate) fn judged(bytes: &[u8], receiver: &Receiver, at: &At<'_>, seen: &Seen) -> Judgement {
    let mut judgement = Judgement {
        heading: None,
        overall: Overall::Reject,
        fault: None,
        claims: Vec::new(),
        grant: None,
        checkpoint: None,
        acceptance: None,
    };
    if let Err(fault) = run(bytes, receiver, at, seen, &mut judgement) {
        judgement.fault = Some(fault);
    }
    judgement
}

fn run(
    bytes: &[u8],
    receiver: &Receiver,
    at: &At<'_>,
    seen: &Seen,
    judgement: &mut Judgement,
) -> Result<(), Fault> {
    let message = Message::read(bytes)?;
    let wire = &message.wire;
    judgement.heading = Some(Heading {
        hash: message.hash(),
        id: wire.id.clone(),
        from: wire.from.clone(),
        to: wire.to.clone(),
        iat: wire.iat,
        exp: wire.exp,
    });
    let checkpoint =
        seen.checkpoint(&wire.from.origin, &wire.evidence.checkpoint, || opened(wire, receiver))?;
    let keys = keys(&message, receiver, &checkpoint, seen)?;
    signed(&message, receiver, &keys, &checkpoint)?;
    if !receiver.lets_speak(&wire.from) {
        return Err(Fault::at(Code::WrongSender, "/from"));
    }
    if !receiver.receives(&wire.to) || at.receiver.is_some_and(|own| own != wire.to) {
        return Err(Fault::at(Code::WrongAudience, "/to"));
    }
    in_time(wire, receiver, &checkpoint, at.now)?;
    if let Some(replay) = at.replay {
        remembered(wire, &checkpoint, replay)?;
    }
    judgement.checkpoint = Some(checkpoint.clone());
    let records = records(&message)?;
    let mut shelf = Shelf::default();
    let mut leaves = Vec::with_capacity(records.len());
    for (rid, record) in &records {
        let place = format!("/evidence/records/{rid}");
        let checked =
            record.check(&keys).map_err(|error| Fault::new(Code::from(&error), place.clone(), error))?;
        leaves.push((checked.event().position().0, checked.leaf()));
        shelf.put(rid, &checked);
        if !shelf.get(rid).is_some_and(|shown| shown.is_of_tenant(&wire.from)) {
            return Err(Fault::at(Code::WrongTenant, place));
        }
    }
    included(&checkpoint, leaves, &wire.evidence.proof, "/evidence/proof")?;
    registered(wire, &shelf)?;
    for (rid, opening) in &wire.evidence.openings {
        shelf.open(rid, opening)?;
    }
    accounted(wire, &shelf)?;
    let agreed = intent(wire, receiver)?;
    let view = View {
        from: &wire.from,
        registry: registry().filter(|_| receiver.knows_tools()),
        size: checkpoint.size,
        bridges: receiver.bridges(),
        break_glass: receiver.break_glass(),
    };
    let grants = grants::chain(&wire.grants, &shelf, &view, Some(&keys))?;
    granted(wire, receiver, &grants, at)?;
    judgement.grant = grants.last().map(Grant::hash);
    let verdicts = claims::judge(&wire.claims, &shelf, &view, receiver.still());
    let named = wire.claims.iter().zip(&verdicts);
    judgement.claims =
        named.map(|(claim, verdict)| Finding { id: claim.id.clone(), verdict: *verdict }).collect();
    let missing = agreed.iter().any(|predicate| {
        !wire
            .claims
            .iter()
            .zip(&verdicts)
            .any(|(claim, verdict)| claim.pred == *predicate && *verdict == Verdict::Proven)
    });
    (judgement.overall, judgement.fault) = overall(&verdicts, missing);
    if judgement.overall != Overall::Reject {
        judgement.acceptance = Some(Acceptance {
            origin: wire.from.origin.clone(),
            id: wire.id.clone(),
            until: wire.exp + receiver.skew(),
            grants: grants.iter().map(|grant| (grant.hash(), grant.max_uses())).collect(),
            checkpoint: (checkpoint.size, checkpoint.root),
        });
    }
    Ok(())
}

/// Rejected if a claim failed; accepted if all are proven and none is missing.
pub(crate) fn overall(verdicts: &[Verdict], missing: bool) -> (Overall, Option<Fault>) {
    let first = |wanted: fn(&Verdict) -> bool| {
        let found = verdicts.iter().enumerate().find(|(_, verdict)| wanted(verdict));
        found.and_then(|(at, verdict)| verdict.code().map(|code| Fault::at(code, format!("/claims/{at}"))))
    };
    if let Some(fault) = first(|verdict| matches!(verdict, Verdict::Failed(_))) {
        return (Overall::Reject, Some(fault));
    }
    match first(|verdict| matches!(verdict, Verdict::Unproven(_))) {
        Some(fault) => (Overall::AcceptUnproven, Some(fault)),
        None if missing => (Overall::AcceptUnproven, Some(Fault::at(Code::NoEvidence, "/claims"))),
        None => (Overall::Accept, None),
    }
}

/// Step 4: the origin is pinned, the note holds, enough trusted witnesses cosigned.
fn opened(wire: &Wire, receiver: &Receiver) -> Result<Checkpoint, Fault> {
    let place = "/evidence/checkpoint";
    let trust = receiver.trust();
    if !trust.origins().any(|origin| origin.as_str() == wire.from.origin) {
        return Err(Fault::at(Code::UnknownLog, "/from/origin"));
    }
    let bad = |detail: String| Fault::new(Code::BadCheckpoint, place, detail);
    let mut checkpoint =
        trust.open(wire.evidence.checkpoint.as_bytes()).map_err(|error| bad(error.to_string()))?;
    if checkpoint.origin.as_str() != wire.from.origin {
        return Err(bad("it is of another log".to_owned()));
    }
    if checkpoint.size == 0 {
        return Err(bad("its log is empty".to_owned()));
    }
    checkpoint.seen.retain(|seen| receiver.counts(seen.class));
    checkpoint.quorum(trust).map_err(|error| Fault::new(Code::WitnessQuorum, place, error))?;
    Ok(checkpoint)
}

/// Step 5: the key records, in the tree and in their order.
fn keys(
    message: &Message<'_>,
    receiver: &Receiver,
    checkpoint: &Checkpoint,
    seen: &Seen,
) -> Result<Arc<Keys>, Fault> {
    let wire = &message.wire;
    let place = |at: usize| format!("/evidence/keys/{at}");
    let mut shown = Vec::with_capacity(message.keys.len());
    for (at, record) in message.keys.iter().enumerate() {
        let read = record.as_ref().map_err(Error::clone).and_then(|record| Ok((record, record.hashed()?)));
        shown.push(read.map_err(|error| Fault::new(Code::from(&error), place(at), error))?);
    }
    let leaves = shown.iter().map(|(_, hashed)| (hashed.event().position().0, hashed.leaf())).collect();
    included(checkpoint, leaves, &wire.evidence.keys_proof, "/evidence/keys_proof")?;
    seen.keys(&wire.from.log_id, &shown, || {
        let mut keys = Keys::new(&wire.from.log_id, receiver.trust());
        for (at, (record, hashed)) in shown.iter().enumerate() {
            keys.take_hashed(record, hashed, receiver.trust())
                .map_err(|error| Fault::new(Code::from(&error), place(at), error))?;
        }
        Ok(keys)
    })
}

/// Step 6: by a record key that is valid at the checkpoint, and never by the log's own.
fn signed(
    message: &Message<'_>,
    receiver: &Receiver,
    keys: &Keys,
    checkpoint: &Checkpoint,
) -> Result<(), Fault> {
    let wire = &message.wire;
    if wire.alg != ALG || !receiver.trust().allows(ALG) {
        return Err(Fault::at(Code::AlgNotAllowed, "/alg"));
    }
    let key = keys
        .at(&wire.kid, Position(checkpoint.size.saturating_sub(1)))
        .map_err(|error| Fault::new(Code::from(&error), "/kid", error))?;
    let of_log = |log: &ledger::note::VerifierKey| PublicKey::Ed25519(*log.public()) == *key.public();
    if receiver.trust().logs.iter().any(of_log) {
        return Err(Fault::new(Code::UnknownKey, "/kid", "a log's own key signs no message"));
    }
    let signature = Signature::from_base64(&wire.sig).map_err(|_| Fault::at(Code::BadEncoding, "/sig"))?;
    let statement = statement(&message.hash(), &wire.kid);
    key.public().verify(&statement, &signature).map_err(|_| Fault::at(Code::BadSignature, "/sig"))
}

/// What a message's key signs.
pub(crate) fn statement(hash: &Digest, kid: &str) -> Vec<u8> {
    let kid = canon::to_vec(kid).unwrap_or_default();
    let head = format!("{{\"alg\":\"{ALG}\",\"hash\":\"sha256:{hash}\",\"kid\":");
    [head.as_bytes(), &kid, format!(",\"t\":\"{TAG}\"}}").as_bytes()].concat()
}

/// Step 9: its window, and how long ago a trusted witness saw the log.
fn in_time(wire: &Wire, receiver: &Receiver, checkpoint: &Checkpoint, now: Timestamp) -> Result<(), Fault> {
    if wire.iat > now + receiver.skew() {
        return Err(Fault::at(Code::NotYetValid, "/iat"));
    }
    let long = wire.exp <= wire.iat || wire.exp.since(wire.iat) > receiver.lifetime();
    if long || wire.exp + receiver.skew() <= now {
        return Err(Fault::at(Code::Expired, "/exp"));
    }
    match receiver.checkpoint_age() {
        Some(age) if !checkpoint.seen.iter().any(|seen| now.since(seen.at) <= age) => {
            Err(Fault::at(Code::StaleCheckpoint, "/evidence/checkpoint"))
        }
        _ => Ok(()),
    }
}

/// Step 10: not accepted before, and no other history of the log was believed.
fn remembered(wire: &Wire, checkpoint: &Checkpoint, replay: &dyn Replay) -> Result<(), Fault> {
    let since = replay.since()?;
    if wire.iat < since {
        return Err(Fault::at(Code::ReplayStateUnavailable, "/iat"));
    }
    if replay.accepted(&wire.from.origin, &wire.id)? {
        return Err(Fault::at(Code::Replayed, "/id"));
    }
    match replay.largest(&wire.from.origin)? {
        Some((size, root)) if size == checkpoint.size && root != checkpoint.root => Err(Fault::new(
            Code::BadCheckpoint,
            "/evidence/checkpoint",
            "another history of this log was believed",
        )),
        _ => Ok(()),
    }
}

/// The records, in the order of their names.
fn records<'m>(message: &'m Message<'_>) -> Result<Vec<(&'m str, &'m Unverified<'m>)>, Fault> {
    let read = |(rid, record): (&'m String, &'m Result<Unverified<'m>, Error>)| match record {
        Ok(record) => Ok((rid.as_str(), record)),
        Err(error) => Err(Fault::new(Code::from(error), format!("/evidence/records/{rid}"), error)),
    };
    message.records.iter().map(read).collect()
}

/// All of these leaves are in the tree, each at its place.
fn included(
    checkpoint: &Checkpoint,
    mut leaves: Vec<(u64, Digest)>,
    proof: &str,
    place: &str,
) -> Result<(), Fault> {
    let proof = hashes(proof).ok_or_else(|| Fault::at(Code::BadEncoding, place))?;
    leaves.sort_unstable();
    leaves.dedup();
    verify_inclusions(&leaves, checkpoint.size, &proof, &checkpoint.root)
        .map_err(|error| Fault::new(Code::NotIncluded, place, error))
}

/// The base64 of hashes, one after the other.
fn hashes(text: &str) -> Option<Vec<Digest>> {
    let bytes = crate::base64(text)?;
    let (hashes, rest) = bytes.as_chunks::<32>();
    rest.is_empty().then(|| hashes.iter().copied().map(Digest::from_bytes).collect())
}

/// The sender's agent is who registered the run.
pub(crate) fn registered(wire: &Wire, shelf: &Shelf<'_>) -> Result<(), Fault> {
    let own = shelf.iter().any(|(_, shown)| {
        let identity = |name| shown.event.data().get("identity").and_then(|identity| identity.get(name));
        let text = |name| identity(name).and_then(Value::as_str).unwrap_or_default();
        shown.event.kind() == "run.registered"
            && shown.event.run_id() == wire.from.run_id
            && identity("attested").and_then(Value::as_bool) == Some(true)
            && format!("{}:{}", text("scheme"), text("subject")) == wire.from.agent
    });
    if own { Ok(()) } else { Err(Fault::at(Code::WrongSender, "/from/agent")) }
}

/// Every record shown is one that something rests on.
pub(crate) fn accounted(wire: &Wire, shelf: &Shelf<'_>) -> Result<(), Fault> {
    let claims = wire.claims.iter().flat_map(|claim| &claim.evidence);
    let links = wire.grants.iter().flat_map(|link| link.approval.iter().chain([&link.logged]));
    let used: BTreeSet<&str> = claims.chain(links).map(String::as_str).collect();
    let spare = shelf.iter().find(|(rid, shown)| {
        let own = shown.event.kind() == "run.registered" && shown.event.run_id() == wire.from.run_id;
        !used.contains(rid) && !own
    });
    match spare {
        Some((rid, _)) => Err(Fault::at(Code::UnusedEvidence, format!("/evidence/records/{rid}"))),
        None => Ok(()),
    }
}

/// Step 13: an agreed intent, of the agreed schema. Gives the predicates it demands.
fn intent<'r>(wire: &Wire, receiver: &'r Receiver) -> Result<&'r [String], Fault> {
    let Some(intent) = &wire.intent else { return Ok(&[]) };
    let agreed =
        receiver.intent(&intent.kind).ok_or_else(|| Fault::at(Code::UnknownIntent, "/intent/type"))?;
    if crate::event::digest(&intent.schema) != Some(agreed.digest) {
        return Err(Fault::at(Code::SchemaMismatch, "/intent/schema"));
    }
    agreed.schema.holds(&intent.args).map_err(|misfit| {
        Fault::new(Code::IntentInvalid, format!("/intent/args{}", misfit.place), misfit.why)
    })?;
    Ok(&agreed.claims)
}

/// Step 14, beyond the chain itself: in time, not revoked, not used up, and what is asked is within the last grant.
fn granted(wire: &Wire, receiver: &Receiver, grants: &[Grant], at: &At<'_>) -> Result<(), Fault> {
    let fault = |code, index: usize| Fault::at(code, format!("/grants/{index}"));
    for (index, grant) in grants.iter().enumerate() {
        if !grant.lasts(at.now) || receiver.has_revoked(&grant.hash()) {
            return Err(fault(Code::GrantExpired, index));
        }
    }
    let Some(intent) = &wire.intent else { return Ok(()) };
    let agreed = receiver.intent(&intent.kind);
    let unit = |field: &str| agreed.and_then(|agreed| agreed.units.get(field)).map(String::as_str);
    match grants.last() {
        None if agreed.is_some_and(|agreed| agreed.grant) => return Err(Fault::at(Code::NoGrant, "/grants")),
        None => {}
        Some(last) if !last.allows(&intent.kind, &intent.args, unit, &wire.to) => {
            return Err(fault(Code::GrantExceeded, grants.len().saturating_sub(1)));
        }
        Some(_) => {}
    }
    let Some(replay) = at.replay else { return Ok(()) };
    for (index, grant) in grants.iter().enumerate() {
        let used = replay.uses(&grant.hash())?;
        if grant.max_uses().is_some_and(|most| used >= most) {
            return Err(fault(Code::GrantUsed, index));
        }
    }
    Ok(())
}

impl From<&Error> for Code {
    fn from(error: &Error) -> Self {
        match error {
            Error::Json(_) => Self::BadJson,
            Error::RecordForm(_) | Error::Schema { .. } => Self::BadSchema,
            Error::RecordHash => Self::RecordHash,
            Error::Algorithm { .. } => Self::AlgNotAllowed,
            Error::KeyRetired { .. } => Self::KeyRetired,
            Error::Encoding => Self::BadEncoding,
            Error::RecordSignature => Self::RecordSignature,
            Error::WrongLog => Self::WrongLog,
            Error::NotIncluded => Self::NotIncluded,
            Error::Opening => Self::BadOpening,
            _ => Self::UnknownKey,
        }
    }
}
