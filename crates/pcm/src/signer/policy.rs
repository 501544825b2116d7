//! What may be called (spec 4.9): rules in their order, the first that matches decides, and where none does the default.
//!
//! A rule looks at a tool's name and at values of its arguments by their strict reading. Where a rule is for the tool and a value
//! it looks at has no one reading, the call is asked about: neither an allowance nor a ban is judged on what parsers could
//! read differently.

use super::rpc::Ruling;
use crate::message::GRANT_TOOL;
use crate::strict;
use canon::{Digest, Value};
use serde::{Deserialize, Serialize};

/// The rules of a signer. [`Policy::hash`] names them in every decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Where no rule matches.
    #[serde(default = "asked")]
    pub default: Ruling,
    #[serde(default, rename = "rule")]
    pub rules: Vec<Rule>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// `[A-Za-z0-9._-]`, at most 64 characters; it stands in the records.
    pub id: String,
    /// Names of tools; `*` stands for any characters.
    pub tools: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<At>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Paths>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<Shell>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<Amount>,
    pub then: Ruling,
    /// Said to whoever is refused or asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The argument at a JSON Pointer is a URL whose host is one of these; `*.example.com` is every host below it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct At {
    pub at: String,
    pub hosts: Vec<String>,
}

/// The argument at a JSON Pointer is a path at or below one of these.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paths {
    pub at: String,
    pub under: Vec<String>,
}

/// The argument at a JSON Pointer is a command line, or an array of its words, that begins with these words; a last word `$`
/// says that nothing follows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shell {
    pub at: String,
    pub begins: Vec<Vec<String>>,
}

/// The argument at a JSON Pointer is an integer within these.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Amount {
    pub at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<i64>,
}

/// What a policy says of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Judged {
    pub ruling: Ruling,
    pub rules: Vec<String>,
    pub reason: Option<String>,
}

/// A rule that could never be meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rule {rule}: {why}")]
pub struct PolicyError {
    pub rule: String,
    pub why: &'static str,
}

/// The rules that the records name where no rule of the policy is meant.
const AMBIGUOUS: &str = "TK-AMBIGUOUS";
const DEFAULT: &str = "TK-DEFAULT";
/// A grant is a person's to give, whatever the rules say.
const GRANT: &str = "TK-GRANT";
pub(crate) const ARGS_INVALID: &str = "TK-ARGS-INVALID";

impl Default for Policy {
    /// Everything is asked about.
    fn default() -> Self {
        Self { default: Ruling::Ask, rules: Vec::new() }
    }
}

impl Policy {
    /// Refuses names that the records could not carry, names twice, and rules for no tool or with unreadable bounds.
    pub fn check(&self) -> Result<(), PolicyError> {
        for (at, rule) in self.rules.iter().enumerate() {
            let bad = |why| Err(PolicyError { rule: rule.id.clone(), why });
            let good = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
            if !(1..=64).contains(&rule.id.len()) || !rule.id.bytes().all(good) {
                return bad("its id is not 1 to 64 of [A-Za-z0-9._-]");
            }
            if rule.id.starts_with("TK-") {
                return bad("ids that begin with TK- are the signer's own");
            }
            if self.rules.iter().take(at).any(|other| other.id == rule.id) {
                return bad("named twice");
            }
            if rule.tools.is_empty() {
                return bad("it is for no tool");
            }
            if rule.why.as_ref().is_some_and(|why| why.chars().count() > 512) {
                return bad("its why is longer than 512 characters");
            }
            let hosts = rule.url.iter().flat_map(|url| &url.hosts);
            if hosts
                .map(|host| host.strip_prefix("*.").unwrap_or(host))
                .any(|host| strict::host(host).is_err())
            {
                return bad("a host that cannot be read in one way");
            }
            if rule.path.iter().flat_map(|path| &path.under).any(|path| strict::path(path).is_err()) {
                return bad("a path that cannot be read in one way");
            }
            if rule.shell.iter().flat_map(|shell| &shell.begins).any(Vec::is_empty) {
                return bad("a command without a word");
            }
        }
        Ok(())
    }

