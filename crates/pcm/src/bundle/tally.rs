//! What the records of a bundle say of themselves, counted: the lines that warn rather than fail.

use super::Report;
use crate::Event;
use canon::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What a run's first record says of the run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Head {
    isolation: Option<String>,
    principal: Option<(String, bool)>,
    harness: bool,
    fail_open: Vec<String>,
    /// The runs it is a finding or a replay of.
    pub(crate) about: Vec<String>,
}

impl Head {
    pub(crate) fn of(event: &Event<'_>) -> Self {
        if event.kind() != "run.registered" {
            return Self::default();
        }
        let text = |name| event.data_text(name).map(str::to_owned);
        let attested = event.value().get("principal_attested").and_then(Value::as_bool) == Some(true);
        let modes = event.data().get("fail_modes").and_then(Value::as_object);
        let modes = modes.into_iter().flat_map(|modes| modes.iter());
        Self {
            isolation: text("signer_isolation"),
            principal: event.text("principal").map(|principal| (principal.to_owned(), attested)),
            harness: event.data().get("harness").is_some(),
            fail_open: modes
                .filter(|(_, mode)| mode.as_str() == Some("open"))
                .map(|(class, _)| class.to_owned())
                .collect(),
            about: [text("analyzes"), text("replay_of")].into_iter().flatten().collect(),
        }
    }
}

/// The weakest tier a call's records claim, and the ways it was captured by. Untiered is weaker than any tier.
#[derive(Debug, Clone, Default)]
struct Call {
    weakest: Option<Claim>,
    paths: BTreeSet<(String, Claim)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Claim {
    Untiered,
    T3,
    T1,
    T2,
}

#[derive(Debug, Default)]
pub(crate) struct Tally {
    self_approved: bool,
    break_glass: usize,
    /// `capture.gap` records by kind, and other alarms by type.
    gaps: BTreeMap<String, usize>,
    reconcile: BTreeMap<String, usize>,
    external: BTreeMap<String, usize>,
    vault: BTreeMap<String, usize>,
    sources: BTreeMap<String, usize>,
    ext: BTreeMap<String, usize>,
    /// Records whose meaning is not checked here, by type.
    unread: BTreeMap<&'static str, usize>,
    coverage: Coverage,
    /// Of each run, by its number once pieces are added up.
    calls: HashMap<(usize, String), Call>,
}

#[derive(Debug, Default)]
struct Coverage {
    finals: usize,
    layers: BTreeSet<String>,
    reconciled: u64,
    /// Of each class the weakest status.
    matrix: BTreeMap<String, String>,
}

/// Kinds of gap that say nothing against a run's own records: other lines judge them.
const TOLD_ELSEWHERE: [&str; 8] = [
    "witness_late",
    "witness_failed",
    "degraded_unanchored",
    "clock_skew",
    "format_upgrade",
    "key_retired",
    "args_coerced",
    "approval_expired",
];
/// Kinds of gap that have a line of their own.
const OWN_LINE: [(&str, &str, &str); 4] = [
    ("executed_against_policy", "policy", "calls ran against a denial or an ask nobody answered"),
    ("held_call_unresolved", "held calls", "calls that a gateway decided have no result"),
    ("decision_mismatch", "external decisions", "imported decisions disagree with the signer"),
    ("observer_lost", "observers", "gaps of an observer while its run was open"),
];
/// Weakest first.
const STATUSES: [&str; 4] = ["none", "reported", "observed", "enforced"];

impl Tally {
    pub(crate) const fn self_approved(&self) -> bool {
        self.self_approved
    }

