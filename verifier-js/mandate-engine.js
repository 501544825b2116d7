// @ts-check
/** The engine of mandates, written anew (spec 1.5, 1.6): an action against a mandate, and what people are shown of it. */

import { canonical } from './pxp-state.js';
import { FACT_REASONS, addressOf, millisOf, report as REPORT } from './mandate-shapes.js';
import { blake2b } from './blake2b.js';
import { concat, digest, hex, sha256 } from './sha256.js';
import { verifyEd25519 } from './signature.js';
import { toBytes } from './canon.js';
import { unhex } from './mandate-cbor.js';

export const DAY = 86_400_000;
const LATEST = Number.MAX_SAFE_INTEGER;

/**
 * Later by so many milliseconds; stays at the latest instant there is.
 * @param {number} at
 * @param {number} by
 */
export const plus = (at, by) => Math.min(at + by, LATEST);
/** @param {number} at */
export const dayOf = (at) => Math.floor(at / DAY);

/**
 * @typedef {{evaluation: any, action: any, form: string | undefined, report: any}} Judged a document is `{doc, hash, raw}`
 */

/**
 * What the cross rules of a mandate find: whether it is good.
 * @param {any} doc
 */
export function isGoodMandate(doc) {
  const { approvers, constraints, principal, validity } = doc;
  const first = doc.schema === 'mandate/v0.1';
  const distinct = (/** @type {any[]} */ all) => new Set(all).size === all.length;
  const keys = approvers.map((/** @type {any} */ one) => one.cardano_key_hash);
  const needed = doc.quorum?.required ?? 1;
  const newer = (/** @type {any} */ one) =>
    one.on_violation === 'DELAY' || one.kind === 'rolling_spend_lte' || one.kind === 'counterparty_spend_lte';
  const limits = limitsOf(doc);
  return (
    constraints.length > 0 &&
    constraints.length <= 256 &&
    distinct(constraints.map((/** @type {any} */ one) => one.id)) &&
    !(first && constraints.some(newer)) &&
    constraints.every(
      (/** @type {any} */ one) =>
        one.approver === undefined || approvers.some((/** @type {any} */ listed) => listed.role === one.approver),
    ) &&
    (first ? approvers.length === 1 && doc.quorum === undefined : approvers.length > 0 && approvers.length <= 16) &&
    needed > 0 &&
    needed <= approvers.length &&
    distinct(keys) &&
    !keys.includes(principal.cardano_key_hash) &&
    limits.there &&
    limits.autonomous > 0n &&
    limits.hard >= limits.autonomous &&
    limits.daily >= limits.autonomous &&
    millisOf(validity.starts_at) < millisOf(validity.expires_at)
  );
}

/** @param {any} doc */
export function limitsOf(doc) {
  const of = (/** @type {string} */ kind, /** @type {string} */ violation) =>
    doc.constraints
      .filter((/** @type {any} */ one) => one.kind === kind && one.on_violation === violation)
      .map((/** @type {any} */ one) => BigInt(one.value));
  const least = (/** @type {bigint[]} */ all) => all.reduce((a, b) => (b < a ? b : a), all[0] ?? 0n);
  const most = (/** @type {bigint[]} */ all) => all.reduce((a, b) => (b > a ? b : a), all[0] ?? 0n);
  const found = [
    of('amount_lte', 'ESCALATE'),
    of('amount_lte', 'DENY'),
    of('daily_spend_lte', 'DENY'),
    of('balance_after_gte', 'DENY'),
  ];
  return {
    there: found.every((all) => all.length > 0),
    autonomous: least(found[0]),
    hard: least(found[1]),
    daily: least(found[2]),
    floor: most(found[3]),
  };
}

/** @param {any} doc */
export function shownLimits(doc) {
  const limits = limitsOf(doc);
  return {
    autonomous_limit: String(limits.autonomous),
    daily_cap: String(limits.daily),
    hard_cap: String(limits.hard),
    treasury_minimum: String(limits.floor),
  };
}

/**
 * @param {any} mandate
 * @param {any} action undefined where the proposal was none
 * @param {string | undefined} signature
 * @param {any} state
 * @param {any} evidence
 * @param {number} now
 * @returns {Promise<Judged>}
 */
