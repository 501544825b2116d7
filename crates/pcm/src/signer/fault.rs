use ledger::{Coded, Who};
use serde::{Deserialize, Serialize};

/// Why a call is refused (spec 3.15): a stable code, and a sentence for whoever reads it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct Fault {
    pub code: FaultCode,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

/// The codes of signer RPC v19.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultCode {
    InvalidRequest,
    Unauthenticated,
    Forbidden,
    QuotaExceeded,
    Unavailable,
    RunTokenInvalid,
    UnknownRun,
    RunExists,
    RunClosed,
    Conflict,
    ClientSeqReused,
    UnknownToolCall,
    UnknownDecision,
    ArgsMismatch,
    UnknownApproval,
    ApprovalNotPending,
    UnknownIncident,
}

impl Fault {
    /// The message is cut to what the RPC lets a message be.
    pub fn new(code: FaultCode, message: impl Into<String>) -> Self {
        let message: String = message.into().chars().take(1024).collect();
        Self { code, message, retry_after_ms: None }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(FaultCode::InvalidRequest, message)
    }

    pub(crate) fn quota(message: &str, retry_after_ms: Option<u64>) -> Self {
        Self { retry_after_ms, ..Self::new(FaultCode::QuotaExceeded, message) }
    }
}

impl From<crate::Error> for Fault {
    /// What cannot be written as a record, of a caller's values.
    fn from(error: crate::Error) -> Self {
        Self::invalid(error.to_string())
    }
}

impl FaultCode {
    pub const ALL: [Self; 17] = [
        Self::InvalidRequest,
        Self::Unauthenticated,
        Self::Forbidden,
        Self::QuotaExceeded,
        Self::Unavailable,
        Self::RunTokenInvalid,
        Self::UnknownRun,
        Self::RunExists,
        Self::RunClosed,
        Self::Conflict,
        Self::ClientSeqReused,
        Self::UnknownToolCall,
        Self::UnknownDecision,
        Self::ArgsMismatch,
        Self::UnknownApproval,
        Self::ApprovalNotPending,
        Self::UnknownIncident,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::Unauthenticated => "unauthenticated",
            Self::Forbidden => "forbidden",
            Self::QuotaExceeded => "quota_exceeded",
            Self::Unavailable => "unavailable",
            Self::RunTokenInvalid => "run_token_invalid",
            Self::UnknownRun => "unknown_run",
            Self::RunExists => "run_exists",
            Self::RunClosed => "run_closed",
            Self::Conflict => "conflict",
            Self::ClientSeqReused => "client_seq_reused",
            Self::UnknownToolCall => "unknown_tool_call",
            Self::UnknownDecision => "unknown_decision",
            Self::ArgsMismatch => "args_mismatch",
            Self::UnknownApproval => "unknown_approval",
            Self::ApprovalNotPending => "approval_not_pending",
            Self::UnknownIncident => "unknown_incident",
        }
    }
}

impl Coded for Fault {
    fn code(&self) -> &'static str {
        self.code.as_str()
    }
    fn who(&self) -> Who {
        match self.code {
            FaultCode::InvalidRequest | FaultCode::ArgsMismatch => Who::Caller,
            FaultCode::Unauthenticated | FaultCode::RunTokenInvalid => Who::Unauthenticated,
            FaultCode::Forbidden => Who::Forbidden,
            FaultCode::QuotaExceeded => Who::Limit,
            FaultCode::Unavailable => Who::Unavailable,
            FaultCode::UnknownRun
            | FaultCode::UnknownToolCall
            | FaultCode::UnknownDecision
            | FaultCode::UnknownApproval
            | FaultCode::UnknownIncident => Who::Missing,
            FaultCode::RunExists
            | FaultCode::RunClosed
            | FaultCode::Conflict
            | FaultCode::ClientSeqReused
            | FaultCode::ApprovalNotPending => Who::Conflict,
        }
    }
}
