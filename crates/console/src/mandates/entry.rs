//! Showing a key: by a wallet, by a key of this browser, or by the command line.

use super::{Denied, shell};
use crate::page::{Shell, done, with_cookie};
use crate::visitor::{Posted, Visitor};
use askama::Template;
use axum::response::Response;

#[derive(Template)]
#[template(path = "mandates/entry.html")]
struct Entry {
    shell: Shell,
    message: String,
    ticket: String,
    /// The command that signs it, on one line.
    command: String,
    /// The keys this browser has proved.
    keys: Vec<String>,
}

pub(crate) async fn page(visitor: Visitor) -> Result<Response, Denied> {
    let invitation = visitor.app.invitation();
    let reader = visitor.app.reader(visitor.headers()).await?;
    Ok(super::page(&Entry {
        command: format!("countersign mandate sign {} --key approver.jwk", quoted(&invitation.message)),
        message: invitation.message,
        ticket: invitation.ticket,
        keys: reader.keys().iter().map(ToString::to_string).collect(),
        shell: shell(&visitor, "Show your key").await?,
    }))
}

pub(crate) async fn prove(posted: Posted) -> Result<Response, Denied> {
    let Posted { visitor, fields } = posted;
    let proved = visitor.app.prove(fields.one("ticket"), fields.one("signature")).await;
    let cookie = proved.map_err(|refused| Denied::from(refused).back_to("/approver"))?;
    Ok(with_cookie(done("/approvals", ""), &cookie))
}

pub(crate) async fn leave(posted: Posted) -> Result<Response, Denied> {
    let visitor = &posted.visitor;
    let cookie = visitor.app.sign_out_approver(visitor.headers()).await?;
    Ok(with_cookie(done("/approver", "out"), &cookie))
}

#[derive(Template)]
#[template(path = "mandates/key.html")]
struct Key {
    shell: Shell,
}

/// Where a person makes a key of this browser.
pub(crate) async fn key(visitor: Visitor) -> Result<Response, Denied> {
    Ok(super::page(&Key { shell: shell(&visitor, "A key of this browser").await? }))
}

/// A text as one word of a shell.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_quoted_text_is_one_word() {
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