export async function judge(mandate, action, signature, state, evidence, now) {
  const { doc } = mandate;
  const row = (/** @type {string} */ id, /** @type {string} */ kind) => ({
    detail: {},
    id,
    kind,
    reason: /** @type {string | null} */ (null),
    result: 'not_evaluated',
  });
  const checks = [
    row('proposal', 'integrity'),
    row('mandate', 'validity'),
    ...doc.constraints.map((/** @type {any} */ one) => row(one.id, one.kind)),
    row('interrupt_budget', 'interrupt_budget'),
  ];
  /** @type {any} */
  const evaluation = {
    action_hash: null,
    approvals_required: [],
    checks,
    delayed_until_ms: undefined,
    evaluated_at_ms: now,
    mandate_hash: mandate.hash,
    mandate_version: doc.version,
    outcome: 'ALLOW',
    reason: null,
    signed: false,
    verification_hash: null,
  };
  /** @type {Judged} */
  const judged = { evaluation, action, form: undefined, report: undefined };
  const set = (/** @type {number} */ at, /** @type {string} */ result, /** @type {any} */ reason, /** @type {any} */ detail) =>
    Object.assign(checks[at], { result, reason, detail });
  const deny = (/** @type {number} */ at, /** @type {string} */ reason, detail = {}) => {
    evaluation.outcome = 'DENY';
    evaluation.reason = reason;
    set(at, 'fail', reason, detail);
  };

  if (!action) deny(0, 'INVALID_PROPOSAL', { issues: 1 });
  else {
    evaluation.action_hash = action.hash;
    judged.report = usable(evidence, action, now);
    evaluation.verification_hash = judged.report?.hash ?? null;
    if (action.doc.mandate_id !== doc.id) deny(0, 'WRONG_MANDATE', { mandate_id: action.doc.mandate_id });
    else if (state.vault !== undefined && state.vault !== action.doc.source.vault) {
      deny(0, 'WRONG_MANDATE', { vault: action.doc.source.vault });
    } else if (action.doc.actor !== doc.delegate.id) deny(0, 'AGENT_NOT_DELEGATE', { actor: action.doc.actor });
    else if (signature !== undefined) {
      judged.form = await signatureForm(doc, action, signature);
      evaluation.signed = judged.form !== undefined;
      if (!evaluation.signed) deny(0, 'INVALID_AGENT_SIGNATURE');
    }
    if (evaluation.outcome !== 'DENY') set(0, 'pass', null, { action_hash: action.hash, signed: evaluation.signed });
  }
  if (evaluation.outcome !== 'DENY') {
    const refused = inForce(doc, action.doc, state, now);
    if (refused) deny(1, refused[0], refused[1]);
    else set(1, 'pass', null, { version: doc.version });
  }
  for (const [at, one] of doc.constraints.entries()) {
    if (evaluation.outcome === 'DENY') break;
    const [verdict, detail] = weigh(doc, one, action.doc, state, judged.report, now);
    const index = at + 2;
    if (verdict === 'holds') set(index, 'pass', null, detail);
    else if (verdict === 'open') {
      evaluation.outcome = 'NEEDS_VERIFICATION';
      set(index, 'pending', null, detail);
    } else if (one.on_violation === 'DENY') deny(index, verdict, detail);
    else if (one.on_violation === 'ESCALATE') {
      evaluation.approvals_required.push({ approver: one.approver, constraint: one.id, reason: verdict });
      set(index, 'ESCALATE', verdict, detail);
    } else {
      const due = plus(state.delay?.since_ms ?? now, one.delay_seconds * 1000);
      const dated = { ...detail, due_ms: due };
      if (state.delay?.vetoed) deny(index, 'VETOED', dated);
      else if (due <= now) set(index, 'pass', null, dated);
      else {
        evaluation.delayed_until_ms = Math.max(evaluation.delayed_until_ms ?? due, due);
        set(index, 'DELAY', verdict, dated);
      }
    }
  }
  if (evaluation.outcome === 'ALLOW' && evaluation.approvals_required.length > 0) {
    evaluation.outcome = 'ESCALATE';
    const { per_day } = doc.interrupt_budget;
    const past = state.escalation_day_index !== undefined && state.escalation_day_index < dayOf(now);
    const used = past ? 0 : state.escalations_today ?? 0;
    const last = checks.length - 1;
    if (used >= per_day) deny(last, 'INTERRUPT_BUDGET_EXHAUSTED', { per_day, used });
    else set(last, 'pass', null, { per_day, remaining: per_day - used - 1, used });
  } else if (evaluation.outcome === 'ALLOW' && evaluation.delayed_until_ms !== undefined) evaluation.outcome = 'DELAY';
  if (evaluation.outcome !== 'DELAY') evaluation.delayed_until_ms = undefined;
  return judged;
}

