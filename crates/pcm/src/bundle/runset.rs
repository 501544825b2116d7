//! A set of runs: that these are all the runs of a tenant that were registered and ended between two sizes of its registry
//! (spec 3.12).

use super::files::{self, Files, Stop};
use super::runs::Runs;
use super::{Ground, Problem, Report, Verifier};
use crate::registry::{self, Kind, Leaf};
use crate::timeline::Keys;
use crate::{Checkpoint, Error, Event, Unverified, base64, path};
use canon::{Digest, Value};
use ledger::merkle;
use std::collections::{BTreeMap, BTreeSet, HashMap};

const FILE: &str = "registry/run-set.json";
const RECORDS: &str = "registry/records.jsonl";

/// What a set proves beside itself.
pub(crate) struct Set {
    /// The retirements of keys within the range.
    pub(crate) retired: Vec<(u64, Digest)>,
    /// The last place the range reaches, if it begins at the start: no retirement up to there is withheld.
    pub(crate) proven_to: Option<u64>,
    /// The registry's checkpoints.
    pub(crate) notes: Vec<Checkpoint>,
}

/// What the file says.
struct Told {
    from: u64,
    to: u64,
    salt: Digest,
    consistency: Vec<Digest>,
    leaves: Vec<(Vec<u8>, Vec<Digest>)>,
}

/// The registry's checkpoints at both ends: their roots by size, themselves, and what is wrong with them.
type Ends = (HashMap<u64, Digest>, Vec<Checkpoint>, Vec<Problem>);

/// What the leaves say.
#[derive(Default)]
struct Found {
    tenant: Option<String>,
    registered: BTreeMap<String, Digest>,
    finals: BTreeMap<String, Digest>,
    retired: Vec<(u64, Digest)>,
    /// The place and the last place of a log that was closed.
    closed: Option<(u64, u64)>,
    targets: BTreeSet<String>,
    top: Option<u64>,
    gaps: BTreeMap<String, usize>,
    problems: Vec<Problem>,
}

pub(crate) fn check(
    verifier: &Verifier<'_>,
    files: &mut Files<'_>,
    ground: &Ground,
    keys: &Keys,
    runs: &Runs,
    report: &mut Report,
) -> Result<Set, Stop> {
    let text = files.need(FILE)?;
    let value = canon::parse(&text).map_err(|error| Stop::Structure(error.into(), FILE.to_owned()))?;
    let whole = |name| value.get(name).and_then(Value::as_u64);
    let (Some(from), Some(to)) = (whole("from"), whole("to")) else {
        return Ok(incomplete(report, vec![problem("the range is not two integers", FILE)], Vec::new()));
    };
    let told = told(&value, from, to).ok_or_else(|| malformed(FILE))?;
    let (roots, notes, mut problems) = roots(verifier, files, ground, &told)?;
    if from > to || to == 0 {
        problems.push(problem("the range is none", FILE));
    }
    if !problems.is_empty() {
        return Ok(incomplete(report, problems, notes));
    }
    if from > 0 && from < to {
        let root = |size| roots.get(&size).copied().unwrap_or(Digest::ZERO);
        if merkle::verify_consistency(from, &root(from), to, &root(to), &told.consistency).is_err() {
            problems.push(problem("the earlier registry does not begin the later one", FILE));
        }
    }
    if u64::try_from(told.leaves.len()) != Ok(to - from) {
        problems.push(problem("a leaf of the range is missing", FILE));
    }
    let text = files.need(RECORDS)?;
    let mut records = HashMap::new();
    for record in files::records(&text, RECORDS) {
        let (line, record) = record?;
        if let Some(seq) = record.event().get("seq").and_then(Value::as_u64) {
            records.insert(seq, line);
        }
    }
    let mut found = Found { problems, ..Found::default() };
    found.leaves(&told, roots.get(&to), &records, ground, keys);
    found.runs(runs);
    if let Some((_, last)) = found.closed
        && ground.checkpoint.size > last.saturating_add(1)
    {
        found.problems.push(problem("there are records after the log was closed", ""));
    }
    let open = found.registered.keys().filter(|run| !found.finals.contains_key(*run)).count();
    let detail = format!(
        "registry {from}..{to}, {} runs registered, {} ended, {open} open",
        found.registered.len(),
        found.finals.len()
    );
    report.judge("run-set", detail, found.problems);
    if !found.gaps.is_empty() {
        let told: Vec<_> = found.gaps.iter().map(|(kind, number)| format!("{kind} {number}")).collect();
        report.warn("tenant-level gaps", told.join(", "));
    }
    let tail = match found.closed {
        Some((seq, _)) => format!("none: the log was closed at seq {seq}"),
        None => format!("what comes after size {} is not proven", ground.checkpoint.size),
    };
    report.note("log tail", found.closed.is_some(), tail);
    Ok(Set { retired: found.retired, proven_to: found.top.filter(|_| from == 0), notes })
}

