//! The only way to an authorization (spec 1.8): the engine runs again on the same inputs at the moment of signing, and
//! nothing that was said before is trusted.

use crate::authorization::Fields;
use crate::engine::{Inputs, Judged, judge};
use crate::mandate::{Mandate, RoleName};
use crate::text::{AssetName, KeyHash, PolicyId, PositiveUnits};
use crate::time::Millis;
use crate::{Hashed, Network, Outcome, Refusal};
use canon::Digest;
use serde::{Deserialize, Serialize};

/// Where a mandate's money is: what an authorization names beside the action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vault {
    pub asset_name: AssetName,
    pub asset_policy: PolicyId,
    /// The policy of the mandate's anchor.
    pub mandate_ref: KeyHash,
    pub network: ChainName,
    pub vault_hash: KeyHash,
}

/// The two networks by the names that prices use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChainName {
    #[serde(rename = "cardano-preprod")]
    Preprod,
    #[serde(rename = "cardano-mainnet")]
    Mainnet,
}

impl ChainName {
    pub const fn network(self) -> Network {
        match self {
            Self::Preprod => Network::Test,
            Self::Mainnet => Network::Main,
        }
    }
    /// As prices write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Preprod => "cardano-preprod",
            Self::Mainnet => "cardano-mainnet",
        }
    }
    /// As a CAIP-2 id.
    pub const fn caip2(self) -> &'static str {
        match self {
            Self::Preprod => "cardano:preprod",
            Self::Mainnet => "cardano:mainnet",
        }
    }
}

/// That people have approved: who signed, for which act, when the last of them did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    pub action_hash: Digest,
    pub at: Millis,
    /// The keys whose signatures were verified, each once.
    pub signers: Vec<KeyHash>,
}

/// Why no authorization is issued (spec 1.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unissued {
    UnsignedProposal,
    NotAuthorizable,
    ApprovalMissing,
    AboveHardCap,
    AssetMismatch,
    InvalidNonce,
    RecipientUnencodable,
}

impl Unissued {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UnsignedProposal => "UNSIGNED_PROPOSAL",
            Self::NotAuthorizable => "NOT_AUTHORIZABLE",
            Self::ApprovalMissing => "APPROVAL_MISSING",
            Self::AboveHardCap => "ABOVE_HARD_CAP",
            Self::AssetMismatch => "ASSET_MISMATCH",
            Self::InvalidNonce => "INVALID_NONCE",
            Self::RecipientUnencodable => "RECIPIENT_UNENCODABLE",
        }
    }
}

/// How long an approval is good for, and how long before that one may not date.
const APPROVAL_MS: u64 = 60_000;

/// The fields of the authorization that these inputs justify now.
pub fn issue(
    inputs: &Inputs<'_>,
    vault: &Vault,
    nonce: u128,
    approval: Option<&Approval>,
) -> Result<Fields, Refusal> {
    let consent = approval.map_or(Consent::None, Consent::Given);
    fields(&judge(inputs), inputs, vault, nonce, consent).map_err(Refusal::Unissued)
}

/// What is known of the people an escalation needs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Consent<'a> {
    None,
    Given(&'a Approval),
    /// A draft that they will sign; it is no authorization.
    Awaited,
}

/// As [`issue`], of an evaluation that was made of these very inputs at this very moment.
pub(crate) fn fields(
    judged: &Judged,
    inputs: &Inputs<'_>,
    vault: &Vault,
    nonce: u128,
    consent: Consent<'_>,
) -> Result<Fields, Unissued> {
    let evaluation = &judged.evaluation;
    let mandate = inputs.mandate;
    let Some(action) = &judged.action else { return Err(Unissued::NotAuthorizable) };
    let limits = mandate.limits();
    let amount = action.amount.value;
    if !matches!(evaluation.outcome, Outcome::Allow | Outcome::Escalate) {
        return Err(Unissued::NotAuthorizable);
    }
    if !evaluation.signed {
        return Err(Unissued::UnsignedProposal);
    }
    let escalated = evaluation.outcome == Outcome::Escalate;
    let consents = match consent {
        Consent::None => false,
        Consent::Given(approval) => approves(approval, mandate, judged, inputs.now),
        Consent::Awaited => true,
    };
    if escalated && !consents {
        return Err(Unissued::ApprovalMissing);
    }
    if !escalated && amount.units() > limits.autonomous_limit {
        return Err(Unissued::NotAuthorizable);
    }
    if amount.units() > limits.hard_cap {
        return Err(Unissued::AboveHardCap);
    }
    if action.amount.asset != mandate.asset.symbol {
        return Err(Unissued::AssetMismatch);
    }
    let nonce = u64::try_from(nonce).ok().filter(|nonce| *nonce > inputs.state.last_nonce.get());
    let nonce = nonce.and_then(|nonce| PositiveUnits::try_from(nonce).ok()).ok_or(Unissued::InvalidNonce)?;
    if action.recipient.address.network() != vault.network.network() {
        return Err(Unissued::RecipientUnencodable);
    }
    let ends = inputs.now.plus(Millis::TEN_MINUTES);
    let expiry = mandate.validity.expires_at.millis().unwrap_or(ends);
    Ok(Fields {
        action_hash: action.hash(),
        action_type: action.kind.code(),
        amount,
        asset_name: vault.asset_name.clone(),
        asset_policy: vault.asset_policy,
        chain_tag: vault.network.network().tag(),
        mandate_hash: mandate.hash(),
        mandate_ref: vault.mandate_ref,
        mandate_version: mandate.version,
        nonce,
        recipient: action.recipient.address.clone(),
        requires_principal: escalated,
        valid_until: ends.min(expiry),
        vault_hash: vault.vault_hash,
        verification_ref: evaluation.verification_hash,
    })
}

/// Whether two authorizations differ in nothing but their nonce and their end.
pub(crate) fn alike(one: &Fields, two: &Fields) -> bool {
    *one == Fields { nonce: one.nonce, valid_until: one.valid_until, ..two.clone() }
}

/// Whether the approval is for this act, fresh, by enough distinct approvers, and by one of every role that is asked.
fn approves(approval: &Approval, mandate: &Hashed<Mandate>, judged: &Judged, now: Millis) -> bool {
    let fresh = approval.at <= now && now.since(approval.at) <= APPROVAL_MS;
    fresh
        && Some(approval.action_hash) == judged.evaluation.action_hash
        && enough(
            mandate,
            &approval.signers,
            judged.evaluation.approvals_required.iter().map(|r| &r.approver),
        )
}

/// Whether these signers are the quorum: listed, distinct, as many as the mandate asks, one of every role named.
pub(crate) fn enough<'a>(
    mandate: &Mandate,
    signers: &[KeyHash],
    mut roles: impl Iterator<Item = &'a RoleName>,
) -> bool {
    let signs = |key: &KeyHash| signers.contains(key);
    let count = mandate.approvers.iter().filter(|approver| signs(&approver.cardano_key_hash)).count();
    let of_role = |role: &RoleName| {
        mandate.approvers.iter().any(|approver| approver.role == *role && signs(&approver.cardano_key_hash))
    };
    count >= mandate.required() && roles.all(of_role)
}
