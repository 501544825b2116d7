//! `POST /v1/authority/check`.

use super::super::check::{CheckBody, Settled, Told};
use super::super::kept::Shelf;
use super::super::refused::Refused;
use super::super::who::Who;
use super::{Writes, answer};
use crate::App;
use crate::once::Once;
use ::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use canon::{Digest, Raw};
use env::Duration;
use mandate::x402::{self, Payment};
use serde::{Deserialize, Serialize};

/// Asks whether an action may be taken, and has it taken. For the mandate's agent. 402: it costs a bond to ask a person.
#[utoipa::path(post, path = "/v1/authority/check", tag = "authority", operation_id = "authority_check",
    params(("Idempotency-Key" = Option<String>, Header), ("PAYMENT-SIGNATURE" = Option<String>, Header)),
    responses((status = 200, description = "Decided"), (status = 402, description = "The price of asking a person, also in PAYMENT-REQUIRED")))]
pub(crate) async fn check(State(app): State<App>, asked: Writes) -> Result<Response, Refused> {
    let once = key(&asked.headers, &asked.who, &asked.body)?;
    let Some(once) = once else { return checked(&app, &asked).await };
    let Some(_running) = app.mandates()?.running.enter(&once) else {
        let text = "a request with this idempotency key is still running";
        return Err(Refused::new(StatusCode::TOO_MANY_REQUESTS, "idempotency_in_flight", text).after(RUNNING));
    };
    let name = format!("{} {}", once.scope, once.key);
    if let Some(kept) = app.kept_answer(&name).await? {
        if kept.request != once.request {
            return Err(crate::Error::KeyReused.into());
        }
        return canon::from_slice::<Kept>(&kept.response)?.response();
    }
    let response = checked(&app, &asked).await.unwrap_or_else(IntoResponse::into_response);
    if !is_kept(response.status()) {
        return Ok(response);
    }
    let (kept, response) = Kept::of(response).await?;
    let bytes = canon::to_vec(&kept)?;
    app.keep_for(Shelf::Answer, &name, once.request, bytes, KEEP, None).await?;
    Ok(response)
}

/// How long an answer is kept.
const KEEP: Duration = Duration::from_secs(24 * 3600);
/// When to ask again while the first request runs, in seconds.
const RUNNING: u64 = 5;

async fn checked(app: &App, asked: &Writes) -> Result<Response, Refused> {
    // Before anything is read of the body: what follows tells nobody more than they may know.
    if matches!(asked.who, Who::Nobody) {
        return Err(Refused::nobody());
    }
    let body: CheckBody = asked.json()?;
    match app.check(&asked.who, body, payment(&asked.headers)).await? {
        Told::Decided { answer: said, settled } => {
            let mut response = answer(said.as_ref())?;
            if let Some(settled) = settled {
                response.headers_mut().insert(PAYMENT_RESPONSE, settlement(&settled)?);
            }
            Ok(response)
        }
        Told::Pay { required, refused } => {
            let body = canon::to_vec(required.as_ref())?;
            let told = HeaderValue::try_from(STANDARD.encode(&body)).map_err(super::super::bug)?;
            let mut response = (StatusCode::PAYMENT_REQUIRED, body).into_response();
            let headers = response.headers_mut();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
            headers.insert(PAYMENT_REQUIRED, told);
            if let Some(refused) = refused {
                headers.insert(BOND_REFUSED, HeaderValue::from_static(refused.as_str()));
            }
            Ok(response)
        }
    }
}

const PAYMENT_REQUIRED: &str = "payment-required";
const PAYMENT_RESPONSE: &str = "payment-response";
/// Why the bond that was shown does not pay.
const BOND_REFUSED: &str = "countersign-bond-refused";

/// A PAYMENT-SIGNATURE; what is none, or more than one, is no payment.
fn payment(headers: &HeaderMap) -> Option<Payment> {
    let mut values = headers.get_all("payment-signature").iter();
    let only = values.next().filter(|_| values.next().is_none())?;
    x402::payment(&STANDARD.decode(only.to_str().ok()?.trim()).ok()?)
}

fn settlement(settled: &Settled) -> Result<HeaderValue, Refused> {
    HeaderValue::try_from(STANDARD.encode(canon::to_vec(settled)?)).map_err(super::super::bug)
}

/// Answers that a retry gets again. A price is asked for anew, and what may work later is tried again (spec 1.7).
fn is_kept(status: StatusCode) -> bool {
    !status.is_server_error()
        && !matches!(
            status,
            StatusCode::PAYMENT_REQUIRED
                | StatusCode::REQUEST_TIMEOUT
                | StatusCode::TOO_MANY_REQUESTS
                | StatusCode::UNAUTHORIZED
        )
}

/// 1 to 200 characters of `[A-Za-z0-9:_.-]`, of one caller.
fn key(headers: &HeaderMap, who: &Who, body: &[u8]) -> Result<Option<Once>, Refused> {
    let mut values = headers.get_all("idempotency-key").iter();
    let Some(value) = values.next() else { return Ok(None) };
    let bad = || {
        let text = "an idempotency key is 1 to 200 characters of A-Z a-z 0-9 : _ . -";
        Refused::new(StatusCode::BAD_REQUEST, "bad_idempotency_key", text)
    };
    let key = value.to_str().map_err(|_| bad())?;
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b':' | b'_' | b'.' | b'-');
    if values.next().is_some() || !(1..=200).contains(&key.len()) || !key.bytes().all(allowed) {
        return Err(bad());
    }
    Ok(Some(Once::new(who.name(), key.to_owned(), Digest::of(body))))
}

/// An answer as it is kept.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    body: Raw,
    headers: Vec<(String, String)>,
    status: u16,
}

impl Kept {
    async fn of(response: Response) -> Result<(Self, Response), Refused> {
        let (parts, body) = response.into_parts();
        let bytes = axum::body::to_bytes(body, usize::MAX).await.map_err(super::super::bug)?;
        let kept_headers = [header::CONTENT_TYPE.as_str(), PAYMENT_RESPONSE];
        let headers = kept_headers.iter().filter_map(|name| {
            let value = parts.headers.get(*name)?.to_str().ok()?;
            Some(((*name).to_owned(), value.to_owned()))
        });
        let kept = Self {
            body: Raw::from_slice(&bytes)?,
            headers: headers.collect(),
            status: parts.status.as_u16(),
        };
        Ok((kept, Response::from_parts(parts, bytes.into())))
    }

    fn response(self) -> Result<Response, Refused> {
        let status = StatusCode::from_u16(self.status).map_err(super::super::bug)?;
        let mut response = (status, self.body.to_string()).into_response();
        for (name, value) in self.headers {
            let name = ::http::HeaderName::try_from(name).map_err(super::super::bug)?;
            let value = HeaderValue::try_from(value).map_err(super::super::bug)?;
            response.headers_mut().insert(name, value);
        }
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Ok(response)
    }
}
