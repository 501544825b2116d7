//! Evidence bundles (`.tkb`): one run's records, or a tenant's runs, with what proves them (spec 3.14, D43, D44).
//!
//! | file | holds |
//! |---|---|
//! | `manifest.json` | the format, the version a verifier needs, the digest of every other file |
//! | `runs/<id>.jsonl` | a run's records in order; or `runs/<id>.part-0001.jsonl` and so on |
//! | `keys/records.jsonl` | the log's `signer.epoch` and `key.retire` records up to the checkpoint |
//! | `proofs/records.json` | the checkpoint's name and size, and inclusion proofs by `seq` |
//! | `checkpoints/<size>.note` | the checkpoint |
//! | `registry/…` | a set of runs: the registry's leaves and their records |
//! | `policies/<digest>.json` | compiled policies, each named by its digest |
//! | `rekor/<size>.json`, `tsa/<size>.tsr` | where the checkpoint is anchored |
//!
//! A run's records are handed out in pieces that can be checked apart; memory is bounded by the pieces under way, the
//! proofs, and a few words for every call.

mod approvals;
mod files;
mod lines;
mod pieces;
mod report;
mod runs;
mod runset;
mod tally;

pub use files::{FORMAT, VERSION};
pub use report::{Check, Outcome, Problem, Report, Status};
pub(crate) use runset::run_file;

use crate::anchor::{self, Anchor};
use crate::timeline::Keys;
use crate::{Checkpoint, Error, Position, Trust, path};
use canon::{Digest, Value};
use files::{Files, Stop};
use runs::Runs;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The threads that check pieces. `work` ends when there is nothing left to do, whoever runs it, however many do.
pub trait Crew {
    fn run(&self, work: &(dyn Fn() + Sync));
}

/// The caller's own thread.
#[derive(Debug, Clone, Copy)]
pub struct Alone;

impl Crew for Alone {
    fn run(&self, work: &(dyn Fn() + Sync)) {
        work();
    }
}

/// Whether the bytes begin as a zip does.
pub fn looks_like(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK")
}

/// The most bytes a bundle within the limits can have.
pub const MAX_FILE: usize = (512 << 20) + (4 << 20);

/// Checks a bundle. What is not built as a bundle is, or does not hold, is told in the report.
pub fn verify(bytes: &[u8], trust: &Trust, crew: &dyn Crew) -> Report {
    let mut files = match Files::open(bytes) {
        Ok(files) => files,
        Err(error) => return Report::unusable(&error),
    };
    let mut report = Report {
        outcome: Outcome::Verified,
        integrity: "VERIFIED".to_owned(),
        assurance: "none".to_owned(),
        checks: Vec::new(),
        facts: Vec::new(),
    };
    match Verifier::new(trust, crew).run(&mut files, &mut report) {
        Ok(()) => {}
        Err(Stop::Unusable(error)) => return Report::unusable(&error),
        Err(Stop::Structure(error, place)) => {
            report.fail("bundle structure", vec![Problem::new(&error, place)])
        }
    }
    // The manifest is over every file, so it is known last; it is told first.
    let told = std::mem::take(&mut report.checks);
    match files.differing() {
        Err(error) => return Report::unusable(&error),
        Ok(differing) => {
            let problems = differing.iter().map(|name| Problem::new(&Error::Manifest, name)).collect();
            report.judge("manifest", "every file is listed with its digest, and no other is there", problems);
        }
    }
    report.checks.extend(told);
    if report.first_failure().is_some() {
        report.outcome = Outcome::Failed;
        report.integrity = "FAILED".to_owned();
    }
    report
}

/// The records of a bundle at these places of its log, as text, for whoever wants to open what they commit to. Says nothing
/// of whether they hold: [`verify`] does.
pub fn records(bytes: &[u8], places: &BTreeSet<Position>) -> Result<BTreeMap<Position, Vec<u8>>, Error> {
    let files = Files::open(bytes)?;
    let mut source = pieces::Source::new(&files, &pieces::run_files(&files));
    let mut found = BTreeMap::new();
    while let Some(piece) = source.next() {
        for line in files::lines(&piece.bytes) {
            let line = line?;
            let seq = canon::parse(line)?.pointer("/event/seq").and_then(Value::as_u64);
            if let Some(at) = seq.map(Position).filter(|at| places.contains(at)) {
                found.insert(at, line.to_vec());
            }
        }
    }
    source.fault.map_or(Ok(found), Err)
}

