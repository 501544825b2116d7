//! The frozen registry of tools (spec 4.15), as data: what a tool does, and where its arguments and results say what.

use canon::{Digest, Value};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

static FILE: &[u8] = include_bytes!("../../../../registry/tools-1.json");

/// What a tool does, as far as a claim may rest on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    Shell,
    Test,
    Http,
    FsWrite,
    Read,
    /// Gives the digest of a tree of files.
    Tree,
    /// Acts outside, and changes no file of the run.
    Act,
    /// Asks for a grant.
    Grant,
}

/// One tool. Pointers lead into its arguments, or into its opened content.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tool {
    pub(crate) class: Class,
    #[serde(default)]
    args: BTreeMap<String, String>,
    #[serde(default)]
    result: BTreeMap<String, String>,
    /// The HTTP method of a tool that has only one.
    pub(crate) method: Option<String>,
    /// The intent it carries out, whose fields are these.
    pub(crate) intent: Option<String>,
    #[serde(default)]
    fields: BTreeMap<String, Field>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Field {
    at: String,
    unit: Option<String>,
    unit_at: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Registry {
    #[serde(rename = "registry")]
    _name: String,
    tools: BTreeMap<String, Tool>,
    /// How each test runner is called.
    runners: BTreeMap<String, Vec<Vec<String>>>,
}

static REGISTRY: LazyLock<Option<Registry>> = LazyLock::new(|| canon::from_slice(FILE).ok());

/// The one registry that is read here.
pub(crate) fn registry() -> Option<&'static Registry> {
    REGISTRY.as_ref()
}

/// SHA-256 of its canonical form, as trust files name it.
pub fn registry_digest() -> Digest {
    *DIGEST
}

static DIGEST: LazyLock<Digest> =
    LazyLock::new(|| canon::canonicalize(FILE).map_or(Digest::ZERO, |bytes| Digest::of(&bytes)));

impl Registry {
    pub(crate) fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.get(name)
    }

    /// Whether the command is the runner's.
    pub(crate) fn runs(&self, runner: &str, argv: &[String]) -> bool {
        self.runners.get(runner).is_some_and(|ways| ways.iter().any(|way| argv.starts_with(way)))
    }
}

impl Tool {
    pub(crate) fn argument<'v>(&self, role: &str, arguments: &'v Value<'v>) -> Option<&'v Value<'v>> {
        arguments.pointer(self.args.get(role)?)
    }
    pub(crate) fn outcome<'v>(&self, role: &str, content: &'v Value<'v>) -> Option<&'v Value<'v>> {
        content.pointer(self.result.get(role)?)
    }
    /// A field of the intent it carries out, and the field's unit.
    pub(crate) fn field<'v>(
        &'v self,
        name: &str,
        arguments: &'v Value<'v>,
    ) -> Option<(&'v Value<'v>, Option<&'v str>)> {
        let field = self.fields.get(name)?;
        let unit = match (&field.unit, &field.unit_at) {
            (Some(unit), _) => Some(unit.as_str()),
            (None, Some(at)) => Some(arguments.pointer(at)?.as_str()?),
            (None, None) => None,
        };
        Some((arguments.pointer(&field.at)?, unit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The registry is frozen: trust files name this digest.
    #[test]
    fn the_registry_is_frozen_and_read() {
        let registry = registry().unwrap();
        assert_eq!(registry.tool("refund").unwrap().intent.as_deref(), Some("refund.request"));
        assert!(registry.tools.values().all(|tool| tool.fields.is_empty() == tool.intent.is_none()));
        let argv = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert!(registry.runs("pytest", &argv("python3 -m pytest -q")));
        assert!(
            !registry.runs("pytest", &argv("python3 -m pip")) && !registry.runs("cargo", &argv("pytest"))
        );
        assert_eq!(
            registry_digest().to_string(),
            "acd989e68adf335bbd784975d86ef710a77ecdfa98166ec250eba51a957cc124"
        );
    }
}