    /// SHA-256 of the canonical form of the rules.
    pub fn hash(&self) -> Digest {
        // INVARIANT: texts and integers always have a canonical form.
        Digest::of(&canon::to_vec(self).unwrap_or_default())
    }

    pub(crate) fn judge(&self, tool: &str, arguments: &Value<'_>) -> Judged {
        if tool == GRANT_TOOL {
            return Judged { ruling: Ruling::Ask, rules: vec![GRANT.to_owned()], reason: None };
        }
        for rule in self.rules.iter().filter(|rule| rule.tools.iter().any(|glob| matches(glob, tool))) {
            match rule.meets(arguments) {
                Met::Yes => {
                    return Judged {
                        ruling: rule.then,
                        rules: vec![rule.id.clone()],
                        reason: rule.why.clone(),
                    };
                }
                Met::Ambiguous => {
                    return Judged {
                        ruling: Ruling::Ask,
                        rules: vec![rule.id.clone(), AMBIGUOUS.to_owned()],
                        reason: Some("an argument this rule looks at has no one reading".to_owned()),
                    };
                }
                Met::No => {}
            }
        }
        Judged { ruling: self.default, rules: vec![DEFAULT.to_owned()], reason: None }
    }
}

/// How a condition stands to the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Met {
    Yes,
    No,
    Ambiguous,
}

impl Rule {
    /// All of its conditions; an ambiguous one is no matter where another does not hold.
    fn meets(&self, arguments: &Value<'_>) -> Met {
        let found = [
            self.url.as_ref().map(|url| url.meets(arguments)),
            self.path.as_ref().map(|path| path.meets(arguments)),
            self.shell.as_ref().map(|shell| shell.meets(arguments)),
            self.amount.as_ref().map(|amount| amount.meets(arguments)),
        ];
        if found.contains(&Some(Met::No)) {
            Met::No
        } else if found.contains(&Some(Met::Ambiguous)) {
            Met::Ambiguous
        } else {
            Met::Yes
        }
    }
}

const fn met(holds: bool) -> Met {
    if holds { Met::Yes } else { Met::No }
}

impl At {
    fn meets(&self, arguments: &Value<'_>) -> Met {
        let Some(value) = arguments.pointer(&self.at) else { return Met::No };
        let Some(url) = value.as_str().and_then(|text| strict::url(text).ok()) else { return Met::Ambiguous };
        let under = |pattern: &String| match pattern.strip_prefix("*.") {
            Some(domain) => {
                strict::host(domain).is_ok_and(|domain| url.host() != &domain && url.host().is_under(&domain))
            }
            None => url.host().as_str() == pattern,
        };
        met(self.hosts.iter().any(under))
    }
}

impl Paths {
    fn meets(&self, arguments: &Value<'_>) -> Met {
        let Some(value) = arguments.pointer(&self.at) else { return Met::No };
        let Some(path) = value.as_str().and_then(|text| strict::path(text).ok()) else {
            return Met::Ambiguous;
        };
        met(self.under.iter().any(|outer| strict::is_under(path, outer)))
    }
}

impl Shell {
    fn meets(&self, arguments: &Value<'_>) -> Met {
        let Some(value) = arguments.pointer(&self.at) else { return Met::No };
        let words = match value {
            Value::String(line) => strict::argv(line).ok(),
            Value::Array(words) => words.iter().map(|word| word.as_str().map(str::to_owned)).collect(),
            _ => None,
        };
        let Some(words) = words else { return Met::Ambiguous };
        let begins = |begin: &Vec<String>| match begin.split_last() {
            Some((last, rest)) if last == "$" => words == rest,
            _ => words.starts_with(begin),
        };
        met(self.begins.iter().any(begins))
    }
}

impl Amount {
    fn meets(&self, arguments: &Value<'_>) -> Met {
        let Some(value) = arguments.pointer(&self.at) else { return Met::No };
        let Ok(number) = strict::number(value) else { return Met::Ambiguous };
        met(self.most.is_none_or(|most| number <= most) && self.least.is_none_or(|least| least <= number))
    }
}

/// Whether a name is what a pattern says: `*` stands for any characters, none too.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    true
}

