//! Verdicts and their reasons (spec 4.3): one table of words, each with the class it belongs to.

use crate::strict::Ambiguous;
use serde::{Deserialize, Serialize};

/// What kind of fault a reason names. Verifiers agree on the code and so on the class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    Malformed,
    Trust,
    Origin,
    Replay,
    Evidence,
    Intent,
    Grant,
    /// The evidence says the opposite, or of something else.
    Contradicted,
    /// The evidence is not enough: no fault, and no proof.
    Unproven,
}

impl Class {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Trust => "trust",
            Self::Origin => "origin",
            Self::Replay => "replay",
            Self::Evidence => "evidence",
            Self::Intent => "intent",
            Self::Grant => "grant",
            Self::Contradicted => "contradicted",
            Self::Unproven => "unproven",
        }
    }
}

macro_rules! codes {
    ($($class:ident { $($code:ident $word:literal $why:literal)* })*) => {
        /// Why a message is refused, or a claim is not proven.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $($($code,)*)* }

        impl Code {
            /// Every code, class by class.
            pub const ALL: &'static [Self] = &[$($(Self::$code,)*)*];

            pub const fn as_str(self) -> &'static str {
                match self { $($(Self::$code => $word,)*)* }
            }
            pub const fn class(self) -> Class {
                match self { $($(Self::$code => Class::$class,)*)* }
            }
            /// One sentence for a person.
            pub const fn sentence(self) -> &'static str {
                match self { $($(Self::$code => $why,)*)* }
            }
        }
    };
}

codes! {
    Malformed {
        TooLarge "too_large" "more than a message may hold"
        BadJson "bad_json" "not one strict JSON text"
        BadVersion "bad_version" "not a message of version pcm/0.1-cs"
        BadSchema "bad_schema" "not of the closed shape of a message"
        BadEncoding "bad_encoding" "not padded base64 of the right length"
        UnusedEvidence "unused_evidence" "a record is shown that nothing rests on"
    }
    Trust {
        UnknownLog "unknown_log" "the log is not one this receiver pins"
        BadCheckpoint "bad_checkpoint" "the checkpoint does not hold"
        WitnessQuorum "witness_quorum" "too few trusted witnesses cosigned the checkpoint"
        StaleCheckpoint "stale_checkpoint" "no trusted witness saw the checkpoint lately"
        UnknownKey "unknown_key" "the key was not declared at this place of the log"
        KeyRetired "key_retired" "the key was retired before"
        AlgNotAllowed "alg_not_allowed" "the algorithm is not allowed, or not the key's own"
    }
    Origin {
        BadSignature "bad_signature" "the signature does not hold"
        WrongSender "wrong_sender" "the log may not speak for this tenant and agent"
        WrongAudience "wrong_audience" "addressed to somebody else"
        NotYetValid "not_yet_valid" "issued in the future"
        Expired "expired" "past its end, or valid for longer than this receiver remembers"
    }
    Replay {
        Replayed "replayed" "accepted before"
        ReplayStateUnavailable "replay_state_unavailable" "what was accepted before is not known, so nothing is accepted"
    }
    Evidence {
        RecordHash "record_hash" "a record's hash is not that of its event"
        RecordSignature "record_signature" "a record's signature does not hold"
        NotIncluded "not_included" "a record is not in the log's tree"
        WrongLog "wrong_log" "a record is of another log"
        WrongTenant "wrong_tenant" "a record is of another tenant"
        WrongRun "wrong_run" "a record is of another run or agent"
        BadOpening "bad_opening" "an opened value is not what its record commits to"
    }
    Intent {
        UnknownIntent "unknown_intent" "no such intent was agreed"
        SchemaMismatch "schema_mismatch" "the intent follows another schema than was agreed"
        IntentInvalid "intent_invalid" "the intent's arguments are not of the agreed schema"
    }
    Grant {
        NoGrant "no_grant" "what is asked needs a grant that is on record"
        GrantRootUnapproved "grant_root_unapproved" "the chain of grants does not begin with a recorded approval"
        GrantNotHuman "grant_not_human" "the root was not approved by a person"
        GrantTermsDiffer "grant_terms_differ" "the root's terms are not the ones that were approved"
        GrantWidens "grant_widens" "a grant allows more than the one before"
        GrantNotDelegable "grant_not_delegable" "a grant that may not be passed on was passed on"
        GrantDepth "grant_depth" "a grant allows more further links than the one before"
        GrantWrongHolder "grant_wrong_holder" "the grant is held by another agent"
        GrantExpired "grant_expired" "a grant is not valid now, or was revoked"
        GrantExceeded "grant_exceeded" "more is asked than the grant allows"
        GrantUsed "grant_used" "the grant was used as often as it allows"
    }
    Contradicted {
        ResultDiffers "result_differs" "the record shows another result"
        ArgsDiffer "args_differ" "the record shows another call"
        CallFailed "call_failed" "the call failed"
        CallDenied "call_denied" "the call was denied"
        ApprovalRejected "approval_rejected" "the approval was refused, came too late or was taken back"
        ApprovalOtherCall "approval_other_call" "the approval was of another call"
        ApprovalNotCovering "approval_not_covering" "what was approved does not cover the claim"
        ApproverDiffers "approver_differs" "another person approved, or nobody independent"
    }
    Unproven {
        NoEvidence "no_evidence" "the records that would prove it are not shown"
        T1Only "t1_only" "only the agent's own word supports it"
        NotOpened "not_opened" "what was committed to is not opened"
        Redacted "redacted" "the value was redacted before it was committed to"
        AmbiguousHost "ambiguous_host" "parsers may read the host or the URL differently"
        AmbiguousPath "ambiguous_path" "parsers may read the path differently"
        AmbiguousShell "ambiguous_shell" "shells may read the command differently"
        AmbiguousNumber "ambiguous_number" "parsers may read the number differently"
        AmbiguousText "ambiguous_text" "the text may be read or shown in several ways"
        UnknownPredicate "unknown_predicate" "no rule says how this is proven"
        UnknownTool "unknown_tool" "the agreed registry does not say what this tool does"
        GapInRun "gap_in_run" "the run is not shown whole, or has gaps"
        CoarseEvidence "coarse_evidence" "the evidence does not single out what is claimed"
    }
}

