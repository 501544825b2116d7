// @ts-check
/** What a mandate's log comes to, entry by entry: crate `mandate`, `evolve` and `State::snapshot`, written anew. */

import { dayOf, plus } from './mandate-engine.js';

export const GRACE = 120_000;

/**
 * @typedef {{
 *   mandate: any, vault: any, tariff: any, vault_name: string | undefined, revoked: number | undefined, paused: boolean,
 *   runs: Map<string, {finished: boolean}>, proposed: any, approvals: Map<string, any>, last_approval: number,
 *   by_action: Map<string, any>, bonds: Set<string>, paged: Map<number, number>,
 *   authorizations: Map<string, any>, in_flight: Map<bigint, any>, reserved: Map<string, any>,
 *   last_nonce: bigint, seen_nonce: bigint, delays: Map<string, {since_ms: number, vetoed: boolean}>, history: any[],
 * }} State
 */

/** @returns {State} */
export function emptyState() {
  return {
    mandate: undefined,
    vault: undefined,
    tariff: undefined,
    vault_name: undefined,
    revoked: undefined,
    paused: false,
    runs: new Map(),
    proposed: undefined,
    approvals: new Map(),
    last_approval: 0,
    by_action: new Map(),
    bonds: new Set(),
    paged: new Map(),
    authorizations: new Map(),
    in_flight: new Map(),
    reserved: new Map(),
    last_nonce: 0n,
    seen_nonce: 0n,
    delays: new Map(),
    history: [],
  };
}

/** @param {any} payload */
export const outputOf = ({ tx_hash, output_index }) => `${tx_hash}#${output_index}`;
/** @param {any} action */
const reservations = (action) => [
  `action ${action.hash}`,
  ...(action.doc.reference ? [`invoice ${action.doc.reference.invoice_id}`] : []),
];

/**
 * What of a snapshot this log counts: the members that the log decides.
 * @param {State} state
 * @param {any} told
 * @param {number} now
 * @param {string | undefined} action
 */
export function snapshotOf(state, told, now, action) {
  const newest = action === undefined ? undefined : state.by_action.get(action);
  const own = newest?.paged_on === dayOf(now) ? 1 : 0;
  let flight = 0n;
  for (const [nonce, one] of state.in_flight) {
    const counts = nonce > BigInt(told.last_nonce) && one.action !== action;
    if (counts && (one.settled || now <= plus(one.valid_until, GRACE))) flight += one.amount;
  }
  const most = (1n << 64n) - 1n;
  const delay = action === undefined ? undefined : state.delays.get(action);
  const history = state.history
    .filter((/** @type {any} */ one) => action === undefined || one.action !== action)
    .map((/** @type {any} */ one) => one.spend);
  return {
    ...told,
    anchor_status: state.revoked === undefined ? told.anchor_status : 'revoked',
    delay,
    escalation_day_index: dayOf(now),
    escalations_today: Math.max((state.paged.get(dayOf(now)) ?? 0) - own, 0),
    history: history.length > 0 ? history : undefined,
    in_flight: flight > 0n ? String(flight > most ? most : flight) : undefined,
    vault: state.vault_name,
  };
}

/**
 * Whether an action may be paid, or is, or was.
 * @param {State} state
 * @param {any} action
 * @param {number} now
 * @returns {{how: 'nobody' | 'same' | 'settled' | 'live' | 'wait' | 'unclear', nonce?: bigint}}
 */
export function holderOf(state, action, now) {
  /** @type {any} */
  let held;
  for (const key of reservations(action)) {
    const found = state.reserved.get(key);
    if (found && (!held || found.nonce > held.nonce)) held = found;
  }
  if (!held || held.status === 'released') return { how: 'nobody' };
  const { nonce } = held;
  const { valid_until } = held.record.fields;
  if (held.status === 'settled') return { how: 'settled', nonce };
  if (now < valid_until) return { how: held.action.hash === action.hash ? 'same' : 'live', nonce };
  return { how: now <= plus(valid_until, GRACE) ? 'wait' : 'unclear', nonce };
}

/**
 * What is owed on an approval's bond.
 * @param {any} approval
 */
