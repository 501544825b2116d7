//! The pages of mandates: what waits for an approver, the brief exactly as hashed, the boundary, receipts and runs. Whoever
//! reads proved a key; whoever decides signs with it, here or on the command line.

mod acts;
mod ask;
mod boundary;
mod brief;
mod decide;
mod difference;
mod editor;
mod entry;
mod figures;
mod form;
mod inbox;
mod live;
mod picture;
mod read;
mod veto;

use crate::page::{Shell, html, with_status};
use crate::visitor::Visitor;
use askama::Template;
use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::StatusCode;
use server::mandates::Refused;
use server::mandates::desk::Reader;
use server::{App, Error};

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/approver", get(entry::page).post(entry::prove))
        .route("/approver/key", get(entry::key))
        .route("/approver/leave", post(entry::leave))
        .route("/approvals", get(inbox::page))
        .route("/approvals/{mandate}/{id}", get(ask::page).post(decide::step))
        .route("/delays/{mandate}/{action}", get(veto::page).post(veto::stop))
        .route("/figures", get(figures::page))
        .route("/mandates/new", get(editor::new).post(editor::post_new))
        .route("/mandate/{id}", get(boundary::mandate))
        .route("/mandate/{id}/edit", get(editor::edit).post(editor::post_edit))
        .route("/mandate/{id}/acts", post(acts::draft))
        .route("/mandate/{id}/acts/{tx_hash}", get(acts::one).post(acts::sign))
        .route("/mandate/{id}/acts/{tx_hash}/transaction", get(acts::transaction))
        .route("/authority/{role}", get(boundary::authority))
        .route("/receipts/{id}", get(read::receipt))
        .route("/runs/{id}", get(read::run))
        .route("/live", get(live::live))
}

/// Why a page of mandates could not be shown.
#[derive(Debug)]
pub(crate) struct Denied {
    refused: Box<Refused>,
    back: Option<String>,
}

impl Denied {
    pub fn back_to(mut self, path: impl Into<String>) -> Self {
        self.back = Some(path.into());
        self
    }
}

impl From<Refused> for Denied {
    fn from(refused: Refused) -> Self {
        Self { refused: Box::new(refused), back: None }
    }
}

impl From<Error> for Denied {
    fn from(error: Error) -> Self {
        Refused::from(error).into()
    }
}

#[derive(Template)]
#[template(path = "mandates/refused.html")]
struct Page {
    shell: Shell,
    sentence: String,
    code: String,
    place: Option<String>,
    sign_in: bool,
    back: Option<String>,
}

impl IntoResponse for Denied {
    fn into_response(self) -> Response {
        let Self { refused, back } = self;
        tracing::debug!(code = %refused.code, "page refused");
        let (title, sign_in) = match refused.status {
            StatusCode::UNAUTHORIZED => ("Please show your key", true),
            StatusCode::NOT_FOUND => ("Nothing here", true),
            status if status.is_server_error() => ("That did not work", false),
            _ => ("That was refused", false),
        };
        let page = Page {
            shell: Shell { title: title.to_owned(), ..Shell::default() },
            sentence: crate::words::shown(&crate::page::sentence(&refused.text)),
            code: refused.code.to_string(),
            place: refused.place.clone().filter(|place| !place.is_empty()),
            sign_in,
            back,
        };
        with_status(refused.status, &page)
    }
}

/// The frame of a page of mandates.
async fn shell(visitor: &Visitor, title: &str) -> Result<Shell, Denied> {
    visitor.shell(title, None).await.map_err(|fault| fault.into_error().into())
}

/// Who reads; refused for whoever proved no key.
async fn somebody(visitor: &Visitor) -> Result<Reader, Denied> {
    let reader = visitor.app.reader(visitor.headers()).await?;
    if reader.is_somebody() { Ok(reader) } else { Err(Refused::from(Error::Unauthenticated).into()) }
}

fn page(template: &impl Template) -> Response {
    html(template)
}
