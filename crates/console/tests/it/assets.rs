//! What browsers keep.

use crate::support::{Site, between};
use reqwest::StatusCode;

#[tokio::test]
async fn assets_are_kept_under_the_hash_of_their_content() {
    let site = Site::start(|_| {}).await;
    let mut browser = site.browser();
    let page = browser.get("/verify").await;
    let hash = between(&page.body, "href=\"/static/", "/").unwrap();
    for (name, status, kind) in [
        ("style.css", 200, "text/css; charset=utf-8"),
        ("verify.js", 200, "text/javascript; charset=utf-8"),
        ("verifier-js/index.js", 200, "text/javascript; charset=utf-8"),
        ("verifier-js/canon.js", 200, "text/javascript; charset=utf-8"),
        ("mark.svg", 200, "image/svg+xml"),
        ("verifier-js/cli.mjs", 404, ""),
        ("verifier-js/canon.test.mjs", 404, ""),
        ("../Cargo.toml", 404, ""),
        ("none.js", 404, ""),
    ] {
        let asset = browser.get(&format!("/static/{hash}/{name}")).await;
        assert_eq!(asset.status.as_u16(), status, "{name}");
        if asset.status == StatusCode::OK {
            assert_eq!(asset.headers["content-type"], kind, "{name}");
            assert!(asset.headers["cache-control"].to_str().unwrap().contains("immutable"), "{name}");
        }
    }
    let worker = browser.get("/push-worker.js").await;
    assert_eq!(worker.headers["content-type"], "text/javascript; charset=utf-8");
    assert_eq!(worker.headers["cache-control"], "no-cache");
    assert!(worker.headers["content-security-policy"].to_str().unwrap().contains("worker-src 'self'"));
    let old = browser.get("/static/0000000000000000/style.css").await;
    assert_eq!((old.status, old.headers["cache-control"].to_str().unwrap()), (StatusCode::OK, "no-cache"));
}