    pub(crate) fn take(&mut self, event: &Event<'_>) {
        let yes = |name| event.data().get(name).and_then(Value::as_bool) == Some(true);
        match event.kind() {
            "approval" => {
                self.self_approved |= yes("self_approved");
                self.break_glass += usize::from(yes("break_glass"));
            }
            "capture.gap" => count(&mut self.gaps, event.data_text("kind").unwrap_or_default()),
            kind @ ("trace.tamper" | "approval.binding_mismatch") => count(&mut self.gaps, kind),
            "policy.external" => count(&mut self.external, event.data_text("system").unwrap_or_default()),
            kind @ ("content.accessed" | "content.erased") => count(&mut self.vault, kind),
            "why.finding" => *self.unread.entry("findings").or_default() += 1,
            "review" => *self.unread.entry("reviews").or_default() += 1,
            "incident.opened" => *self.unread.entry("incidents").or_default() += 1,
            "run.final" => self.coverage.take(event),
            kind => {
                if let Some(kind) = kind.strip_prefix("reconcile.") {
                    count(&mut self.reconcile, kind);
                }
            }
        }
        if let Some(source) = event.text("args_source") {
            count(&mut self.sources, source);
        }
        for (name, _) in
            event.value().get("ext").and_then(Value::as_object).into_iter().flat_map(|ext| ext.iter())
        {
            count(&mut self.ext, name);
        }
        if event.kind() == "ext" {
            count(&mut self.ext, event.data_text("name").unwrap_or_default());
        }
        self.call(event);
    }

    fn call(&mut self, event: &Event<'_>) {
        let Some(id) = event.tool_call_id() else { return };
        let claim = match event.text("tier") {
            Some("T1") => Claim::T1,
            Some("T2") => Claim::T2,
            Some("T3") => Claim::T3,
            _ => Claim::Untiered,
        };
        let decides = matches!(event.kind(), "policy.decision" | "tool.result");
        let call = self.calls.entry((0, id.to_owned())).or_default();
        if claim != Claim::Untiered || decides {
            call.weakest = Some(call.weakest.map_or(claim, |weakest| weakest.min(claim)));
        }
        if decides && !call.paths.iter().any(|(source, one)| source == event.source() && *one == claim) {
            call.paths.insert((event.source().to_owned(), claim));
        }
    }

    /// Adds what a piece of one run gave.
    pub(crate) fn add(&mut self, run: usize, piece: Self) {
        self.self_approved |= piece.self_approved;
        self.break_glass += piece.break_glass;
        for (into, from) in [
            (&mut self.gaps, piece.gaps),
            (&mut self.reconcile, piece.reconcile),
            (&mut self.external, piece.external),
            (&mut self.vault, piece.vault),
            (&mut self.sources, piece.sources),
            (&mut self.ext, piece.ext),
        ] {
            for (name, number) in from {
                *into.entry(name).or_default() += number;
            }
        }
        for (name, number) in piece.unread {
            *self.unread.entry(name).or_default() += number;
        }
        self.coverage.add(piece.coverage);
        for ((_, id), call) in piece.calls {
            let into = self.calls.entry((run, id)).or_default();
            into.weakest = match (into.weakest, call.weakest) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            };
            into.paths.extend(call.paths);
        }
    }

    pub(crate) fn lines(&self, heads: &[&Head], report: &mut Report) {
        self.warnings(report);
        self.coverage.lines(&self.reconcile, report);
        for (name, number) in &self.unread {
            report.warn(name, format!("{number} records whose meaning is not checked here"));
        }
        if !self.vault.is_empty() {
            report.pass("content vault", words(&self.vault));
        }
        self.tiers(report);
        if !self.sources.is_empty() {
            report.pass("args source", words(&self.sources));
        }
        let mut isolation = BTreeMap::new();
        for head in heads {
            count(&mut isolation, head.isolation.as_deref().unwrap_or("unreported"));
        }
        report.pass("isolation", format!("by the signer's word: {}", words(&isolation)));
        let principals: Vec<_> = heads.iter().filter_map(|head| head.principal.as_ref()).collect();
        if !principals.is_empty() {
            let attested = principals.iter().filter(|(_, attested)| *attested).count();
            report.pass("principals", format!("{} named, {attested} of them attested", principals.len()));
        }
        if heads.iter().any(|head| head.harness) {
            report.pass("harness", "by the signer's word");
        }
        let open: BTreeSet<_> = heads.iter().flat_map(|head| &head.fail_open).map(String::as_str).collect();
        let open: Vec<_> = open.into_iter().collect();
        report.note(
            "fail-open classes",
            open.is_empty(),
            if open.is_empty() { "none".to_owned() } else { open.join(", ") },
        );
    }

    /// What comes after the approvals.
    pub(crate) fn last_lines(&self, report: &mut Report) {
        if self.break_glass > 0 {
            report.warn(
                "break-glass approvals",
                format!("{} answered under the break-glass role", self.break_glass),
            );
        }
        for (name, number) in &self.ext {
            report.warn(
                "not interpreted",
                format!("{number} records carry ext.{name}, which has no meaning here"),
            );
        }
    }

