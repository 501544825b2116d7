use super::Failure;
use crate::cli::Verify;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use verify::{Report, Trust, Verdict};

pub fn run(arguments: &Verify) -> Result<ExitCode, Failure> {
    let trust = match &arguments.trust {
        Some(path) => Some(Trust::parse(&super::read_input(path)?).map_err(Failure::unusable_by)?),
        None => None,
    };
    let further: Vec<&Path> =
        [&arguments.log, &arguments.tx].into_iter().flatten().map(PathBuf::as_path).collect();
    let report = if further.is_empty() {
        verify::verify_reader(reader(&arguments.file)?, trust.as_ref())
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
    Ok(ExitCode::from(report.verdict.exit_code()))
}

const NO_PARTS: &str = "these files are no receipt or run, log and transaction of a mandate";

/// The report as a person reads it: verdict first, then why and where, then what was found.
pub fn shown(report: &Report) -> String {
    let mut lines = vec![match (report.verdict, report.pinned) {
        (Verdict::Valid, true) => "valid: every check passed, by keys you trust".to_owned(),
        (Verdict::Valid, false) => {
            "valid: whole and consistent, by the keys it carries itself (name yours with --trust)".to_owned()
        }
        (Verdict::Refused, _) => format!("refused: {}", report.code.unwrap_or_default()),
        (Verdict::Unusable, _) => format!("unusable: {}", report.code.unwrap_or_default()),
    }];
    if let Some(place) = &report.place {
        lines.push(format!("  at {place}"));
    }
    if let Some(detail) = &report.detail {
        lines.push(format!("  {detail}"));
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
