//! A room as one file that verifies with public keys alone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The export format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bundle {
    #[serde(rename = "type")]
    pub kind: String,
}
