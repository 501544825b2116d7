use crate::report::{Check, Stop};
use crate::{Report, Trust};
use ledger::note::{Note, SignedCheckpoint};

/// Whether the bytes have the signature line of a note. JSON cannot: outside a string it has no dash, inside one no
/// line end.
pub(crate) fn looks_like(bytes: &[u8]) -> bool {
    let dash = "\n\n— ".as_bytes();
    bytes.windows(dash.len()).any(|window| window == dash)
}

/// A checkpoint proves nothing by itself: a note carries no key.
pub(crate) fn check(bytes: &[u8], trust: Option<&Trust>, report: &mut Report) -> Check {
    let note = Note::parse(bytes).map_err(|error| Stop::ledger(&error, ""))?;
    let tree = note.unverified();
    report.fact("origin", &tree.origin);
    report.fact("size", tree.size);
    report.fact("root", tree.root);
    let Some(trust) = trust else {
        return Err(Stop::unusable(
            "trust_missing",
            "",
            "a checkpoint is checked with the keys of a trust file",
        ));
    };
    let signed = note.verify(&trust.pins).map_err(|error| Stop::ledger(&error, ""))?;
    witnessed(&signed, report);
    Ok(())
}

pub(crate) fn witnessed(signed: &SignedCheckpoint, report: &mut Report) {
    let names: Vec<_> =
        signed.cosignatures().iter().map(|seen| format!("{} at {}", seen.witness, seen.at)).collect();
    report.fact("witnesses", if names.is_empty() { "none".to_owned() } else { names.join(", ") });
}
