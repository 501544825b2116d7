//! MCP over Streamable HTTP, both generations: 2026-07-28 with its metadata in each request, 2025-11-25 and older with a
//! handshake. Nothing is kept between requests; what looks like a session carries only the client's name.

mod carried;
mod direct;
mod elicit;
mod front;
mod handler;
mod label;
mod tools;

use crate::App;
use axum::Router;
use axum::routing::any;
use rmcp::transport::streamable_http_server::StreamableHttpServerConfig;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use std::sync::Arc;

pub use tools::names;

/// `/mcp`. Host and Origin were checked before.
pub(crate) fn router(app: &App) -> Router<App> {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_max_request_body_bytes(app.config().limits.mcp_body)
        .with_cancellation_token(app.stopping().clone());
    let handler = handler::Handler::new(app.clone());
    let sdk = front::Sdk::new(move || Ok(handler.clone()), Arc::new(NeverSessionManager::default()), config);
    Router::new().route("/mcp", any(front::handle).with_state((app.clone(), sdk)))
}