/**
 * @param {any} doc
 * @param {any} action
 * @param {any} state
 * @param {number} now
 * @returns {[string, any] | undefined}
 */
function inForce(doc, action, state, now) {
  if (doc.status !== 'active' || state.anchor_status !== 'active') return ['MANDATE_REVOKED', {}];
  if (state.anchor_version !== doc.version) {
    return ['MANDATE_VERSION_MISMATCH', { anchor_version: state.anchor_version, version: doc.version }];
  }
  if (now < millisOf(doc.validity.starts_at)) return ['MANDATE_NOT_STARTED', {}];
  if (now >= millisOf(doc.validity.expires_at)) return ['MANDATE_EXPIRED', {}];
  const kinds = doc.constraints.map((/** @type {any} */ one) => one.kind);
  if (action.type !== 'pay_invoice' && !kinds.includes('action_in')) {
    return ['ACTION_NOT_AUTHORIZED', { type: action.type }];
  }
  if (!kinds.includes('asset_eq') && action.amount.asset !== doc.asset.symbol) {
    return ['ASSET_NOT_AUTHORIZED', { asset: action.amount.asset }];
  }
  return undefined;
}

/**
 * `holds`, `open`, or the reason why not; and what it was judged by.
 * @param {any} doc
 * @param {any} one
 * @param {any} action
 * @param {any} state
 * @param {any} report
 * @param {number} now
 * @returns {[string, any]}
 */
function weigh(doc, one, action, state, report, now) {
  const amount = BigInt(action.amount.value);
  const flight = BigInt(state.in_flight ?? '0');
  const underWay = flight > 0n ? { in_flight: state.in_flight } : {};
  const unless = (/** @type {boolean} */ holds, /** @type {string} */ reason) => (holds ? 'holds' : reason);
  switch (one.kind) {
    case 'purpose_in':
      return [unless(one.values.includes(action.purpose), 'PURPOSE_NOT_AUTHORIZED'), { purpose: action.purpose }];
    case 'action_in':
      return [unless(one.values.includes(action.type), 'ACTION_NOT_AUTHORIZED'), { type: action.type }];
    case 'asset_eq':
      return [unless(one.value === action.amount.asset, 'ASSET_NOT_AUTHORIZED'), { asset: action.amount.asset }];
    case 'counterparty_in':
      return [
        unless(one.values.includes(action.counterparty.id), 'COUNTERPARTY_NOT_APPROVED'),
        { counterparty: action.counterparty.id },
      ];
    case 'amount_lte': {
      const reasons = { DENY: 'AMOUNT_ABOVE_HARD_CAP', ESCALATE: 'ABOVE_AUTONOMOUS_LIMIT', DELAY: 'ABOVE_DELAY_LIMIT' };
      const reason = reasons[/** @type {'DENY'} */ (one.on_violation)];
      return [unless(amount <= BigInt(one.value), reason), { amount: String(amount), limit: one.value }];
    }
    case 'daily_spend_lte': {
      const spent = (state.day_index < dayOf(now) ? 0n : BigInt(state.spent_today)) + flight;
      const after = spent + amount;
      return [
        unless(after <= BigInt(one.value), 'DAILY_CAP_EXCEEDED'),
        { after: String(after), amount: String(amount), cap: one.value, spent_today: String(spent), ...underWay },
      ];
    }
    case 'balance_after_gte': {
      const after = BigInt(state.vault_balance) - flight - amount;
      return [
        unless(after >= BigInt(one.value), 'TREASURY_FLOOR_VIOLATION'),
        {
          after: String(after),
          amount: String(amount),
          balance: state.vault_balance,
          minimum: one.value,
          ...underWay,
        },
      ];
    }
    case 'verified_facts':
      return facts(doc, action, report);
    default: {
      const own = one.kind === 'counterparty_spend_lte' ? action.counterparty.id : undefined;
      const spent = state.history
        .filter((/** @type {any} */ past) => Math.max(now - past.at_ms, 0) < one.window_seconds * 1000)
        .filter((/** @type {any} */ past) => own === undefined || past.counterparty === own)
        .reduce((/** @type {bigint} */ sum, /** @type {any} */ past) => sum + BigInt(past.amount), 0n);
      const after = spent + amount;
      const detail = {
        after: String(after),
        amount: String(amount),
        cap: one.value,
        spent: String(spent),
        window_seconds: one.window_seconds,
      };
      const holds = after <= BigInt(one.value);
      if (own === undefined) return [unless(holds, 'ROLLING_CAP_EXCEEDED'), detail];
      const other = one.counterparty !== undefined && one.counterparty !== own;
      return [unless(other || holds, 'COUNTERPARTY_CAP_EXCEEDED'), { ...detail, counterparty: own }];
    }
  }
}

