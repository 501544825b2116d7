//! What the agent is given to read is recorded before it is given.

use super::{Hub, wire};
use crate::wire::{Answer, Message};
use canon::Digest;
use std::sync::Arc;

/// The longest content that a record commits to itself, in bytes; of a longer one it commits to length and digest.
const WHOLE: usize = 700 << 10;

impl Hub {
    /// Where something came from, as records name it: `mcp:<upstream>/<what>`, at most 256 bytes.
    pub(super) fn source(&self, up: usize, method: &str, message: &Message) -> String {
        let what = match method {
            "resources/read" => message.param_text(&["uri"]),
            "prompts/get" => message.param_text(&["name"]).map(|name| format!("prompt:{name}")),
            "tasks/result" | "tasks/get" => message.param_text(&["taskId"]).map(|id| format!("task:{id}")),
            _ => Some(method.to_owned()),
        };
        let source = format!("mcp:{}/{}", self.name(up), what.unwrap_or_default());
        if source.len() <= 256 {
            return source;
        }
        format!("mcp:{}/{}", self.name(up), Digest::of(source.as_bytes()).prefixed())
    }

    pub(super) fn observed(&mut self, source: String, raw: &str, message: Message) {
        let Some((Answer::Result, text)) = message.answer() else { return self.reply(message.into_text()) };
        let content = content("result", text);
        let (gate, host, raw) = (Arc::clone(&self.gate), self.host.clone(), raw.to_owned());
        self.recording.spawn(async move {
            let line = match gate.observe(&source, &content).await {
                Ok(()) => message.into_text(),
                Err(error) => {
                    wire::error(&raw, -32603, &format!("the answer could not be recorded: {error}"))
                }
            };
            let _ = host.send(line);
        });
    }
}

/// What a record commits to of an answer: `{"result":…}` or `{"error":…}`. Of one that is no strict JSON, or that is too
/// long, its SHA-256 and its length.
pub(super) fn content(member: &str, text: &str) -> String {
    let length = canon::canonicalize(text.as_bytes()).map(|canonical| canonical.len());
    let read = match length {
        Ok(length) if length > WHOLE => Err("longer than a record holds".to_owned()),
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    };
    match read {
        Ok(()) => format!("{{\"{member}\":{text}}}"),
        Err(why) => format!(
            "{{\"{member}\":{{\"digest\":\"{}\",\"size\":{},\"why\":{}}}}}",
            Digest::of(text.as_bytes()).prefixed(),
            text.len(),
            wire::quoted(&why)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(content("result", text), expected);
    }

    #[test]
    fn a_content_is_the_answer_or_its_digest() {
        check(r#"{"a": 1}"#, r#"{"result":{"a": 1}}"#);
        let sum = Digest::of(b"1e400").prefixed();
        let told = content("result", "1e400");
        assert!(told.starts_with(&format!(r#"{{"result":{{"digest":"{sum}","size":5,"why":"#)), "{told}");
        canon::parse(told.as_bytes()).unwrap();
    }
}
