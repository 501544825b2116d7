use crate::Error;
use approvals::text;
use serde::Serialize;

/// What a person is told. Never a decision, never a secret: the link is under the server's own address and carries neither
/// a query nor a fragment, where secrets travel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message {
    title: String,
    body: String,
    link: String,
}

const MAX_TITLE: usize = 120;
const MAX_BODY: usize = 500;

impl Message {
    /// `base` is the server's public address, e.g. `https://countersign.example`; `link` a path below it, or the whole
    /// address. Title and body
    /// are other people's words: hidden characters are made visible, line feeds become blanks, and what is longer than
    /// 120 or 500 characters is cut with an ellipsis, since nothing is decided by it.
    pub fn new(base: &str, link: &str, title: &str, body: &str) -> Result<Self, Error> {
        let bad = |why| Error::BadMessage { why };
        let base = fetch::Destination::parse(base).map_err(|_| bad("the server's address is none"))?;
        let path = link.strip_prefix(base.origin().as_str()).unwrap_or(link);
        if !path.starts_with('/') || path.starts_with("//") || path.contains(['?', '#', '\\', '@']) {
            return Err(bad("a link is a path without query and fragment"));
        }
        let link = format!("{}{path}", base.origin());
        let parsed = fetch::Destination::parse(&link).map_err(|_| bad("a link is a plain path"))?;
        if parsed.origin() != base.origin() {
            return Err(bad("the link leads elsewhere"));
        }
        let title = line(title, MAX_TITLE);
        if title.is_empty() {
            return Err(bad("there is no title"));
        }
        Ok(Self { title, body: line(body, MAX_BODY), link })
    }

    pub fn title(&self) -> &str {
        &self.title
    }

    pub fn body(&self) -> &str {
        &self.body
    }

    pub fn link(&self) -> &str {
        &self.link
    }
}

fn line(words: &str, max: usize) -> String {
    let flat: Vec<&str> = words.split_whitespace().collect();
    let shown = text::show(&flat.join(" "));
    if shown.chars().count() <= max {
        return shown;
    }
    shown.chars().take(max.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(base: &str, path: &str, link: Option<&str>) {
        let message = Message::new(base, path, "A question waits", "");
        assert_eq!(message.as_ref().ok().map(Message::link), link, "{base} {path}");
    }

    #[test]
    fn a_link_leads_to_this_server_and_carries_nothing() {
        check("https://a.example", "/asks/q1", Some("https://a.example/asks/q1"));
        check("https://a.example:8443/", "/", Some("https://a.example:8443/"));
        check("http://127.0.0.1:8080", "/asks/q1", Some("http://127.0.0.1:8080/asks/q1"));
        check("https://a.example/", "https://a.example/asks/q1", Some("https://a.example/asks/q1"));
        check("https://a.example", "https://a.example.evil.example/asks/q1", None);
        check("https://a.example", "https://a.example@evil.example/", None);
        check("https://a.example", "https://a.example:8443/", None);
        check("https://a.example", "http://a.example/", None);
        for path in [
            "",
            "asks",
            "//evil.example/",
            "/a?token=1",
            "/a#secret",
            "/\\evil.example",
            "https://evil.example/",
            "/a b",
        ] {
            check("https://a.example", path, None);
        }
        check("https://a.example", ".evil.example/", None);
        check("a.example", "/", None);
    }

    #[test]
    fn words_are_one_visible_line() {
        let message =
            Message::new("https://a.example", "/", "Pay\r\nBcc: x\u{202E}", &"é".repeat(600)).unwrap();
        assert_eq!(message.title(), "Pay Bcc: x⟨U+202E⟩");
        assert_eq!(message.body().chars().count(), 500);
        assert!(Message::new("https://a.example", "/", " \n", "").is_err());
    }
}