export function owedOn(approval) {
  if (approval.bond?.status !== 'locked') return undefined;
  switch (approval.status) {
    case 'authorized':
      return 'approved';
    case 'closed':
    case 'expired':
      return 'expired';
    case 'declined':
      return approval.declined.reason === 'frivolous' ? 'capture' : 'declined_legitimate';
    default:
      return undefined;
  }
}

/**
 * The bond as it is shown.
 * @param {any} approval
 * @param {string} mandate_id
 */
export function bondOf({ price, status, bond }, mandate_id) {
  const unpaid = status === 'expired' || status === 'closed' ? 'expired' : 'required';
  return {
    action_hash: price.action_hash,
    amount: price.amount,
    approval_id: price.approval_id,
    asset: price.asset.symbol,
    escrow_address: price.escrow_address,
    locked_until_ms: price.locked_until_ms,
    mandate_id,
    outcome_tx_hash: bond?.outcome_tx ?? null,
    output_index: bond?.output_index ?? null,
    schema: 'bond/v0.1',
    status: bond?.status ?? unpaid,
    tx_hash: bond?.tx_hash ?? null,
  };
}

/**
 * @param {State} state
 * @param {{type: string, run_id: string, payload: any}} event
 * @param {number} now
 */
export function fold(state, { type, run_id, payload }, now) {
  const approval = () => state.approvals.get(payload.approval_id);
  const held = () => state.authorizations.get(payload.digest);
  switch (type) {
    case 'MandateUpdated':
      Object.assign(state, { mandate: payload.mandate, vault: payload.vault, tariff: payload.tariff });
      Object.assign(state, { vault_name: payload.vault_name, revoked: undefined });
      if (longestWindow(state) === 0) state.history = [];
      break;
    case 'MandateRevoked':
      state.revoked = payload.version;
      break;
    case 'MandatePaused':
      state.paused = true;
      break;
    case 'MandateResumed':
      state.paused = false;
      break;
    case 'RunStarted':
      state.runs.set(run_id, { finished: false });
      break;
    case 'RunCompleted':
      state.runs.set(run_id, { finished: true });
      break;
    case 'ActionProposed':
      state.proposed = payload.action ?? undefined;
      if (state.proposed) state.proposed = { ...state.proposed, signature: payload.agent_signature ?? undefined };
      break;
    case 'AuthorityEvaluated': {
      const seen = BigInt(payload.state.last_nonce);
      if (seen > state.seen_nonce) state.seen_nonce = seen;
      break;
    }
    case 'BondRequired':
      priced(state, run_id, payload.price);
      break;
    case 'BondLocked':
      approval().bond = {
        output_index: payload.output_index,
        tx_hash: payload.tx_hash,
        status: 'locked',
        outcome_tx: undefined,
      };
      state.bonds.add(outputOf(payload));
      break;
    case 'ApprovalRequested': {
      const day = dayOf(now);
      state.paged.set(day, (state.paged.get(day) ?? 0) + 1);
      for (const kept of [...state.paged.keys()]) if (kept + 2 <= day) state.paged.delete(kept);
      Object.assign(approval(), { status: 'pending', brief: payload.brief, paged_on: day });
      break;
    }
    case 'AuthorizationDrafted':
      grow(state, payload.fields.nonce);
      Object.assign(approval(), { draft: payload.fields, signers: [] });
      break;
    case 'CFOApproved':
      approval().signers.push(payload.cfo_key_hash);
      break;
    case 'CFODeclined':
      Object.assign(approval(), { status: 'declined', declined: payload });
      break;
    case 'ApprovalClosed':
      approval().status = 'closed';
      break;
    case 'ApprovalExpired':
      approval().status = 'expired';
      break;
    case 'BondRefunded':
      Object.assign(approval().bond, { status: 'refunded', outcome_tx: payload.tx_hash });
      break;
    case 'BondCaptured':
      Object.assign(approval().bond, { status: 'captured', outcome_tx: payload.tx_hash });
      break;
    case 'BondUnknown':
      Object.assign(approval().bond, { status: 'locked', outcome_tx: undefined });
      break;
    case 'AuthorizationIssued':
      issued(state, payload, now);
      break;
    case 'TransactionBuilt':
      held().tx_hash = payload.tx_hash;
      break;
    case 'TransactionSubmitted':
      Object.assign(held(), { status: 'submitted', tx_hash: payload.tx_hash });
      break;
    case 'SettlementUnknown':
      unknown(state, held());
      break;
    case 'TransactionRejected':
      held().status = payload.reservation_released ? 'released' : 'issued';
      if (payload.reservation_released) {
        const { nonce } = held();
        state.in_flight.delete(nonce);
        state.history = state.history.filter((/** @type {any} */ one) => one.nonce !== nonce);
      }
      break;
    case 'TransactionConfirmed':
      Object.assign(held(), { status: 'settled', tx_hash: payload.tx_hash });
      fly(state, held(), true);
      break;
    case 'ActionDelayed':
      state.delays.set(payload.action_hash, { since_ms: payload.since_ms, vetoed: false });
      break;
    case 'DelayVetoed':
      state.delays.set(payload.action_hash, {
        since_ms: state.delays.get(payload.action_hash)?.since_ms ?? now,
        vetoed: true,
      });
      break;
    default:
  }
  for (const [nonce, one] of [...state.in_flight]) {
    const stays = nonce > state.seen_nonce && (one.settled || now <= plus(one.valid_until, GRACE));
    if (!stays) state.in_flight.delete(nonce);
  }
}

