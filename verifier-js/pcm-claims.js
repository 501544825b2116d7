// @ts-check
/** The predicates of messages, as crate `pcm` judges them (spec of PCM 4.4, 4.5, 4.8). */

import { write } from './canon.js';
import { Ambiguous, Shape, argv, at, host, isUnder, meets, number, path, plainText, pointed, readTerm, readable, url } from './pcm-strict.js';
import { natural } from './pcm-trust.js';
import { hex, sha256 } from './sha256.js';

/**
 * A record whose own checks have passed.
 * @typedef {{event: Map<string, any>, hash: string, seq: number, args?: any, content?: any}} Shown
 * @typedef {{from: Map<string, any>, tools: any, size: number, bridges: string[], breakGlass: boolean, shelf: Map<string, Shown>}} View
 * @typedef {{decision: Shown, result: Shown | undefined, tool: string | undefined, args: any, content: any}} Call
 * @typedef {{tool?: string, classes?: string[], ok?: boolean, content?: boolean}} Wanted
 */

const DOUBTS = new Set(
  ('no_evidence t1_only not_opened redacted ambiguous_host ambiguous_path ambiguous_shell ambiguous_number ambiguous_text ' +
    'unknown_predicate unknown_tool gap_in_run coarse_evidence').split(' '),
);
const STILL = 'still_holds';

/** Ends the judging of a claim with a code. */
class Found extends Error {
  /** @param {string} code */
  constructor(code) {
    super(code);
    this.code = code;
  }
}

/** @param {string} code */
export function isDoubt(code) {
  return DOUBTS.has(code);
}

/**
 * One code a claim, `undefined` for a proven one.
 * @param {any[]} claims
 * @param {View} view
 * @param {string[]} still
 * @returns {(string | undefined)[]}
 */
export function judge(claims, view, still) {
  const codes = claims.map((claim) => weighed((doubts) => alone(claim, view, doubts)));
  /** @type {Set<string>} */
  const holding = new Set();
  claims.forEach((claim, index) => {
    if (claim.get('pred') !== STILL) return;
    const target = claim.get('args').get('claim');
    const of = claims.findIndex((one) => one.get('id') === target && one.get('pred') !== STILL);
    if (of < 0) codes[index] = 'no_evidence';
    else if (codes[of] !== undefined) codes[index] = isDoubt(codes[of]) ? codes[of] : 'no_evidence';
    else codes[index] = weighed((doubts) => stillHolds(claim, claims[of], view, doubts));
    if (codes[index] === undefined) holding.add(target);
  });
  return codes.map((code, index) => {
    const [claim, proven] = [claims[index], code === undefined];
    return proven && still.includes(claim.get('pred')) && !holding.has(claim.get('id')) ? 'gap_in_run' : code;
  });
}

/** @param {(doubts: string[]) => void} step @returns {string | undefined} */
function weighed(step) {
  /** @type {string[]} */
  const doubts = [];
  try {
    step(doubts);
  } catch (error) {
    if (!(error instanceof Found || error instanceof Ambiguous)) throw error;
    if (!isDoubt(error.code)) return error.code;
    doubts.push(error.code);
  }
  return doubts[0];
}

/** @param {any} claim @param {View} view @param {string[]} doubts */
function alone(claim, view, doubts) {
  const judges = {
    tool_called: toolCalled,
    http_fetched: httpFetched,
    tests_passed: testsPassed,
    command_ran: commandRan,
    file_written: fileWritten,
    result_value: resultValue,
    approved_by: approvedBy,
    net_reached: netReached,
    decided,
  };
  const name = claim.get('pred');
  if (!Object.hasOwn(judges, name)) throw new Found('unknown_predicate');
  /** @type {any} */ (judges)[name](claim.get('args'), cited(view, claim.get('evidence')), view, doubts);
}

/** @param {View} view @param {string[]} rids @returns {Shown[]} */
export function cited(view, rids) {
  const all = new Map(rids.map((rid) => view.shelf.get(rid)).flatMap((one) => (one ? [[one.seq, one]] : [])));
  return [...all.values()].sort((a, b) => a.seq - b.seq);
}

