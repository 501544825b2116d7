// @ts-check
/** Every entry of a mandate's log judged again, from what the entries before it say. Crate `mandate`, module `replay`. */

import { parse, write } from './canon.js';
import { hold, olderDecline, questionOf, signerOf } from './mandate-approving.js';
import { readTransaction, unhex } from './mandate-cbor.js';
import {
  alike,
  authorizedFields,
  briefOf,
  decisionHash,
  deniedByReport,
  digestOf,
  factsRow,
  fieldsOf,
  isGoodMandate,
  isSound,
  judge,
  messageOf,
  overrule,
  plus,
  reportOf,
  shownLimits,
} from './mandate-engine.js';
import { receiptOf } from './mandate-receipt.js';
import { eventOf } from './mandate-shapes.js';
import { GRACE, bondOf, emptyState, fold, holderOf, outputOf, owedOn, snapshotOf } from './mandate-state.js';
import { isBacked } from './mandate-verifiers.js';
import { canonical, hashOf } from './pxp-state.js';
import { Refusal } from './refusal.js';
import { digest, hex } from './sha256.js';
import { verifyEd25519 } from './signature.js';

/**
 * @typedef {{hash: string, seq: number}} LogHead
 * @typedef {{digest: string, log_head: LogHead, tx_hash: string}} Release
 */

/** A log read by somebody who was not there. */
export class Replay {
  /** @param {{first_event_hash: string, last_event_hash: string}} [wanted] the receipt that is looked for */
  constructor(wanted) {
    this.state = emptyState();
    /** @type {string[]} */
    this.hashes = [];
    /** @type {Map<string, any>} the last proposal of each run */
    this.cases = new Map();
    /** @type {any} */
    this.evidence = undefined;
    this.started = false;
    /** @type {any} */
    this.last = undefined;
    /** @type {Map<string, LogHead>} */
    this.runs = new Map();
    /** @type {Map<string, any>} */
    this.proposals = new Map();
    /** @type {Map<string | undefined, any>} */
    this.decided = new Map();
    /** @type {Set<string>} */
    this.briefs = new Set();
    /** @type {{seq: number, keys: string[]}[]} who signed for each report that was judged by, at its judgement's entry */
    this.reports = [];
    /** @type {Release[]} */
    this.releases = [];
    /** @type {{digest: string, settlement: any}[]} */
    this.settled = [];
    this.wanted = wanted;
    /** @type {any} */
    this.receipt = undefined;
  }

  /**
   * Reads the next entry, whose number, link and hash have been checked.
   * @param {Uint8Array} body canonical
   * @param {number} seq
   * @param {string} hash
   */
  async read(body, seq, hash) {
    const event = eventOf(parse(body));
    try {
      if (!event) throw 'bad_event';
      hold(event.seq === seq, 'bad_number');
      const now = Date.parse(event.created_at);
      hold(now >= 0, 'bad_time');
      await this.check(event, now);
      this.fold(event, now, seq, hash);
    } catch (code) {
      throw typeof code === 'string' ? new Refusal(code, `entry ${seq}`, 'see the code') : code;
    }
  }

  /**
   * Whether this is a place of the log.
   * @param {{hash: string, seq: number | bigint}} head
   */
  has({ hash, seq }) {
    return Number(seq) > 0 && this.hashes[Number(seq) - 1] === hash;
  }

  /** @param {string} tx_hash */
  release(tx_hash) {
    return this.releases.find((one) => one.tx_hash === tx_hash);
  }

  /**
   * The first settled release that commits to a head at or after this number.
   * @param {number} seq
   */
  covers(seq) {
    return this.settled
      .map(({ settlement }) => this.release(settlement.tx_hash))
      .find((release) => release !== undefined && release.log_head.seq >= seq);
  }

