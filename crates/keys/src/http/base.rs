use crate::{Code, Error};

/// A message as its verifier sees it: what the client sent, not what a proxy made of it.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    pub start: Start<'a>,
    /// Header fields in order; names in any case, one entry a line.
    pub fields: &'a [(&'a str, &'a str)],
    pub body: &'a [u8],
}

/// The first line.
#[derive(Debug, Clone, Copy)]
pub enum Start<'a> {
    Request {
        method: &'a str,
        scheme: &'a str,
        authority: &'a str,
        /// Percent-encoded, as it was sent.
        path: &'a str,
        /// Without its question mark; `None` if there was none.
        query: Option<&'a str>,
    },
    Response {
        status: u16,
    },
}

impl<'a> Message<'a> {
    /// A request to an absolute URL. Refuses user information and a fragment, which no request carries.
    pub fn request(
        method: &'a str,
        url: &'a str,
        fields: &'a [(&'a str, &'a str)],
        body: &'a [u8],
    ) -> Result<Self, Error> {
        let bad = |detail| Error::new(Code::BadComponent, detail).at("@target-uri");
        let (scheme, rest) = url.split_once("://").ok_or_else(|| bad("not an absolute url"))?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at_checked(end).unwrap_or((rest, ""));
        if authority.is_empty() || authority.contains('@') || target.contains('#') {
            return Err(bad("a request's url has a host, and neither user information nor a fragment"));
        }
        let (path, query) =
            target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
        Ok(Self { start: Start::Request { method, scheme, authority, path, query }, fields, body })
    }

    /// A response.
    pub const fn response(status: u16, fields: &'a [(&'a str, &'a str)], body: &'a [u8]) -> Self {
        Self { start: Start::Response { status }, fields, body }
    }

    /// All values of a field, trimmed and joined by a comma and a space (RFC 9421 2.1). Refuses what is not printable
    /// ASCII: it could end a line of the signature base.
    pub(super) fn field(&self, name: &str) -> Result<Option<String>, Error> {
        let mut lines = self.fields.iter().filter(|(field, _)| field.eq_ignore_ascii_case(name)).peekable();
        if lines.peek().is_none() {
            return Ok(None);
        }
        let value = lines.map(|(_, value)| value.trim_matches([' ', '\t'])).collect::<Vec<_>>().join(", ");
        if value.bytes().all(|byte| byte == b'\t' || (0x20..0x7f).contains(&byte)) {
            Ok(Some(value))
        } else {
            Err(Error::new(Code::BadComponent, "a value that is not printable ASCII").at(name))
        }
    }
}

/// RFC 9421 2.5: one line a component, then the parameters.
pub(super) fn signature_base(
    message: &Message<'_>,
    components: &[String],
    input: &str,
) -> Result<String, Error> {
    let mut base = String::new();
    for name in components {
        let value = component(message, name)?;
        base.push_str(&format!("\"{name}\": {value}\n"));
    }
    base.push_str("\"@signature-params\": ");
    base.push_str(input);
    Ok(base)
}

fn component(message: &Message<'_>, name: &str) -> Result<String, Error> {
    let refused =
        |detail: &str| Error::new(Code::BadComponent, format!("component {name:?} {detail}")).at(name);
    let value = if let Some(derived) = name.strip_prefix('@') {
        match (derived, &message.start) {
            ("status", Start::Response { status }) => format!("{status:03}"),
            (_, Start::Request { method, scheme, authority, path, query }) => {
                let scheme = scheme.to_ascii_lowercase();
                let authority = host(&scheme, authority);
                let path = if path.is_empty() { "/" } else { path };
                let query = query.map(|query| format!("?{query}"));
                let target = format!("{path}{}", query.as_deref().unwrap_or_default());
                match derived {
                    "method" => (*method).to_owned(),
                    "scheme" => scheme,
                    "authority" => authority,
                    "path" => path.to_owned(),
                    "query" => query.unwrap_or_else(|| "?".to_owned()),
                    "request-target" => target,
                    "target-uri" => format!("{scheme}://{authority}{target}"),
                    _ => return Err(refused("is not known, or not one of a request")),
                }
            }
            _ => return Err(refused("is not known, or not one of a response")),
        }
    } else {
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty()
            || !name.bytes().all(is_token)
            || name.bytes().any(|byte| byte.is_ascii_uppercase())
        {
            return Err(refused("is not the lower-case name of a field"));
        }
        message.field(name)?.ok_or_else(|| refused("is not in the message"))?
    };
    if value.bytes().all(|byte| byte == b'\t' || (0x20..0x7f).contains(&byte)) {
        Ok(value)
    } else {
        Err(refused("is not printable ASCII"))
    }
}

/// Lower case, without the scheme's default port (RFC 9421 2.2.3).
fn host(scheme: &str, authority: &str) -> String {
    let authority = authority.to_ascii_lowercase();
    let default = match scheme {
        "https" => ":443",
        "http" => ":80",
        _ => return authority,
    };
    authority.strip_suffix(default).map_or(authority.clone(), str::to_owned)
}