/** @param {any} args @param {Shown[]} records @param {View} view @param {string[]} doubts */
function toolCalled(args, records, view, doubts) {
  const call = findCall(records, { tool: args.get('tool'), ok: true }, view, doubts);
  if (call.args !== undefined) agrees(args.get('args'), call.args, doubts);
}

/** @param {any} args @param {Shown[]} records @param {View} view @param {string[]} doubts */
function resultValue(args, records, view, doubts) {
  const call = findCall(records, { tool: args.get('tool'), ok: true, content: true }, view, doubts);
  if (call.args !== undefined) agrees(args.get('args'), call.args, doubts);
  if (call.content === undefined) return;
  const found = doubted(doubts, () => ({ value: pointed(call.content, args.get('pointer')) }));
  if (!found) return;
  if (found.value === undefined || !same(args.get('value'), found.value, doubts)) throw new Found('result_differs');
}

/** @param {any} args @param {Shown[]} records @param {View} view @param {string[]} doubts */
function httpFetched(args, records, view, doubts) {
  const content = args.has('status') || args.has('body_sha256');
  const call = findCall(records, { classes: ['http'], ok: true, content }, view, doubts);
  const tool = described(call, view);
  if (tool?.class !== 'http') return;
  if (call.args !== undefined) {
    const method = tool.method ?? argument(tool, 'method', call.args);
    if (method !== args.get('method')) throw new Found('args_differ');
    const found = argument(tool, 'url', call.args);
    if (typeof found !== 'string') throw new Found('args_differ');
    const both = doubted(doubts, () => [url(args.get('url')), url(found)]);
    if (both && both[0] !== both[1]) throw new Found('args_differ');
  }
  if (call.content === undefined) return;
  if (args.has('status') && !same(args.get('status'), outcome(tool, 'status', call.content), doubts)) {
    throw new Found('result_differs');
  }
  if (args.has('body_sha256')) {
    const body = outcome(tool, 'body', call.content);
    if (body === undefined || digest(body) !== args.get('body_sha256')) throw new Found('result_differs');
  }
}

/** @param {any} args @param {Shown[]} records @param {View} view @param {string[]} doubts */
function testsPassed(args, records, view, doubts) {
  const call = findCall(records, { classes: ['shell', 'test'], ok: true, content: true }, view, doubts);
  if (!view.tools) return;
  const ways = Object.hasOwn(view.tools.runners, args.get('runner')) ? view.tools.runners[args.get('runner')] : [];
  const begins = (/** @type {string[]} */ way) => way.every((word, index) => args.get('argv')[index] === word);
  if (!ways.some(begins)) doubts.push('unknown_tool');
  ran(args, call, view, doubts);
  const tool = described(call, view);
  if (!tool || call.content === undefined) return;
  exited(tool, call.content, 0, doubts);
  if (!args.has('counts')) return;
  const output = outcome(tool, 'output', call.content);
  if (typeof output !== 'string') throw new Found('result_differs');
  const told = summary(output);
  if (!told) {
    doubts.push('ambiguous_text');
    return;
  }
  for (const [word, count] of args.get('counts')) {
    if (natural(count) !== (told.get(word) ?? 0)) throw new Found('result_differs');
  }
}

/** @param {any} args @param {Shown[]} records @param {View} view @param {string[]} doubts */
function commandRan(args, records, view, doubts) {
  const call = findCall(records, { classes: ['shell', 'test'], content: true }, view, doubts);
  ran(args, call, view, doubts);
  const tool = described(call, view);
  if (tool && call.content !== undefined) exited(tool, call.content, args.get('exit_code').value, doubts);
}

/** @param {any} args @param {Shown[]} records @param {View} view @param {string[]} doubts */
function fileWritten(args, records, view, doubts) {
  const call = findCall(records, { classes: ['fs_write'], ok: true }, view, doubts);
  const tool = described(call, view);
  if (tool?.class !== 'fs_write' || call.args === undefined) return;
  samePath(args.get('path'), argument(tool, 'path', call.args), doubts);
  const content = argument(tool, 'content', call.args);
  const named = argument(tool, 'sha256', call.args);
  const found = content === undefined ? named : digest(content);
  if (typeof found !== 'string') throw new Found('coarse_evidence');
  if (found !== args.get('sha256')) throw new Found('args_differ');
}

