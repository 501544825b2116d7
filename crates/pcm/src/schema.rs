//! The schema of an event, version 2 (spec 3.3): the published JSON Schema file, read once into a tree that is cheap to ask.
//!
//! Token kinds matter: `integer` means written without fraction and exponent. Lengths count code points, patterns match
//! the whole text. A keyword that is not known here stops the reading of the file, so no check is lost in silence.

use crate::pattern::Pattern;
use canon::{Number, Object, Value};
use std::collections::HashMap;
use std::sync::LazyLock;

/// Why a value is not of the schema: where, and a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Misfit {
    /// A JSON Pointer from the event.
    pub(crate) place: String,
    pub(crate) why: &'static str,
}

/// Whether the value is an event of version 2. The first misfit in reading order is the one reported.
pub(crate) fn event(value: &Value<'_>) -> Result<(), Misfit> {
    match &*EVENT {
        Some(schema) => schema.holds(value),
        None => Err(Misfit { place: String::new(), why: "the schema cannot be read" }),
    }
}

static EVENT: LazyLock<Option<Schema>> =
    LazyLock::new(|| Schema::read(include_bytes!("../schema/tracekit.event.v2.json")));

type Id = usize;

#[derive(Debug, Default)]
pub(crate) struct Schema {
    /// The first is the root.
    nodes: Vec<Node>,
}

#[derive(Debug, Default)]
struct Node {
    kinds: Option<Kinds>,
    allowed: Option<Vec<Literal>>,
    pattern: Option<Pattern>,
    length: (Option<usize>, Option<usize>),
    bounds: (Option<i64>, Option<i64>),
    items: Option<Id>,
    count: (Option<usize>, Option<usize>),
    required: Vec<String>,
    properties: HashMap<String, Id>,
    additional: Additional,
    names: Option<Id>,
    one_of: Vec<Id>,
    all_of: Vec<Id>,
    condition: Option<(Id, Id)>,
    refers: Option<Id>,
    /// `allOf` whose every member is `if` one property has one value `then`: the property, and what follows from each.
    switch: Option<(String, HashMap<String, Vec<Id>>)>,
}

#[derive(Debug, Default)]
enum Additional {
    #[default]
    Any,
    None,
    Of(Id),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kinds(u8);

const NULL: u8 = 1;
const BOOLEAN: u8 = 2;
const INTEGER: u8 = 4;
const NUMBER: u8 = 8;
const STRING: u8 = 16;
const ARRAY: u8 = 32;
const OBJECT: u8 = 64;

#[derive(Debug, PartialEq)]
enum Literal {
    Bool(bool),
    Integer(i64),
    Text(String),
}

impl Schema {
    /// Whether the value is of the schema. The first misfit in reading order is the one reported.
    pub(crate) fn holds(&self, value: &Value<'_>) -> Result<(), Misfit> {
        self.check(0, value)
    }

    fn check(&self, id: Id, value: &Value<'_>) -> Result<(), Misfit> {
        let Some(node) = self.nodes.get(id) else { return misfit("no such definition") };
        if let Some(target) = node.refers {
            return self.check(target, value);
        }
        if node.kinds.is_some_and(|kinds| kinds.0 & kind(value) == 0) {
            return misfit("another type was expected");
        }
        if node.allowed.as_ref().is_some_and(|allowed| !allowed.iter().any(|literal| literal.is(value))) {
            return misfit("none of the allowed values");
        }
        match value {
            Value::String(text) => node.text(text)?,
            Value::Number(number) => node.number(number)?,
            Value::Array(values) => self.array(node, values)?,
            Value::Object(_) => self.object(node, value)?,
            Value::Null | Value::Bool(_) => {}
        }
        if !node.one_of.is_empty() {
            let holding = node.one_of.iter().filter(|&&one| self.check(one, value).is_ok()).count();
            if holding != 1 {
                return misfit("not exactly one of the alternatives");
            }
        }
        if let Some((property, cases)) = &node.switch {
            match value.get(property) {
                Some(Value::String(found)) => {
                    for &then in cases.get(found.as_ref()).into_iter().flatten() {
                        self.check(then, value)?;
                    }
                }
                // The property is required, so this is refused above.
                _ => return misfit("another type was expected"),
            }
        }
        node.all_of.iter().try_for_each(|&one| self.check(one, value))?;
        match node.condition {
            Some((when, then)) if self.check(when, value).is_ok() => self.check(then, value),
            _ => Ok(()),
        }
    }

