use crate::target::Ntfy;
use crate::{Error, Message};
use fetch::{Client, Request};
use http::{Method, header};
use serde::Serialize;

/// ntfy's JSON form, which takes any characters: a POST to the server's root.
#[derive(Serialize)]
struct Body<'a> {
    topic: &'a str,
    title: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'a str,
    click: &'a str,
}

pub(crate) async fn send(client: &Client, ntfy: &Ntfy, message: &Message) -> Result<(), Error> {
    let body =
        Body { topic: &ntfy.topic, title: message.title(), message: message.body(), click: message.link() };
    let body = canon::to_vec(&body).map_err(|error| Error::Setup { detail: error.to_string() })?;
    let mut request = Request::new(Method::POST, ntfy.server.clone());
    request.body = body.into();
    request = request.header(header::CONTENT_TYPE, "application/json")?;
    if let Some(token) = &ntfy.token {
        request = request.header(header::AUTHORIZATION, &format!("Bearer {}", token.as_str()))?;
    }
    Error::of_answer(&client.send(request).await?)
}