/** @param {any} args @param {Shown[]} records @param {View} view @param {string[]} doubts */
function netReached(args, records, view, doubts) {
  ofRun(records, view);
  const claimed = host(args.get('host'));
  const window = args.get('window');
  let found = 'no_evidence';
  for (const { event } of records) {
    const data = event.get('data');
    if (event.get('type') !== 'effect.observed' || data.get('kind') !== 'net') continue;
    if (host(data.get('host')) !== claimed || natural(data.get('port')) !== natural(args.get('port'))) throw new Found('args_differ');
    const inside = window.get('from') <= data.get('first_ts') && data.get('last_ts') <= window.get('to');
    const good = inside && data.get('attribution') === 'token' && (natural(data.get('connections')) ?? 0) > 0;
    found = good || found === '' ? '' : 'coarse_evidence';
  }
  if (records.some(isGap)) doubts.push('gap_in_run');
  if (found) throw new Found(found);
}

/** @param {any} args @param {Shown[]} records @param {View} view @param {string[]} doubts */
function decided(args, records, view, doubts) {
  const decision = findDecision(records, view);
  const data = decision.event.get('data');
  const told = data.get('decision');
  if (told !== args.get('decision')) throw new Found(told === 'deny' ? 'call_denied' : 'result_differs');
  if (data.get('tool') === undefined) doubts.push('not_opened');
  else if (data.get('tool') !== args.get('tool')) throw new Found('args_differ');
  if (!isT2(decision)) doubts.push('t1_only');
  if (decision.args === undefined) throw new Found('not_opened');
  agrees(args.get('args'), decision.args, doubts);
}

/** @param {any} args @param {Shown[]} records @param {View} view @param {string[]} doubts */
function approvedBy(args, records, view, doubts) {
  ofRun(records, view);
  const approval = findApproval(records, view, doubts);
  const person = args.get('person');
  const names = doubted(doubts, () => [plainText(person), plainText(approval.person)]);
  if (names && (approval.agent || approval.own || approval.person !== person)) throw new Found('approver_differs');
  covers(args, approval, view, doubts);
  if (args.has('done')) done(approval, records, doubts);
}

/** @param {any} args @param {any} approval @param {View} view @param {string[]} doubts */
function covers(args, approval, view, doubts) {
  if (args.has('tool') && args.get('tool') !== approval.tool) throw new Found('approval_not_covering');
  if (args.get('terms').length === 0 && !args.has('intent')) return;
  const tool = toolOf(view, approval.tool);
  if (!tool) {
    doubts.push('unknown_tool');
    return;
  }
  if (args.has('intent') && args.get('intent') !== tool.intent) throw new Found('approval_not_covering');
  if (approval.args === undefined) return;
  for (const said of args.get('terms')) {
    doubted(doubts, () => {
      const term = termOf(said);
      const { value, unit } = field(tool, term.field, approval.args);
      if (value === undefined) throw new Found('approval_not_covering');
      if (!meets(term, value, unit)) throw new Found('approval_not_covering');
    });
  }
}

/** @param {any} said */
function termOf(said) {
  try {
    return readTerm(said);
  } catch (error) {
    if (error instanceof Shape) throw new Found('bad_schema');
    throw error;
  }
}

/** @param {any} tool @param {string} name @param {any} args @returns {{value?: any, unit?: string}} */
function field(tool, name, args) {
  const found = tool.fields && Object.hasOwn(tool.fields, name) ? tool.fields[name] : undefined;
  if (!found) return {};
  const unit = found.unit ?? (found.unit_at === undefined ? undefined : at(args, found.unit_at));
  if (found.unit === undefined && found.unit_at !== undefined && typeof unit !== 'string') return {};
  return { value: at(args, found.at), unit };
}