    fn warnings(&self, report: &mut Report) {
        for (kind, line, what) in OWN_LINE {
            let number = self.gaps.get(kind).copied().unwrap_or_default();
            if line == "external decisions" {
                if number > 0 || !self.external.is_empty() {
                    report.note(line, number == 0, format!("{}; {number} {what}", words(&self.external)));
                }
            } else if number > 0 {
                report.warn(line, format!("{number} {what}"));
            }
        }
        let rest = |kind: &String| {
            !TOLD_ELSEWHERE.contains(&kind.as_str()) && !OWN_LINE.iter().any(|(own, _, _)| own == kind)
        };
        let alarms: BTreeMap<_, _> = self
            .gaps
            .iter()
            .filter(|(kind, _)| rest(kind))
            .map(|(kind, number)| (kind.clone(), *number))
            .collect();
        if !alarms.is_empty() {
            report.warn("gaps", words(&alarms));
        }
    }

    fn tiers(&self, report: &mut Report) {
        if self.calls.is_empty() {
            return;
        }
        let of = |claim| {
            self.calls.values().filter(|call| call.weakest.unwrap_or(Claim::Untiered) == claim).count()
        };
        let split = self.calls.values().filter(|call| call.paths.len() > 1).count();
        let detail = format!(
            "{} calls: T1 {}, T2 {}, T3 {}, untiered {}; {split} decided and completed by different ways",
            self.calls.len(),
            of(Claim::T1),
            of(Claim::T2),
            of(Claim::T3),
            of(Claim::Untiered),
        );
        report.note("tiers", split == 0, detail);
    }
}

impl Coverage {
    fn take(&mut self, event: &Event<'_>) {
        if let Some(coverage) = event.data().get("coverage") {
            self.finals += 1;
            let layers = coverage.get("layers").and_then(Value::as_array).unwrap_or_default();
            self.layers.extend(layers.iter().filter_map(Value::as_str).map(str::to_owned));
            self.reconciled += coverage.get("reconciled").and_then(Value::as_u64).unwrap_or_default();
        }
        let matrix = event.data().get("matrix").and_then(Value::as_object);
        for (class, told) in matrix.into_iter().flat_map(|matrix| matrix.iter()) {
            self.weaken(class, told.get("status").and_then(Value::as_str).unwrap_or("none"));
        }
    }

    fn weaken(&mut self, class: &str, status: &str) {
        let rank = |status: &str| STATUSES.iter().position(|one| *one == status);
        let known = self.matrix.entry(class.to_owned()).or_insert_with(|| status.to_owned());
        if rank(status) < rank(known) {
            *known = status.to_owned();
        }
    }

    fn add(&mut self, piece: Self) {
        self.finals += piece.finals;
        self.layers.extend(piece.layers);
        self.reconciled = self.reconciled.saturating_add(piece.reconciled);
        for (class, status) in &piece.matrix {
            self.weaken(class, status);
        }
    }

    fn lines(&self, unreconciled: &BTreeMap<String, usize>, report: &mut Report) {
        if self.finals > 0 || !unreconciled.is_empty() {
            let layers: Vec<_> = self.layers.iter().map(String::as_str).collect();
            let detail = format!(
                "layers {}; {} calls reconciled; unreconciled: {}",
                if layers.is_empty() { "none".to_owned() } else { layers.join("+") },
                self.reconciled,
                words(unreconciled)
            );
            report.note("coverage", unreconciled.is_empty(), detail);
        }
        if !self.matrix.is_empty() {
            let told: Vec<_> =
                self.matrix.iter().map(|(class, status)| format!("{class} {status}")).collect();
            report.pass("coverage matrix", told.join(", "));
        }
    }
}

fn count(into: &mut BTreeMap<String, usize>, name: &str) {
    match into.get_mut(name) {
        Some(number) => *number += 1,
        None => {
            into.insert(name.to_owned(), 1);
        }
    }
}

fn words(counts: &BTreeMap<String, usize>) -> String {
    if counts.is_empty() {
        return "none".to_owned();
    }
    let words: Vec<_> = counts.iter().map(|(name, number)| format!("{name} {number}")).collect();
    words.join(", ")
}
