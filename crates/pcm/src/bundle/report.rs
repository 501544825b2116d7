use crate::Error;
use ledger::Coded;
use serde::Serialize;
use std::fmt;

/// Whether the bundle holds, and the exit code that says it (D9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Verified,
    Failed,
    Unusable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Pass,
    Warn,
    Fail,
}

/// One line of a report. The names are the format's own words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    pub check: &'static str,
    pub status: Status,
    pub detail: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
}

/// What does not hold: a stable code, where, and a sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    pub code: &'static str,
    /// `seq N`, the name of a file, or nothing.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub place: String,
    pub why: String,
}

impl Problem {
    pub(crate) fn new(error: &Error, place: impl fmt::Display) -> Self {
        let mut place = place.to_string();
        if let Some(inner) = error.place() {
            place = if place.is_empty() { inner } else { format!("{place} {inner}") };
        }
        Self { code: error.code(), place, why: error.to_string() }
    }
}

/// What was found, in the order of spec 3.14.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub outcome: Outcome,
    /// `VERIFIED`, `VERIFIED TO HEAD n (open)`, `FAILED`, `UNUSABLE BUNDLE`, `UNVERIFIABLE (…)`.
    pub integrity: String,
    /// How far the log's word is seconded: dev, local, witnessed, and what that rests on.
    pub assurance: String,
    pub checks: Vec<Check>,
    /// What was read, for display.
    pub facts: Vec<(&'static str, String)>,
}

impl Report {
    pub(crate) fn unusable(error: &Error) -> Self {
        let integrity = match error {
            Error::Later(version) => format!("UNVERIFIABLE (needs tracekit >= {version})"),
            _ => "UNUSABLE BUNDLE".to_owned(),
        };
        let mut report = Self {
            outcome: Outcome::Unusable,
            integrity,
            assurance: "none".to_owned(),
            checks: Vec::new(),
            facts: Vec::new(),
        };
        report.fail("bundle readable", vec![Problem::new(error, "")]);
        report
    }

    /// The check that failed first.
    pub fn first_failure(&self) -> Option<&Check> {
        self.checks.iter().find(|check| check.status == Status::Fail)
    }
    pub fn warned(&self) -> bool {
        self.checks.iter().any(|check| check.status == Status::Warn)
    }

    pub(crate) fn pass(&mut self, check: &'static str, detail: impl fmt::Display) {
        self.push(check, Status::Pass, detail.to_string(), Vec::new());
    }
    pub(crate) fn warn(&mut self, check: &'static str, detail: impl fmt::Display) {
        self.push(check, Status::Warn, detail.to_string(), Vec::new());
    }
    pub(crate) fn fail(&mut self, check: &'static str, problems: Vec<Problem>) {
        let detail = problems.first().map_or_else(String::new, |problem| problem.why.clone());
        self.push(check, Status::Fail, detail, problems);
    }
    /// Passes with that detail unless there are problems.
    pub(crate) fn judge(&mut self, check: &'static str, detail: impl fmt::Display, problems: Vec<Problem>) {
        if problems.is_empty() { self.pass(check, detail) } else { self.fail(check, problems) }
    }
    /// Passes, or warns where `clean` is false.
    pub(crate) fn note(&mut self, check: &'static str, clean: bool, detail: impl fmt::Display) {
        let status = if clean { Status::Pass } else { Status::Warn };
        self.push(check, status, detail.to_string(), Vec::new());
    }

    fn push(&mut self, check: &'static str, status: Status, detail: String, problems: Vec<Problem>) {
        self.checks.push(Check { check, status, detail, problems });
    }
}
