use super::Challenge;
use crate::{Code, Error};
use canon::Value;

/// The two ceremonies, by the word the browser signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ceremony {
    Create,
    Get,
}

impl Ceremony {
    const fn word(self) -> &'static str {
        match self {
            Self::Create => "webauthn.create",
            Self::Get => "webauthn.get",
        }
    }
}

/// Checks clientDataJSON (5.8.1): strict JSON, members we do not know passed over.
pub(super) fn check(
    bytes: &[u8],
    ceremony: Ceremony,
    challenge: &Challenge,
    origins: &[String],
) -> Result<(), Error> {
    let refused = |code, detail: String, member: &str| {
        Err(Error::new(code, detail).at(format!("client_data_json{member}")))
    };
    if bytes.len() > LONGEST {
        return refused(Code::BadJson, format!("longer than {LONGEST} bytes"), "");
    }
    let value = canon::parse(bytes).map_err(|error| Error::json(error).inside("client_data_json"))?;
    let word = |name: &str| value.get(name).and_then(Value::as_str);
    let (Some(kind), Some(signed), Some(origin)) = (word("type"), word("challenge"), word("origin")) else {
        return refused(Code::BadJson, "type, challenge and origin must be strings".into(), "");
    };
    if kind != ceremony.word() {
        return refused(
            Code::WrongCeremony,
            format!("type is {kind:?} where {:?} belongs", ceremony.word()),
            "/type",
        );
    }
    if !crate::equal(signed.as_bytes(), challenge.to_string().as_bytes()) {
        return refused(Code::WrongChallenge, "another challenge was signed".into(), "/challenge");
    }
    if !origins.iter().any(|known| known == origin) {
        return refused(Code::WrongOrigin, format!("origin {origin:?} is not on the list"), "/origin");
    }
    match value.get("crossOrigin") {
        None | Some(Value::Bool(false)) => {}
        Some(Value::Bool(true)) => {
            return refused(
                Code::CrossOrigin,
                "signed inside a frame of another site".into(),
                "/crossOrigin",
            );
        }
        Some(_) => return refused(Code::BadJson, "crossOrigin is not a boolean".into(), "/crossOrigin"),
    }
    match value.get("topOrigin") {
        None => Ok(()),
        Some(_) => refused(Code::CrossOrigin, "signed inside a frame of another site".into(), "/topOrigin"),
    }
}

const LONGEST: usize = 16 * 1024;
