//! What the principal does on chain: each act is drafted, shown as it will be signed, signed here or elsewhere, and followed.

use super::brief::{Money, fours};
use super::difference::{Change, difference};
use super::{Denied, page, shell, somebody};
use crate::page::{Shell, done};
use crate::visitor::{Posted, Visitor};
use crate::words::{shown, when};
use askama::Template;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, header};
use mandate::{Hashed, Mandate};
use server::mandates::desk::Reader;
use server::mandates::{Act, ActTold, Paid, Progress, Refused, Told, What};

#[derive(Template)]
#[template(path = "mandates/act.html")]
struct ActPage {
    shell: Shell,
    mandate: String,
    sentence: String,
    standing: Standing,
    changes: Vec<Change>,
    /// Of the mandate that is anchored.
    hash: Option<Vec<String>>,
    fee: String,
    network: &'static str,
    outputs: Vec<Line>,
    signers: Vec<(String, bool)>,
    keys: String,
    at: String,
    tx_hash: Vec<String>,
    tx_id: String,
    tx: String,
    path: String,
    file: String,
    /// What comes after it.
    next: Option<(&'static str, &'static str)>,
    /// The mandate is taken up.
    kept: bool,
}

/// Where it stands.
#[derive(Debug)]
pub(crate) struct Standing {
    pub word: &'static str,
    pub class: &'static str,
    pub sentence: String,
    /// Something may still happen by itself.
    pub moves: bool,
    pub unsigned: bool,
}

/// An output in words.
#[derive(Debug)]
struct Line {
    what: &'static str,
    address: Vec<String>,
    whole: String,
    ada: Money,
    tokens: Vec<(String, Money)>,
}

pub(crate) async fn one(
    Path((mandate, tx_hash)): Path<(String, String)>,
    visitor: Visitor,
) -> Result<Response, Denied> {
    let reader = somebody(&visitor).await?;
    let told = visitor.app.act_of_page(&reader, &mandate, &tx_hash).await?;
    let known = visitor.app.editing(&reader, &mandate).await.ok();
    let document = document(&told.act);
    let money = known.as_ref().map(|known| &known.mandate).or(document.as_ref());
    let (symbol, decimals) =
        money.map_or((String::new(), 0), |of| (of.asset.symbol.to_string(), of.asset.decimals));
    let standing = standing(&told);
    let changes = match (&known, &document) {
        (Some(known), Some(next)) if known.mandate.hash() != next.hash() => difference(&known.mandate, next),
        _ => Vec::new(),
    };
    let path = format!("/mandate/{mandate}/acts/{tx_hash}");
    let next = match (&told.act, &told.progress, &known) {
        (Act::Anchor { .. }, Progress::Confirmed { .. }, None) => Some(("open", "Open its vault")),
        _ => None,
    };
    Ok(page(&ActPage {
        sentence: sentence(&told.act, &symbol, decimals),
        changes,
        hash: document.as_ref().map(|document| crate::words::groups(&document.hash())),
        fee: ada(told.told.fee_lovelace.get()).display,
        network: told.told.network.name(),
        outputs: lines(&told.told, &symbol, decimals),
        signers: told.told.signers.iter().map(|key| (key.to_string(), told.signed.contains(key))).collect(),
        keys: told.told.signers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
        at: when(told.at),
        tx_hash: super::brief::hash_groups(&tx_hash),
        tx_id: tx_hash.clone(),
        tx: told.unsigned_tx_cbor,
        file: format!("{}.tx", tx_hash.chars().take(8).collect::<String>()),
        next,
        kept: known.is_some(),
        shell: shell(&visitor, standing.word).await?,
        standing,
        path,
        mandate,
    }))
}

/// The transaction in hex, for the command line.
pub(crate) async fn transaction(
    Path((mandate, tx_hash)): Path<(String, String)>,
    visitor: Visitor,
) -> Result<Response, Denied> {
    let reader = somebody(&visitor).await?;
    let told = visitor.app.act_of_page(&reader, &mandate, &tx_hash).await?;
    let mut response = told.unsigned_tx_cbor.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    Ok(response)
}

/// Drafts an act from a form of the mandate's page.
pub(crate) async fn draft(Path(mandate): Path<String>, posted: Posted) -> Result<Response, Denied> {
    let back = format!("/mandate/{mandate}");
    let drafted = take(&mandate, &posted).await;
    drafted.map_err(|denied| denied.back_to(back))
}

