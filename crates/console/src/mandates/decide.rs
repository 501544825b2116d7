//! Deciding without scripts: each step shows what to sign and takes the signature that the command line prints. The same
//! decisions as in the API, step for step.

use super::entry::quoted;
use super::{Denied, page, shell, somebody};
use crate::page::{Shell, done};
use crate::visitor::{Fields, Posted};
use askama::Template;
use axum::extract::Path;
use axum::response::Response;
use serde_json::Value;
use server::mandates::Refused;

#[derive(Template)]
#[template(path = "mandates/sign.html")]
struct Sign {
    shell: Shell,
    back: String,
    lead: &'static str,
    /// A hash to compare with the one that the command prints.
    hash_label: &'static str,
    hash: Vec<String>,
    command: String,
    paste: &'static str,
    step: &'static str,
    carried: Vec<(&'static str, String)>,
    button: &'static str,
}

pub(crate) async fn step(
    Path((mandate, id)): Path<(String, String)>,
    posted: Posted,
) -> Result<Response, Denied> {
    let back = format!("/approvals/{mandate}/{id}");
    let taken = take(&mandate, &id, &back, &posted).await;
    taken.map_err(|denied| denied.back_to(back))
}

async fn take(mandate: &str, id: &str, back: &str, posted: &Posted) -> Result<Response, Denied> {
    let Posted { visitor, fields } = posted;
    let app = &visitor.app;
    let signature = fields.one("signature");
    let shown = match fields.one("step") {
        "approve" => {
            let draft = app.approval_draft(&somebody(visitor).await?, mandate, id).await?;
            let carried = vec![("authorization_digest", text(&draft, "authorization_digest"))];
            statement(&draft, carried, "approve_signed", "Sign this to approve.", "Approve")
        }
        "approve_signed" => {
            let digest = fields.one("authorization_digest");
            let approved = app.approval_signed(mandate, id, digest, signature).await?;
            if approved.get("unsigned_tx_cbor").is_none_or(Value::is_null) {
                return Ok(done(back, "signed"));
            }
            let carried = vec![("authorization_digest", digest.to_owned())];
            transaction(&approved, carried, "release", "Approved. Now sign the release itself.", "Release")
        }
        "release" => {
            app.release_signed(mandate, id, fields.one("authorization_digest"), signature).await?;
            return Ok(done(back, "released"));
        }
        "decline" => {
            let (reason, comment) = said(fields);
            let draft = app.decline_draft(&somebody(visitor).await?, mandate, id, reason, comment).await?;
            let carried = vec![("reason", reason.to_owned()), ("comment", comment.to_owned())];
            statement(&draft, carried, "decline_signed", "Sign this to decline.", "Decline")
        }
        "decline_signed" => {
            let declined = app.decline_signed(mandate, id, said(fields), signature).await?;
            let Some(bond) = declined.get("bond_tx").filter(|bond| !bond.is_null()) else {
                return Ok(done(back, "declined"));
            };
            let carried = vec![("tx_hash", text(bond, "tx_hash"))];
            transaction(bond, carried, "bond", "Declined. Now sign what becomes of the bond.", "Send")
        }
        "bond" => {
            app.bond_signed(mandate, id, fields.one("tx_hash"), signature).await?;
            return Ok(done(back, "declined"));
        }
        "waiting" => {
            let asked = app.approval_asked(&somebody(visitor).await?, mandate, id).await?;
            let Some(waiting) = asked.to_sign else { return Ok(done(back, "")) };
            let value = serde_json::json!({ "unsigned_tx_cbor": waiting.tx, "tx_hash": waiting.tx_hash });
            match waiting.digest {
                Some(digest) => {
                    let carried = vec![("authorization_digest", digest)];
                    transaction(&value, carried, "release", "Sign the release itself.", "Release")
                }
                None => {
                    let carried = vec![("tx_hash", waiting.tx_hash)];
                    transaction(&value, carried, "bond", "Sign what becomes of the bond.", "Send")
                }
            }
        }
        _ => return Err(Refused::bad("bad_field", "/step", "no such step").into()),
    };
    let shell = shell(visitor, "Sign on the command line").await?;
    Ok(page(&Sign { shell, back: back.to_owned(), ..shown }))
}

fn statement(
    draft: &Value,
    carried: Vec<(&'static str, String)>,
    step: &'static str,
    lead: &'static str,
    button: &'static str,
) -> Sign {
    let statement = draft.get("statement").map(super::brief::canonical).unwrap_or_default();
    Sign {
        shell: Shell::default(),
        back: String::new(),
        lead,
        hash_label: "Hash of the statement, which is what is signed",
        hash: super::brief::hash_groups(&text(draft, "statement_hash")),
        command: format!("countersign mandate sign {} --key approver.jwk", quoted(&statement)),
        paste: "What the command prints",
        step,
        carried,
        button,
    }
}

fn transaction(
    built: &Value,
    carried: Vec<(&'static str, String)>,
    step: &'static str,
    lead: &'static str,
    button: &'static str,
) -> Sign {
    Sign {
        shell: Shell::default(),
        back: String::new(),
        lead,
        hash_label: "Hash of the transaction, which is what is signed",
        hash: super::brief::hash_groups(&text(built, "tx_hash")),
        command: format!(
            "countersign mandate witness {} --key approver.jwk",
            text(built, "unsigned_tx_cbor")
        ),
        paste: "What the command prints",
        step,
        carried,
        button,
    }
}

fn said(fields: &Fields) -> (&str, &str) {
    (fields.one("reason"), fields.one("comment"))
}

fn text(value: &Value, member: &str) -> String {
    value.get(member).and_then(Value::as_str).unwrap_or_default().to_owned()
}
