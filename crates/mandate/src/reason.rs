//! Reason codes (seed, "Outcomes"), and those that only ours gives.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a row of an evaluation does not pass. The last five are not the seed's: `mandate/v0.2` gives the middle ones,
/// [`EvaluatorFault`](Self::EvaluatorFault) is what a fault of our own is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Reason {
    InvalidProposal,
    InvalidAgentSignature,
    AgentNotDelegate,
    WrongMandate,
    MandateRevoked,
    MandateVersionMismatch,
    MandateNotStarted,
    MandateExpired,
    PurposeNotAuthorized,
    ActionNotAuthorized,
    AssetNotAuthorized,
    AmountAboveHardCap,
    DailyCapExceeded,
    TreasuryFloorViolation,
    InvoiceNotFound,
    CustomerMismatch,
    InvoiceNotOpen,
    AmountMismatch,
    CurrencyMismatch,
    RecipientMismatch,
    VerificationUnavailable,
    CounterpartyNotApproved,
    AboveAutonomousLimit,
    PrincipalDeclined,
    InterruptBudgetExhausted,
    RollingCapExceeded,
    CounterpartyCapExceeded,
    AboveDelayLimit,
    Vetoed,
    EvaluatorFault,
}

impl Reason {
    pub const ALL: [Self; 30] = [
        Self::InvalidProposal,
        Self::InvalidAgentSignature,
        Self::AgentNotDelegate,
        Self::WrongMandate,
        Self::MandateRevoked,
        Self::MandateVersionMismatch,
        Self::MandateNotStarted,
        Self::MandateExpired,
        Self::PurposeNotAuthorized,
        Self::ActionNotAuthorized,
        Self::AssetNotAuthorized,
        Self::AmountAboveHardCap,
        Self::DailyCapExceeded,
        Self::TreasuryFloorViolation,
        Self::InvoiceNotFound,
        Self::CustomerMismatch,
        Self::InvoiceNotOpen,
        Self::AmountMismatch,
        Self::CurrencyMismatch,
        Self::RecipientMismatch,
        Self::VerificationUnavailable,
        Self::CounterpartyNotApproved,
        Self::AboveAutonomousLimit,
        Self::PrincipalDeclined,
        Self::InterruptBudgetExhausted,
        Self::RollingCapExceeded,
        Self::CounterpartyCapExceeded,
        Self::AboveDelayLimit,
        Self::Vetoed,
        Self::EvaluatorFault,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidProposal => "INVALID_PROPOSAL",
            Self::InvalidAgentSignature => "INVALID_AGENT_SIGNATURE",
            Self::AgentNotDelegate => "AGENT_NOT_DELEGATE",
            Self::WrongMandate => "WRONG_MANDATE",
            Self::MandateRevoked => "MANDATE_REVOKED",
            Self::MandateVersionMismatch => "MANDATE_VERSION_MISMATCH",
            Self::MandateNotStarted => "MANDATE_NOT_STARTED",
            Self::MandateExpired => "MANDATE_EXPIRED",
            Self::PurposeNotAuthorized => "PURPOSE_NOT_AUTHORIZED",
            Self::ActionNotAuthorized => "ACTION_NOT_AUTHORIZED",
            Self::AssetNotAuthorized => "ASSET_NOT_AUTHORIZED",
            Self::AmountAboveHardCap => "AMOUNT_ABOVE_HARD_CAP",
            Self::DailyCapExceeded => "DAILY_CAP_EXCEEDED",
            Self::TreasuryFloorViolation => "TREASURY_FLOOR_VIOLATION",
            Self::InvoiceNotFound => "INVOICE_NOT_FOUND",
            Self::CustomerMismatch => "CUSTOMER_MISMATCH",
            Self::InvoiceNotOpen => "INVOICE_NOT_OPEN",
            Self::AmountMismatch => "AMOUNT_MISMATCH",
            Self::CurrencyMismatch => "CURRENCY_MISMATCH",
            Self::RecipientMismatch => "RECIPIENT_MISMATCH",
            Self::VerificationUnavailable => "VERIFICATION_UNAVAILABLE",
            Self::CounterpartyNotApproved => "COUNTERPARTY_NOT_APPROVED",
            Self::AboveAutonomousLimit => "ABOVE_AUTONOMOUS_LIMIT",
            Self::PrincipalDeclined => "PRINCIPAL_DECLINED",
            Self::InterruptBudgetExhausted => "INTERRUPT_BUDGET_EXHAUSTED",
            Self::RollingCapExceeded => "ROLLING_CAP_EXCEEDED",
            Self::CounterpartyCapExceeded => "COUNTERPARTY_CAP_EXCEEDED",
            Self::AboveDelayLimit => "ABOVE_DELAY_LIMIT",
            Self::Vetoed => "VETOED",
            Self::EvaluatorFault => "EVALUATOR_FAULT",
        }
    }

    /// One of the six that a verification report gives (spec 1.6).
    pub const fn is_fact(self) -> bool {
        matches!(
            self,
            Self::InvoiceNotFound
                | Self::CustomerMismatch
                | Self::InvoiceNotOpen
                | Self::AmountMismatch
                | Self::CurrencyMismatch
                | Self::RecipientMismatch
        )
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
