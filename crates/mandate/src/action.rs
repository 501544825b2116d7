//! The Action IR (spec 1.2): what an agent wants to do. Its hash binds everything downstream.

use crate::hashed::Spelled;
use crate::text::{AssetSymbol, Id, PositiveUnits, Text, present};
use crate::time::DateTime;
use crate::{Address, Hashed};
use serde::{Deserialize, Serialize};

/// `action-ir/v0.1`. Members in the order of the canonical form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Action {
    pub actor: Id,
    pub amount: Amount,
    pub counterparty: Counterparty,
    pub created_at: DateTime,
    pub id: Id,
    pub mandate_id: Id,
    pub purpose: Id,
    /// The agent's claim, shown to people and never trusted.
    pub rationale: Text<0, 2000>,
    pub recipient: Recipient,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub reference: Option<Reference>,
    pub schema: ActionSchema,
    pub source: Source,
    #[serde(rename = "type")]
    pub kind: ActionType,
}

impl Spelled for Action {}

/// An action with its hash.
pub type HashedAction = Hashed<Action>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ActionSchema {
    #[serde(rename = "action-ir/v0.1")]
    V01,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionType {
    PayInvoice,
    Purchase,
    Transfer,
}

impl ActionType {
    pub const ALL: [Self; 3] = [Self::PayInvoice, Self::Purchase, Self::Transfer];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PayInvoice => "pay_invoice",
            Self::Purchase => "purchase",
            Self::Transfer => "transfer",
        }
    }
    /// Its number in an authorization.
    pub const fn code(self) -> u8 {
        match self {
            Self::PayInvoice => 1,
            Self::Purchase => 2,
            Self::Transfer => 3,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Amount {
    pub asset: AssetSymbol,
    pub value: PositiveUnits,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counterparty {
    pub display: Text<1, 128>,
    pub id: Id,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipient {
    pub address: Address,
    pub chain: Chain,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Chain {
    #[serde(rename = "cardano")]
    Cardano,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    pub invoice_id: Text<1, 64>,
    pub invoice_number: Text<1, 64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    pub vault: Id,
}