const KEYS: &str = "keys/records.jsonl";
/// How many problems of one kind a report keeps.
const MOST: usize = 20;

struct Verifier<'t> {
    trust: &'t Trust,
    crew: &'t dyn Crew,
}

/// What every later step needs: the checkpoint, and the proofs under it.
struct Ground {
    checkpoint: Checkpoint,
    /// Where the checkpoint is anchored, if the verifier pins such logs and the bundle shows it.
    anchor: Option<Anchor>,
    proofs: HashMap<u64, Vec<Digest>>,
}

/// A key record that was shown.
struct Shown {
    seq: u64,
    hash: Digest,
    retires: bool,
}

impl Ground {
    fn includes(&self, seq: u64, hash: &Digest) -> bool {
        self.proofs.get(&seq).is_some_and(|path| self.checkpoint.includes(hash, seq, path).is_ok())
    }
}

impl<'t> Verifier<'t> {
    const fn new(trust: &'t Trust, crew: &'t dyn Crew) -> Self {
        Self { trust, crew }
    }

    fn run(&self, files: &mut Files<'_>, report: &mut Report) -> Result<(), Stop> {
        let Some(ground) = self.ground(files, report)? else { return Ok(()) };
        let (keys, shown, mut key_problems) = self.keys(&files.need(KEYS)?, &ground)?;
        let runs = Runs::read(files, &keys, self.crew)?;
        let set = if files.entry("registry/run-set.json").is_some() {
            Some(runset::check(self, files, &ground, &keys, &runs, report)?)
        } else if runs.about_one() {
            None
        } else {
            let error =
                Error::Structure("neither one run, nor one with its findings and replays, nor a set of runs");
            return Err(Stop::Structure(error, "runs".to_owned()));
        };
        if let Some(set) = &set {
            for (seq, hash) in &set.retired {
                if !shown.iter().any(|one| one.seq == *seq && one.hash == *hash) {
                    key_problems.push(Problem::new(
                        &Error::KeyRecord("a retirement is withheld"),
                        format!("seq {seq}"),
                    ));
                }
            }
        }
        if keys.declared().is_empty() && key_problems.is_empty() {
            key_problems.push(Problem::new(&Error::KeyRecord("no key is declared"), ""));
        }
        let count = keys.declared().len();
        report.judge("keys", format!("{count} record keys from {} key records", shown.len()), key_problems);
        let relied = runs.last_seq().max(keys.last().map_or(0, |position| position.0));
        let proven = set.as_ref().and_then(|set| set.proven_to).is_some_and(|to| to >= relied);
        if !proven && (count > 1 || shown.iter().any(|one| one.retires)) {
            report.warn(
                "keys",
                format!(
                    "no set of runs from the start reaches seq {relied}: a withheld retirement would not show"
                ),
            );
        }
        runs.checks(&ground, report);
        self.policies(files, report);
        runs.integrity(report);
        let self_approved = runs.tally().self_approved();
        runs.lines(report);
        let issuers: Vec<_> = keys.declared().iter().filter_map(|key| key.issuer()).collect();
        report.pass(
            "key assurance",
            if issuers.is_empty() {
                "the log declares its record keys itself".to_owned()
            } else {
                format!("{} of {count} record keys are certified", issuers.len())
            },
        );
        runs.approvals(report);
        let notes = set.as_ref().map_or(&[][..], |set| &set.notes);
        report.assurance = lines::assurance(&ground, notes, self.trust, self_approved, proven);
        report.facts = vec![
            ("origin", ground.checkpoint.origin.to_string()),
            ("size", ground.checkpoint.size.to_string()),
            ("root", ground.checkpoint.root.to_string()),
            ("runs", runs.count().to_string()),
            ("records", runs.records().to_string()),
        ];
        Ok(())
    }