/**
 * @param {any} doc
 * @param {any} action
 * @param {any} report
 * @returns {[string, any]}
 */
function facts(doc, action, report) {
  if (!report) return ['open', { source: 'stripe' }];
  const said = report.doc;
  const detail = {
    invoice_id: said.invoice_id,
    report_hash: report.hash,
    result: said.result,
    verified_amount: said.verified_amount,
    verified_currency: said.verified_currency,
    verified_recipient: said.verified_recipient,
  };
  if (said.result === 'MISMATCH') return [said.reason, detail];
  const failed = Object.entries(FACT_REASONS).find(([fact]) => !said.facts[fact]);
  if (failed) return [failed[1], detail];
  if (said.verified_recipient !== action.recipient.address) return ['RECIPIENT_MISMATCH', detail];
  if (said.verified_amount !== action.amount.value) return ['AMOUNT_MISMATCH', detail];
  if (doc.asset.symbol !== 'USDM' || said.verified_currency !== 'usd') return ['CURRENCY_MISMATCH', detail];
  if (action.reference?.invoice_id !== said.invoice_id) return ['INVOICE_NOT_FOUND', detail];
  return ['holds', detail];
}

/**
 * The report, if this action can be judged by it now.
 * @param {any} evidence
 * @param {any} action
 * @param {number} now
 */
function usable(evidence, action, now) {
  const report = evidence && reportOf(evidence);
  const about = report?.doc.action_hash === action.hash && report?.hash === evidence.report_hash;
  const fresh = about && now - evidence.block_time_ms <= 600_000 && evidence.block_time_ms - now <= 60_000;
  return about && fresh ? report : undefined;
}

/**
 * The report of evidence, if it is one.
 * @param {any} evidence
 */
export function reportOf(evidence) {
  let doc;
  try {
    doc = REPORT.read(evidence.report, '', true);
  } catch (error) {
    if (error instanceof Error && error.name === 'Refusal') return undefined;
    throw error;
  }
  const hash = hex(sha256(toBytes(evidence.report)));
  const consistent =
    doc.result === 'VERIFIED' ? doc.reason === null : Object.values(FACT_REASONS).includes(doc.reason);
  return consistent ? { doc, hash } : undefined;
}

/**
 * How the delegate signed this action (spec 0, C1).
 * @param {any} doc
 * @param {any} action
 * @param {string} signature
 * @returns {Promise<string | undefined>}
 */
async function signatureForm(doc, action, signature) {
  const key = /** @type {Uint8Array} */ (unhex(doc.delegate.public_key.slice(8)));
  const bytes = unhex(signature);
  if (bytes?.length !== 64) return undefined;
  const separated = concat('AGENT_PROPOSAL_V1', /** @type {Uint8Array} */ (digest(action.hash)));
  if (await verifyEd25519(key, separated, bytes)) return 'domain_separated';
  return (await verifyEd25519(key, toBytes(action.raw), bytes)) ? 'canonical_json' : undefined;
}

/** The row that shows why something was overruled. @param {any[]} checks */
export function factsRow(checks) {
  return Math.max(0, checks.findIndex((row) => row.kind === 'verified_facts'));
}