    fn array(&self, node: &Node, values: &[Value<'_>]) -> Result<(), Misfit> {
        if !within(values.len(), node.count) {
            return misfit("too few or too many elements");
        }
        let Some(items) = node.items else { return Ok(()) };
        values.iter().enumerate().try_for_each(|(index, item)| {
            self.check(items, item).map_err(|fault| fault.inside(&index.to_string()))
        })
    }

    fn object(&self, node: &Node, value: &Value<'_>) -> Result<(), Misfit> {
        let Some(object) = value.as_object() else { return Ok(()) };
        if let Some(missing) = node.required.iter().find(|name| object.get(name).is_none()) {
            return misfit("a required member is missing").map_err(|fault: Misfit| fault.inside(missing));
        }
        for (name, member) in object.iter() {
            match (node.properties.get(name), &node.additional) {
                (Some(&id), _) | (None, &Additional::Of(id)) => {
                    self.check(id, member).map_err(|fault| fault.inside(name))?;
                }
                (None, Additional::None) => {
                    return misfit("no such member is allowed").map_err(|fault: Misfit| fault.inside(name));
                }
                (None, Additional::Any) => {}
            }
            if let Some(names) = node.names {
                let name_value = Value::String(name.into());
                self.check(names, &name_value).map_err(|fault| fault.inside(name))?;
            }
        }
        Ok(())
    }
}

impl Node {
    fn text(&self, text: &str) -> Result<(), Misfit> {
        if self.pattern.as_ref().is_some_and(|pattern| !pattern.matches(text)) {
            return misfit("the text is not of the pattern");
        }
        // No text has more code points than bytes, so most need no counting.
        let long = self.length.1.is_some_and(|max| text.len() > max && text.chars().count() > max);
        let short = self.length.0.is_some_and(|min| text.chars().count() < min);
        if long || short { misfit("the text is too short or too long") } else { Ok(()) }
    }

    fn number(&self, number: &Number<'_>) -> Result<(), Misfit> {
        let (min, max) = self.bounds;
        let inside = match number.as_i64() {
            Some(value) => min.is_none_or(|min| value >= min) && max.is_none_or(|max| value <= max),
            None => {
                let value = number.as_f64();
                min.is_none_or(|min| value >= float(min)) && max.is_none_or(|max| value <= float(max))
            }
        };
        if inside { Ok(()) } else { misfit("the number is out of bounds") }
    }
}

impl Literal {
    fn is(&self, value: &Value<'_>) -> bool {
        match (self, value) {
            (Self::Bool(one), Value::Bool(other)) => one == other,
            (Self::Text(one), Value::String(other)) => one == other,
            (Self::Integer(one), Value::Number(other)) => match other.as_i64() {
                Some(other) => *one == other,
                // 1.0 is the number 1; where its token matters, the type says so.
                None => float(*one).total_cmp(&other.as_f64()).is_eq(),
            },
            _ => false,
        }
    }
}

impl Misfit {
    fn inside(mut self, step: &str) -> Self {
        self.place = format!("/{}{}", step.replace('~', "~0").replace('/', "~1"), self.place);
        self
    }
}

fn misfit<T>(why: &'static str) -> Result<T, Misfit> {
    Err(Misfit { place: String::new(), why })
}

fn within(count: usize, (min, max): (Option<usize>, Option<usize>)) -> bool {
    min.is_none_or(|min| count >= min) && max.is_none_or(|max| count <= max)
}

/// The nearest double of a bound of the schema; all are within 2^53.
fn float(value: i64) -> f64 {
    // INVARIANT: every integer has a decimal spelling that reads as a double.
    value.to_string().parse().unwrap_or_default()
}

fn kind(value: &Value<'_>) -> u8 {
    match value {
        Value::Null => NULL,
        Value::Bool(_) => BOOLEAN,
        Value::Number(number) if number.is_integer_token() => INTEGER | NUMBER,
        Value::Number(_) => NUMBER,
        Value::String(_) => STRING,
        Value::Array(_) => ARRAY,
        Value::Object(_) => OBJECT,
    }
}

/// Reading the file: `None` where it says what is not understood here.
impl Schema {
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let file = canon::parse(bytes).ok()?;
        let mut reader = Reader { schema: Self::default(), definitions: HashMap::new() };
        // The root is first; definitions may refer to each other.
        reader.schema.nodes.push(Node::default());
        let none = Object::default();
        let definitions = file.get("$defs").map_or(Some(&none), Value::as_object)?;
        for (name, _) in definitions.iter() {
            let id = reader.schema.nodes.len();
            reader.schema.nodes.push(Node::default());
            reader.definitions.insert(format!("#/$defs/{name}"), id);
        }
        for (name, definition) in definitions.iter() {
            let id = *reader.definitions.get(&format!("#/$defs/{name}"))?;
            let node = reader.node(definition)?;
            *reader.schema.nodes.get_mut(id)? = node;
        }
        let root = reader.node(&file)?;
        *reader.schema.nodes.first_mut()? = root;
        Some(reader.schema)
    }
}

struct Reader {
    schema: Schema,
    definitions: HashMap<String, Id>,
}

impl Reader {
    fn add(&mut self, value: &Value<'_>) -> Option<Id> {
        let node = self.node(value)?;
        self.schema.nodes.push(node);
        Some(self.schema.nodes.len() - 1)
    }

