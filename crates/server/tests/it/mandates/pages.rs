//! What the pages of approvers stand on: showing a key, and reading by it what waits.

use super::desk::{Desk, action, ed25519, key, key_hash, told};
use http::{HeaderMap, header};
use keys::{Signer, SoftwareSigner};
use reqwest::Method;
use serde_json::{Value, json};

/// The signature that a page or the command line gives.
pub fn signature(message: &str, signer: &SoftwareSigner) -> String {
    let signature = signer.sign(message.as_bytes()).unwrap().base64url();
    let thumbprint = signer.public().thumbprint().to_string();
    json!({ "key": ed25519(signer),
        "evidence": { "kind": "ed25519", "signature": signature, "thumbprint": thumbprint } })
    .to_string()
}

pub fn browser(cookie: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::COOKIE, cookie.split(';').next().unwrap().parse().unwrap());
    headers
}

async fn proved(desk: &Desk, seed: u8) -> Result<String, String> {
    let app = &desk.server.app;
    let invitation = app.invitation();
    let signed = signature(&invitation.message, &key(seed));
    app.prove(&invitation.ticket, &signed).await.map_err(|refused| refused.code.to_string())
}

#[tokio::test]
async fn a_key_is_shown_by_signing_and_only_by_those_whom_a_mandate_names() {
    let desk = Desk::start().await;
    let check = async |seed: u8, expected: Option<&str>| {
        let code = proved(&desk, seed).await.err();
        assert_eq!(code.as_deref(), expected, "key {seed}");
    };
    check(5, None).await;
    check(6, None).await;
    // The delegate proposes; it reads nobody's inbox. Nobody here knows key 8.
    check(2, Some("not_the_approver")).await;
    check(8, Some("not_the_approver")).await;

    let app = &desk.server.app;
    let invitation = app.invitation();
    let of_another = signature(&app.invitation().message, &key(5));
    let refused = app.prove(&invitation.ticket, &of_another).await.unwrap_err();
    assert_eq!((refused.status.as_u16(), refused.code.as_ref()), (401, "bad_signature"));
    let good = signature(&invitation.message, &key(5));
    app.prove(&invitation.ticket, &good).await.unwrap();
    let twice = app.prove(&invitation.ticket, &good).await.unwrap_err();
    assert_eq!(twice.code, "challenge_used");
    let late = app.invitation();
    desk.server.later(601);
    let signed = signature(&late.message, &key(5));
    assert_eq!(app.prove(&late.ticket, &signed).await.unwrap_err().code, "challenge_expired");
}

#[tokio::test]
async fn a_shown_key_reads_for_twelve_hours_and_decides_nothing() {
    let desk = Desk::start().await;
    let id = desk.ask(&action("A1", 1800)).await;
    let cookie = proved(&desk, 5).await.unwrap();
    let pair = cookie.split(';').next().unwrap().to_owned();
    let ask = |method: Method, path: &str| {
        desk.server.http.request(method, desk.server.url(path)).header("cookie", pair.clone())
    };
    let (status, body) = told(ask(Method::GET, "/v1/approvals?status=pending").send().await.unwrap()).await;
    assert_eq!((status, &body["approvals"][0]["approval_id"]), (200, &json!(id)));
    let path = format!("/v1/approvals/{id}/approve");
    let (status, draft) = told(ask(Method::POST, &path).json(&json!({})).send().await.unwrap()).await;
    assert_eq!(status, 200, "{draft}");
    let bare = json!({ "authorization_digest": draft["authorization_digest"] });
    let (status, body) = told(ask(Method::POST, &path).json(&bare).send().await.unwrap()).await;
    assert_eq!((status, &body["code"]), (401, &json!("approver_signature_required")));
    assert!(desk.state().await.authorizations().is_empty());
    let proposes =
        ask(Method::POST, "/v1/authority/check").json(&super::desk::proposal(&action("A2", 100), true));
    assert_ne!(told(proposes.send().await.unwrap()).await.0, 200);

    let app = &desk.server.app;
    assert_eq!(app.reader(&browser(&cookie)).await.unwrap().keys(), [key_hash(&key(5))]);
    let mut forged = pair.clone();
    forged.push('x');
    assert!(!app.reader(&browser(&forged)).await.unwrap().is_somebody());
    desk.server.later(12 * 3600);
    assert!(!app.reader(&browser(&cookie)).await.unwrap().is_somebody());
}

#[tokio::test]
async fn the_inbox_is_read_page_by_page_each_line_once() {
    let desk = Desk::with(|mandate| mandate["interrupt_budget"]["per_day"] = json!(20)).await;
    let mut asked = Vec::new();
    for n in 0..12 {
        asked.push(desk.ask(&action(&format!("A{n}"), 1100 + n)).await);
    }
    let app = &desk.server.app;
    let reader = app.reader(&browser(&proved(&desk, 5).await.unwrap())).await.unwrap();
    let (mut after, mut seen, mut sizes) = (None, Vec::new(), Vec::new());
    loop {
        let page = app.approvals_waiting(&reader, after.as_deref(), 5).await.unwrap();
        assert_eq!(page.total, 12);
        sizes.push(page.lines.len());
        seen.extend(page.lines.iter().map(|line| line.approval.price.approval_id.to_string()));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    // The oldest first: AP-9 before AP-10.
    assert_eq!((sizes, seen), (vec![5, 5, 2], asked));
    let principal = app.reader(&browser(&proved(&desk, 6).await.unwrap())).await.unwrap();
    assert_eq!(app.approvals_waiting(&principal, None, 5).await.unwrap().total, 0);
    let refused = app.approval_asked(&principal, "M-001", "AP-1").await.unwrap_err();
    assert_eq!(refused.code, "approval_unknown");
}

#[tokio::test]
async fn what_lacks_a_signature_is_offered_until_it_has_it() {
    let desk = Desk::start().await;
    let id = desk.ask(&action("A1", 1800)).await;
    let app = &desk.server.app;
    let reader = app.reader(&browser(&proved(&desk, 5).await.unwrap())).await.unwrap();
    let asked = async || app.approval_asked(&reader, "M-001", &id).await.unwrap();
    assert!(asked().await.to_sign.is_none());
    let (_, approved) = desk.approve(&id).await;
    let to_sign = asked().await.to_sign.unwrap();
    assert_eq!(Value::from(to_sign.tx), approved["unsigned_tx_cbor"]);
    assert_eq!(to_sign.digest.unwrap(), approved["authorization"]["digest_hex"].as_str().unwrap());
    desk.execute(&id, &approved).await;
    assert!(asked().await.to_sign.is_none());
    let told = app.boundary(&reader, "M-001").await.unwrap();
    assert_eq!(told.paged_today, 1);

    let id = desk.ask(&action("A2", 1900)).await;
    desk.decline(&id, "frivolous").await;
    let to_sign = app.approval_asked(&reader, "M-001", &id).await.unwrap().to_sign.unwrap();
    assert!(to_sign.digest.is_none());
}