/** @param {Shown[]} records @param {View} view @param {string[]} doubts */
export function findApproval(records, view, doubts) {
  const answer = one(records, 'approval');
  const told = answer?.event.get('data');
  if (answer && told.get('decision') !== 'approve') throw new Found('approval_rejected');
  const [decision, request] = [one(records, 'policy.decision'), one(records, 'approval.request')];
  if (!decision || !request || !answer) throw new Found('no_evidence');
  const [d, q] = [decision.event.get('data'), request.event.get('data')];
  const equal = (/** @type {string} */ name) => d.get(name) !== undefined && d.get(name) === q.get(name);
  const tool = q.get('binding').get('tool');
  const id = q.get('approval_id');
  const linked =
    callOf(decision) !== undefined && callOf(decision) === callOf(request) && callOf(decision) === callOf(answer) &&
    d.get('decision') === 'ask' && equal('decision_id') && (!d.has('policy_hash') || equal('policy_hash')) &&
    id === told.get('approval_id') && decision.seq < request.seq && request.seq < answer.seq && bound(request) && tool === d.get('tool');
  if (!linked) throw new Found('approval_other_call');
  const when = answer.event.get('ts_signed') ?? answer.event.get('ts');
  if (q.get('expires_at') <= when) throw new Found('approval_rejected');
  if ((told.get('break_glass') === true && !view.breakGlass) || takenBack(request, answer, view)) throw new Found('approval_rejected');
  const bridge = told.get('via');
  const vouched = bridge?.get('attested') === true && view.bridges.includes(`${bridge.get('scheme')}:${bridge.get('subject')}`);
  const known = told.get('approver_identity')?.get('attested') === true;
  if (!isT2(decision) || !(known || vouched)) doubts.push('t1_only');
  if (decision.args === undefined || request.args === undefined) doubts.push('not_opened');
  else if (write(decision.args) !== write(request.args)) throw new Found('approval_other_call');
  const identity = told.get('approver_identity');
  const person = told.get('person') ?? identity?.get('person') ?? (identity ? `${identity.get('scheme')}:${identity.get('subject')}` : told.get('approver'));
  const own = told.get('self_approved') === true || told.get('same_user') === true;
  const args = request.args === undefined ? undefined : decision.args;
  return { decision, request, answer, tool, person, agent: told.has('approver_kind'), own, args };
}

/** @param {Shown} request */
function bound(request) {
  const [event, data] = [request.event, request.event.get('data')];
  const binding = data.get('binding');
  const own = [
    ['approval_id', data.get('approval_id')],
    ['tenant', event.get('tenant')],
    ['run_id', event.get('run_id')],
    ['tool_call_id', event.get('tool_call_id')],
    ['policy_hash', data.get('policy_hash')],
    ['expires_at', data.get('expires_at')],
  ];
  return data.get('binding_digest') === `sha256:${hex(sha256(write(binding)))}` && own.every(([name, value]) => binding.get(name) === value) && natural(binding.get('attempt')) === attempt(request);
}

/** @param {Shown} request @param {Shown} answer @param {View} view */
function takenBack(request, answer, view) {
  const id = request.event.get('data').get('approval_id');
  const first = (/** @type {string[]} */ kinds) => {
    const found = [...view.shelf.values()].filter(
      ({ event, seq }) => kinds.includes(event.get('type')) && event.get('data').get('approval_id') === id && event.get('run_id') === request.event.get('run_id') && answer.seq < seq,
    );
    return Math.min(...found.map(({ seq }) => seq));
  };
  const ended = first(['approval.revoked', 'approval.expired', 'approval.abandoned']);
  return ended !== Infinity && ended < first(['approval.consumed']);
}

/** @param {any} approval @param {Shown[]} records @param {string[]} doubts */
function done(approval, records, doubts) {
  const consumed = one(records, 'approval.consumed');
  const used = consumed !== undefined && consumed.event.get('data').get('approval_id') === approval.request.event.get('data').get('approval_id') && callOf(consumed) === callOf(approval.decision) && approval.answer.seq < consumed.seq;
  const result = one(records, 'tool.result');
  if (!result || !follows(result, approval.decision)) doubts.push('no_evidence');
  else if (result.event.get('data').get('ok') !== true) throw new Found('call_failed');
  else if (!used) doubts.push('no_evidence');
  else if (!isT2(result)) doubts.push('t1_only');
}