    fn add_all(&mut self, value: &Value<'_>) -> Option<Vec<Id>> {
        value.as_array()?.iter().map(|one| self.add(one)).collect()
    }

    fn node(&mut self, value: &Value<'_>) -> Option<Node> {
        let mut node = Node::default();
        for (keyword, value) in value.as_object()?.iter() {
            match keyword {
                "$schema" | "$id" | "$defs" | "title" | "description" => {}
                "$ref" => node.refers = Some(*self.definitions.get(value.as_str()?)?),
                "type" => node.kinds = Some(kinds(value)?),
                "const" => node.allowed = Some(vec![literal(value)?]),
                "enum" => node.allowed = Some(value.as_array()?.iter().map(literal).collect::<Option<_>>()?),
                "pattern" => node.pattern = Some(Pattern::parse(value.as_str()?)?),
                "minLength" => node.length.0 = Some(size(value)?),
                "maxLength" => node.length.1 = Some(size(value)?),
                "minimum" => node.bounds.0 = Some(value.as_i64()?),
                "maximum" => node.bounds.1 = Some(value.as_i64()?),
                "items" => node.items = Some(self.add(value)?),
                "minItems" => node.count.0 = Some(size(value)?),
                "maxItems" => node.count.1 = Some(size(value)?),
                "required" => node.required = names(value)?,
                "properties" => {
                    for (name, property) in value.as_object()?.iter() {
                        let id = self.add(property)?;
                        node.properties.insert(name.to_owned(), id);
                    }
                }
                "additionalProperties" => {
                    node.additional = match value {
                        Value::Bool(false) => Additional::None,
                        Value::Bool(true) => Additional::Any,
                        other => Additional::Of(self.add(other)?),
                    }
                }
                "propertyNames" => node.names = Some(self.add(value)?),
                "oneOf" => node.one_of = self.add_all(value)?,
                "allOf" => match self.switch(value) {
                    Some(switch) => node.switch = Some(switch),
                    None => node.all_of = self.add_all(value)?,
                },
                "if" => {}
                "then" => {}
                _ => return None,
            }
        }
        if let Some(when) = value.get("if") {
            node.condition = Some((self.add(when)?, self.add(value.get("then")?)?));
        }
        let alone = value.as_object()?.iter().all(|(keyword, _)| matches!(keyword, "$ref" | "description"));
        if node.refers.is_some() && !alone {
            return None;
        }
        if let Some((property, _)) = &node.switch
            && !node.required.contains(property)
        {
            return None;
        }
        Some(node)
    }

    fn switch(&mut self, value: &Value<'_>) -> Option<(String, HashMap<String, Vec<Id>>)> {
        let mut switch: Option<(String, HashMap<String, Vec<Id>>)> = None;
        for one in value.as_array()? {
            let when = one.get("if")?.as_object().filter(|when| when.len() == 1)?.get("properties")?;
            let (property, condition) = when.as_object().filter(|when| when.len() == 1)?.iter().next()?;
            let found = condition.as_object().filter(|one| one.len() == 1)?.get("const")?.as_str()?;
            let then = one.as_object().filter(|one| one.len() == 2)?.get("then")?;
            let then = self.add(then)?;
            let (name, cases) = switch.get_or_insert_with(|| (property.to_owned(), HashMap::new()));
            if name != property {
                return None;
            }
            cases.entry(found.to_owned()).or_default().push(then);
        }
        switch
    }
}

fn kinds(value: &Value<'_>) -> Option<Kinds> {
    let one = |name: &str| {
        Some(match name {
            "null" => NULL,
            "boolean" => BOOLEAN,
            "integer" => INTEGER,
            "number" => NUMBER,
            "string" => STRING,
            "array" => ARRAY,
            "object" => OBJECT,
            _ => return None,
        })
    };
    let bits = match value {
        Value::String(name) => one(name)?,
        Value::Array(names) => names.iter().try_fold(0, |bits, name| Some(bits | one(name.as_str()?)?))?,
        _ => return None,
    };
    Some(Kinds(bits))
}

fn literal(value: &Value<'_>) -> Option<Literal> {
    match value {
        Value::Bool(value) => Some(Literal::Bool(*value)),
        Value::Number(number) => number.as_i64().map(Literal::Integer),
        Value::String(text) => Some(Literal::Text(text.to_string())),
        _ => None,
    }
}

fn size(value: &Value<'_>) -> Option<usize> {
    usize::try_from(value.as_u64()?).ok()
}

fn names(value: &Value<'_>) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|name| name.as_str().map(str::to_owned)).collect()
}