  /**
   * @param {any} event
   * @param {number} now
   */
  async check(event, now) {
    const { type, payload, run_id } = event;
    const { state } = this;
    if (type.startsWith('Mandate')) {
      if (type !== 'MandateUpdated') hold(state.mandate !== undefined, 'no_mandate');
      hold(run_id === 'mandate' && event.action_id === null, 'bad_run');
    } else hold(state.mandate !== undefined, 'no_mandate');
    switch (type) {
      case 'MandateUpdated':
        return this.updated(payload);
      case 'MandateRevoked':
        return hold(state.revoked === undefined && payload.version > state.mandate.doc.version, 'bad_version');
      case 'MandatePaused':
        return hold(!state.paused, 'bad_pause');
      case 'MandateResumed':
        return hold(state.paused, 'bad_pause');
      case 'RunStarted':
        return this.runStarted(event);
      case 'RunCompleted':
        return this.running(run_id);
      case 'ActionProposed':
        this.running(run_id);
        hold(!state.paused, 'paused');
        hold(payload.action_hash === (payload.action?.hash ?? null), 'bad_action_hash');
        return hold(event.action_id === (payload.action?.doc.id ?? null), 'bad_action_id');
      case 'AuthorityEvaluated':
        return this.evaluated(event, now);
      case 'CREVerificationStarted': {
        const { judged } = this.follows(event, 'check', 'bad_verification');
        const named = judged.action?.doc.reference?.invoice_id;
        return hold(
          judged.evaluation.outcome === 'NEEDS_VERIFICATION' && named === payload.invoice_id,
          'bad_verification',
        );
      }
      case 'CREVerificationCompleted':
        return hold(await isBacked(payload.evidence), 'bad_statement');
      case 'ActionDenied':
        this.denied(event);
        if (payload.evidence !== undefined) hold(await this.differs(payload), 'bad_statement');
        return;
      case 'BondRequired':
        return this.priced(event, now);
      case 'BondLocked': {
        const approval = state.approvals.get(payload.approval_id);
        const fits =
          approval !== undefined &&
          approval.bond === undefined &&
          !state.bonds.has(outputOf(payload)) &&
          BigInt(payload.amount) >= BigInt(approval.price.amount) &&
          payload.asset === approval.price.asset.symbol;
        return hold(fits, 'bad_bond');
      }
      case 'ApprovalRequested':
        return this.requested(event, now);
      case 'AuthorizationDrafted':
        return this.drafted(payload, now);
      case 'CFOApproved':
        return this.approved(payload);
      case 'CFODeclined':
        return this.declined(payload);
      case 'ApprovalClosed': {
        const approval = this.pending(payload.approval_id);
        hold(this.last !== undefined && this.last.phase === 'approval', 'bad_approval');
        const { evaluation } = this.last.judged;
        const stays = evaluation.outcome === 'ESCALATE' && evaluation.signed;
        const same = evaluation.action_hash === approval.action.hash && evaluation.reason === payload.reason;
        return hold(same && !stays, 'bad_approval');
      }
      case 'ApprovalExpired': {
        const approval = state.approvals.get(payload.approval_id);
        const live = approval && ['awaiting_bond', 'pending'].includes(approval.status);
        return hold(live && now >= approval.price.locked_until_ms, 'bad_approval');
      }
      case 'BondRefunded': {
        const owed = owedOn(this.bond(payload.approval_id));
        const expected = owed === undefined || owed === 'capture' ? 'expired' : owed;
        return hold(payload.reason === expected, 'bad_bond');
      }
      case 'BondCaptured':
        return void this.bond(payload.approval_id);
      case 'BondUnknown':
        return hold(state.approvals.get(payload.approval_id)?.bond?.outcome_tx !== undefined, 'bad_bond');
      case 'AuthorizationIssued':
        return this.issued(event, now);
      case 'TransactionBuilt': {
        const held = this.unused(payload.digest);
        hold(this.has(payload.log_head), 'bad_log_head');
        const transaction = readTransaction(payload.tx_body_cbor);
        hold(transaction?.hash === payload.tx_hash, 'bad_transaction');
        const note = transaction?.note;
        return hold(note === undefined || fits(note, held, payload.log_head), 'log_head_mismatch');
      }
      case 'TransactionSubmitted':
      case 'SettlementUnknown':
        return hold(state.authorizations.has(payload.digest), 'bad_execution');
      case 'TransactionRejected': {
        if (!payload.reservation_released) return hold(state.authorizations.has(payload.digest), 'bad_execution');
        const held = this.unused(payload.digest);
        return hold(now > plus(held.record.fields.valid_until, GRACE), 'bad_execution');
      }
      case 'TransactionConfirmed': {
        const held = state.authorizations.get(payload.digest);
        hold(held !== undefined, 'bad_execution');
        return hold(held.status !== 'settled' || held.tx_hash === payload.tx_hash, 'bad_execution');
      }
      case 'ActionDelayed': {
        const { evaluation } = this.follows(event, 'check', 'bad_delay').judged;
        const waits =
          evaluation.outcome === 'DELAY' &&
          evaluation.signed &&
          evaluation.action_hash === payload.action_hash &&
          evaluation.delayed_until_ms === payload.until_ms;
        return hold(waits && payload.since_ms === now && !state.delays.has(payload.action_hash), 'bad_delay');
      }
      case 'DelayVetoed': {
        hold(state.delays.get(payload.action_hash)?.vetoed === false, 'bad_delay');
        const question = {
          ask_id: `veto:${payload.action_hash}`,
          action_hash: payload.action_hash,
          brief_hash: payload.action_hash,
        };
        const signer = await signerOf(this.state, question, 'decline', {}, payload.signed);
        return hold(signer !== undefined, 'bad_approver_signature');
      }
      default:
    }
  }