const fn asked() -> Ruling {
    Ruling::Ask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        let check = |pattern: &str, name: &str, expected: bool| {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        };
        check("fs__read", "fs__read", true);
        check("fs__read", "fs__read2", false);
        check("fs__*", "fs__read", true);
        check("fs__*", "fs__", true);
        check("*", "", true);
        check("*read*", "fs__read_file", true);
        check("*read", "fs__read_file", false);
        check("a*b*c", "axxbyyc", true);
        check("a*b*c", "axxcyyb", false);
        check("ab*ba", "aba", false);
        check("", "x", false);
    }

    #[test]
    fn the_first_rule_that_matches_decides_and_what_is_ambiguous_is_asked() {
        let policy: Policy = canon::from_slice(
            br#"{"default":"deny","rule":[
              {"id":"R-NET","tools":["http_*"],"url":{"at":"/url","hosts":["api.example.com","*.files.example"]},"then":"allow"},
              {"id":"R-READ","tools":["fs__read*"],"path":{"at":"/path","under":["/srv/data"]},"then":"allow"},
              {"id":"R-GIT","tools":["Bash"],"shell":{"at":"/command","begins":[["git","status"],["ls","$"]]},"then":"allow"},
              {"id":"R-BIG","tools":["refund"],"amount":{"at":"/cents","least":5001},"then":"ask","why":"it is much"},
              {"id":"R-SMALL","tools":["refund"],"amount":{"at":"/cents","most":5000,"least":0},"then":"allow"}]}"#,
        )
        .unwrap();
        policy.check().unwrap();
        let check = |tool: &str, arguments: &str, ruling: Ruling, rules: &[&str]| {
            let judged = policy.judge(tool, &canon::parse(arguments.as_bytes()).unwrap());
            assert_eq!(
                (judged.ruling, judged.rules),
                (ruling, rules.iter().map(|r| (*r).to_owned()).collect()),
                "{tool} {arguments}"
            );
        };
        check("http_get", r#"{"url":"https://api.example.com/a"}"#, Ruling::Allow, &["R-NET"]);
        check("http_get", r#"{"url":"https://a.files.example/a"}"#, Ruling::Allow, &["R-NET"]);
        check("http_get", r#"{"url":"https://files.example/a"}"#, Ruling::Deny, &[DEFAULT]);
        check("http_get", r#"{"url":"https://other.example/a"}"#, Ruling::Deny, &[DEFAULT]);
        check(
            "http_get",
            r#"{"url":"https://a.example\\@api.example.com/"}"#,
            Ruling::Ask,
            &["R-NET", AMBIGUOUS],
        );
        check("http_get", r#"{"url":"http://0127.0.0.1/"}"#, Ruling::Ask, &["R-NET", AMBIGUOUS]);
        check("http_get", "{}", Ruling::Deny, &[DEFAULT]);
        check("fs__read_file", r#"{"path":"/srv/data/a"}"#, Ruling::Allow, &["R-READ"]);
        check("fs__read_file", r#"{"path":"/srv/database"}"#, Ruling::Deny, &[DEFAULT]);
        check("fs__read_file", r#"{"path":"/srv/data/../../etc"}"#, Ruling::Ask, &["R-READ", AMBIGUOUS]);
        check("Bash", r#"{"command":"git status -s"}"#, Ruling::Allow, &["R-GIT"]);
        check("Bash", r#"{"command":["ls"]}"#, Ruling::Allow, &["R-GIT"]);
        check("Bash", r#"{"command":"ls -la"}"#, Ruling::Deny, &[DEFAULT]);
        check("Bash", r#"{"command":"git status; rm -rf /"}"#, Ruling::Ask, &["R-GIT", AMBIGUOUS]);
        check("refund", r#"{"cents":5000}"#, Ruling::Allow, &["R-SMALL"]);
        check("refund", r#"{"cents":5001}"#, Ruling::Ask, &["R-BIG"]);
        check("refund", r#"{"cents":1e3}"#, Ruling::Ask, &["R-BIG", AMBIGUOUS]);
        check("refund", r#"{"cents":-1}"#, Ruling::Deny, &[DEFAULT]);
        check("unknown", "{}", Ruling::Deny, &[DEFAULT]);
    }
}
