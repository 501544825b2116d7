//! Writing a mandate: a plain form that refuses what the cross rules refuse, at the field it is about, and then shows what
//! changes before anything is drafted.

use super::difference::{Change, difference};
use super::form::{Form, ID, KINDS, NAME, POLICY, Part, Row, THENS, words, wrong};
use super::{Denied, page, shell, somebody};
use crate::page::Shell;
use crate::visitor::{Fields, Posted, Visitor};
use askama::Template;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use canon::Raw;
use http::{HeaderValue, header};
use mandate::text::{AssetName, Id, PolicyId};
use mandate::{Hashed, Mandate};
use server::mandates::office::Editing;
use server::mandates::{Act, Refused};

#[derive(Template)]
#[template(path = "mandates/edit.html")]
struct Edit {
    shell: Shell,
    /// Of the mandate that is edited; none for a new one.
    of: Option<String>,
    path: String,
    schema: String,
    engine: String,
    parts: Vec<Part>,
    approvers: Vec<(String, String, Option<String>)>,
    rules: Vec<(Row, Option<String>)>,
    roles: Vec<String>,
    kinds: &'static [(&'static str, &'static str)],
    thens: &'static [(&'static str, &'static str)],
    /// What is wrong, in all.
    faults: Vec<String>,
}

#[derive(Template)]
#[template(path = "mandates/compare.html")]
struct Compare {
    shell: Shell,
    of: Option<String>,
    id: String,
    version: u32,
    changes: Vec<Change>,
    rules: Vec<super::boundary::Rule>,
    /// How many of them must sign, in words.
    required: String,
    approvers: Vec<(String, String)>,
    hash: Vec<String>,
    document: String,
    /// Where the vault's money is, for a new mandate.
    asset: Option<(String, String, String)>,
    path: String,
}

/// Blank lines that a form offers beyond those that are filled.
const BLANK: usize = 2;

/// A new mandate.
pub(crate) async fn new(visitor: Visitor) -> Result<Response, Denied> {
    let reader = somebody(&visitor).await?;
    let keys = visitor.app.opening_keys(&reader)?;
    let Some(key) = keys.first() else {
        let text = "your key may not open mandates here: the server’s configuration lists who may";
        return Err(Refused::forbidden("not_the_principal", text).into());
    };
    let row = |id: &str, kind: &str, then: &str| Row {
        id: id.to_owned(),
        kind: kind.to_owned(),
        then: then.to_owned(),
        ..Row::default()
    };
    let form = Form {
        version: "1".to_owned(),
        principal_key: key.to_string(),
        engine: visitor.app.engine_key()?.to_string(),
        symbol: "USDM".to_owned(),
        decimals: "6".to_owned(),
        per_day: "3".to_owned(),
        required: "1".to_owned(),
        rules: vec![
            row("alone", "amount_lte", "ESCALATE"),
            row("hard-cap", "amount_lte", "DENY"),
            row("daily", "daily_spend_lte", "DENY"),
            row("floor", "balance_after_gte", "DENY"),
            row("payees", "counterparty_in", "DENY"),
            row("facts", "verified_facts", "DENY"),
        ],
        ..Form::default()
    };
    shown(&visitor, form, None, Vec::new()).await
}

/// The next version of one that is anchored.
pub(crate) async fn edit(Path(id): Path<String>, visitor: Visitor) -> Result<Response, Denied> {
    let reader = somebody(&visitor).await?;
    let editing = visitor.app.editing(&reader, &id).await?;
    shown(&visitor, Form::of(&editing), Some(id), Vec::new()).await
}

pub(crate) async fn post_new(posted: Posted) -> Result<Response, Denied> {
    take(None, &posted).await.map_err(|denied| denied.back_to("/mandates/new"))
}

pub(crate) async fn post_edit(Path(id): Path<String>, posted: Posted) -> Result<Response, Denied> {
    let back = format!("/mandate/{id}/edit");
    take(Some(id), &posted).await.map_err(|denied| denied.back_to(back))
}

