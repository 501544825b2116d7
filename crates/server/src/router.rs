//! Everything on the wire, in one router.

use crate::{App, guard, http, mcp, v0};
use axum::Router;
use axum::middleware::from_fn_with_state;

/// The API, MCP and the log, and profile `v0` where it is switched on. Pages and other mounts are merged by the caller;
/// [`crate::serve`] puts the same checks before all of them.
pub fn router(app: &App) -> Router<App> {
    let router = http::router(app).merge(mcp::router(app)).fallback(missing);
    if app.config().v0 { router.nest_service(v0::PATH, v0::mounted(app)) } else { router }
}

/// The router with what every request passes: whose it is, how often it may come, and the headers of every answer.
pub fn guarded(app: &App, router: Router<App>) -> Router {
    router
        .layer(from_fn_with_state(app.clone(), guard::enter))
        .layer(from_fn_with_state(app.clone(), guard::leave))
        .with_state(app.clone())
}

async fn missing() -> crate::Error {
    crate::Error::Missing
}
