// @ts-check
/** The documents of the mandate protocol and the entries of its logs, as crate `mandate` reads and writes them. */

import { CanonError, parse, toBytes } from './canon.js';
import { timestamp } from './pxp-shapes.js';
import { Refusal } from './refusal.js';
import {
  array,
  digestText,
  flag,
  integer,
  is,
  kinds,
  many,
  mark,
  natural,
  object,
  optional,
  publicKeyOf,
  shape,
  spelled,
  text,
  words,
} from './shape.js';
import { hex, sha256 } from './sha256.js';

const u8 = (/** @type {number} */ most) => integer(most);
export const u32 = integer(4_294_967_295);
const positiveU32 = integer(4_294_967_295, 1);

export const id = spelled(/^[A-Za-z0-9._-]{1,64}$/);
const UNITS = /^(0|[1-9][0-9]{0,19})$/;
const isUnits = (/** @type {any} */ value) =>
  typeof value === 'string' && UNITS.test(value) && BigInt(value) < 1n << 64n;
export const units = is(isUnits);
export const positive = is((value) => isUnits(value) && value !== '0');
export const symbol = spelled(/^[A-Z]{2,10}$/);
const keyText = spelled(/^ed25519:[0-9a-f]{64}$/);
/** @param {number} bytes */
export const hexOf = (bytes) => spelled(new RegExp(`^[0-9a-f]{${2 * bytes}}$`));
const keyHash = hexOf(28);
const txHash = hexOf(32);
const assetName = spelled(/^([0-9a-f]{2}){0,32}$/);
export const millis = natural;

/**
 * A text of so many characters.
 * @param {number} least
 * @param {number} most
 */
export const texts = (least, most) =>
  is((value) => {
    if (typeof value !== 'string') return false;
    const length = [...value].length;
    return least <= length && length <= most;
  });
const role = texts(1, 32);
const name128 = texts(1, 128);
const approvalId = texts(1, 64);
export const runId = texts(1, 64);
const registryTx = texts(1, 100);

/**
 * A member that may be absent and is never null.
 * @param {any} item
 */
export const present = (item) => ({ ...item, optional: true, absent: () => undefined });

/**
 * A member that its writer always writes and that may be null.
 * @param {any} item
 */
export const nullable = (item) => ({
  read: (/** @type {any} */ value, place = '', exact = false) =>
    value === null ? null : item.read(value, place, exact),
  absent(/** @type {boolean} */ exact) {
    if (exact) throw shape('');
    return null;
  },
});

/**
 * A document and its hash.
 * @param {any} item
 */
export const hashed = (item) => ({
  read(/** @type {any} */ value, place = '', exact = false) {
    const doc = item.read(value, place, exact);
    return { doc, hash: hex(sha256(toBytes(value))), raw: value };
  },
});

/** Any value that can be read again in its canonical form. */
export const raw = is((value) => {
  try {
    parse(toBytes(value));
    return true;
  } catch (error) {
    if (error instanceof CanonError) return false;
    throw error;
  }
});

/** @param {any} value */
function instant(value) {
  if (typeof value !== 'string') return undefined;
  const found = value.match(/^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?Z$/);
  if (!found) return undefined;
  const [year, month, day, hour, minute, second] = found.slice(1, 7).map(Number);
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  const real = date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  if (!real || hour > 23 || minute > 59 || second > 59) return undefined;
  const thousandths = Number((found[7] ?? '').slice(0, 3).padEnd(3, '0'));
  return date.getTime() + ((hour * 60 + minute) * 60 + second) * 1000 + thousandths;
}
const dateTime = is((value) => instant(value) !== undefined);
/**
 * Milliseconds since 1970 of an instant that fits its shape.
 * @param {string} value
 */
export const millisOf = (value) => /** @type {number} */ (instant(value));

/**
 * @typedef {{network: number, payment: {script: boolean, hash: string}, stake?: {script: boolean, hash: string}}} Address
 */

const LETTERS = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';
const GENERATORS = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3];

/**
 * A Shelley payment address in lower-case bech32 (CIP-19); undefined for any other text.
 * @param {unknown} value
 * @returns {Address | undefined}
 */