/** @param {any} claim @param {any} of @param {View} view @param {string[]} doubts */
function stillHolds(claim, of, view, doubts) {
  const args = claim.get('args');
  const paths = args.get('paths');
  paths.forEach(path);
  const own = one(cited(view, of.get('evidence')), 'policy.decision');
  if (!own) throw new Found('no_evidence');
  const begin = args.has('tree') ? digested(claim, args.get('tree'), paths, own, view, doubts) : own;
  const run = cited(view, [...claim.get('evidence'), ...of.get('evidence')]).filter(
    (shown) => shown.event.get('run_id') === view.from.get('run_id') && begin.seq <= shown.seq,
  );
  const whole = run.every((shown, index) => {
    const before = run[index - 1];
    return !before || (natural(shown.event.get('run_seq')) === (natural(before.event.get('run_seq')) ?? 0) + 1 && shown.event.get('run_prev_hash') === before.hash);
  });
  const last = run[run.length - 1];
  const ends = last !== undefined && (last.event.get('type') === 'run.final' || last.seq + 1 === view.size);
  for (const shown of run) if (shown.seq !== own.seq) quiet(shown, run, paths, view, doubts);
  if (!whole || !ends) doubts.push('gap_in_run');
}

/** @param {any} claim @param {string} tree @param {string[]} paths @param {Shown} before @param {View} view @param {string[]} doubts */
function digested(claim, tree, paths, before, view, doubts) {
  const records = cited(view, claim.get('evidence')).filter((shown) => shown.seq < before.seq);
  const call = findCall(records, { classes: ['tree'], ok: true, content: true }, view, doubts);
  const tool = described(call, view);
  if (!tool || call.args === undefined || call.content === undefined) throw new Found('not_opened');
  const root = argument(tool, 'path', call.args);
  if (typeof root !== 'string') throw new Found('args_differ');
  path(root);
  if (!paths.every((one) => isUnder(one, root))) throw new Found('args_differ');
  if (outcome(tool, 'sha256', call.content) !== tree) throw new Found('result_differs');
  return call.decision;
}

/** @param {Shown} shown @param {Shown[]} run @param {string[]} paths @param {View} view @param {string[]} doubts */
function quiet(shown, run, paths, view, doubts) {
  const data = shown.event.get('data');
  const type = shown.event.get('type');
  if (type === 'policy.decision' && data.get('decision') === 'deny') return;
  if (type === 'tool.result') {
    if (!run.some((decision) => decision.event.get('type') === 'policy.decision' && follows(shown, decision))) doubts.push('gap_in_run');
    return;
  }
  if (type !== 'policy.decision' && type !== 'tool.call') {
    if (isGap(shown) || (type === 'effect.observed' && data.get('kind') !== 'net')) doubts.push('gap_in_run');
    return;
  }
  const tool = toolOf(view, data.get(type === 'tool.call' ? 'name' : 'tool'));
  if (['http', 'read', 'tree', 'act', 'grant'].includes(tool?.class)) return;
  const written = tool?.class === 'fs_write' && shown.args !== undefined ? argument(tool, 'path', shown.args) : undefined;
  if (typeof written !== 'string') {
    doubts.push('gap_in_run');
    return;
  }
  const found = doubted(doubts, () => path(written));
  if (found && paths.some((own) => isUnder(found, own) || isUnder(own, found))) throw new Found('result_differs');
}

