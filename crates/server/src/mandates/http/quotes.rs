//! `POST /v1/quotes`: whether a rate is on market, by the same verifiers (D32).

use super::super::refused::Refused;
use super::mandates::for_party;
use super::{Writes, answer};
use crate::App;
use axum::extract::State;
use axum::response::Response;
use mandate::basis::{Proof, Quote};
use mandate::text::Id;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    mandate_id: Id,
    quote: Quote,
}

/// Has a quote compared to the market. For the parties of a mandate. The answer is a proof that `countersign verify` reads.
#[utoipa::path(post, path = "/v1/quotes", tag = "authority", operation_id = "authority_quote",
    responses((status = 200, description = "Whether it is on market, and who says so"), (status = 503, description = "The verifiers do not say")))]
pub(crate) async fn quote(State(app): State<App>, asked: Writes) -> Result<Response, Refused> {
    let body: Asked = asked.json()?;
    for_party(&app, &asked.who, body.mandate_id.as_str()).await?;
    let appraised = app.mandates()?.setup.verifier.appraise(&body.quote).await;
    let appraised = appraised.ok_or_else(Refused::unverified)?;
    answer(&Proof::of(appraised.evidence, appraised.registry_tx))
}