fn incomplete(report: &mut Report, problems: Vec<Problem>, notes: Vec<Checkpoint>) -> Set {
    report.fail("run-set", problems);
    Set { retired: Vec::new(), proven_to: None, notes }
}

fn told(value: &Value<'_>, from: u64, to: u64) -> Option<Told> {
    let salt: [u8; 32] = base64(value.get("tenant_salt")?.as_str()?)?.try_into().ok()?;
    let leaves = value.get("leaves")?.as_array()?.iter();
    let leaves = leaves
        .map(|one| Some((base64(one.get("leaf")?.as_str()?)?, path(one.get("inclusion")?)?)))
        .collect::<Option<_>>()?;
    Some(Told {
        from,
        to,
        salt: Digest::from_bytes(salt),
        consistency: path(value.get("consistency")?)?,
        leaves,
    })
}

/// The registry's checkpoints at both ends, signed by the log's own keys under the registry's name, cosigned by enough.
fn roots(verifier: &Verifier<'_>, files: &mut Files<'_>, ground: &Ground, told: &Told) -> Result<Ends, Stop> {
    let log = &ground.checkpoint.origin;
    let name = registry::origin(log, &told.salt).map_err(|_| malformed(FILE))?;
    let (mut roots, mut notes, mut problems) = (HashMap::new(), Vec::new(), Vec::new());
    for size in BTreeSet::from([told.from, told.to]).into_iter().filter(|size| *size > 0) {
        let file = format!("checkpoints/registry-{size}.note");
        let Some(note) = files.read(&file)? else {
            problems.push(problem("a checkpoint of the registry is missing", &file));
            continue;
        };
        match verifier.trust.open_as(&note, log, &name) {
            Ok(checkpoint) if checkpoint.size == size && checkpoint.origin == name => {
                if let Err(error) = checkpoint.quorum(verifier.trust) {
                    problems.push(Problem::new(&error, &file));
                }
                roots.insert(size, checkpoint.root);
                notes.push(checkpoint);
            }
            Ok(_) => problems.push(problem("a checkpoint is of another size", &file)),
            Err(error) => problems.push(Problem::new(&error, &file)),
        }
    }
    Ok((roots, notes, problems))
}