/** @param {Shown[]} records @param {Wanted} wanted @param {View} view @param {string[]} doubts @returns {Call} */
function findCall(records, wanted, view, doubts) {
  const decision = findDecision(records, view);
  const found = one(records, 'tool.result');
  const result = found && follows(found, decision) ? found : undefined;
  const told = decision.event.get('data');
  const tool = told.get('tool');
  if (told.get('decision') === 'deny') throw new Found('call_denied');
  if (wanted.tool !== undefined && tool !== undefined && wanted.tool !== tool) throw new Found('args_differ');
  const no = (/** @type {Shown} */ shown) => shown.event.get('type') === 'approval' && callOf(shown) === callOf(decision) && shown.event.get('data').get('decision') !== 'approve';
  if (records.some(no)) throw new Found('approval_rejected');
  if (wanted.ok && result && result.event.get('data').get('ok') !== true) throw new Found('call_failed');
  const call = { decision, result, tool, args: decision.args, content: result?.content };
  if (!result) {
    doubts.push('no_evidence');
    return call;
  }
  const data = result.event.get('data');
  if (!isT2(decision) || !isT2(result) || told.get('via') !== data.get('via')) doubts.push('t1_only');
  const used = (/** @type {Shown} */ shown) => shown.event.get('type') === 'approval.consumed' && callOf(shown) === callOf(decision);
  if (told.get('decision') === 'ask' && !records.some(used)) doubts.push('no_evidence');
  if (tool === undefined || decision.args === undefined) doubts.push('not_opened');
  if (wanted.classes && !wanted.classes.includes(described(call, view)?.class)) doubts.push('unknown_tool');
  if (wanted.content) {
    const count = natural(at(data, '/redaction/count')) ?? 0;
    if (at(data, '/output/redacted') === true || count > 0) doubts.push('redacted');
    if (call.content === undefined) doubts.push('not_opened');
  }
  if (records.some(isGap)) doubts.push('gap_in_run');
  return call;
}

/** @param {Shown[]} records @param {View} view */
function findDecision(records, view) {
  ofRun(records, view);
  const decision = one(records, 'policy.decision');
  if (!decision) throw new Found(lone(records));
  const caller = decision.event.get('data').get('caller');
  if (caller !== undefined && caller !== view.from.get('agent')) throw new Found('wrong_run');
  return decision;
}

/** @param {Shown[]} records */
function lone(records) {
  const failed = (/** @type {Shown} */ { event }) => event.get('type') === 'tool.result' && event.get('data').get('ok') === false;
  if (records.some(failed)) return 'call_failed';
  const told = ['tool.call', 'tool.result', 'model.message', 'ext'];
  return records.some(({ event }) => told.includes(event.get('type'))) ? 't1_only' : 'no_evidence';
}

/** @param {Shown[]} records @param {string} type */
function one(records, type) {
  const found = records.filter(({ event }) => event.get('type') === type);
  if (found.length > 1) throw new Found('coarse_evidence');
  return /** @type {Shown | undefined} */ (found[0]);
}

/** @param {Shown[]} records @param {View} view */
function ofRun(records, view) {
  const own = view.from.get('run_id');
  const good = (/** @type {Shown} */ { event }) => event.get('run_id') === own || (event.get('run_id') === 'tracekit/signer' && event.get('data').get('run_id') === own);
  if (!records.every(good)) throw new Found('wrong_run');
}

/** @param {Shown} result @param {Shown} decision */
function follows(result, decision) {
  const id = result.event.get('data').get('decision_id');
  return id !== undefined && id === decision.event.get('data').get('decision_id') && callOf(result) === callOf(decision) && decision.seq < result.seq;
}

/** @param {Shown} shown */
function callOf({ event }) {
  const id = event.get('tool_call_id');
  return id === undefined ? undefined : JSON.stringify([event.get('run_id'), id, natural(event.get('attempt')) ?? 0]);
}

/** @param {Shown} shown */
function attempt({ event }) {
  return natural(event.get('attempt')) ?? 0;
}

/** @param {Shown} shown */
function isGap({ event }) {
  const type = event.get('type');
  return type === 'capture.gap' || type === 'trace.tamper' || type.startsWith('reconcile.');
}

/** @param {Shown} shown */
function isT2({ event }) {
  const types = ['policy.decision', 'tool.result', 'input.observed', 'model.exchange'];
  return types.includes(event.get('type')) && event.get('source') === 'gateway' && event.get('tier') === 'T2';
}

/** @param {View} view @param {any} name */
function toolOf(view, name) {
  return view.tools && typeof name === 'string' && Object.hasOwn(view.tools.tools, name) ? view.tools.tools[name] : undefined;
}

