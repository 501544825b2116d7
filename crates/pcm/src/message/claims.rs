//! The predicates (spec 4.4): what each claim needs to be proven. Each claim is judged alone. A contradiction fails it whatever
//! else is missing; then the first doubt leaves it unproven.

use super::approved::{self, Approval};
use super::call::{Call, Doubts, View, Wanted, agrees, same};
use super::code::{Class as Reason, Code, Verdict};
use super::shelf::{Shelf, Shown};
use super::still;
use super::terms::Term;
use super::tools::{Class, Tool};
use super::wire::Claim;
use crate::strict;
use canon::{Digest, Value};

/// One verdict a claim, in their order. `still` are the predicates that count only while they are shown to hold still.
pub(crate) fn judge(claims: &[Claim], shelf: &Shelf<'_>, view: &View<'_>, still: &[String]) -> Vec<Verdict> {
    let mut verdicts: Vec<Verdict> = claims.iter().map(|claim| alone(claim, shelf, view)).collect();
    let mut holding = Vec::new();
    for (at, claim) in claims.iter().enumerate().filter(|(_, claim)| claim.pred == still::NAME) {
        let target = text(claim, "claim");
        let of =
            claims.iter().zip(&verdicts).find(|(other, _)| other.id == target && other.pred != still::NAME);
        let verdict = match of {
            None => Verdict::Unproven(Code::NoEvidence),
            Some((_, found)) if *found != Verdict::Proven => {
                Verdict::Unproven(found.code().map_or(Code::NoEvidence, unproven))
            }
            Some((of, _)) => weighed(|doubts| still::holds(claim, of, shelf, view, doubts)),
        };
        if verdict == Verdict::Proven {
            holding.push(target.to_owned());
        }
        if let Some(place) = verdicts.get_mut(at) {
            *place = verdict;
        }
    }
    for (claim, verdict) in claims.iter().zip(&mut verdicts) {
        if *verdict == Verdict::Proven && still.contains(&claim.pred) && !holding.contains(&claim.id) {
            *verdict = Verdict::Unproven(Code::GapInRun);
        }
    }
    verdicts
}

/// What a claim inherits from one that failed: that it is not proven.
const fn unproven(code: Code) -> Code {
    match code.class() {
        Reason::Unproven => code,
        _ => Code::NoEvidence,
    }
}

fn alone(claim: &Claim, shelf: &Shelf<'_>, view: &View<'_>) -> Verdict {
    let cited = shelf.cited(&claim.evidence);
    weighed(|doubts| match claim.pred.as_str() {
        "tool_called" => tool_called(claim, &cited, view, doubts),
        "http_fetched" => http_fetched(claim, &cited, view, doubts),
        "tests_passed" => tests_passed(claim, &cited, view, doubts),
        "command_ran" => command_ran(claim, &cited, view, doubts),
        "file_written" => file_written(claim, &cited, view, doubts),
        "result_value" => result_value(claim, &cited, view, doubts),
        "approved_by" => approved_by(claim, &cited, shelf, view, doubts),
        "net_reached" => net_reached(claim, &cited, view, doubts),
        "decided" => decided(claim, &cited, view, doubts),
        _ => Err(Code::UnknownPredicate),
    })
}

fn weighed(judge: impl FnOnce(&mut Doubts) -> Result<(), Code>) -> Verdict {
    let mut doubts = Doubts::new();
    let found = judge(&mut doubts);
    match (found, doubts.first()) {
        (Err(code), _) if code.class() != Reason::Unproven => Verdict::Failed(code),
        (_, Some(doubt)) => Verdict::Unproven(*doubt),
        (found, None) => found.into(),
    }
}