  /**
   * What the entry changes, once it is known to follow.
   * @param {any} event
   * @param {number} now
   * @param {number} seq
   * @param {string} hash
   */
  fold(event, now, seq, hash) {
    const { type, payload, run_id } = event;
    this.runs.set(run_id, { hash, seq });
    switch (type) {
      case 'ActionProposed': {
        const action = payload.action ?? undefined;
        const signature = payload.agent_signature ?? undefined;
        this.cases.set(run_id, { action, signature, form: payload.signature_form, fresh: true });
        this.evidence = undefined;
        this.last = undefined;
        this.proposals.set(hash, { seq, run: run_id, action, signature });
        break;
      }
      case 'CREVerificationCompleted':
        this.evidence = { ...payload.evidence, sepolia_tx: payload.sepolia_tx };
        break;
      case 'AuthorityEvaluated':
        this.decide(seq, run_id, payload);
        break;
      case 'ActionDenied':
        if (payload.evidence) {
          this.reports.push({ seq, keys: payload.evidence.statements.map((/** @type {any} */ signed) => signed.key) });
        }
        break;
      case 'ApprovalRequested':
        this.briefs.add(payload.brief_hash);
        break;
      case 'TransactionBuilt':
        this.releases.push({ digest: payload.digest, log_head: payload.log_head, tx_hash: payload.tx_hash });
        break;
      case 'TransactionConfirmed': {
        this.settled = this.settled.filter((one) => one.digest !== payload.digest);
        const settlement = { block: payload.block_height, chain: this.state.vault.network, tx_hash: payload.tx_hash };
        this.settled.push({ digest: payload.digest, settlement });
        break;
      }
      case 'SettlementUnknown':
        this.settled = this.settled.filter((one) => one.digest !== payload.digest);
        break;
      default:
    }
    this.started = type === 'AuthorityEvaluationStarted';
    fold(this.state, event, now);
    this.hashes.push(hash);
    if (this.wanted?.last_event_hash === hash) this.receipt = receiptOf(this, this.wanted, seq, event);
  }

  /**
   * @param {number} seq
   * @param {string} run
   * @param {any} payload
   */
  decide(seq, run, payload) {
    const mine = this.cases.get(run);
    if (payload.phase === 'check' && mine) mine.fresh = false;
    const evidence = this.evidence;
    this.evidence = undefined;
    if (payload.evaluation.outcome === 'NEEDS_VERIFICATION') return;
    const { judged } = this.last;
    const report = judged.report;
    if (report) this.reports.push({ seq, keys: evidence.statements.map((/** @type {any} */ signed) => signed.key) });
    this.decided.set(judged.evaluation.action_hash ?? undefined, {
      seq,
      evaluation: judged.evaluation,
      verification: report && { hash: report.hash, result: report.doc.result, tx: evidence?.sepolia_tx ?? null },
      mandate: this.state.mandate,
      vault: this.state.vault,
    });
  }

