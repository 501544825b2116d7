//! Terms of grants and of claims about approvals, and when one implies another (spec 4.6). The table is data, and the same for
//! the signer and the receiver: what it does not list is refused.

use super::code::Code;
use crate::strict::{self, Ambiguous, Host};
use canon::Value;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// What a term says of its field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    Eq,
    In,
    Le,
    Ge,
    Range,
    HostIs,
    HostUnder,
    PathIs,
    PathUnder,
    SubsetOf,
}

/// A limit on one field, in one unit. Numbers are integers in the unit's smallest part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    field: String,
    unit: Option<String>,
    op: Op,
    bound: Bound,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Bound {
    Scalar(Scalar),
    Scalars(BTreeSet<Scalar>),
    /// From, to; an open end is `None`.
    Numbers(Option<i64>, Option<i64>),
    Host(Host),
    Path(String),
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Scalar {
    Bool(bool),
    Integer(i64),
    Text(String),
}

/// On what condition a listed child is narrower.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum When {
    Equal,
    Member,
    Subset,
    Within,
    HostUnder,
    PathUnder,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(rename = "table")]
    _name: String,
    rows: Vec<Row>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    parent: Op,
    child: Op,
    when: When,
}

static TABLE: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let file = include_bytes!("../../../../registry/implication-1.json");
    canon::from_slice::<Table>(file).map(|table| table.rows).unwrap_or_default()
});

impl Term {
    /// From `{field, op, value, unit?}`. Refused with [`Code::BadSchema`]: a value the op does not have; otherwise a host, path,
    /// number or text that has no one reading.
    pub fn read(value: &Value<'_>) -> Result<Self, Code> {
        let shape = Code::BadSchema;
        let text = |name| value.get(name).and_then(Value::as_str);
        let op = value.get("op").cloned().ok_or(shape)?;
        let op: Op = canon::from_value(op.into_static()).map_err(|_| shape)?;
        let said = value.get("value").ok_or(shape)?;
        let own = || said.as_str().ok_or(shape);
        let bound = match op {
            Op::Eq => Bound::Scalar(scalar(said)?.ok_or(shape)?),
            Op::In => Bound::Scalars(scalars(said)?.filter(|set| !set.is_empty()).ok_or(shape)?),
            Op::SubsetOf => {
                let set = scalars(said)?.ok_or(shape)?;
                let texts = set.iter().all(|one| matches!(one, Scalar::Text(_)));
                Bound::Scalars(Some(set).filter(|_| texts).ok_or(shape)?)
            }
            Op::Le => Bound::Numbers(None, Some(integer(said)?)),
            Op::Ge => Bound::Numbers(Some(integer(said)?), None),
            Op::Range => match said.as_array() {
                Some([from, to]) => {
                    let (from, to) = (integer(from)?, integer(to)?);
                    if from > to {
                        return Err(shape);
                    }
                    Bound::Numbers(Some(from), Some(to))
                }
                _ => return Err(shape),
            },
            Op::HostIs | Op::HostUnder => Bound::Host(strict::host(own()?)?),
            Op::PathIs | Op::PathUnder => Bound::Path(strict::plain_path(own()?)?.to_owned()),
        };
        let field = text("field").ok_or(shape)?.to_owned();
        Ok(Self { field, unit: text("unit").map(str::to_owned), op, bound })
    }

    pub fn field(&self) -> &str {
        &self.field
    }

    /// Whether whatever meets `child` meets this too: same field, same unit, and a row of the table whose condition holds.
    pub fn implied_by(&self, child: &Self) -> bool {
        let same = self.field == child.field && self.unit == child.unit;
        same && TABLE
            .iter()
            .filter(|row| row.parent == self.op && row.child == child.op)
            .any(|row| row.when.holds(&self.bound, &child.bound))
    }

    /// Whether a value of the field in that unit meets the term: whether the term that says just that value implies it.
    pub fn meets(&self, value: &Value<'_>, unit: Option<&str>) -> Result<bool, Ambiguous> {
        let said = match self.op {
            Op::Eq | Op::In | Op::Le | Op::Ge | Op::Range => {
                scalar(value)?.map(|one| (Op::Eq, Bound::Scalar(one)))
            }
            Op::SubsetOf => scalars(value)?.map(|set| (Op::SubsetOf, Bound::Scalars(set))),
            Op::HostIs | Op::HostUnder => match value.as_str() {
                Some(text) => Some((Op::HostIs, Bound::Host(strict::host(text)?))),
                None => None,
            },
            Op::PathIs | Op::PathUnder => match value.as_str() {
                Some(text) => Some((Op::PathIs, Bound::Path(strict::plain_path(text)?.to_owned()))),
                None => None,
            },
        };
        let Some((op, bound)) = said else { return Ok(false) };
        let field = self.field.clone();
        Ok(self.implied_by(&Self { field, unit: unit.map(str::to_owned), op, bound }))
    }
}