fn tool_called(
    claim: &Claim,
    cited: &[&Shown<'_>],
    view: &View<'_>,
    doubts: &mut Doubts,
) -> Result<(), Code> {
    let wanted = Wanted { tool: Some(text(claim, "tool")), classes: &[], ok: true, content: false };
    let call = Call::find(cited, wanted, view, doubts)?;
    call.arguments.map_or(Ok(()), |opened| agrees(member(claim, "args"), opened, doubts))
}

fn result_value(
    claim: &Claim,
    cited: &[&Shown<'_>],
    view: &View<'_>,
    doubts: &mut Doubts,
) -> Result<(), Code> {
    let wanted = Wanted { tool: Some(text(claim, "tool")), classes: &[], ok: true, content: true };
    let call = Call::find(cited, wanted, view, doubts)?;
    if let Some(opened) = call.arguments {
        agrees(member(claim, "args"), opened, doubts)?;
    }
    let Some(content) = call.content else { return Ok(()) };
    match strict::pointed(content, text(claim, "pointer")) {
        Err(ambiguous) => doubts.push(ambiguous.into()),
        Ok(None) => return Err(Code::ResultDiffers),
        Ok(Some(found)) if !same(member(claim, "value"), &found, doubts) => return Err(Code::ResultDiffers),
        Ok(Some(_)) => {}
    }
    Ok(())
}

fn http_fetched(
    claim: &Claim,
    cited: &[&Shown<'_>],
    view: &View<'_>,
    doubts: &mut Doubts,
) -> Result<(), Code> {
    let claimed = |name| claim.args.get(name);
    let content = claimed("status").is_some() || claimed("body_sha256").is_some();
    let wanted = Wanted { tool: None, classes: &[Class::Http], ok: true, content };
    let call = Call::find(cited, wanted, view, doubts)?;
    let Some(tool) = described(&call, view, Class::Http) else { return Ok(()) };
    if let Some(opened) = call.arguments {
        let method = tool.method.as_deref().or_else(|| tool.argument("method", opened)?.as_str());
        if method != Some(text(claim, "method")) {
            return Err(Code::ArgsDiffer);
        }
        let url = tool.argument("url", opened).and_then(Value::as_str).ok_or(Code::ArgsDiffer)?;
        match (strict::url(text(claim, "url")), strict::url(url)) {
            (Ok(claimed), Ok(found)) if claimed != found => return Err(Code::ArgsDiffer),
            (Ok(_), Ok(_)) => {}
            _ => doubts.push(Code::AmbiguousHost),
        }
    }
    let Some(content) = call.content else { return Ok(()) };
    if let Some(status) = claimed("status") {
        let found = tool.outcome("status", content).ok_or(Code::ResultDiffers)?;
        if !same(status, found, doubts) {
            return Err(Code::ResultDiffers);
        }
    }
    if let Some(hash) = claimed("body_sha256").and_then(Value::as_str) {
        let body = tool.outcome("body", content).ok_or(Code::ResultDiffers)?;
        if digest(body)?.prefixed() != hash {
            return Err(Code::ResultDiffers);
        }
    }
    Ok(())
}

fn tests_passed(
    claim: &Claim,
    cited: &[&Shown<'_>],
    view: &View<'_>,
    doubts: &mut Doubts,
) -> Result<(), Code> {
    let wanted = Wanted { tool: None, classes: &[Class::Shell, Class::Test], ok: true, content: true };
    let call = Call::find(cited, wanted, view, doubts)?;
    let Some(registry) = view.registry else { return Ok(()) };
    let argv = argv(claim);
    if !registry.runs(text(claim, "runner"), &argv) {
        doubts.push(Code::UnknownTool);
    }
    ran(claim, &call, view, doubts)?;
    let (Some(tool), Some(content)) = (call.described(view), call.content) else { return Ok(()) };
    exited(tool, content, 0, doubts)?;
    let Some(counts) = claim.args.get("counts").and_then(Value::as_object) else { return Ok(()) };
    let output = tool.outcome("output", content).and_then(Value::as_str).ok_or(Code::ResultDiffers)?;
    let Some(told) = summary(output) else {
        doubts.push(Code::AmbiguousText);
        return Ok(());
    };
    let differs = counts.iter().any(|(word, count)| {
        let found = told.iter().find(|(name, _)| name == word).map_or(0, |(_, count)| *count);
        count.as_u64() != Some(found)
    });
    if differs { Err(Code::ResultDiffers) } else { Ok(()) }
}

fn command_ran(
    claim: &Claim,
    cited: &[&Shown<'_>],
    view: &View<'_>,
    doubts: &mut Doubts,
) -> Result<(), Code> {
    let code = claim.args.get("exit_code").and_then(Value::as_i64).unwrap_or_default();
    let wanted = Wanted { tool: None, classes: &[Class::Shell, Class::Test], ok: false, content: true };
    let call = Call::find(cited, wanted, view, doubts)?;
    ran(claim, &call, view, doubts)?;
    let (Some(tool), Some(content)) = (call.described(view), call.content) else { return Ok(()) };
    exited(tool, content, code, doubts)
}

fn file_written(
    claim: &Claim,
    cited: &[&Shown<'_>],
    view: &View<'_>,
    doubts: &mut Doubts,
) -> Result<(), Code> {
    let wanted = Wanted { tool: None, classes: &[Class::FsWrite], ok: true, content: false };
    let call = Call::find(cited, wanted, view, doubts)?;
    let Some(tool) = described(&call, view, Class::FsWrite) else { return Ok(()) };
    let Some(opened) = call.arguments else { return Ok(()) };
    let path = tool.argument("path", opened).and_then(Value::as_str).ok_or(Code::ArgsDiffer)?;
    same_path(text(claim, "path"), path, doubts)?;
    let content = tool.argument("content", opened).map(digest).transpose()?.map(|digest| digest.prefixed());
    let named = tool.argument("sha256", opened).and_then(Value::as_str);
    match content.as_deref().or(named) {
        Some(found) if found == text(claim, "sha256") => Ok(()),
        Some(_) => Err(Code::ArgsDiffer),
        // A tool that edits says what it changed, not what came of it.
        None => Err(Code::CoarseEvidence),
    }
}

/// Contact, never what was said.
fn net_reached(
    claim: &Claim,
    cited: &[&Shown<'_>],
    view: &View<'_>,
    doubts: &mut Doubts,
) -> Result<(), Code> {
    if cited.iter().any(|shown| !shown.is_of(view.from)) {
        return Err(Code::WrongRun);
    }
    let window = |name| {
        claim
            .args
            .get("window")
            .and_then(|window| window.get(name))
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (from, to) = (window("from"), window("to"));
    let host = strict::host(text(claim, "host"))?;
    let port = claim.args.get("port").and_then(Value::as_u64);
    let effects = cited.iter().filter(|shown| {
        shown.event.kind() == "effect.observed" && shown.event.data_text("kind") == Some("net")
    });
    let mut found = Err(Code::NoEvidence);
    for effect in effects {
        let data = effect.event.data();
        let told = |name| data.get(name).and_then(Value::as_str).unwrap_or_default();
        if strict::host(told("host"))? != host || data.get("port").and_then(Value::as_u64) != port {
            return Err(Code::ArgsDiffer);
        }
        let inside = from <= told("first_ts") && told("last_ts") <= to;
        let contacts = data.get("connections").and_then(Value::as_u64).unwrap_or_default();
        let good = inside && told("attribution") == "token" && contacts > 0;
        found = if good || found.is_ok() { Ok(()) } else { Err(Code::CoarseEvidence) };
    }
    if cited.iter().any(|shown| shown.is_gap()) {
        doubts.push(Code::GapInRun);
    }
    found
}

/// That it was decided so; never that it ran.
fn decided(claim: &Claim, cited: &[&Shown<'_>], view: &View<'_>, doubts: &mut Doubts) -> Result<(), Code> {
    let decision = Call::decision(cited, view)?;
    let told = decision.event.data_text("decision").unwrap_or_default();
    if told != text(claim, "decision") {
        return Err(if told == "deny" { Code::CallDenied } else { Code::ResultDiffers });
    }
    match decision.event.data_text("tool") {
        Some(tool) if tool != text(claim, "tool") => return Err(Code::ArgsDiffer),
        Some(_) => {}
        None => doubts.push(Code::NotOpened),
    }
    if !decision.is_t2() {
        doubts.push(Code::T1Only);
    }
    match decision.arguments {
        Some(opened) => agrees(member(claim, "args"), opened, doubts),
        None => Err(Code::NotOpened),
    }
}

/// Spec 4.5, with its explicit check that what was approved covers what is claimed.
fn approved_by(
    claim: &Claim,
    cited: &[&Shown<'_>],
    shelf: &Shelf<'_>,
    view: &View<'_>,
    doubts: &mut Doubts,
) -> Result<(), Code> {
    if cited.iter().any(|shown| !shown.is_of(view.from)) {
        return Err(Code::WrongRun);
    }
    let approval = Approval::find(cited, shelf, view, doubts)?;
    let person = text(claim, "person");
    if strict::text(person).is_err() || strict::text(&approval.person).is_err() {
        doubts.push(Code::AmbiguousText);
    } else if approval.agent || approval.own || approval.person != person {
        return Err(Code::ApproverDiffers);
    }
    covers(claim, &approval, view, doubts)?;
    if claim.args.get("done").is_some() {
        approved::done(&approval, cited, doubts)?;
    }
    Ok(())
}

fn covers(claim: &Claim, approval: &Approval<'_>, view: &View<'_>, doubts: &mut Doubts) -> Result<(), Code> {
    let wanted = claim.args.get("tool").and_then(Value::as_str);
    if wanted.is_some_and(|tool| tool != approval.tool) {
        return Err(Code::ApprovalNotCovering);
    }
    let terms = member(claim, "terms").as_array().unwrap_or_default();
    let intent = claim.args.get("intent").and_then(Value::as_str);
    if terms.is_empty() && intent.is_none() {
        return Ok(());
    }
    let Some(tool) = view.registry.and_then(|registry| registry.tool(approval.tool)) else {
        doubts.push(Code::UnknownTool);
        return Ok(());
    };
    if intent.is_some() && intent != tool.intent.as_deref() {
        return Err(Code::ApprovalNotCovering);
    }
    let Some(arguments) = approval.arguments else { return Ok(()) };
    for term in terms {
        let term = match Term::read(term) {
            Ok(term) => term,
            Err(code) if code.class() == Reason::Unproven => {
                doubts.push(code);
                continue;
            }
            Err(code) => return Err(code),
        };
        let (value, unit) = tool.field(term.field(), arguments).ok_or(Code::ApprovalNotCovering)?;
        match term.meets(value, unit) {
            Ok(true) => {}
            Ok(false) => return Err(Code::ApprovalNotCovering),
            Err(ambiguous) => doubts.push(ambiguous.into()),
        }
    }
    Ok(())
}

/// The command and its folder are the claimed ones, under the strict reading of a shell's line or as they were given in words.
fn ran(claim: &Claim, call: &Call<'_>, view: &View<'_>, doubts: &mut Doubts) -> Result<(), Code> {
    let (Some(tool), Some(opened)) = (call.described(view), call.arguments) else { return Ok(()) };
    let claimed = argv(claim);
    if claimed.iter().any(|word| strict::text(word).is_err()) {
        doubts.push(Code::AmbiguousShell);
        return Ok(());
    }
    let words = match (tool.argument("argv", opened), tool.argument("command", opened)) {
        (Some(Value::Array(words)), _) => {
            words.iter().map(|word| word.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
        }
        (None, Some(Value::String(line))) => match strict::argv(line) {
            Ok(words) => Some(words),
            Err(ambiguous) => {
                doubts.push(ambiguous.into());
                return Ok(());
            }
        },
        _ => None,
    };
    if words.ok_or(Code::ArgsDiffer)? != claimed {
        return Err(Code::ArgsDiffer);
    }
    match (
        claim.args.get("cwd").and_then(Value::as_str),
        tool.argument("cwd", opened).and_then(Value::as_str),
    ) {
        (None, _) => Ok(()),
        (Some(claimed), Some(found)) => same_path(claimed, found, doubts),
        (Some(_), None) => Err(Code::ArgsDiffer),
    }
}

fn exited(tool: &Tool, content: &Value<'_>, claimed: i64, doubts: &mut Doubts) -> Result<(), Code> {
    let found = tool.outcome("exit_code", content).ok_or(Code::ResultDiffers)?;
    match strict::number(found) {
        Ok(code) if code == claimed => Ok(()),
        Err(_) if found.as_number().is_some() => {
            doubts.push(Code::AmbiguousNumber);
            Ok(())
        }
        _ => Err(Code::ResultDiffers),
    }
}

fn same_path(claimed: &str, found: &str, doubts: &mut Doubts) -> Result<(), Code> {
    match (strict::path(claimed), strict::path(found)) {
        (Ok(claimed), Ok(found)) if claimed != found => Err(Code::ArgsDiffer),
        (Ok(_), Ok(_)) => Ok(()),
        _ => {
            doubts.push(Code::AmbiguousPath);
            Ok(())
        }
    }
}

/// SHA-256 of a text's bytes; of any other value's canonical form.
fn digest(value: &Value<'_>) -> Result<Digest, Code> {
    match value {
        Value::String(text) => Ok(Digest::of(text.as_bytes())),
        other => canon::to_vec(other).map(|bytes| Digest::of(&bytes)).map_err(|_| Code::AmbiguousNumber),
    }
}

/// The counts in the last line of a test run that is not blank: `3 passed, 1 skipped in 0.12s`, with or without bars of `=`.
fn summary(output: &str) -> Option<Vec<(String, u64)>> {
    let line = output.lines().rev().find(|line| !line.trim().is_empty())?;
    let line = line.trim_matches(|c| c == '=' || c == ' ');
    let line = match line.split_once(" in ") {
        Some((counts, time)) if time.ends_with('s') => counts,
        Some(_) => return None,
        None => line,
    };
    let mut counts: Vec<(String, u64)> = Vec::new();
    for part in line.split(", ") {
        let (count, word) = part.split_once(' ')?;
        let plain = count.bytes().all(|b| b.is_ascii_digit()) && word.bytes().all(|b| b.is_ascii_lowercase());
        if !plain || counts.iter().any(|(known, _)| known == word) {
            return None;
        }
        counts.push((word.to_owned(), count.parse().ok()?));
    }
    Some(counts)
}

fn described(call: &Call<'_>, view: &View<'_>, class: Class) -> Option<&'static Tool> {
    call.described(view).filter(|tool| tool.class == class)
}

fn member<'c>(claim: &'c Claim, name: &str) -> &'c Value<'static> {
    claim.args.get(name).unwrap_or(&Value::Null)
}

fn text<'c>(claim: &'c Claim, name: &str) -> &'c str {
    claim.args.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn argv(claim: &Claim) -> Vec<String> {
    let words = member(claim, "argv").as_array().unwrap_or_default();
    words.iter().filter_map(|word| word.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_from_the_last_line() {
        let check = |output: &str, expected: Option<&[(&str, u64)]>| {
            let found = summary(output);
            let found =
                found.as_ref().map(|counts| counts.iter().map(|(w, n)| (w.as_str(), *n)).collect::<Vec<_>>());
            assert_eq!(found.as_deref(), expected, "{output:?}");
        };
        check("3 passed", Some(&[("passed", 3)]));
        check("..\n3 passed, 1 skipped in 0.12s\n\n", Some(&[("passed", 3), ("skipped", 1)]));
        check("===== 2 failed, 1 passed in 1.00s =====", Some(&[("failed", 2), ("passed", 1)]));
        check("3 passed, 4 passed", None);
        check("all good", None);
        check("", None);
        check("3 passed in time", None);
        check("-3 passed", None);
    }
}