export function addressOf(value) {
  if (typeof value !== 'string' || value.length > 200 || !/^[a-z0-9_]+$/.test(value)) return undefined;
  const split = value.lastIndexOf('1');
  if (split < 0) return undefined;
  const prefix = value.slice(0, split);
  const data = [...value.slice(split + 1)].map((letter) => LETTERS.indexOf(letter));
  if (data.length < 6 || data.includes(-1)) return undefined;
  const codes = [...prefix].map((char) => char.charCodeAt(0));
  let check = 1;
  for (const word of [...codes.map((code) => code >> 5), 0, ...codes.map((code) => code & 31), ...data]) {
    const top = check >>> 25;
    check = ((check & 0x1ffffff) << 5) ^ word;
    GENERATORS.forEach((generator, bit) => {
      if ((top >> bit) & 1) check ^= generator;
    });
  }
  if (check !== 1) return undefined;
  /** @type {number[]} */
  const bytes = [];
  let bits = 0;
  let width = 0;
  for (const word of data.slice(0, -6)) {
    bits = ((bits << 5) | word) & 0xfff;
    width += 5;
    if (width >= 8) {
      width -= 8;
      bytes.push((bits >> width) & 0xff);
    }
  }
  if (width > 4 || (bits & ((1 << width) - 1)) !== 0 || bytes.length === 0) return undefined;
  const network = bytes[0] & 15;
  if (prefix !== ['addr_test', 'addr'][network]) return undefined;
  const kind = bytes[0] >> 4;
  if (![0, 1, 2, 3, 6, 7].includes(kind) || bytes.length !== (kind > 3 ? 29 : 57)) return undefined;
  const part = (/** @type {number} */ at) => hex(Uint8Array.from(bytes.slice(at, at + 28)));
  const payment = { script: (kind & 1) === 1, hash: part(1) };
  return kind > 3 ? { network, payment } : { network, payment, stake: { script: (kind & 2) === 2, hash: part(29) } };
}
const address = is((value) => addressOf(value) !== undefined);

export const REASONS = [
  ...['INVALID_PROPOSAL', 'INVALID_AGENT_SIGNATURE', 'AGENT_NOT_DELEGATE', 'WRONG_MANDATE', 'MANDATE_REVOKED'],
  ...['MANDATE_VERSION_MISMATCH', 'MANDATE_NOT_STARTED', 'MANDATE_EXPIRED', 'PURPOSE_NOT_AUTHORIZED'],
  ...['ACTION_NOT_AUTHORIZED', 'ASSET_NOT_AUTHORIZED', 'AMOUNT_ABOVE_HARD_CAP', 'DAILY_CAP_EXCEEDED'],
  ...['TREASURY_FLOOR_VIOLATION', 'INVOICE_NOT_FOUND', 'CUSTOMER_MISMATCH', 'INVOICE_NOT_OPEN', 'AMOUNT_MISMATCH'],
  ...['CURRENCY_MISMATCH', 'RECIPIENT_MISMATCH', 'VERIFICATION_UNAVAILABLE', 'COUNTERPARTY_NOT_APPROVED'],
  ...['ABOVE_AUTONOMOUS_LIMIT', 'PRINCIPAL_DECLINED', 'INTERRUPT_BUDGET_EXHAUSTED', 'ROLLING_CAP_EXCEEDED'],
  ...['COUNTERPARTY_CAP_EXCEEDED', 'ABOVE_DELAY_LIMIT', 'VETOED', 'EVALUATOR_FAULT'],
];
/** The six that a report gives, by the fact that fails. */
export const FACT_REASONS = {
  exists: 'INVOICE_NOT_FOUND',
  customer_match: 'CUSTOMER_MISMATCH',
  status_open: 'INVOICE_NOT_OPEN',
  amount_match: 'AMOUNT_MISMATCH',
  currency_match: 'CURRENCY_MISMATCH',
  recipient_match: 'RECIPIENT_MISMATCH',
};
export const reason = words(...REASONS);
export const outcome = words('ALLOW', 'ESCALATE', 'DENY', 'DELAY', 'NEEDS_VERIFICATION');
const result = words('not_evaluated', 'pass', 'fail', 'pending', 'ESCALATE', 'DELAY');
const actionType = words('pay_invoice', 'purchase', 'transfer');
const network = words('cardano-preprod', 'cardano-mainnet');
const status = words('active', 'revoked');