/// Whether terms of a link are no wider than its parent's: each of the parent's is implied by one of its own.
pub fn narrower(child: &[Term], parent: &[Term]) -> bool {
    parent.iter().all(|limit| child.iter().any(|own| limit.implied_by(own)))
}

impl When {
    fn holds(self, parent: &Bound, child: &Bound) -> bool {
        match (self, parent, child) {
            (Self::Equal, parent, child) => parent == child,
            (Self::Member, Bound::Scalars(set), Bound::Scalar(one)) => set.contains(one),
            (Self::Subset, Bound::Scalars(set), Bound::Scalars(less)) => less.is_subset(set),
            (Self::Within, Bound::Numbers(from, to), child) => child.span().is_some_and(|(least, most)| {
                let above = from.is_none_or(|from| least.is_some_and(|least| from <= least));
                above && to.is_none_or(|to| most.is_some_and(|most| most <= to))
            }),
            (Self::HostUnder, Bound::Host(domain), Bound::Host(host)) => host.is_under(domain),
            (Self::PathUnder, Bound::Path(outer), Bound::Path(inner)) => strict::is_under(inner, outer),
            _ => false,
        }
    }
}

impl Bound {
    /// The least and the greatest number it lets through; `None` if it is not of numbers alone.
    fn span(&self) -> Option<(Option<i64>, Option<i64>)> {
        let number = |one: &Scalar| match one {
            Scalar::Integer(number) => Some(*number),
            _ => None,
        };
        match self {
            Self::Scalar(one) => number(one).map(|one| (Some(one), Some(one))),
            Self::Scalars(set) => {
                let numbers = set.iter().map(number).collect::<Option<Vec<_>>>()?;
                Some((numbers.first().copied(), numbers.last().copied())).filter(|_| !numbers.is_empty())
            }
            Self::Numbers(from, to) => Some((*from, *to)),
            Self::Host(_) | Self::Path(_) => None,
        }
    }
}

fn integer(value: &Value<'_>) -> Result<i64, Code> {
    match value {
        Value::Number(_) => Ok(strict::number(value)?),
        _ => Err(Code::BadSchema),
    }
}

/// `None` for what is no scalar.
fn scalar(value: &Value<'_>) -> Result<Option<Scalar>, Ambiguous> {
    Ok(match value {
        Value::Bool(one) => Some(Scalar::Bool(*one)),
        Value::Number(_) => Some(Scalar::Integer(strict::number(value)?)),
        Value::String(text) => Some(Scalar::Text(strict::text(text)?.to_owned())),
        _ => None,
    })
}