impl Found {
    fn leaves(
        &mut self,
        told: &Told,
        root: Option<&Digest>,
        records: &HashMap<u64, &[u8]>,
        ground: &Ground,
        keys: &Keys,
    ) {
        for ((bytes, path), index) in told.leaves.iter().zip(told.from..told.to) {
            let place = || format!("leaf {index}");
            let within = root.is_some_and(|root| {
                merkle::verify_inclusion(&merkle::leaf_hash(bytes), index, told.to, path, root).is_ok()
            });
            if !within {
                self.problems.push(problem("a leaf is not in the registry's tree", place()));
                continue;
            }
            let leaf = match Leaf::parse(bytes) {
                Ok(leaf) => leaf,
                Err(error) => {
                    self.problems.push(Problem::new(&error, place()));
                    continue;
                }
            };
            let record = records
                .get(&leaf.seq)
                .and_then(|line| Unverified::parse(line).ok())
                .filter(|record| record.hash() == Some(leaf.hash) && ground.includes(leaf.seq, &leaf.hash));
            let Some(record) = record else {
                self.problems.push(problem("a leaf points to a record that is missing or another", place()));
                continue;
            };
            match record.check(keys) {
                Err(error) => self.problems.push(Problem::new(&error, place())),
                Ok(checked) if Leaf::of(&checked, &told.salt) == Some(leaf) => {
                    self.take(&leaf, &checked.event())
                }
                Ok(_) => {
                    self.problems
                        .push(problem("a leaf points to a record that is missing or another", place()));
                }
            }
        }
    }

    fn take(&mut self, leaf: &Leaf, event: &Event<'_>) {
        self.top = self.top.max(Some(leaf.seq));
        let place = || format!("seq {}", leaf.seq);
        if matches!(leaf.kind, Kind::Registered | Kind::Final) {
            let tenant = self.tenant.get_or_insert_with(|| event.tenant().to_owned());
            if tenant != event.tenant() {
                self.problems.push(problem("a leaf is of another tenant", place()));
                return;
            }
            self.targets.insert(run_file(event.tenant(), event.run_id()));
        }
        match leaf.kind {
            Kind::Registered => {
                self.registered.insert(event.run_id().to_owned(), leaf.hash);
            }
            Kind::Final => {
                if self.finals.insert(event.run_id().to_owned(), leaf.hash).is_some() {
                    self.problems.push(problem("a run ends twice", place()));
                }
            }
            Kind::Retired => self.retired.push((leaf.seq, leaf.hash)),
            Kind::Closed => {
                let last = event.data().get("final_seq").and_then(Value::as_u64).unwrap_or_default();
                self.closed = Some((leaf.seq, last));
            }
            Kind::Gap | Kind::Tamper => {
                *self.gaps.entry(event.data_text("kind").unwrap_or_default().to_owned()).or_default() += 1;
            }
        }
    }

    /// Every run that ended is here whole; every run that is here is in the range, or is the one that was asked for.
    fn runs(&mut self, runs: &Runs) {
        let Some(tenant) = self.tenant.clone() else {
            if !runs.runs.is_empty() {
                self.problems.push(problem("a run is not of the set's tenant", ""));
            }
            return;
        };
        for (run, hash) in &self.finals {
            let there = runs.runs.get(&run_file(&tenant, run)).is_some_and(|found| {
                let begins = self.registered.get(run).is_none_or(|first| found.first.hash == Some(*first));
                found.last.hash == Some(*hash) && begins
            });
            if !there {
                self.problems.push(problem("a run that ended in the range is not here whole", run));
            }
        }
        if runs.runs.values().any(|run| run.first.tenant.as_ref() != Some(&tenant)) {
            self.problems.push(problem("a run is not of the set's tenant", ""));
        }
        if runs.runs.keys().filter(|name| !self.targets.contains(*name)).count() > 1 {
            self.problems.push(problem("more than one run is in no leaf of the range", ""));
        }
    }
}

/// The name of a run's file, which carries none of the caller's text.
pub(crate) fn run_file(tenant: &str, run_id: &str) -> String {
    let digest = Digest::of_parts(&[tenant.as_bytes(), b"/", run_id.as_bytes()]).to_string();
    format!("runs/{}.jsonl", digest.get(..32).unwrap_or_default())
}

fn problem(why: &'static str, place: impl std::fmt::Display) -> Problem {
    Problem::new(&Error::RunSet(why), place)
}

fn malformed(name: &str) -> Stop {
    Stop::Structure(Error::Structure("a file is malformed"), name.to_owned())
}
