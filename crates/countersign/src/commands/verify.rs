use super::Failure;
use crate::cli::Verify;
use env::Timestamp;
use pcm::bundle::Status;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use verify::{Crew, Evidence, Report, Trust, Verdict};

pub fn run(arguments: &Verify) -> Result<ExitCode, Failure> {
    let now = match &arguments.now {
        Some(text) => instant(text)?,
        None => env::Source::env(&env::System).now(),
    };
    let trust = match &arguments.trust {
        Some(path) => {
            let trust = Trust::parse(&super::read_input(path)?).map_err(Failure::unusable_by)?;
            Some(trust.standing(now, arguments.receiver.clone()))
        }
        None => None,
    };
    let further: Vec<&Path> =
        [&arguments.log, &arguments.tx].into_iter().flatten().map(PathBuf::as_path).collect();
    let report = if further.is_empty() {
        verify::verify_with(reader(&arguments.file)?, trust.as_ref(), &Threads)
    } else {
        let parts = std::iter::once(arguments.file.as_path()).chain(further).map(super::read_input);
        let proof = verify::join(&parts.collect::<Result<Vec<_>, _>>()?);
        verify::verify(&proof.ok_or_else(|| Failure::unusable(NO_PARTS))?, trust.as_ref())
    };
    if arguments.json {
        let text = serde_json::to_string_pretty(&report).map_err(Failure::unusable_by)?;
        println!("{text}");
    } else {
        print!("{}", shown(&report));
    }
    let warned = report.evidence.as_ref().is_some_and(Evidence::warned);
    match report.verdict {
        Verdict::Valid if warned && arguments.strict => Ok(ExitCode::from(WARNED)),
        verdict => Ok(ExitCode::from(verdict.exit_code())),
    }
}

/// With three decimals or six.
pub fn instant(text: &str) -> Result<Timestamp, Failure> {
    let read = text.parse().ok().or_else(|| pcm::instant(text));
    read.ok_or_else(|| Failure::unusable(format!("{text:?} is not an instant as YYYY-MM-DDThh:mm:ss.mmmZ")))
}

/// What holds, with warnings, under `--strict` (D9).
const WARNED: u8 = 3;

/// As many threads as there are processors.
struct Threads;

impl Crew for Threads {
    fn run(&self, work: &(dyn Fn() + Sync)) {
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| (0..count).for_each(|_| drop(scope.spawn(work))));
    }
}

const NO_PARTS: &str = "these files are no receipt or run, log and transaction of a mandate";

/// The report as a person reads it: verdict first, then why and where, then what was found.
pub fn shown(report: &Report) -> String {
    let mut lines = vec![match (report.verdict, report.pinned) {
        (Verdict::Valid, true) => "valid: every check passed, by keys you trust".to_owned(),
        (Verdict::Valid, false) => {
            "valid: whole and consistent, by the keys it carries itself (name yours with --trust)".to_owned()
        }
        (Verdict::Unproven, _) => {
            format!("accepted, but not all of it is proven: {}", report.code.unwrap_or_default())
        }
        (Verdict::Refused, _) => format!("refused: {}", report.code.unwrap_or_default()),
        (Verdict::Unusable, _) => format!("unusable: {}", report.code.unwrap_or_default()),
    }];
    if report.verdict == Verdict::Valid && report.unchecked.iter().any(|what| what == "brief") {
        lines.iter_mut().for_each(|line| line.push_str(". The brief was not checked"));
    }
    if let Some(place) = &report.place {
        lines.push(format!("  at {place}"));
    }
    if let Some(detail) = &report.detail {
        lines.push(format!("  {detail}"));
    }
    for check in report.evidence.iter().flat_map(|evidence| &evidence.checks) {
        let status = match check.status {
            Status::Pass => "pass",
            Status::Warn => "warn",
            Status::Fail => "FAIL",
        };
        // What records say may hold anything.
        let detail = approvals::text::show(&check.detail.replace(['\n', '\t'], " "));
        lines.push(format!("  [{status}] {}: {detail}", check.check));
    }
    if let Some(evidence) = &report.evidence {
        lines.push(format!("  Integrity: {}.", evidence.integrity));
        lines.push(format!("  Assurance: {}.", evidence.assurance));
    }
    for claim in report.message.iter().flat_map(|message| &message.claims) {
        let why = claim.code.map(|code| format!(" ({code})")).unwrap_or_default();
        lines.push(format!("  claim {}: {}{why}", claim.id, claim.verdict));
    }
    if !report.unchecked.is_empty() {
        lines.push(format!(
            "  not checked, as it is withheld or rests on what is: {}",
            report.unchecked.join(", ")
        ));
    }
    for (name, value) in &report.facts {
        lines.push(format!("  {name}: {value}"));
    }
    lines.push(String::new());
    lines.join("\n")
}

fn reader(path: &Path) -> Result<Box<dyn BufRead>, Failure> {
    if path == Path::new("-") {
        return Ok(Box::new(BufReader::new(std::io::stdin())));
    }
    let file = File::open(path).map_err(|error| Failure::unusable(format!("{}: {error}", path.display())))?;
    Ok(Box::new(BufReader::with_capacity(1 << 20, file)))
}
