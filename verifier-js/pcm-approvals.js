// @ts-check
/** The approvals of a bundle's runs in the order of their records, as crate `pcm` tells them (spec of PCM 3.9). */

import { toBytes } from './canon.js';
import { natural } from './pcm-trust.js';
import { hex, sha256 } from './sha256.js';

/**
 * @typedef {Map<string, any>} Event
 * @typedef {{expires: string, call: string | undefined, attempt: number, notBefore?: string, consumeBy?: string,
 *   state: 'requested' | 'approved' | 'rejected' | 'consumed' | 'ended'}} Story
 */

export class Approvals {
  /** @type {Map<string, Story>} */
  stories = new Map();
  /** @type {Map<string, {decision: string, requester: string, eligible: boolean, passkey: boolean, toPeople: boolean}>} */
  asked = new Map();
  /** @type {Map<string, boolean>} */
  decisions = new Map();
  /** @type {Map<string, string>} */
  owners = new Map();
  /** @type {Set<string>} */
  constrained = new Set();
  agents = 0;
  constraints = false;
  early = false;
  bad = false;
  badAgents = false;

  /** @param {Event} event */
  next(event) {
    const run = JSON.stringify([event.get('tenant'), event.get('run_id')]);
    const type = event.get('type');
    const data = event.get('data');
    if (type === 'run.registered') {
      const identity = data.get('identity');
      this.owners.set(run, `${identity.get('scheme')}:${identity.get('subject')}`);
    } else if (type === 'constraint.added') {
      this.constraints = true;
      this.constrained.add(run);
    } else if (type === 'policy.decision') {
      this.decided(event, run);
    } else if (type === 'approval' || type.startsWith('approval.')) {
      const id = data.get('approval_id');
      if (typeof id === 'string') this.told(event, type, run, JSON.stringify([run, id]));
    }
  }

  /**
   * @param {Event} event
   * @param {string} run
   */
  decided(event, run) {
    const data = event.get('data');
    const ask = data.get('decision') === 'ask';
    const held = data.get('rule_ids').includes('TK-CONSTRAINT');
    if (!ask && !held) return;
    if (held) {
      this.constraints = true;
      if (!this.constrained.has(run) || !ask) this.early = true;
    }
    if (!data.has('decision_id')) return;
    const provenance = data.get('provenance');
    const bare = provenance === undefined || provenance.length === 0;
    const complete = (data.get('provenance_state') ?? 'complete') === 'complete';
    this.decisions.set(JSON.stringify([run, data.get('decision_id')]), bare && complete);
  }

  /**
   * @param {Event} event
   * @param {string} type
   * @param {string} run
   * @param {string} name
   */
  told(event, type, run, name) {
    const data = event.get('data');
    if (type === 'approval.request') {
      if (!bound(event)) this.bad = true;
      else if (this.stories.has(name)) this.bad = true;
      else this.stories.set(name, begin(event));
      this.asked.set(name, {
        decision: data.get('decision_id'),
        requester: data.get('requester'),
        eligible: data.get('agent')?.get('eligible') === true,
        passkey: data.get('passkey') === true,
        toPeople: false,
      });
      return;
    }
    const answered = type === 'approval' && data.get('decision') === 'approve';
    const story = this.stories.get(name);
    if (story ? !follow(story, event) : answered || type === 'approval.consumed') this.bad = true;
    const asked = this.asked.get(name);
    if ((type === 'approval.escalated' || type === 'approval.revoked') && asked) asked.toPeople = true;
    if (answered && data.get('approver_kind') === 'agent') {
      this.agents++;
      const identity = data.get('approver_identity');
      const agent = `${identity?.get('scheme') ?? ''}:${identity?.get('subject') ?? ''}`;
      const bare = asked && this.decisions.get(JSON.stringify([run, asked.decision]));
      if (!asked || !bare || !asked.eligible || asked.toPeople || asked.passkey) this.badAgents = true;
      else if (data.get('approver') === asked.requester || this.owners.get(run) === agent) this.badAgents = true;
    }
  }
}

/**
 * Whether a request's binding is its own.
 * @param {Event} request
 */
function bound(request) {
  const data = request.get('data');
  const binding = data.get('binding');
  if (data.get('binding_digest') !== `sha256:${hex(sha256(toBytes(binding)))}`) return false;
  const own = [
    ['approval_id', data.get('approval_id')],
    ['tenant', request.get('tenant')],
    ['run_id', request.get('run_id')],
    ['tool_call_id', request.get('tool_call_id')],
    ['policy_hash', data.get('policy_hash')],
    ['expires_at', data.get('expires_at')],
  ];
  return own.every(([name, value]) => binding.get(name) === value) && natural(binding.get('attempt')) === attempt(request);
}

/**
 * @param {Event} request
 * @returns {Story}
 */
function begin(request) {
  return {
    expires: request.get('data').get('expires_at'),
    call: request.get('tool_call_id'),
    attempt: attempt(request),
    state: 'requested',
  };
}

/**
 * Whether the next record of an approval may come here.
 * @param {Story} story
 * @param {Event} event
 */
function follow(story, event) {
  const data = event.get('data');
  const when = event.get('ts_signed') ?? event.get('ts');
  switch (event.get('type')) {
    case 'approval': {
      const decision = data.get('decision');
      if (decision !== 'approve' && decision !== 'reject') return true;
      if (story.state !== 'requested') return false;
      if (decision === 'approve' && when >= story.expires) return false;
      story.state = decision === 'approve' ? 'approved' : 'rejected';
      if (decision === 'approve') [story.notBefore, story.consumeBy] = [data.get('not_before'), data.get('consume_by')];
      return true;
    }
    case 'approval.consumed':
      if (story.state !== 'approved') return false;
      if (event.get('tool_call_id') !== story.call || attempt(event) !== story.attempt) return false;
      if (story.notBefore !== undefined && when < story.notBefore) return false;
      if (when >= story.expires || (story.consumeBy !== undefined && when >= story.consumeBy)) return false;
      story.state = 'consumed';
      return true;
    case 'approval.expired':
    case 'approval.abandoned':
    case 'approval.revoked':
      if (story.state !== 'consumed') story.state = 'ended';
      return true;
    default:
      return true;
  }
}

/** @param {Event} event */
function attempt(event) {
  return natural(event.get('attempt')) ?? 0;
}
