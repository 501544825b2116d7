//! The session id of the older revisions. It holds nothing but the client's name, the default label of its seat: any
//! process can read it, and none has to remember it.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use env::Env;
use http::HeaderMap;

/// The longest name that is carried, in bytes.
const LONGEST: usize = 60;

/// A fresh session id that carries the client's name.
pub(crate) fn session(env: &mut Env, client: Option<&str>) -> String {
    let name: String = client.unwrap_or_default().chars().take(LONGEST / 4).collect();
    format!("{}.{}", env.id(24), URL_SAFE_NO_PAD.encode(name))
}

/// The client's name out of a request's session id.
pub(crate) fn of(headers: &HeaderMap) -> Option<String> {
    let id = headers.get("mcp-session-id")?.to_str().ok()?;
    let bytes = URL_SAFE_NO_PAD.decode(id.split_once('.')?.1).ok()?;
    let name = String::from_utf8(bytes).ok()?;
    (!name.is_empty() && name.len() <= LONGEST).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_comes_back() {
        let mut env = Env::new(env::Timestamp::EPOCH, [1; 32]);
        for (name, expected) in [(Some("Agent Ä"), Some("Agent Ä")), (Some(""), None), (None, None)] {
            let mut headers = HeaderMap::new();
            headers.insert("mcp-session-id", session(&mut env, name).parse().unwrap());
            assert_eq!(of(&headers).as_deref(), expected);
        }
        let mut headers = HeaderMap::new();
        headers.insert("mcp-session-id", "garbage".parse().unwrap());
        assert_eq!(of(&headers), None);
    }
}