async fn take(of: Option<String>, posted: &Posted) -> Result<Response, Denied> {
    let Posted { visitor, fields } = posted;
    let reader = somebody(visitor).await?;
    let editing = match &of {
        Some(id) => Some(visitor.app.editing(&reader, id).await?),
        None => None,
    };
    match fields.one("step") {
        "draft" => {
            let document = Raw::from_slice(fields.one("document").as_bytes()).map_err(Refused::from)?;
            let bad = |place: &str, text: &str| Refused::bad("bad_field", place, text);
            let act = match &of {
                Some(_) => Act::Update { mandate: document.clone() },
                None => Act::Anchor {
                    mandate: document.clone(),
                    asset_policy: policy(fields).ok_or_else(|| bad("/asset_policy", POLICY))?,
                    asset_name: name(fields).ok_or_else(|| bad("/asset_name", NAME))?,
                    vault_name: vault_name(fields).map_err(|()| bad("/vault_name", ID))?,
                },
            };
            let mandate = Mandate::read(document.as_bytes()).map_err(Refused::from)?;
            super::acts::drafted(visitor, &reader, mandate.id.as_str(), act).await
        }
        "download" => {
            let mandate = Mandate::read(fields.one("document").as_bytes()).map_err(Refused::from)?;
            Ok(download(super::brief::canonical(&mandate)))
        }
        step => {
            let mut form = Form::posted(fields);
            form.engine = visitor.app.engine_key()?.to_string();
            match form.read(editing.as_ref()) {
                Ok(mandate) if step == "compare" => {
                    compare(visitor, of, editing.as_ref(), &form, &mandate).await
                }
                Ok(_) => shown(visitor, form, of, Vec::new()).await,
                Err(faults) if step == "compare" => shown(visitor, form, of, faults).await,
                Err(_) => shown(visitor, form, of, Vec::new()).await,
            }
        }
    }
}

async fn shown(
    visitor: &Visitor,
    mut form: Form,
    of: Option<String>,
    faults: Vec<(String, String)>,
) -> Result<Response, Denied> {
    let parts = form.parts(of.is_none(), &faults);
    let roles = form.approvers.iter().map(|(role, _)| role.clone()).collect();
    form.rules.resize(form.rules.len() + BLANK, Row::default());
    form.approvers.push(<(String, String)>::default());
    let rules = form.rules.into_iter().enumerate();
    let approvers = form.approvers.into_iter().enumerate();
    let title = of.as_ref().map_or("A new mandate".to_owned(), |id| format!("Change mandate {id}"));
    Ok(page(&Edit {
        shell: shell(visitor, &title).await?,
        path: path(of.as_deref()),
        of,
        schema: form.schema,
        engine: form.engine,
        parts,
        approvers: approvers
            .map(|(n, (role, key))| (role, key, wrong(&faults, &format!("/approvers/{n}"))))
            .collect(),
        rules: rules.map(|(n, row)| (row, wrong(&faults, &format!("/constraints/{n}")))).collect(),
        roles,
        kinds: &KINDS,
        thens: &THENS,
        faults: faults.iter().map(|(place, text)| format!("{}: {text}", words(place))).collect(),
    }))
}

async fn compare(
    visitor: &Visitor,
    of: Option<String>,
    editing: Option<&Editing>,
    form: &Form,
    mandate: &Hashed<Mandate>,
) -> Result<Response, Denied> {
    let text = |text: &String| text.clone();
    let asset = (text(&form.asset_policy), text(&form.asset_name), text(&form.vault_name));
    Ok(page(&Compare {
        shell: shell(visitor, "What changes").await?,
        id: mandate.id.to_string(),
        version: mandate.version,
        changes: editing.map(|editing| difference(&editing.mandate, mandate)).unwrap_or_default(),
        rules: mandate.constraints.iter().map(|rule| super::boundary::rule(rule, mandate)).collect(),
        required: match (mandate.required(), mandate.approvers.len()) {
            (_, 1) => "What the agent may not decide alone, this approver signs:".to_owned(),
            (required, all) => {
                format!("What the agent may not decide alone, {required} of these {all} approvers sign:")
            }
        },
        approvers: mandate
            .approvers
            .iter()
            .map(|one| (crate::words::shown(one.role.as_str()), one.cardano_key_hash.to_string()))
            .collect(),
        hash: crate::words::groups(&mandate.hash()),
        document: super::brief::canonical(mandate),
        asset: of.is_none().then_some(asset),
        path: path(of.as_deref()),
        of,
    }))
}

fn path(of: Option<&str>) -> String {
    of.map_or("/mandates/new".to_owned(), |id| format!("/mandate/{id}/edit"))
}

fn download(document: String) -> Response {
    let mut response = document.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let attachment = HeaderValue::from_static("attachment; filename=\"mandate.json\"");
    headers.insert(header::CONTENT_DISPOSITION, attachment);
    response
}

fn policy(fields: &Fields) -> Option<PolicyId> {
    fields.one("asset_policy").parse().ok()
}

fn name(fields: &Fields) -> Option<AssetName> {
    fields.one("asset_name").parse().ok()
}

fn vault_name(fields: &Fields) -> Result<Option<Id>, ()> {
    fields.some("vault_name").map(|name| name.parse().map_err(|_| ())).transpose()
}
