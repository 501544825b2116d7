//! A call of an agent that waits for a person: what will run, exactly, and yes or no.

use crate::answer::{Refused, Shown, Sign, accepts, sign, signed};
use crate::page::{Fault, Shell, done, html};
use crate::visitor::{Posted, Visitor};
use crate::words;
use askama::Template;
use axum::Json;
use axum::extract::Path;
use axum::response::Response;
use server::{Error, Prepared};

#[derive(Template)]
#[template(path = "evidence_ask.html")]
struct CallPage {
    shell: Shell,
    brief: Shown,
    sign: Sign,
    asked: String,
    until: Option<String>,
    action: String,
}

pub(crate) async fn ask(Path(ask): Path<String>, visitor: Visitor) -> Result<Response, Fault> {
    let member = visitor.member()?;
    let found = visitor.app.evidence_ask(&member.session, &ask).await;
    let found = found.map_err(|error| Fault::from(error).back_to("/asks".to_owned()))?;
    Ok(html(&CallPage {
        sign: sign(&visitor, &member.caller(), &found).await?,
        asked: words::when(found.asked_at),
        until: found.expires_at.map(words::when),
        action: format!("/asks/evidence/{}", found.id),
        brief: Shown::of(&found),
        shell: visitor.shell(&found.brief.title, None).await?,
    }))
}

pub(crate) async fn prepare(Path(ask): Path<String>, posted: Posted) -> Result<Json<Prepared>, Refused> {
    let Posted { visitor, fields } = posted;
    let member = visitor.member.as_ref().ok_or(Error::Unauthenticated)?;
    let (approve, reason) = (accepts(&fields)?, fields.some("reason"));
    Ok(Json(visitor.app.prepare_evidence(&member.session, &ask, approve, reason.as_deref()).await?))
}

pub(crate) async fn answer(Path(ask): Path<String>, posted: Posted) -> Result<Response, Fault> {
    let Posted { visitor, fields } = posted;
    let member = visitor.member()?;
    let back = |error: Error| Fault::from(error).back_to(format!("/asks/evidence/{ask}"));
    let approve = accepts(&fields).map_err(back)?;
    let (nonce, evidence) = signed(&visitor, &fields);
    let said = (approve, fields.some("reason"));
    visitor.app.answer_evidence(&member.session, &ask, said, nonce, evidence).await.map_err(back)?;
    Ok(done("/asks", "answered"))
}