async fn take(mandate: &str, posted: &Posted) -> Result<Response, Denied> {
    let Posted { visitor, fields } = posted;
    let reader = somebody(visitor).await?;
    let act = match fields.one("act") {
        "open" => Act::Open {},
        "revoke" => Act::Revoke {},
        word @ ("deposit" | "withdraw") => {
            let decimals = visitor.app.editing(&reader, mandate).await?.mandate.asset.decimals;
            let bad = |place: &str, text: &str| Refused::bad("bad_field", place, text);
            let amount = super::form::units(fields.one("amount"), decimals)
                .and_then(|units| units.try_into().ok())
                .ok_or_else(|| {
                    bad("/amount", &format!("an amount above zero with at most {decimals} decimals"))
                })?;
            let address = fields.one("address").parse();
            let address = address.map_err(|_| bad("/address", "not a Cardano address"))?;
            if word == "deposit" {
                Act::Deposit { amount, from: address }
            } else {
                Act::Withdraw { amount, to: address }
            }
        }
        _ => return Err(Refused::bad("bad_field", "/act", "no such act").into()),
    };
    drafted(visitor, &reader, mandate, act).await
}

/// Drafts an act and goes to its page.
pub(crate) async fn drafted(
    visitor: &Visitor,
    reader: &Reader,
    mandate: &str,
    act: Act,
) -> Result<Response, Denied> {
    let told = visitor.app.act_drafted(reader, mandate, act).await?;
    Ok(done(&format!("/mandate/{mandate}/acts/{}", told.tx_hash), ""))
}

/// Takes the witness that the command line printed.
pub(crate) async fn sign(
    Path((mandate, tx_hash)): Path<(String, String)>,
    posted: Posted,
) -> Result<Response, Denied> {
    let back = format!("/mandate/{mandate}/acts/{tx_hash}");
    let witness = posted.fields.one("signature");
    let signed = posted.visitor.app.act_signed(&mandate, &tx_hash, witness).await;
    match signed {
        Ok(_) => Ok(done(&back, "")),
        Err(refused) => Err(Denied::from(refused).back_to(back)),
    }
}

/// The document that an act anchors.
fn document(act: &Act) -> Option<Hashed<Mandate>> {
    match act {
        Act::Anchor { mandate, .. } | Act::Update { mandate } => Mandate::read(mandate.as_bytes()).ok(),
        _ => None,
    }
}

pub(crate) fn sentence(act: &Act, symbol: &str, decimals: u8) -> String {
    let money = |units: u64| super::brief::money(units, decimals, symbol);
    match act {
        Act::Anchor { .. } => "Anchor the mandate".to_owned(),
        Act::Open {} => "Open an empty vault".to_owned(),
        Act::Deposit { amount, .. } => format!("Put {} into the vault", money(amount.get())),
        Act::Withdraw { amount, .. } => format!("Take {} out of the vault", money(amount.get())),
        Act::Update { .. } => match document(act) {
            Some(next) => format!("Put version {} in force", next.version),
            None => "Put another version in force".to_owned(),
        },
        Act::Revoke {} => "Revoke the mandate".to_owned(),
    }
}

pub(crate) fn standing(told: &ActTold) -> Standing {
    let (word, class, sentence, moves) = match &told.progress {
        Progress::Unsigned => {
            ("Waits for a signature", "stand-warn", "Nothing happens before it is signed.".to_owned(), false)
        }
        Progress::Sent => (
            "On its way",
            "stand-warn",
            "Signed and sent; it is not in a block yet. It lands once or not at all.".to_owned(),
            true,
        ),
        Progress::Confirmed { block_height } => {
            ("Done", "stand-good", format!("It is in block {block_height}."), false)
        }
        Progress::Failed { text, .. } => (
            "Failed",
            "stand-bad",
            format!("Nothing happened: {}", crate::page::sentence(&shown(text))),
            false,
        ),
    };
    Standing { word, class, sentence, moves, unsigned: told.progress == Progress::Unsigned }
}

fn lines(told: &Told, symbol: &str, decimals: u8) -> Vec<Line> {
    let line = |paid: &Paid| Line {
        what: match paid.what {
            What::Anchor => "The anchor",
            What::Vault => "The vault",
            What::Script => "The vault’s script, kept for releases",
            What::Change => "Back to the wallet that pays fees",
            What::Payment => "Paid to",
        },
        address: fours(&paid.address),
        whole: paid.address.clone(),
        ada: ada(paid.lovelace.get()),
        tokens: paid
            .tokens
            .iter()
            .map(|held| {
                let own = *held.asset_policy.as_bytes() == policy_of(&paid.address);
                let name = format!("{}.{}", held.asset_policy, held.asset_name);
                let places = if own { 0 } else { decimals };
                let money = Money::of(held.quantity.get(), places);
                match own {
                    true => (format!("its own token {name}"), money),
                    false => (format!("{symbol} {name}"), money),
                }
            })
            .collect(),
    };
    told.outputs.iter().map(line).collect()
}

/// The hash of the script at an address: the policy of its own token.
fn policy_of(address: &str) -> [u8; 28] {
    let address = address.parse::<mandate::Address>();
    address.map_or([0; 28], |address| *address.payment().hash().as_bytes())
}

fn ada(lovelace: u64) -> Money {
    Money::of(lovelace, 6)
}