const counterparty = object({ display: name128, id });
const reference = object({ invoice_id: texts(1, 64), invoice_number: texts(1, 64) });

export const action = object({
  actor: id,
  amount: object({ asset: symbol, value: positive }),
  counterparty,
  created_at: dateTime,
  id,
  mandate_id: id,
  purpose: id,
  rationale: texts(0, 2000),
  recipient: object({ address, chain: words('cardano') }),
  reference: present(reference),
  schema: words('action-ir/v0.1'),
  source: object({ vault: id }),
  type: actionType,
});

const seconds = integer(366 * 86_400, 60);
const ids = {
  read(/** @type {any} */ value, place = '', exact = false) {
    const read = array(id).read(value, place, exact);
    if (read.length === 0) throw shape(place);
    return read;
  },
};
/** @type {Record<string, Record<string, any>>} */
const KINDS = {
  purpose_in: { values: ids },
  action_in: { values: ids },
  counterparty_in: { values: ids },
  asset_eq: { value: symbol },
  amount_lte: { value: units },
  daily_spend_lte: { value: units },
  balance_after_gte: { value: units },
  verified_facts: { source: words('stripe') },
  rolling_spend_lte: { value: units, window_seconds: seconds },
  counterparty_spend_lte: { value: units, window_seconds: seconds, counterparty: present(id) },
};
/** @type {Record<string, Record<string, any>>} */
const VIOLATIONS = {
  DENY: {},
  ESCALATE: { approver: role },
  DELAY: { approver: role, delay_seconds: seconds },
};
/** A constraint as it is written: the members of all kinds, of which each kind has its own and no other. */
const written = object({
  approver: present(role),
  counterparty: present(id),
  delay_seconds: present(u32),
  id,
  kind: words(...Object.keys(KINDS)),
  on_violation: words(...Object.keys(VIOLATIONS)),
  source: present(words('stripe')),
  value: present(text),
  values: present(array(id)),
  window_seconds: present(u32),
});
const constraint = {
  read(/** @type {any} */ value, place = '', exact = false) {
    const { kind, on_violation } = written.read(value, place, exact);
    const members = { id, kind: text, on_violation: text, ...KINDS[kind], ...VIOLATIONS[on_violation] };
    return Refusal.at(place, () => object(members).read(value, place, exact));
  },
};

export const mandate = object({
  approvers: array(object({ cardano_key_hash: keyHash, role })),
  asset: object({ decimals: u8(18), symbol }),
  authority_engine: object({ public_key: keyText }),
  constraints: array(constraint),
  delegate: object({ id, public_key: keyText, type: words('agent') }),
  delegation: object({ allowed: is((value) => value === false) }),
  id,
  interrupt_budget: object({ per_day: u8(10_000) }),
  principal: object({ cardano_key_hash: keyHash, id, name: name128, type: words('organization') }),
  quorum: present(object({ required: u8(16) })),
  schema: words('mandate/v0.1', 'mandate/v0.2'),
  status,
  validity: object({ expires_at: dateTime, starts_at: dateTime }),
  version: positiveU32,
});

const facts = object({
  amount_match: flag,
  currency_match: flag,
  customer_match: flag,
  exists: flag,
  recipient_match: flag,
  status_open: flag,
});
const verified = words('VERIFIED', 'MISMATCH');
export const report = object({
  action_hash: digestText,
  facts,
  invoice_hash: digestText,
  invoice_id: texts(1, 64),
  reason: nullable(reason),
  result: verified,
  schema: words('verification/v0.1'),
  status: nullable(texts(0, 32)),
  trigger_id: texts(1, 64),
  verified_amount: nullable(units),
  verified_currency: nullable(texts(0, 8)),
  verified_recipient: nullable(texts(0, 200)),
});