    /// The checkpoint and its proofs. `None` if the checkpoint is not the log's: nothing rests on anything then.
    fn ground(&self, files: &mut Files<'_>, report: &mut Report) -> Result<Option<Ground>, Stop> {
        const PROOFS: &str = "proofs/records.json";
        let bad = |why| Stop::Structure(Error::Structure(why), PROOFS.to_owned());
        let text = files.need(PROOFS)?;
        let proofs = canon::parse(&text).map_err(|error| Stop::Structure(error.into(), PROOFS.to_owned()))?;
        let name = proofs.get("checkpoint").and_then(Value::as_str);
        let name = name
            .filter(|name| name.starts_with("checkpoints/") && name.ends_with(".note"))
            .ok_or_else(|| bad("the proofs name no checkpoint"))?;
        let note = files.need(name)?;
        let checkpoint = match self.trust.open(&note) {
            Ok(checkpoint) => checkpoint,
            Err(error) => {
                report.fail("checkpoint", vec![Problem::new(&error, "")]);
                return Ok(None);
            }
        };
        let sized = proofs.get("tree_size").and_then(Value::as_u64) == Some(checkpoint.size);
        let problems = if sized { Vec::new() } else { vec![Problem::new(&Error::TreeSize, PROOFS)] };
        report.judge("checkpoint", format!("{} at size {}", checkpoint.origin, checkpoint.size), problems);
        let quorum =
            checkpoint.quorum(self.trust).err().iter().map(|error| Problem::new(error, "")).collect();
        let (found, required) = (checkpoint.seen.len(), self.trust.required());
        report.judge("witness quorum", format!("{found} pinned witnesses, {required} required"), quorum);
        let anchor = self.anchor(files, &note, checkpoint.size, report)?;
        let inclusion = proofs.get("inclusion").and_then(Value::as_object);
        let inclusion = inclusion.ok_or_else(|| bad("there are no proofs"))?;
        let proofs = inclusion
            .iter()
            .filter_map(|(seq, hashes)| {
                let number: u64 = seq.parse().ok()?;
                (number.to_string() == seq).then_some((number, path(hashes)?))
            })
            .collect();
        Ok(Some(Ground { checkpoint, anchor, proofs }))
    }

    /// An anchor that does not hold fails the bundle; none is looked for where none is pinned.
    fn anchor(
        &self,
        files: &mut Files<'_>,
        note: &[u8],
        size: u64,
        report: &mut Report,
    ) -> Result<Option<Anchor>, Stop> {
        let Some(rekor) = &self.trust.rekor else { return Ok(None) };
        let Some(entry) = files.read(&format!("rekor/{size}.json"))? else { return Ok(None) };
        let stamp = files.read(&format!("tsa/{size}.tsr"))?.unwrap_or_default();
        match anchor::check(note, &entry, &stamp, rekor, self.trust) {
            Ok(anchor) => {
                report.pass("rekor anchor", format!("in {} since {}", anchor.log, anchor.at));
                Ok(Some(anchor))
            }
            Err(error) => {
                report.fail("rekor anchor", vec![Problem::new(&error, format!("rekor/{size}.json"))]);
                Ok(None)
            }
        }
    }

    fn keys(&self, text: &[u8], ground: &Ground) -> Result<(Keys, Vec<Shown>, Vec<Problem>), Stop> {
        let mut keys: Option<Keys> = None;
        let (mut shown, mut problems) = (Vec::new(), Vec::new());
        for record in files::records(text, KEYS) {
            let (_, record) = record?;
            let member = |name| record.event().get(name);
            let log_id = || member("log_id").and_then(Value::as_str).unwrap_or_default();
            let keys = keys.get_or_insert_with(|| Keys::new(log_id(), self.trust));
            let seq = member("seq").and_then(Value::as_u64);
            let included = match (seq, record.hash()) {
                (Some(seq), Some(hash)) if ground.includes(seq, &hash) => Some((seq, hash)),
                _ => None,
            };
            let outcome = included.ok_or(Error::NotIncluded).and_then(|_| keys.take(&record, self.trust));
            if let Err(error) = outcome
                && problems.len() < MOST
            {
                let place = seq.map_or_else(|| KEYS.to_owned(), |seq| format!("seq {seq}"));
                problems.push(Problem::new(&error, place));
            }
            if let Some((seq, hash)) = included {
                let retires = member("type").and_then(Value::as_str) == Some("key.retire");
                shown.push(Shown { seq, hash, retires });
            }
        }
        Ok((keys.unwrap_or_else(|| Keys::new("", self.trust)), shown, problems))
    }

    fn policies(&self, files: &mut Files<'_>, report: &mut Report) {
        let names: Vec<_> = files.names().filter(|name| name.starts_with("policies/")).collect();
        // A file that does not unpack makes the whole bundle unusable, later.
        let _ = files.differing();
        for name in names {
            let own = files.digest(name).map(|digest| format!("policies/{digest}.json"));
            let problems = if own.as_deref() == Some(name) {
                Vec::new()
            } else {
                vec![Problem::new(&Error::PolicyName, name)]
            };
            report.judge("policy snapshot", name, problems);
        }
    }
}