/// `None` for what is no list of scalars of one type.
fn scalars(value: &Value<'_>) -> Result<Option<BTreeSet<Scalar>>, Ambiguous> {
    let Some(values) = value.as_array() else { return Ok(None) };
    let Some(set) = values.iter().map(scalar).collect::<Result<Option<BTreeSet<_>>, _>>()? else {
        return Ok(None);
    };
    let kinds: BTreeSet<_> = set.iter().map(std::mem::discriminant).map(|kind| format!("{kind:?}")).collect();
    Ok(Some(set).filter(|_| kinds.len() <= 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(text: &str) -> Term {
        Term::read(&canon::parse(text.as_bytes()).unwrap()).unwrap()
    }

    fn of(op: &str, value: &str) -> Term {
        term(&format!(r#"{{"field":"f","op":"{op}","value":{value},"unit":"u"}}"#))
    }

    #[test]
    fn a_child_is_narrower_only_where_the_table_lists_it() {
        let check = |parent: (&str, &str), child: (&str, &str), expected: bool| {
            assert_eq!(
                of(parent.0, parent.1).implied_by(&of(child.0, child.1)),
                expected,
                "{parent:?} {child:?}"
            );
        };
        check(("eq", "5"), ("eq", "5"), true);
        check(("eq", "5"), ("eq", "\"5\""), false);
        check(("eq", "5"), ("in", "[5]"), false);
        check(("eq", "5"), ("range", "[5,5]"), false);
        check(("in", "[1,2]"), ("eq", "2"), true);
        check(("in", "[1,2]"), ("eq", "3"), false);
        check(("in", "[1,2]"), ("in", "[2]"), true);
        check(("in", "[1,2]"), ("in", "[2,3]"), false);
        check(("in", "[1,2]"), ("le", "1"), false);
        check(("le", "9"), ("eq", "9"), true);
        check(("le", "9"), ("eq", "10"), false);
        check(("le", "9"), ("eq", "true"), false);
        check(("le", "9"), ("le", "9"), true);
        check(("le", "9"), ("le", "10"), false);
        check(("le", "9"), ("range", "[-5,9]"), true);
        check(("le", "9"), ("range", "[0,10]"), false);
        check(("le", "9"), ("in", "[1,9]"), true);
        check(("le", "9"), ("in", "[1,10]"), false);
        check(("le", "9"), ("in", "[\"a\"]"), false);
        check(("le", "9"), ("ge", "1"), false);
        check(("ge", "1"), ("ge", "1"), true);
        check(("ge", "1"), ("ge", "0"), false);
        check(("ge", "1"), ("range", "[1,2]"), true);
        check(("ge", "1"), ("range", "[0,2]"), false);
        check(("ge", "1"), ("le", "9"), false);
        check(("range", "[1,9]"), ("eq", "1"), true);
        check(("range", "[1,9]"), ("range", "[1,9]"), true);
        check(("range", "[1,9]"), ("range", "[0,9]"), false);
        check(("range", "[1,9]"), ("in", "[1,9]"), true);
        check(("range", "[1,9]"), ("le", "9"), false);
        check(("host_is", "\"a.example\""), ("host_is", "\"a.example\""), true);
        check(("host_is", "\"a.example\""), ("host_under", "\"a.example\""), false);
        check(("host_under", "\"a.example\""), ("host_is", "\"b.a.example\""), true);
        check(("host_under", "\"a.example\""), ("host_under", "\"a.example\""), true);
        check(("host_under", "\"a.example\""), ("host_under", "\"example\""), false);
        check(("host_under", "\"a.example\""), ("eq", "\"a.example\""), false);
        check(("path_under", "\"/srv\""), ("path_is", "\"/srv/a\""), true);
        check(("path_under", "\"/srv\""), ("path_under", "\"/srv/a\""), true);
        check(("path_under", "\"/srv\""), ("path_is", "\"/srvx\""), false);
        check(("path_under", "\"/srv/a\""), ("path_under", "\"/srv\""), false);
        check(("subset_of", "[\"a\",\"b\"]"), ("subset_of", "[\"a\"]"), true);
        check(("subset_of", "[\"a\"]"), ("subset_of", "[\"a\",\"b\"]"), false);
        check(("subset_of", "[\"a\"]"), ("in", "[\"a\"]"), false);
        assert_eq!(TABLE.len(), 21);
    }

    #[test]
    fn another_field_or_unit_is_never_implied() {
        let amount = term(r#"{"field":"amount","op":"le","value":100,"unit":"USD.minor"}"#);
        let check = |other: &str, expected| assert_eq!(amount.implied_by(&term(other)), expected, "{other}");
        check(r#"{"field":"amount","op":"le","value":100,"unit":"USD.minor"}"#, true);
        check(r#"{"field":"amount","op":"le","value":1,"unit":"USD"}"#, false);
        check(r#"{"field":"amount","op":"le","value":1}"#, false);
        check(r#"{"field":"other","op":"le","value":1,"unit":"USD.minor"}"#, false);
        assert!(narrower(&[], &[]) && !narrower(&[], std::slice::from_ref(&amount)));
    }

    #[test]
    fn a_term_without_one_reading_is_refused() {
        let check = |op: &str, value: &str, expected: Code| {
            let text = format!(r#"{{"field":"f","op":"{op}","value":{value}}}"#);
            assert_eq!(Term::read(&canon::parse(text.as_bytes()).unwrap()), Err(expected), "{text}");
        };
        check("in", "[]", Code::BadSchema);
        check("in", "[1,\"a\"]", Code::BadSchema);
        check("range", "[2,1]", Code::BadSchema);
        check("range", "[1]", Code::BadSchema);
        check("le", "\"1\"", Code::BadSchema);
        check("subset_of", "[1]", Code::BadSchema);
        check("lt", "1", Code::BadSchema);
        check("eq", "null", Code::BadSchema);
        check("le", "1.5", Code::AmbiguousNumber);
        check("host_is", "\"0127.0.0.1\"", Code::AmbiguousHost);
        check("path_under", "\"/srv/../etc\"", Code::AmbiguousPath);
        check("eq", "\"a\\u202eb\"", Code::AmbiguousText);
    }
}