/**
 * Denies what the engine did not.
 * @param {any} evaluation
 * @param {string} reason
 * @param {any} detail
 */
export function overrule(evaluation, reason, detail) {
  Object.assign(evaluation, { outcome: 'DENY', reason, delayed_until_ms: undefined });
  Object.assign(evaluation.checks[factsRow(evaluation.checks)], { detail, reason, result: 'fail' });
}

/**
 * Whether a verification report is why it was denied.
 * @param {any} evaluation
 */
export function deniedByReport(evaluation) {
  return (
    Object.values(FACT_REASONS).includes(evaluation.reason) &&
    evaluation.checks.some((/** @type {any} */ row) => row.result === 'fail' && row.detail.report_hash !== undefined)
  );
}

/** @param {any} evaluation */
export function decisionHash(evaluation) {
  const part = (/** @type {string | null} */ one) => digest(one ?? '0'.repeat(64)) ?? new Uint8Array(32);
  const { action_hash, mandate_hash, verification_hash, outcome } = evaluation;
  return hex(sha256(part(action_hash), part(mandate_hash), part(verification_hash), outcome));
}

const CODES = { pay_invoice: 1, purchase: 2, transfer: 3 };

/**
 * The fields that a judgement justifies now, or undefined.
 * @param {Judged} judged
 * @param {any} mandate
 * @param {any} vault
 * @param {string} nonce
 * @param {string} lastNonce
 * @param {number} now
 * @param {boolean} consent
 */
export function authorizedFields(judged, mandate, vault, nonce, lastNonce, now, consent) {
  const { evaluation, action } = judged;
  const limits = limitsOf(mandate.doc);
  const amount = action && BigInt(action.doc.amount.value);
  const escalated = evaluation.outcome === 'ESCALATE';
  const refused =
    !action ||
    (evaluation.outcome !== 'ALLOW' && !escalated) ||
    !evaluation.signed ||
    (escalated && !consent) ||
    (!escalated && amount > limits.autonomous) ||
    amount > limits.hard ||
    action.doc.amount.asset !== mandate.doc.asset.symbol ||
    BigInt(nonce) <= BigInt(lastNonce);
  if (refused) return undefined;
  if (addressOf(action.doc.recipient.address)?.network !== networkOf(vault)) return undefined;
  return fieldsOf(action, mandate, vault, nonce, now, escalated, evaluation.verification_hash);
}

/**
 * @param {any} action
 * @param {any} mandate
 * @param {any} vault
 * @param {string} nonce
 * @param {number} now
 * @param {boolean} escalated
 * @param {string | null} verification_ref
 */
export function fieldsOf(action, mandate, vault, nonce, now, escalated, verification_ref) {
  const ends = plus(now, 600_000);
  const expires = millisOf(mandate.doc.validity.expires_at);
  return {
    action_hash: action.hash,
    action_type: CODES[/** @type {'transfer'} */ (action.doc.type)],
    amount: action.doc.amount.value,
    asset_name: vault.asset_name,
    asset_policy: vault.asset_policy,
    chain_tag: networkOf(vault),
    mandate_hash: mandate.hash,
    mandate_ref: vault.mandate_ref,
    mandate_version: mandate.doc.version,
    nonce,
    recipient: action.doc.recipient.address,
    requires_principal: escalated,
    valid_until: expires < 0 ? ends : Math.min(ends, expires),
    vault_hash: vault.vault_hash,
    verification_ref,
  };
}

/** @param {any} vault */
export function networkOf(vault) {
  return vault.network === 'cardano-mainnet' ? 1 : 0;
}

/**
 * Whether the fields can be written into a message (crate `mandate`, `Fields::read`).
 * @param {any} fields
 */
export function isSound(fields) {
  return (
    addressOf(fields.recipient)?.network === fields.chain_tag && fields.mandate_version > 0 && fields.valid_until > 0
  );
}

/**
 * What the engine signs the BLAKE2b-256 of (spec 2.1).
 * @param {any} fields
 */
