//! JSON Schemas of what a room publishes: card, envelope, bundle, brief.

use crate::bundle::Bundle;
use crate::{Brief, Card, Envelope};
use schemars::Schema;

/// `(file name, pretty JSON)` of each schema, ids `urn:countersign:schema:<name>`.
pub fn schemas() -> [(&'static str, String); 4] {
    [
        ("intent-card.schema.json", print("intent-card", schemars::schema_for!(Card))),
        ("envelope.schema.json", print("envelope", schemars::schema_for!(Envelope))),
        ("bundle.schema.json", print("bundle", schemars::schema_for!(Bundle))),
        ("brief.schema.json", print("brief", schemars::schema_for!(Brief))),
    ]
}

fn print(name: &str, mut schema: Schema) -> String {
    schema.insert("$id".to_owned(), format!("urn:countersign:schema:{name}").into());
    format!("{:#}\n", schema.as_value())
}
