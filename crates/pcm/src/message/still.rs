//! What was proven still holds (spec 4.8): the run is shown whole from there to its end or to the checkpoint, and nothing in it wrote
//! to the paths in question.

use super::call::{Call, Doubts, View, Wanted, follows, one};
use super::code::Code;
use super::shelf::{Shelf, Shown};
use super::tools::Class;
use super::wire::Claim;
use crate::strict;
use canon::Value;

pub(crate) const NAME: &str = "still_holds";

/// `of` is proven. Refused: a later write to a path. Doubted: a run that is not whole, calls that may write anything.
pub(crate) fn holds(
    claim: &Claim,
    of: &Claim,
    shelf: &Shelf<'_>,
    view: &View<'_>,
    doubts: &mut Doubts,
) -> Result<(), Code> {
    let paths: Vec<&str> = claim
        .args
        .get("paths")
        .and_then(Value::as_array)
        .unwrap_or_default()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    for path in &paths {
        strict::path(path)?;
    }
    let target = shelf.cited(&of.evidence);
    let own = one(&target, "policy.decision")?.ok_or(Code::NoEvidence)?;
    let begin = match claim.args.get("tree").and_then(Value::as_str) {
        Some(tree) => digested(claim, tree, &paths, own, shelf, view, doubts)?,
        None => own,
    };
    let rids: Vec<String> = claim.evidence.iter().chain(&of.evidence).cloned().collect();
    let run: Vec<_> = shelf
        .cited(&rids)
        .into_iter()
        .filter(|shown| {
            shown.event.run_id() == view.from.run_id && begin.event.position() <= shown.event.position()
        })
        .collect();
    let whole = run.windows(2).all(|pair| match pair {
        [one, next] => {
            next.event.run_seq() == one.event.run_seq() + 1 && next.event.run_prev_hash() == one.hash
        }
        _ => true,
    });
    let ends = run.last().is_some_and(|last| {
        last.event.kind() == "run.final" || last.event.position().0.checked_add(1) == Some(view.size)
    });
    for shown in run.iter().filter(|shown| shown.event.position() != own.event.position()) {
        quiet(shown, &run, &paths, view, doubts)?;
    }
    if !whole || !ends {
        doubts.push(Code::GapInRun);
    }
    Ok(())
}

/// The call that gave the digest of the tree before: run by a gateway, over a folder that holds the paths.
fn digested<'s>(
    claim: &Claim,
    tree: &str,
    paths: &[&str],
    before: &Shown<'_>,
    shelf: &'s Shelf<'_>,
    view: &View<'_>,
    doubts: &mut Doubts,
) -> Result<&'s Shown<'s>, Code> {
    let mut cited: Vec<&Shown<'_>> = shelf.cited(&claim.evidence);
    cited.retain(|shown| shown.event.position() < before.event.position());
    let wanted = Wanted { tool: None, classes: &[Class::Tree], ok: true, content: true };
    let call = Call::find(&cited, wanted, view, doubts)?;
    let (Some(tool), Some(opened), Some(content)) = (call.described(view), call.arguments, call.content)
    else {
        return Err(Code::NotOpened);
    };
    let root = tool.argument("path", opened).and_then(Value::as_str).ok_or(Code::ArgsDiffer)?;
    strict::path(root)?;
    if !paths.iter().all(|path| strict::is_under(path, root)) {
        return Err(Code::ArgsDiffer);
    }
    if tool.outcome("sha256", content).and_then(Value::as_str) != Some(tree) {
        return Err(Code::ResultDiffers);
    }
    shelf
        .iter()
        .map(|(_, shown)| shown)
        .find(|shown| shown.hash == call.decision.hash)
        .ok_or(Code::NoEvidence)
}

/// One later record leaves the paths alone.
fn quiet(
    shown: &Shown<'_>,
    run: &[&Shown<'_>],
    paths: &[&str],
    view: &View<'_>,
    doubts: &mut Doubts,
) -> Result<(), Code> {
    let tool = match shown.event.kind() {
        "policy.decision" if shown.event.data_text("decision") == Some("deny") => return Ok(()),
        "policy.decision" => shown.event.data_text("tool"),
        "tool.call" => shown.event.data_text("name"),
        // What was decided before may have been under way.
        "tool.result" => {
            if !run.iter().any(|decision| follows(shown, decision)) {
                doubts.push(Code::GapInRun);
            }
            return Ok(());
        }
        "effect.observed" if shown.event.data_text("kind") != Some("net") => {
            doubts.push(Code::GapInRun);
            return Ok(());
        }
        _ => {
            if shown.is_gap() {
                doubts.push(Code::GapInRun);
            }
            return Ok(());
        }
    };
    let described = tool.zip(view.registry).and_then(|(tool, registry)| registry.tool(tool));
    match described.map(|tool| tool.class) {
        Some(Class::Http | Class::Read | Class::Tree | Class::Act | Class::Grant) => Ok(()),
        Some(Class::FsWrite) => {
            let written = shown.arguments.and_then(|opened| described?.argument("path", opened)?.as_str());
            match written.map(strict::path) {
                Some(Ok(path))
                    if paths.iter().any(|own| strict::is_under(path, own) || strict::is_under(own, path)) =>
                {
                    Err(Code::ResultDiffers)
                }
                Some(Ok(_)) => Ok(()),
                Some(Err(ambiguous)) => {
                    doubts.push(ambiguous.into());
                    Ok(())
                }
                None => {
                    doubts.push(Code::GapInRun);
                    Ok(())
                }
            }
        }
        Some(Class::Shell | Class::Test) | None => {
            doubts.push(Code::GapInRun);
            Ok(())
        }
    }
}