export function messageOf(fields) {
  const bytes = (/** @type {string} */ text) => /** @type {Uint8Array} */ (unhex(text));
  const number = (/** @type {bigint} */ value, /** @type {number} */ width) =>
    bytes(value.toString(16).padStart(2 * width, '0'));
  const recipient = /** @type {import('./mandate-shapes.js').Address} */ (addressOf(fields.recipient));
  const { payment, stake } = recipient;
  return concat(
    'AGENT_AUTHORIZATION_V1',
    Uint8Array.of(fields.chain_tag),
    bytes(fields.vault_hash),
    bytes(fields.mandate_ref),
    bytes(fields.mandate_hash),
    number(BigInt(fields.mandate_version), 4),
    bytes(fields.action_hash),
    Uint8Array.of(fields.action_type),
    bytes(fields.asset_policy),
    Uint8Array.of(fields.asset_name.length / 2),
    bytes(fields.asset_name),
    number(BigInt(fields.amount), 8),
    Uint8Array.of(payment.script ? 1 : 0),
    bytes(payment.hash),
    stake ? concat(Uint8Array.of(stake.script ? 2 : 1), bytes(stake.hash)) : Uint8Array.of(0),
    number(BigInt(fields.nonce), 8),
    number(BigInt(fields.valid_until), 8),
    Uint8Array.of(fields.requires_principal ? 1 : 0),
    bytes(fields.verification_ref ?? '0'.repeat(64)),
  );
}

/** @param {any} fields */
export function digestOf(fields) {
  return hex(blake2b(messageOf(fields)));
}

/**
 * The brief of an escalation at its price (spec 1.11).
 * @param {Judged} judged
 * @param {any} mandate
 * @param {any} price
 * @param {string | null} registryTx
 */
export function briefOf(judged, mandate, price, registryTx) {
  const { evaluation, report } = judged;
  const { doc, hash } = judged.action;
  const needed = evaluation.approvals_required;
  const last = evaluation.checks[evaluation.checks.length - 1].detail.used;
  const display = `${amountOf(doc.amount.value, mandate.doc.asset.decimals)} ${doc.amount.asset}`;
  const invoice = doc.reference
    ? ` for invoice ${doc.reference.invoice_number} (${doc.reference.invoice_id})`
    : '';
  return {
    action_hash: hash,
    action_id: doc.id,
    cost: {
      bond: { amount: price.amount, asset: price.asset.symbol },
      interrupt_budget: { per_day: mandate.doc.interrupt_budget.per_day, used: typeof last === 'number' ? last : 0 },
    },
    engine: {
      checks: evaluation.checks.map((/** @type {any} */ row) => ({
        id: row.id,
        kind: row.kind,
        reason: row.reason,
        result: row.result,
      })),
      outcome: evaluation.outcome,
      reason: evaluation.reason ?? needed[0]?.reason ?? null,
    },
    escalation:
      needed.length === 0
        ? null
        : {
            approver: needed[0].approver,
            because: needed.map((/** @type {any} */ one) => ({ constraint: one.constraint, reason: one.reason })),
          },
    expires_at_ms: price.locked_until_ms,
    limits: shownLimits(mandate.doc),
    mandate: { hash: mandate.hash, id: mandate.doc.id, version: mandate.doc.version },
    requested_by: doc.actor,
    schema: 'brief/v0.1',
    verified: report
      ? { facts: report.doc.facts, report_hash: report.hash, result: report.doc.result, sepolia_tx: registryTx }
      : null,
    what: {
      amount: { asset: doc.amount.asset, display, value: doc.amount.value },
      counterparty: doc.counterparty,
      recipient: doc.recipient.address,
      reference: doc.reference ?? null,
      type: doc.type,
    },
    why: doc.rationale,
    will_happen: `Release ${display} from vault ${doc.source.vault} to ${doc.recipient.address} for ${doc.counterparty.display}${invoice}. Nothing else is authorized by this signature.`,
  };
}

/**
 * Base units divided by 10^decimals, without zeros at the end; exact.
 * @param {string} units
 * @param {number} decimals
 */
function amountOf(units, decimals) {
  const digits = units.padStart(decimals + 1, '0');
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '');
  const whole = digits.slice(0, digits.length - decimals);
  return decimals > 0 && fraction ? `${whole}.${fraction}` : whole;
}

/**
 * Whether two documents are written alike.
 * @param {any} one
 * @param {any} two
 */
export function alike(one, two) {
  return canonical(one) === canonical(two);
}