  /** @param {any} payload */
  updated({ mandate, mandate_hash }) {
    hold(isGoodMandate(mandate.doc), 'mandate_rules');
    hold(mandate_hash === mandate.hash, 'bad_mandate_hash');
    const known = this.state.mandate;
    if (!known) return;
    const same = known.hash === mandate.hash && this.state.revoked === undefined;
    const last = this.state.revoked ?? known.doc.version;
    hold(known.doc.id === mandate.doc.id && (same || mandate.doc.version > last), 'bad_version');
  }

  /** @param {any} event */
  runStarted({ run_id, payload }) {
    const { doc } = this.state.mandate;
    const right =
      payload.agent_public_key === doc.delegate.public_key.slice(8) &&
      payload.engine_public_key === doc.authority_engine.public_key.slice(8) &&
      payload.delegate === doc.delegate.id &&
      payload.principal === doc.principal.name &&
      alike(payload.limits, { ...shownLimits(doc), decimals: doc.asset.decimals, symbol: doc.asset.symbol }) &&
      payload.mandate_id === doc.id &&
      payload.mandate_version === doc.version;
    hold(right && !this.state.runs.has(run_id), 'bad_run');
  }

  /** @param {string} run */
  running(run) {
    const known = this.state.runs.get(run);
    hold(known !== undefined, 'bad_run');
    hold(!known?.finished, 'run_finished');
  }

  /**
   * @param {any} event
   * @param {number} now
   */
  async evaluated(event, now) {
    const { payload, run_id, raw } = event;
    const { state } = this;
    hold(this.started, 'bad_order');
    let action;
    let signature;
    let form;
    let fresh = false;
    if (payload.phase === 'check') {
      this.running(run_id);
      hold(!state.paused, 'paused');
      const mine = this.cases.get(run_id);
      hold(mine !== undefined, 'bad_order');
      ({ action, signature, form, fresh } = mine);
    } else {
      const newest = state.by_action.get(payload.evaluation.action_hash);
      hold(newest?.status === 'pending', 'bad_approval');
      hold(newest.run === run_id, 'bad_approval');
      ({ action, signature } = newest);
    }
    hold(event.action_id === (action?.doc.id ?? null), 'bad_action_id');
    hold(payload.evaluation.evaluated_at_ms === now, 'bad_time');
    hold(BigInt(payload.state.last_nonce) >= state.seen_nonce, 'bad_snapshot');
    const told = payload.state.history.length > 0 ? payload.state : { ...payload.state, history: undefined };
    hold(alike(told, snapshotOf(state, told, now, action?.hash)), 'bad_snapshot');
    const judged = await judge(state.mandate, action, signature, payload.state, this.evidence, now);
    if (judged.report?.doc.facts.exists) {
      const number = action?.doc.reference?.invoice_number ?? null;
      const same = (/** @type {any} */ { statement }) => statement.doc.invoice_number === number;
      hold(this.evidence.statements.every(same), 'bad_statement');
    }
    const recorded = write(raw.get('evaluation'));
    if (canonical(judged.evaluation) !== recorded) {
      this.overruled(judged, payload, now);
      hold(canonical(judged.evaluation) === recorded, 'bad_evaluation');
    }
    hold(!fresh || form === judged.form, 'bad_signature_form');
    hold(decisionHash(judged.evaluation) === payload.decision_hash, 'bad_decision_hash');
    this.last = {
      run: run_id,
      phase: payload.phase,
      judged,
      snapshot: payload.state,
      registry_tx: this.evidence?.sepolia_tx ?? null,
    };
  }