const details = {
  read(/** @type {any} */ value, place = '') {
    const scalar = (/** @type {any} */ one) =>
      one === null || typeof one === 'boolean' || typeof one === 'string' || natural.read(one, place) >= 0;
    if (!(value instanceof Map) || ![...value.values()].every(scalar)) throw shape(place);
    return Object.fromEntries(value);
  },
};
export const row = object({ detail: details, id: text, kind: text, reason: nullable(reason), result });
const required = object({ approver: role, constraint: id, reason });
export const evaluation = object({
  action_hash: nullable(digestText),
  approvals_required: array(required),
  checks: array(row),
  delayed_until_ms: optional(millis),
  evaluated_at_ms: millis,
  mandate_hash: digestText,
  mandate_version: u32,
  outcome,
  reason: nullable(reason),
  signed: flag,
  verification_hash: nullable(digestText),
});
const spend = object({ amount: positive, at_ms: millis, counterparty: id });
const snapshot = object({
  anchor_status: status,
  anchor_version: positiveU32,
  day_index: natural,
  delay: present(object({ since_ms: millis, vetoed: flag })),
  escalation_day_index: present(natural),
  escalations_today: present(u32),
  history: many(spend),
  in_flight: present(units),
  last_nonce: units,
  observed_at_slot: natural,
  spent_today: units,
  vault: present(id),
  vault_balance: units,
});

const asset = object({ asset_name: assetName, policy_id: spelled(/^([0-9a-f]{56})?$/), symbol });
const budget = object({ per_day: u32, used: u32 });
const price = object({
  action_hash: digestText,
  amount: positive,
  approval_id: approvalId,
  approver_key_hash: keyHash,
  approvers: present(object({ keys: array(keyHash), required: u8(255) })),
  asset,
  escrow_address: texts(1, 200),
  interrupt_budget: budget,
  locked_until_ms: millis,
  network,
  schema: words('escalation-price/v0.1'),
});
const bond = object({
  action_hash: digestText,
  amount: positive,
  approval_id: approvalId,
  asset: symbol,
  escrow_address: texts(1, 200),
  locked_until_ms: millis,
  mandate_id: id,
  outcome_tx_hash: nullable(txHash),
  output_index: nullable(u32),
  schema: words('bond/v0.1'),
  status: words('required', 'locked', 'refunded', 'captured', 'expired'),
  tx_hash: nullable(txHash),
});
const limits = object({ autonomous_limit: units, daily_cap: units, hard_cap: units, treasury_minimum: units });
export const brief = object({
  action_hash: digestText,
  action_id: id,
  cost: object({ bond: object({ amount: positive, asset: symbol }), interrupt_budget: budget }),
  engine: object({
    checks: array(object({ id: text, kind: text, reason: nullable(reason), result })),
    outcome,
    reason: nullable(reason),
  }),
  escalation: nullable(object({ approver: role, because: array(object({ constraint: id, reason })) })),
  expires_at_ms: millis,
  limits,
  mandate: object({ hash: digestText, id, version: u32 }),
  requested_by: id,
  schema: words('brief/v0.1'),
  verified: nullable(object({ facts, report_hash: digestText, result: verified, sepolia_tx: nullable(registryTx) })),
  what: object({
    amount: object({ asset: symbol, display: text, value: positive }),
    counterparty,
    recipient: address,
    reference: nullable(reference),
    type: actionType,
  }),
  why: texts(0, 2000),
  will_happen: text,
});
const fields = object({
  action_hash: digestText,
  action_type: integer(3, 1),
  amount: positive,
  asset_name: assetName,
  asset_policy: keyHash,
  chain_tag: integer(1),
  mandate_hash: digestText,
  mandate_ref: keyHash,
  mandate_version: u32,
  nonce: positive,
  recipient: address,
  requires_principal: flag,
  valid_until: millis,
  vault_hash: keyHash,
  verification_ref: nullable(digestText),
});
export const record = object({
  digest_hex: txHash,
  engine_public_key: txHash,
  fields,
  message_hex: text,
  schema: words('authorization/v0.1'),
  signature_hex: hexOf(64),
});
export const receipt = object({
  action: object({
    agent_signature: nullable(texts(0, 256)),
    hash: nullable(digestText),
    ir: nullable(hashed(action)),
  }),
  approval: nullable(
    object({
      bond: nullable(
        object({ outcome_tx_hash: nullable(txHash), status: bondStatus(), tx_hash: nullable(txHash) }),
      ),
      brief_hash: nullable(digestText),
      cfo_key_hash: nullable(keyHash),
      required: flag,
    }),
  ),
  authorization: nullable(
    object({
      digest: txHash,
      engine_public_key: txHash,
      id,
      nonce: positive,
      signature: hexOf(64),
      valid_until: millis,
      verification_id: nullable(id),
    }),
  ),
  delegate: name128,
  evaluation: object({ checks: array(row), outcome, reason: nullable(reason) }),
  evidence: object({ first_event_hash: digestText, last_event_hash: digestText }),
  mandate: object({ anchor: keyHash, hash: digestText, id, version: u32 }),
  masumi: is((value) => value === null),
  principal: name128,
  schema: words('receipt/v0.1'),
  settlement: nullable(object({ block: natural, chain: network, tx_hash: txHash })),
  verification: nullable(
    object({ id, report_hash: digestText, result: verified, sepolia_tx: nullable(registryTx) }),
  ),
});

