//! The recordings that `/api/fixture` serves, against what the demo's server answers today.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

const KEPT: &str = include_str!("../../../server/src/mandates/fixture/recorded.json");

/// What a value is made of. Members that some of a list have and others have not are in its list all the same; null fits
/// everything.
#[derive(Debug, Clone, PartialEq)]
enum Shape {
    Nothing,
    Is(&'static str),
    List(Box<Shape>),
    Object(BTreeMap<String, Shape>),
}

/// Every recording of today is among those kept, with the same status and shape, and none more is kept. If not, record anew:
/// `cargo xtask fixtures`.
pub fn still_have_their_shape(today: &Path) {
    let today = read(&std::fs::read_to_string(today).unwrap());
    let kept = read(KEPT);
    let names = |all: &BTreeMap<String, Shape>| all.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&today), names(&kept), "cargo xtask fixtures");
    for (name, shape) in &today {
        assert_eq!(shape, &kept[name], "{name}: cargo xtask fixtures");
    }
}

/// The shapes by method, path without its ids, status, and what was asked.
fn read(text: &str) -> BTreeMap<String, Shape> {
    let all: Vec<Value> = serde_json::from_str(text).unwrap();
    assert!(all.len() > 40, "{} recordings", all.len());
    let mut shapes = BTreeMap::new();
    for one in &all {
        let path: Vec<&str> = one["path"].as_str().unwrap().split('/').map(placed).collect();
        let name = format!("{} {} {} {}", one["method"], path.join("/"), one["status"], one["asked"]);
        let shape = shape(&one["body"]);
        let merged = match shapes.remove(&name) {
            Some(other) => merge(other, shape),
            None => shape,
        };
        shapes.insert(name, merged);
    }
    shapes
}

/// A step of a path; ids that differ from run to run stand for themselves.
fn placed(step: &str) -> &str {
    if step.len() == 36 && step.matches('-').count() == 4 {
        "{uuid}"
    } else if step.starts_with("R-") {
        "{receipt}"
    } else {
        step
    }
}

fn shape(value: &Value) -> Shape {
    match value {
        Value::Null => Shape::Nothing,
        Value::Bool(_) => Shape::Is("flag"),
        Value::Number(_) => Shape::Is("number"),
        Value::String(_) => Shape::Is("text"),
        Value::Array(all) => Shape::List(Box::new(all.iter().map(shape).fold(Shape::Nothing, merge))),
        Value::Object(all) => {
            Shape::Object(all.iter().map(|(name, value)| (name.clone(), shape(value))).collect())
        }
    }
}

fn merge(one: Shape, other: Shape) -> Shape {
    match (one, other) {
        (Shape::Nothing, any) | (any, Shape::Nothing) => any,
        (Shape::List(one), Shape::List(other)) => Shape::List(Box::new(merge(*one, *other))),
        (Shape::Object(mut one), Shape::Object(other)) => {
            for (name, shape) in other {
                let known = one.remove(&name).unwrap_or(Shape::Nothing);
                one.insert(name, merge(known, shape));
            }
            Shape::Object(one)
        }
        (one, other) if one == other => one,
        _ => Shape::Is("one or another"),
    }
}