  /**
   * Denies what the engine did not, where this log gives the reason.
   * @param {import('./mandate-engine.js').Judged} judged
   * @param {any} payload
   * @param {number} now
   */
  overruled({ evaluation, action }, payload, now) {
    const { reason, checks } = payload.evaluation;
    const row = checks[factsRow(checks)];
    hold(reason !== null && row !== undefined && action !== undefined, 'bad_evaluation');
    const reference = action.doc.reference;
    const check = payload.phase === 'check';
    const { outcome, signed } = evaluation;
    const holder = holderOf(this.state, action, now);
    let detail;
    if (outcome === 'NEEDS_VERIFICATION' && reason === 'VERIFICATION_UNAVAILABLE' && check) {
      detail = reference ? { source: 'stripe' } : {};
    } else if (outcome === 'NEEDS_VERIFICATION' && reason === 'INVOICE_NOT_FOUND' && check && reference) {
      const { on_record } = row.detail;
      const other = on_record === null || (typeof on_record === 'string' && on_record !== reference.invoice_number);
      hold(other, 'bad_evaluation');
      const { invoice_id, invoice_number } = reference;
      detail = { invoice_id, invoice_number, on_record, source: 'stripe' };
    } else if (outcome === 'ESCALATE' && reason === 'PRINCIPAL_DECLINED' && check && signed) {
      const newest = this.state.by_action.get(action.hash);
      hold(newest?.status === 'declined', 'bad_evaluation');
      detail = { approval_id: newest.price.approval_id };
    } else if (['ALLOW', 'ESCALATE'].includes(outcome) && reason === 'INVOICE_NOT_OPEN' && check && signed) {
      hold(holder.how === 'settled' || holder.how === 'live', 'bad_evaluation');
      detail = { authorization_id: `Z-${String(holder.nonce).padStart(4, '0')}`, holder: holder.how, source: 'reservation' };
    } else if (outcome === 'ESCALATE' && reason === 'INVOICE_NOT_OPEN' && !check && signed) {
      hold(['settled', 'live', 'same'].includes(holder.how), 'bad_evaluation');
      detail = { source: 'reservation' };
    }
    hold(detail !== undefined, 'bad_evaluation');
    overrule(evaluation, reason, detail);
  }

  /** @param {any} event */
  denied({ run_id, payload }) {
    hold(this.last !== undefined && this.last.run === run_id, 'bad_denial');
    const { evaluation } = this.last.judged;
    const theirs =
      this.last.phase === 'check' && (payload.reason === 'VERIFICATION_UNAVAILABLE' || deniedByReport(evaluation));
    hold(evaluation.reason === payload.reason && payload.layer === (theirs ? 'cre' : 'engine'), 'bad_denial');
  }

  /**
   * Whether what is signed is that this action's invoice has the number on record, which is not the action's.
   * @param {any} payload
   */
  async differs({ evidence, reason }) {
    const { action, evaluation, report: judgedBy } = this.last.judged;
    const row = evaluation.checks[factsRow(evaluation.checks)];
    const report = reportOf(evidence);
    const { statements } = evidence;
    const same = statements.every((/** @type {any} */ signed) => signed.statement.doc.invoice_number === row?.detail.on_record);
    const about =
      report?.doc.action_hash === action?.hash &&
      report?.doc.facts.exists === true &&
      report?.hash === evidence.report_hash &&
      report?.doc.invoice_id === action?.doc.reference?.invoice_id;
    const said = statements.length > 0 && same && (await isBacked(evidence));
    return said && about && judgedBy === undefined && reason === 'INVOICE_NOT_FOUND';
  }

  /**
   * The last judgement, if it was made in this run and phase.
   * @param {any} event
   * @param {string} phase
   * @param {string} code
   */
  follows({ run_id }, phase, code) {
    hold(this.last !== undefined && this.last.run === run_id && this.last.phase === phase, code);
    return this.last;
  }