/** @param {Call} call @param {View} view */
function described(call, view) {
  return toolOf(view, call.tool);
}

/** @param {any} tool @param {string} role @param {any} args */
function argument(tool, role, args) {
  return tool.args?.[role] === undefined ? undefined : at(args, tool.args[role]);
}

/** @param {any} tool @param {string} role @param {any} content */
function outcome(tool, role, content) {
  return tool.result?.[role] === undefined ? undefined : at(content, tool.result[role]);
}

/** @param {any} claimed @param {any} opened @param {string[]} doubts */
function agrees(claimed, opened, doubts) {
  for (const [name, value] of claimed) {
    const found = opened instanceof Map ? opened.get(name) : undefined;
    if (found === undefined || !same(value, found, doubts)) throw new Found('args_differ');
  }
}

/** @param {any} value @param {any} other @param {string[]} doubts */
function same(value, other, doubts) {
  if (other === undefined) return false;
  const clear = doubted(doubts, () => {
    readable(value);
    readable(other);
    return true;
  });
  return !clear || write(value) === write(other);
}

/** Runs a step; what has no one reading is a doubt. @template T @param {string[]} doubts @param {() => T} step @returns {T | undefined} */
function doubted(doubts, step) {
  try {
    return step();
  } catch (error) {
    if (!(error instanceof Ambiguous)) throw error;
    doubts.push(error.code);
    return undefined;
  }
}

/** @param {any} args @param {Call} call @param {View} view @param {string[]} doubts */
function ran(args, call, view, doubts) {
  const tool = described(call, view);
  if (!tool || call.args === undefined) return;
  const claimed = args.get('argv');
  try {
    claimed.forEach(plainText);
  } catch (error) {
    if (!(error instanceof Ambiguous)) throw error;
    doubts.push('ambiguous_shell');
    return;
  }
  const listed = argument(tool, 'argv', call.args);
  const line = argument(tool, 'command', call.args);
  let words = Array.isArray(listed) && listed.every((word) => typeof word === 'string') ? listed : undefined;
  if (listed === undefined && typeof line === 'string') {
    words = doubted(doubts, () => argv(line));
    if (!words) return;
  }
  if (!words || words.length !== claimed.length || !words.every((word, index) => word === claimed[index])) throw new Found('args_differ');
  if (args.has('cwd')) samePath(args.get('cwd'), argument(tool, 'cwd', call.args), doubts);
}

/** @param {any} tool @param {any} content @param {number} claimed @param {string[]} doubts */
function exited(tool, content, claimed, doubts) {
  const found = outcome(tool, 'exit_code', content);
  if (found === null || typeof found !== 'object' || Array.isArray(found) || found instanceof Map) throw new Found('result_differs');
  const code = doubted(doubts, () => ({ value: number(found) }));
  if (code && code.value !== claimed) throw new Found('result_differs');
}

/** @param {string} claimed @param {any} found @param {string[]} doubts */
function samePath(claimed, found, doubts) {
  if (typeof found !== 'string') throw new Found('args_differ');
  const both = doubted(doubts, () => [path(claimed), path(found)]);
  if (both && both[0] !== both[1]) throw new Found('args_differ');
}

/** @param {any} value */
function digest(value) {
  return `sha256:${hex(sha256(typeof value === 'string' ? value : write(value)))}`;
}

/** @param {string} output @returns {Map<string, number> | undefined} */
function summary(output) {
  const found = output.split(/\r?\n/).reverse().find((line) => line.trim() !== '');
  if (found === undefined) return undefined;
  let line = found.replace(/^[= ]+|[= ]+$/g, '');
  const cut = line.indexOf(' in ');
  if (cut >= 0) {
    if (!line.endsWith('s')) return undefined;
    line = line.slice(0, cut);
  }
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const part of line.split(', ')) {
    const [, count, word] = /^(\d+) ([a-z]*)$/.exec(part) ?? [];
    if (count === undefined || counts.has(word)) return undefined;
    counts.set(word, Number(count));
  }
  return counts;
}

export { Found };