function bondStatus() {
  return words('required', 'locked', 'refunded', 'captured', 'expired');
}

const evidence = kinds({
  passkey: { credential_id: text, authenticator_data: text, client_data_json: text, signature: text },
  ed25519: { thumbprint: text, signature: text },
  wallet: { address: text, cose_sign1: text, cose_key: text },
  session: { session: text },
  relayed: { agent: text },
});
const signed = object({ evidence, key: publicKeyOf, nonce: texts(16, 64), statement: digestText });
const logHead = object({ hash: digestText, seq: natural });
const signedStatement = object({
  key: keyText,
  signature: hexOf(64),
  statement: hashed(
    object({
      invoice_number: nullable(texts(0, 64)),
      observed_at_ms: millis,
      report_hash: digestText,
      schema: words('verification-statement/v0.1'),
      verifier: id,
    }),
  ),
});
/** A report, and what signs for it. */
export const reported = object({
  block_time_ms: millis,
  dissent: many(object({ report: raw, signed: signedStatement })),
  report: raw,
  report_hash: digestText,
  statements: many(signedStatement),
});
const shownLimits = object({
  autonomous_limit: units,
  daily_cap: units,
  decimals: u8(255),
  hard_cap: units,
  symbol,
  treasury_minimum: units,
});

/** The payload of each type of entry. @type {Record<string, any>} */
const FACTS = {
  RunStarted: object({
    agent_public_key: txHash,
    delegate: name128,
    engine_public_key: txHash,
    goal: texts(0, 2000),
    kind: texts(1, 32),
    limits: shownLimits,
    mandate_id: id,
    mandate_version: u32,
    principal: name128,
    vault: object({ balance: units, spent_today: units }),
  }),
  ActionProposed: object({
    action: nullable(hashed(action)),
    action_hash: nullable(digestText),
    agent_signature: nullable(texts(0, 256)),
    signature_form: optional(words('domain_separated', 'canonical_json')),
  }),
  AuthorityEvaluationStarted: object({}),
  AuthorityEvaluated: object({
    decision_hash: digestText,
    evaluation,
    phase: words('check', 'approval'),
    state: snapshot,
  }),
  CREVerificationStarted: object({ invoice_id: texts(1, 64) }),
  CREVerificationCompleted: object({
    evidence: reported,
    sepolia_tx: nullable(registryTx),
  }),
  ActionDenied: object({ evidence: optional(reported), layer: words('engine', 'cre'), reason }),
  BondRequired: object({ approval_id: approvalId, price }),
  BondLocked: object({
    amount: positive,
    approval_id: approvalId,
    asset: symbol,
    output_index: u32,
    tx_hash: txHash,
  }),
  ApprovalRequested: object({
    approval_id: approvalId,
    approvals_required: array(required),
    bond,
    brief: hashed(brief),
    brief_hash: digestText,
  }),
  CFOApproved: object({
    approval_id: approvalId,
    brief_hash: digestText,
    cfo_key_hash: keyHash,
    digest: txHash,
    signed,
  }),
  CFODeclined: object({
    approval_id: approvalId,
    brief_hash: digestText,
    cfo_key_hash: keyHash,
    comment: optional(texts(1, 1000)),
    reason: words('legitimate', 'frivolous'),
    signed,
  }),
  BondRefunded: object({
    approval_id: approvalId,
    reason: words('approved', 'declined_legitimate', 'expired'),
    tx_hash: txHash,
  }),
  BondCaptured: object({ approval_id: approvalId, sink_address: texts(1, 200), tx_hash: txHash }),
  AuthorizationIssued: object({
    approval_id: optional(approvalId),
    authorization: record,
    compromised_engine: flag,
  }),
  TransactionBuilt: object({ digest: txHash, log_head: logHead, tx_body_cbor: text, tx_hash: txHash }),
  TransactionSubmitted: object({ digest: txHash, tx_hash: txHash }),
  TransactionRejected: object({
    digest: txHash,
    error: texts(0, 2000),
    invariant: nullable(texts(1, 32)),
    reservation_released: mark,
    tx_body_cbor: nullable(text),
    tx_hash: nullable(txHash),
  }),
  TransactionConfirmed: object({ block_height: natural, digest: txHash, tx_hash: txHash }),
  ReceiptProven: object({ receipt_hash: digestText, receipt_id: id }),
  RunCompleted: object({}),
  MandateUpdated: object({
    mandate: hashed(mandate),
    mandate_hash: digestText,
    tariff: object({ amount: positive, asset, escrow_address: address, held_ms: natural }),
    vault: object({
      asset_name: assetName,
      asset_policy: keyHash,
      mandate_ref: keyHash,
      network,
      vault_hash: keyHash,
    }),
    vault_name: optional(id),
  }),
  MandateRevoked: object({ version: u32 }),
  MandatePaused: object({ reason: texts(0, 300) }),
  MandateResumed: object({}),
  AuthorizationDrafted: object({ approval_id: approvalId, digest: txHash, fields }),
  ApprovalClosed: object({ approval_id: approvalId, reason: nullable(reason) }),
  ApprovalExpired: object({ approval_id: approvalId }),
  ActionDelayed: object({ action_hash: digestText, since_ms: millis, until_ms: millis }),
  DelayVetoed: object({ action_hash: digestText, signed }),
  SettlementUnknown: object({ digest: txHash }),
  BondUnknown: object({ approval_id: approvalId }),
};