  /**
   * @param {any} event
   * @param {number} now
   */
  priced(event, now) {
    const { approval_id, price } = event.payload;
    const { state } = this;
    const { evaluation } = this.follows(event, 'check', 'bad_price').judged;
    hold(evaluation.outcome === 'ESCALATE' && evaluation.signed, 'bad_price');
    hold(state.proposed?.hash === evaluation.action_hash, 'bad_price');
    const live = ['awaiting_bond', 'pending', 'declined'].includes(state.by_action.get(evaluation.action_hash)?.status);
    hold(!live && approval_id === `AP-${state.last_approval + 1}` && approval_id === price.approval_id, 'bad_price');
    const approver = state.mandate.doc.approvers.find(
      (/** @type {any} */ one) => one.cardano_key_hash === price.approver_key_hash,
    );
    hold(approver !== undefined && approver.role === evaluation.approvals_required[0].approver, 'bad_price');
    const { approvers, quorum } = state.mandate.doc;
    const keys = approvers.map((/** @type {any} */ one) => one.cardano_key_hash);
    const expected = {
      action_hash: evaluation.action_hash,
      amount: state.tariff.amount,
      approval_id,
      approver_key_hash: approver.cardano_key_hash,
      ...(keys.length === 1 ? {} : { approvers: { keys, required: quorum?.required ?? 1 } }),
      asset: state.tariff.asset,
      escrow_address: state.tariff.escrow_address,
      interrupt_budget: {
        per_day: state.mandate.doc.interrupt_budget.per_day,
        used: evaluation.checks[evaluation.checks.length - 1].detail.used,
      },
      locked_until_ms: plus(now, state.tariff.held_ms),
      network: state.vault.network,
      schema: 'escalation-price/v0.1',
    };
    hold(alike(price, expected), 'bad_price');
  }

  /**
   * @param {any} event
   * @param {number} now
   */
  requested(event, now) {
    const { payload } = event;
    const { mandate, approvals } = this.state;
    const { judged, registry_tx } = this.follows(event, 'check', 'bad_request');
    const { evaluation } = judged;
    const approval = approvals.get(payload.approval_id);
    const asked =
      approval?.status === 'awaiting_bond' &&
      now < approval.price.locked_until_ms &&
      evaluation.outcome === 'ESCALATE' &&
      evaluation.signed &&
      evaluation.action_hash === approval.action.hash &&
      alike(payload.approvals_required, evaluation.approvals_required);
    hold(asked, 'bad_request');
    hold(approval.bond !== undefined && alike(payload.bond, bondOf(approval, mandate.doc.id)), 'bad_bond');
    hold(approval.price.locked_until_ms > 0, 'bad_brief');
    hold(hashOf(briefOf(judged, mandate, approval.price, registry_tx)) === payload.brief.hash, 'bad_brief');
    hold(payload.brief_hash === payload.brief.hash, 'bad_brief_hash');
  }

  /**
   * @param {any} payload
   * @param {number} now
   */
  drafted({ approval_id, digest: named, fields }, now) {
    const { mandate, vault, last_nonce } = this.state;
    const approval = this.pending(approval_id);
    hold(now < approval.price.locked_until_ms, 'bad_approval');
    hold(BigInt(fields.nonce) > last_nonce, 'bad_nonce');
    const expected = fieldsOf(approval.action, mandate, vault, fields.nonce, now, true, fields.verification_ref);
    hold(alike(fields, expected) && isSound(fields), 'bad_draft');
    hold(named === digestOf(fields), 'bad_digest');
  }

  /** @param {any} payload */
  async approved(payload) {
    const approval = this.pending(payload.approval_id);
    hold(approval.draft !== undefined && digestOf(approval.draft) === payload.digest, 'draft_mismatch');
    const question = questionOf(approval);
    hold(payload.brief_hash === question.brief_hash, 'bad_brief_hash');
    const body = { authorization_digest: payload.digest };
    const signer = await signerOf(this.state, question, 'approve', body, payload.signed);
    hold(signer === payload.cfo_key_hash, 'bad_approver_signature');
    hold(!approval.signers.includes(payload.cfo_key_hash), 'signed_twice');
  }

  /** @param {any} payload */
  async declined(payload) {
    const approval = this.state.approvals.get(payload.approval_id);
    const open =
      approval?.status === 'pending' ||
      (approval?.status === 'authorized' && approval.authorization?.status === 'issued');
    hold(open, 'bad_approval');
    const question = questionOf(approval);
    hold(payload.brief_hash === question.brief_hash, 'bad_brief_hash');
    const { comment, reason, signed } = payload;
    const older = comment === undefined ? await olderDecline(this.state, approval.price.approval_id, reason, signed) : undefined;
    const signer = older ?? (await signerOf(this.state, question, 'decline', { comment, reason }, signed));
    hold(signer === payload.cfo_key_hash, 'bad_approver_signature');
  }

