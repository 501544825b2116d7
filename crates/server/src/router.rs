//! Everything on the wire, in one router.

use crate::{App, guard, http, mcp};
use axum::Router;
use axum::middleware::from_fn_with_state;

/// The API, MCP and the log. Pages and other mounts are merged by the caller; [`crate::serve`] puts the same checks before
/// all of them.
pub fn router(app: &App) -> Router<App> {
    http::router(app).merge(mcp::router(app)).fallback(missing)
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