impl From<Ambiguous> for Code {
    fn from(reading: Ambiguous) -> Self {
        match reading {
            Ambiguous::Host => Self::AmbiguousHost,
            Ambiguous::Path => Self::AmbiguousPath,
            Ambiguous::Shell => Self::AmbiguousShell,
            Ambiguous::Number => Self::AmbiguousNumber,
            Ambiguous::Text => Self::AmbiguousText,
        }
    }
}

/// What is found of one claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Records of tier T2 match.
    Proven,
    /// The evidence is absent, the agent's own, or ambiguous.
    Unproven(Code),
    /// The evidence contradicts it.
    Failed(Code),
}

impl Verdict {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Proven => "proven",
            Self::Unproven(_) => "unproven",
            Self::Failed(_) => "failed",
        }
    }
    pub const fn code(self) -> Option<Code> {
        match self {
            Self::Proven => None,
            Self::Unproven(code) | Self::Failed(code) => Some(code),
        }
    }
}

impl From<Result<(), Code>> for Verdict {
    fn from(found: Result<(), Code>) -> Self {
        match found {
            Ok(()) => Self::Proven,
            Err(code) if code.class() == Class::Unproven => Self::Unproven(code),
            Err(code) => Self::Failed(code),
        }
    }
}

/// What is found of the whole message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overall {
    Accept,
    AcceptUnproven,
    Reject,
}

impl Overall {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::AcceptUnproven => "accept_unproven",
            Self::Reject => "reject",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_word_names_one_code_and_only_the_unproven_ones_leave_a_claim_unproven() {
        let words: BTreeSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!((words.len(), Code::ALL.len()), (62, 62));
        let unproven =
            Code::ALL.iter().filter(|code| matches!(Verdict::from(Err(**code)), Verdict::Unproven(_)));
        assert_eq!(unproven.count(), 13);
    }
}