  /** @param {string} id */
  pending(id) {
    const approval = this.state.approvals.get(id);
    hold(approval?.status === 'pending', 'bad_approval');
    return approval;
  }

  /** @param {string} id */
  bond(id) {
    const approval = this.state.approvals.get(id);
    hold(approval?.bond?.status === 'locked', 'bad_bond');
    return approval;
  }

  /** @param {string} id */
  unused(id) {
    const held = this.state.authorizations.get(id);
    hold(held !== undefined && held.status !== 'settled' && held.status !== 'released', 'bad_execution');
    return held;
  }

  /**
   * @param {any} event
   * @param {number} now
   */
  async issued({ run_id, payload }, now) {
    const code = 'bad_authorization';
    const { state } = this;
    const record = payload.authorization;
    const { fields } = record;
    const message = isSound(fields) ? messageOf(fields) : undefined;
    hold(message !== undefined && hex(message) === record.message_hex, code);
    hold(digestOf(fields) === record.digest_hex, code);
    const bytes = (/** @type {string} */ text) => /** @type {Uint8Array} */ (unhex(text));
    const signed = await verifyEd25519(bytes(record.engine_public_key), bytes(record.digest_hex), bytes(record.signature_hex));
    hold(signed, 'bad_engine_signature');
    const engine = state.mandate.doc.authority_engine.public_key.slice(8);
    hold(record.engine_public_key === engine && !payload.compromised_engine, 'engine_key_mismatch');
    const { last } = this;
    this.last = undefined;
    hold(last !== undefined && last.run === run_id && last.judged.action !== undefined, code);
    const { judged, phase, snapshot } = last;
    hold(holderOf(state, judged.action, now).how === 'nobody', 'double_authorization');
    hold(judged.evaluation.evaluated_at_ms === now, 'bad_time');
    const fresh = (/** @type {boolean} */ consent) =>
      authorizedFields(judged, state.mandate, state.vault, fields.nonce, snapshot.last_nonce, now, consent);
    if (payload.approval_id === undefined && phase === 'check') {
      hold(judged.evaluation.outcome === 'ALLOW' && state.proposed?.hash === judged.action.hash, code);
      hold(BigInt(fields.nonce) > state.last_nonce, 'bad_nonce');
      const expected = fresh(false);
      return hold(expected !== undefined && alike(expected, fields), code);
    }
    hold(payload.approval_id !== undefined && phase === 'approval', code);
    const approval = this.pending(payload.approval_id);
    hold(judged.evaluation.action_hash === approval.action.hash, 'bad_approval');
    hold(judged.evaluation.outcome === 'ESCALATE' && judged.evaluation.signed, code);
    hold(approval.draft !== undefined && alike(approval.draft, fields), 'draft_mismatch');
    hold(now < fields.valid_until, 'draft_mismatch');
    hold(this.enough(approval.signers, judged.evaluation.approvals_required), 'quorum_missing');
    const expected = fresh(true);
    hold(expected !== undefined, code);
    hold(alike({ ...expected, valid_until: fields.valid_until }, fields), 'draft_mismatch');
  }

  /**
   * Whether these signers are the quorum, with one of every role that is asked.
   * @param {string[]} signers
   * @param {any[]} needed
   */
  enough(signers, needed) {
    const { approvers, quorum } = this.state.mandate.doc;
    const signing = approvers.filter((/** @type {any} */ one) => signers.includes(one.cardano_key_hash));
    const roles = signing.map((/** @type {any} */ one) => one.role);
    return signing.length >= (quorum?.required ?? 1) && needed.every((one) => roles.includes(one.approver));
  }
}

/**
 * Whether a transaction's note is about this authorization, and commits to this head.
 * @param {import('./mandate-cbor.js').Note} note
 * @param {any} held
 * @param {LogHead} head
 */
export function fits(note, held, head) {
  const { fields, digest_hex } = held.record;
  return (
    note.auth === digest_hex &&
    note.action === fields.action_hash &&
    note.mandate === `${held.action.doc.mandate_id}@${fields.mandate_version}` &&
    note.log_head.seq === BigInt(head.seq) &&
    note.log_head.hash === head.hash
  );
}