/**
 * @param {State} state
 * @param {string} run
 * @param {any} price
 */
function priced(state, run, price) {
  state.last_approval += 1;
  const approval = {
    run,
    action: state.proposed,
    signature: state.proposed.signature,
    price,
    status: 'awaiting_bond',
    bond: undefined,
    brief: undefined,
    paged_on: undefined,
    draft: undefined,
    signers: [],
    authorization: undefined,
    declined: undefined,
  };
  state.approvals.set(price.approval_id, approval);
  state.by_action.set(price.action_hash, approval);
}

/**
 * @param {State} state
 * @param {any} payload
 * @param {number} now
 */
function issued(state, payload, now) {
  const { authorization: record, approval_id } = payload;
  const approval = approval_id === undefined ? undefined : state.approvals.get(approval_id);
  const action = approval ? approval.action : state.proposed;
  const nonce = BigInt(record.fields.nonce);
  grow(state, record.fields.nonce);
  const held = { nonce, action, approval, record, status: 'issued', tx_hash: undefined };
  for (const key of reservations(action)) state.reserved.set(key, held);
  state.authorizations.set(record.digest_hex, held);
  fly(state, held, false);
  const window = longestWindow(state);
  if (window > 0) {
    state.history = state.history.filter((/** @type {any} */ one) => Math.max(now - one.spend.at_ms, 0) < window);
    const spend = { amount: record.fields.amount, at_ms: now, counterparty: action.doc.counterparty.id };
    state.history.push({ nonce, action: action.hash, spend });
  }
  if (approval) Object.assign(approval, { status: 'authorized', authorization: held });
}

/**
 * It counts again until the chain shows it; what was read before a rollback is not known any more.
 * @param {State} state
 * @param {any} held
 */
function unknown(state, held) {
  held.status = 'unknown';
  if (state.seen_nonce >= held.nonce) state.seen_nonce = held.nonce - 1n;
  for (const later of state.authorizations.values()) {
    if (later.nonce > held.nonce && later.status === 'settled') fly(state, later, true);
  }
  fly(state, held, false);
}

/**
 * @param {State} state
 * @param {any} held
 * @param {boolean} settled
 */
function fly(state, { nonce, action, record }, settled) {
  const { amount, valid_until } = record.fields;
  state.in_flight.set(nonce, { amount: BigInt(amount), action: action.hash, valid_until, settled });
}

/**
 * @param {State} state
 * @param {string} nonce
 */
function grow(state, nonce) {
  if (BigInt(nonce) > state.last_nonce) state.last_nonce = BigInt(nonce);
}

/** @param {State} state */
function longestWindow(state) {
  const windows = state.mandate.doc.constraints.map((/** @type {any} */ one) => (one.window_seconds ?? 0) * 1000);
  return Math.max(0, ...windows);
}