const BODY = object({
  action_id: nullable(id),
  created_at: timestamp,
  payload: is(() => true),
  run_id: runId,
  seq: natural,
  type: text,
});

/**
 * An entry's body, read; undefined if it is none. `raw` is its payload as it was written.
 * @param {any} value
 */
export function eventOf(value) {
  try {
    const body = BODY.read(value, '', true);
    if (!Object.hasOwn(FACTS, body.type)) return undefined;
    return { ...body, payload: FACTS[body.type].read(body.payload, '', true), raw: body.payload };
  } catch (error) {
    if (error instanceof Error && error.name === 'Refusal') return undefined;
    throw error;
  }
}

const stored = object({
  action_id: nullable(id),
  created_at: timestamp,
  hash: digestText,
  payload: raw,
  prev_hash: digestText,
  run_id: runId,
  seq: natural,
  type: text,
});

/**
 * @param {any} header
 */
export const proofOf = (header) =>
  object({
    brief: present(object({ brief: hashed(brief), brief_hash: digestText })),
    entries: array(stored),
    export: header,
    receipt: present(
      object({
        authorization: nullable(record),
        mandate: hashed(mandate),
        receipt: hashed(receipt),
        receipt_hash: digestText,
      }),
    ),
    run: present(
      object({
        anchor: nullable(object({ hash: digestText, seq: natural, tx_hash: txHash })),
        closing: nullable(object({ hash: digestText, seq: natural, signature: hexOf(64) })),
        run_id: runId,
      }),
    ),
    transaction: present(text),
    type: text,
  });
