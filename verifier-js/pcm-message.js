// @ts-check
/** Messages that carry their proofs, as crate `pcm` judges them (spec of PCM 4). */

import { CanonError, parse, toBytes, write } from './canon.js';
import { verifyInclusions } from './merkle.js';
import { base64 } from './note.js';
import { Found, cited, findApproval, isDoubt, judge } from './pcm-claims.js';
import { MESSAGE, TOOLS, TRUST } from './pcm-data.js';
import { Keys, checkRecord, leafOf, readRecord } from './pcm-record.js';
import { conforms, isReadable, misfit } from './pcm-schema.js';
import { Ambiguous, Shape, implied, meets, readTerm } from './pcm-strict.js';
import { natural, openCheckpoint, readTrust } from './pcm-trust.js';
import { Refusal } from './refusal.js';
import { equal, hex, hmac, sha256 } from './sha256.js';
import { verifyEd25519 } from './signature.js';

/**
 * @typedef {{evidence: import('./pcm-trust.js').Evidence, file: Map<string, any>, intents: Map<string, any>}} Receiver
 * @typedef {{now: number, receiver?: string, state?: any}} Moment `now` in microseconds since 1970
 * @typedef {{overall: 'accept' | 'accept_unproven' | 'reject', code?: string, place?: string,
 *   claims: {id: string, verdict: string, code?: string}[]}} Judgement
 */

const MAX = 256 << 10;
const TWO = parse('2');
const MOST = { records: 64, openings: 32, claims: 16, grants: 8, terms: 16 };

/** @param {string} code @param {string} [place] */
function no(code, place = '') {
  return new Refusal(code, place, code);
}

/** Whether a value is meant as a receiver's trust file. @param {any} value */
export function isReceiver(value) {
  return value instanceof Map && value.has('pcm') && value.has('speakers');
}

/** @param {any} file @returns {Receiver} */
export function readReceiver(file) {
  if (!conforms(TRUST, file)) throw no('bad_schema');
  /** @type {Map<string, any>} */
  const intents = new Map();
  for (const intent of file.get('intents') ?? []) {
    const text = write(intent.get('schema'));
    if (intents.has(intent.get('type')) || !isReadable(parse(text))) throw no('bad_trust');
    intents.set(intent.get('type'), { intent, schema: JSON.parse(text), digest: `sha256:${hex(sha256(text))}` });
  }
  return { evidence: readTrust(file.get('evidence')), file, intents };
}

/**
 * Judges a message.
 * @param {Uint8Array} bytes
 * @param {Receiver} receiver
 * @param {Moment} moment
 * @returns {Promise<Judgement>}
 */
export async function judgeMessage(bytes, receiver, moment) {
  /** @type {Judgement} */
  const judgement = { overall: 'reject', claims: [] };
  try {
    await run(bytes, receiver, moment, judgement);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    judgement.code = error.code;
    judgement.place = error.place;
  }
  return judgement;
}

/** @param {Uint8Array} bytes @param {Receiver} receiver @param {Moment} moment @param {Judgement} judgement */
async function run(bytes, receiver, moment, judgement) {
  const message = read(bytes);
  const { evidence, file } = receiver;
  const from = message.get('from');
  const shown = message.get('evidence');
  const checkpoint = await opened(message, receiver);
  const keys = new Keys(from.get('log_id'), evidence);
  /** @type {any[]} */
  const epochs = [];
  for (const [index, one] of shown.get('keys').entries()) {
    await coded(`/evidence/keys/${index}`, async () => {
      const record = whole(one, message);
      await hashed(record);
      epochs.push(record);
    });
  }
  included(checkpoint, epochs, shown.get('keys_proof'), '/evidence/keys_proof');
  for (const [index, record] of epochs.entries()) await coded(`/evidence/keys/${index}`, () => keys.take(record));
  await signed(message, receiver, keys, checkpoint);
  const speaks = (/** @type {any} */ one) =>
    ['origin', 'log_id', 'tenant'].every((name) => one.get(name) === from.get(name)) && (one.get('agents')?.includes(from.get('agent')) ?? true);
  if (!file.get('speakers').some(speaks)) throw no('wrong_sender', '/from');
  const to = message.get('to');
  if (!file.get('receivers').includes(to) || (moment.receiver ?? to) !== to) throw no('wrong_audience', '/to');
  inTime(message, receiver, checkpoint, moment.now);
  if (moment.state !== undefined) remembered(message, checkpoint, moment.state);
  const shelf = await records(message, keys, checkpoint);
  registered(from, shelf);
  for (const rid of [...shown.get('openings').keys()].sort()) open(shelf, rid, shown.get('openings').get(rid));
  accounted(message, shelf);
  const agreed = intentOf(message, receiver);
  const tools = file.get('registry') === `sha256:${hex(sha256(write(TOOLS)))}` ? TOOLS : undefined;
  const view = { from, tools, size: checkpoint.size, bridges: file.get('bridges') ?? [], breakGlass: file.get('break_glass') === true, shelf };
  const grants = await chain(message, view, keys);
  granted(message, receiver, grants, agreed, moment);
  const claims = message.get('claims');
  const codes = judge(claims, view, file.get('still') ?? []);
  judgement.claims = codes.map((code, index) => ({
    id: claims[index].get('id'),
    verdict: code === undefined ? 'proven' : isDoubt(code) ? 'unproven' : 'failed',
    ...(code === undefined ? {} : { code }),
  }));
  const failed = codes.findIndex((code) => code !== undefined && !isDoubt(code));
  if (failed >= 0) throw no(codes[failed] ?? '', `/claims/${failed}`);
  const doubt = codes.findIndex((code) => code !== undefined);
  const demanded = (agreed?.intent.get('claims') ?? []).every((/** @type {string} */ name) =>
    claims.some((/** @type {any} */ claim, /** @type {number} */ index) => claim.get('pred') === name && codes[index] === undefined),
  );
  judgement.overall = doubt < 0 && demanded ? 'accept' : 'accept_unproven';
  if (doubt >= 0) Object.assign(judgement, { code: codes[doubt], place: `/claims/${doubt}` });
  else if (!demanded) Object.assign(judgement, { code: 'no_evidence', place: '/claims' });
}

/** @param {Uint8Array} bytes @returns {Map<string, any>} */
function read(bytes) {
  if (bytes.length > MAX) throw no('too_large');
  let message;
  try {
    message = parse(bytes);
  } catch (error) {
    if (!(error instanceof CanonError)) throw error;
    throw no('bad_json', error.place);
  }
  if (!(message instanceof Map) || message.get('pcm') !== 'pcm/0.1-cs') throw no('bad_version', '/pcm');
  if (depth(message) > 32) throw no('bad_json');
  const many = (/** @type {any} */ value) => (Array.isArray(value) ? value.length : value instanceof Map ? value.size : 0);
  const inside = (/** @type {any} */ value, /** @type {string} */ name) => (value instanceof Map ? value.get(name) : undefined);
  const evidence = message.get('evidence');
  const grants = message.get('grants');
  const terms = Array.isArray(grants) ? grants.map((link) => many(inside(inside(link, 'grant'), 'terms'))) : [];
  const text = message.get('text');
  /** @type {[string, boolean][]} */
  const limits = [
    ['/evidence/records', many(inside(evidence, 'records')) > MOST.records],
    ['/evidence/openings', many(inside(evidence, 'openings')) > MOST.openings],
    ['/claims', many(message.get('claims')) > MOST.claims],
    ['/grants', many(grants) > MOST.grants || terms.some((count) => count > MOST.terms)],
    ['/text', typeof text === 'string' && new TextEncoder().encode(text).length > 16 << 10],
  ];
  const over = limits.find(([, is]) => is);
  if (over) throw no('too_large', over[0]);
  const place = misfit(MESSAGE, message);
  if (place !== undefined) throw no('bad_schema', place);
  consistent(message);
  return message;
}

/** @param {Map<string, any>} message */
function consistent(message) {
  const evidence = message.get('evidence');
  const known = (/** @type {string[]} */ rids, /** @type {string} */ place) => {
    if (!rids.every((rid) => evidence.get('records').has(rid))) throw no('bad_schema', place);
  };
  for (const [name, value] of message) {
    if ((name === 'iat' || name === 'exp') && instant(value) === undefined) throw no('bad_schema', `/${name}`);
  }
  const ids = new Set();
  for (const [index, claim] of message.get('claims').entries()) {
    const place = `/claims/${index}`;
    if (ids.has(claim.get('id'))) throw no('bad_schema', place);
    ids.add(claim.get('id'));
    known(claim.get('evidence'), place);
    if (claim.get('pred') !== 'approved_by') continue;
    for (const term of claim.get('args').get('terms')) shaped(() => readTerm(term), false, `${place}/args/terms`);
  }
  for (const [index, link] of message.get('grants').entries()) known([...(link.get('approval') ?? []), link.get('logged')], `/grants/${index}`);
  known([...evidence.get('openings').keys()], '/evidence/openings');
  for (const [rid, opening] of [...evidence.get('openings')].sort()) {
    if (toBytes(opening.get('args') ?? opening.get('content') ?? null).length > 64 << 10) throw no('too_large', `/evidence/openings/${rid}`);
  }
}

/** A term that is none is `bad_schema`, and so, where `strict`, is one without one reading. @template T @param {() => T} step @param {boolean} strict @param {string} place */
function shaped(step, strict, place) {
  try {
    return step();
  } catch (error) {
    if (error instanceof Shape || (strict && error instanceof Ambiguous)) throw no('bad_schema', place);
    if (!(error instanceof Ambiguous)) throw error;
    return undefined;
  }
}

/** @param {any} value @returns {number} */
function depth(value) {
  if (Array.isArray(value)) return 1 + Math.max(0, ...value.map(depth));
  if (!(value instanceof Map)) return 0;
  return 1 + Math.max(0, ...[...value].map(([name, member]) => (name === 'event' ? 1 : depth(member))));
}

/** @param {Map<string, any>} message @param {Receiver} receiver */
async function opened(message, { evidence, file }) {
  const origin = message.get('from').get('origin');
  const place = '/evidence/checkpoint';
  if (!evidence.logs.some((key) => key.name === origin)) throw no('unknown_log', '/from/origin');
  const bytes = new TextEncoder().encode(message.get('evidence').get('checkpoint'));
  let checkpoint;
  try {
    checkpoint = await openCheckpoint(evidence, bytes);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw no('bad_checkpoint', place);
  }
  if (checkpoint.origin !== origin || checkpoint.size === 0n) throw no('bad_checkpoint', place);
  const classes = file.get('witness_classes');
  const seen = checkpoint.seen.filter((one) => !classes || classes.includes(one.class));
  if (seen.length < evidence.required) throw no('witness_quorum', place);
  return { size: Number(checkpoint.size), root: checkpoint.root, seen };
}

/**
 * A record with what it left out: what follows from the rest.
 * @param {Map<string, any>} shown @param {Map<string, any>} message
 */
function whole(shown, message) {
  const from = message.get('from');
  const known = ['log_id', 'tenant', 'run_id'].map((name) => /** @type {[string, any]} */ ([name, from.get(name)]));
  const own = /** @type {[string, any][]} */ ([['v', TWO], ['alg', 'ed25519'], ['kid', message.get('kid')]]);
  /** @type {Map<string, any>} */
  const record = new Map([...own, ...shown]);
  const event = shown.get('event');
  if (event instanceof Map) {
    record.set('event', new Map([['schema_version', 'tracekit.event.v2'], ...known, ...event]));
    if (!shown.has('hash')) record.set('hash', `sha256:${hex(sha256(toBytes(record.get('event'))))}`);
  }
  return readRecord(record);
}

/** @param {any} checkpoint @param {any[]} records @param {string} proof @param {string} place */
function included(checkpoint, records, proof, place) {
  const bytes = base64(proof);
  if (!bytes || bytes.length % 32 !== 0) throw no('bad_encoding', place);
  const hashes = Array.from({ length: bytes.length / 32 }, (_, at) => bytes.subarray(at * 32, at * 32 + 32));
  /** @type {Map<string, [bigint, Uint8Array]>} */
  const leaves = new Map();
  for (const record of records) {
    const seq = natural(record.event.get('seq')) ?? 0;
    leaves.set(`${seq} ${record.hash}`, [BigInt(seq), leafOf(record.hash)]);
  }
  const ascending = [...leaves.values()].sort(([one], [other]) => (one < other ? -1 : 1));
  try {
    verifyInclusions(ascending, BigInt(checkpoint.size), hashes, checkpoint.root);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw no('not_included', place);
  }
}

/** Schema and hash, before a key is asked. @param {any} record */
async function hashed(record) {
  const none = /** @type {any} */ ({ at: () => { throw no('unknown_key'); }, trust: { algs: [] } });
  try {
    await checkRecord(record, none);
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'unknown_key') throw error;
  }
}

/** Codes of evidence, in the words of messages. @param {string} place @param {() => Promise<void>} step */
async function coded(place, step) {
  const words = new Map([['bad_record', 'bad_schema'], ['outside_certificate', 'unknown_key']]);
  const own = ['bad_schema', 'record_hash', 'alg_not_allowed', 'unknown_key', 'key_retired', 'bad_encoding', 'record_signature', 'wrong_log', 'not_included', 'bad_opening', 'wrong_tenant'];
  try {
    await step();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const code = words.get(error.code) ?? error.code;
    throw no(own.includes(code) ? code : 'unknown_key', place);
  }
}

/** @param {Map<string, any>} message @param {Receiver} receiver @param {Keys} keys @param {any} checkpoint */
async function signed(message, { evidence }, keys, checkpoint) {
  const [alg, kid, sig] = ['alg', 'kid', 'sig'].map((name) => message.get(name));
  if (alg !== 'ed25519' || !evidence.algs.includes(alg)) throw no('alg_not_allowed', '/alg');
  const key = Refusal.at('/kid', () => keys.at(kid, checkpoint.size - 1));
  if (evidence.logs.some((log) => equal(log.key, key.key))) throw no('unknown_key', '/kid');
  const body = new Map([...message].filter(([name]) => !['alg', 'kid', 'sig'].includes(name)));
  await holds(key.key, sig, { t: 'countersign.pcm.message.v1', alg, kid, hash: `sha256:${hex(sha256(write(body)))}` }, '/sig');
}

/** @param {Uint8Array} key @param {string} sig @param {any} statement @param {string} place */
async function holds(key, sig, statement, place) {
  const bytes = base64(sig);
  if (bytes?.length !== 64) throw no('bad_encoding', place);
  if (!(await verifyEd25519(key, toBytes(statement), bytes))) throw no('bad_signature', place);
}

/** @param {Map<string, any>} message @param {Receiver} receiver @param {any} checkpoint @param {number} now */
function inTime(message, { file }, checkpoint, now) {
  const [iat, exp] = [instant(message.get('iat')) ?? 0, instant(message.get('exp')) ?? 0];
  const seconds = (/** @type {string} */ name, /** @type {number} */ other) => (natural(file.get(name)) ?? other) * 1e6;
  const skew = seconds('skew_s', 60);
  if (iat > now + skew) throw no('not_yet_valid', '/iat');
  if (exp <= iat || exp - iat > seconds('max_lifetime_s', 86_400) || exp + skew <= now) throw no('expired', '/exp');
  if (!file.has('max_checkpoint_age_s')) return;
  const age = seconds('max_checkpoint_age_s', 0);
  if (!checkpoint.seen.some((/** @type {any} */ one) => now - Number(one.time) * 1e6 <= age)) throw no('stale_checkpoint', '/evidence/checkpoint');
}

/** @param {Map<string, any>} message @param {any} checkpoint @param {any} state */
function remembered(message, checkpoint, state) {
  if (state === 'lost') throw no('replay_state_unavailable');
  if ((instant(message.get('iat')) ?? 0) < (instant(state.since) ?? 0)) throw no('replay_state_unavailable', '/iat');
  const origin = message.get('from').get('origin');
  const pairs = state.accepted ?? [];
  if (pairs.some((/** @type {any} */ [log, id]) => log === origin && id === message.get('id'))) throw no('replayed', '/id');
  const largest = state.largest?.[origin];
  if (largest && largest[0] === checkpoint.size && largest[1] !== `sha256:${hex(checkpoint.root)}`) throw no('bad_checkpoint', '/evidence/checkpoint');
}

/** @param {Map<string, any>} message @param {Keys} keys @param {any} checkpoint */
async function records(message, keys, checkpoint) {
  /** @type {Map<string, any>} */
  const shelf = new Map();
  const shown = message.get('evidence').get('records');
  /** @type {Map<string, any>} */
  const read = new Map();
  const names = [...shown.keys()].sort();
  for (const rid of names) {
    await coded(`/evidence/records/${rid}`, async () => void read.set(rid, whole(shown.get(rid), message)));
  }
  for (const rid of names) {
    await coded(`/evidence/records/${rid}`, async () => {
      const record = read.get(rid);
      await checkRecord(record, keys);
      const { event } = record;
      const own = event.get('tenant') === 'tracekit' && event.get('run_id') === 'tracekit/signer';
      if (!own && event.get('tenant') !== message.get('from').get('tenant')) throw no('wrong_tenant');
      shelf.set(rid, { event, hash: record.hash, seq: natural(event.get('seq')) ?? 0 });
    });
  }
  included(checkpoint, [...read.values()], message.get('evidence').get('proof'), '/evidence/proof');
  return shelf;
}

/** @param {any} from @param {Map<string, any>} shelf */
function registered(from, shelf) {
  const own = [...shelf.values()].some(({ event }) => {
    const identity = event.get('data').get('identity');
    return event.get('type') === 'run.registered' && event.get('run_id') === from.get('run_id') && identity?.get('attested') === true &&
      `${identity.get('scheme')}:${identity.get('subject')}` === from.get('agent');
  });
  if (!own) throw no('wrong_sender', '/from/agent');
}

/** @param {Map<string, any>} shelf @param {string} rid @param {any} opening */
function open(shelf, rid, opening) {
  const bad = no('bad_opening', `/evidence/openings/${rid}`);
  const shown = shelf.get(rid);
  const data = shown.event.get('data');
  const salt = Uint8Array.from(opening.get('salt').match(/../g), (/** @type {string} */ pair) => parseInt(pair, 16));
  let committed;
  let digest;
  if (opening.has('args')) {
    const tool = data.get('tool') ?? (data.get('binding') instanceof Map ? data.get('binding').get('tool') : undefined);
    if (typeof tool !== 'string') throw bad;
    const request = shown.event.get('type') === 'approval.request';
    committed = request ? data.get('binding').get('args_commitment') : data.get('args_commitment') ?? shown.event.get('args_commitment');
    digest = sha256(write(new Map([['args', opening.get('args')], ['tool', tool]])));
    shown.args = opening.get('args');
  } else {
    const bytes = toBytes(opening.get('content'));
    const output = data.get('output');
    if (!(output instanceof Map) || natural(output.get('size')) !== bytes.length) throw bad;
    committed = output.get('hash');
    digest = sha256(bytes);
    shown.content = opening.get('content');
  }
  if (committed !== `hmac-sha256:${hex(hmac(salt, `sha256:${hex(digest)}`))}`) throw bad;
}

/** @param {Map<string, any>} message @param {Map<string, any>} shelf */
function accounted(message, shelf) {
  const used = new Set([
    ...message.get('claims').flatMap((/** @type {any} */ claim) => claim.get('evidence')),
    ...message.get('grants').flatMap((/** @type {any} */ link) => [...(link.get('approval') ?? []), link.get('logged')]),
  ]);
  for (const [rid, { event }] of [...shelf].sort()) {
    const own = event.get('type') === 'run.registered' && event.get('run_id') === message.get('from').get('run_id');
    if (!used.has(rid) && !own) throw no('unused_evidence', `/evidence/records/${rid}`);
  }
}

/** @param {Map<string, any>} message @param {Receiver} receiver */
function intentOf(message, { intents }) {
  const intent = message.get('intent');
  if (!intent) return undefined;
  const agreed = intents.get(intent.get('type'));
  if (!agreed) throw no('unknown_intent', '/intent/type');
  if (agreed.digest !== intent.get('schema')) throw no('schema_mismatch', '/intent/schema');
  const place = misfit(agreed.schema, intent.get('args'));
  if (place !== undefined) throw no('intent_invalid', `/intent/args${place}`);
  return agreed;
}

/** @param {Map<string, any>} message @param {any} view @param {Keys} keys */
async function chain(message, view, keys) {
  /** @type {any[]} */
  const grants = [];
  for (const [index, link] of message.get('grants').entries()) {
    const place = `/grants/${index}`;
    const value = link.get('grant');
    const window = [instant(value.get('not_before')), instant(value.get('not_after'))];
    if (window.includes(undefined)) throw no('bad_schema', place);
    const terms = value.get('terms').map((/** @type {any} */ term) => shaped(() => readTerm(term), true, place));
    const [from, until] = /** @type {number[]} */ (window);
    if (until <= from) throw no('bad_schema', place);
    const grant = { value, terms, from, until, hash: `sha256:${hex(sha256(write(value)))}` };
    const logged = view.shelf.get(link.get('logged'));
    const data = logged.event.get('data');
    const good = logged.event.get('type') === 'ext' && data.get('name') === 'countersign.grant' && logged.event.get('source') === 'signer' && data.get('hash') === grant.hash;
    if (!good) throw no('no_grant', place);
    const [alg, kid] = [link.get('alg'), link.get('kid')];
    if (alg !== 'ed25519') throw no('alg_not_allowed', place);
    const key = Refusal.at(place, () => keys.at(kid, logged.seq));
    await holds(key.key, link.get('sig'), { t: 'countersign.pcm.grant.v1', alg, kid, hash: grant.hash }, place);
    const code = grants.length === 0 ? rooted(link, grant, logged, view) : within(grant, grants[grants.length - 1]);
    if (code) throw no(code, place);
    grants.push(grant);
  }
  const last = grants[grants.length - 1];
  if (last && last.value.get('holder') !== view.from.get('agent')) throw no('grant_wrong_holder', `/grants/${grants.length - 1}`);
  return grants;
}

/** @param {any} link @param {any} grant @param {any} logged @param {any} view @returns {string | undefined} */
function rooted(link, grant, logged, view) {
  const root = grant.value.get('root');
  if (!root) return 'grant_root_unapproved';
  /** @type {string[]} */
  const doubts = [];
  let approval;
  try {
    approval = findApproval(cited(view, link.get('approval') ?? []), view, doubts);
  } catch (error) {
    if (!(error instanceof Found)) throw error;
    return 'grant_root_unapproved';
  }
  if (approval.agent) return 'grant_not_human';
  const good = !approval.own && doubts.length === 0 && TOOLS.tools[approval.tool]?.class === 'grant' &&
    approval.request.event.get('data').get('approval_id') === root.get('approval_id') &&
    approval.person === grant.value.get('issuer') && approval.answer.seq < logged.seq;
  if (!good) return 'grant_root_unapproved';
  const asked = new Map([...grant.value].filter(([name]) => name !== 'root'));
  return write(asked) === write(approval.args) ? undefined : 'grant_terms_differ';
}

/** @param {any} grant @param {any} parent @returns {string | undefined} */
function within(grant, parent) {
  const [own, above] = [grant.value, parent.value];
  const subset = (/** @type {string} */ name) => own.get(name).every((/** @type {string} */ one) => above.get(name).includes(one));
  if (own.get('parent') !== parent.hash) return 'grant_root_unapproved';
  if (own.get('issuer') !== above.get('holder')) return 'grant_wrong_holder';
  if (above.get('depth').value === 0) return 'grant_not_delegable';
  if (own.get('depth').value >= above.get('depth').value) return 'grant_depth';
  const terms = parent.terms.every((/** @type {any} */ limit) => grant.terms.some((/** @type {any} */ one) => implied(limit, one)));
  const most = above.get('max_uses');
  const uses = most === undefined || (own.has('max_uses') && own.get('max_uses').value <= most.value);
  const narrow = terms && subset('intents') && subset('audience') && parent.from <= grant.from && grant.until <= parent.until && uses;
  return narrow ? undefined : 'grant_widens';
}

/** @param {Map<string, any>} message @param {Receiver} receiver @param {any[]} grants @param {any} agreed @param {Moment} moment */
function granted(message, { file }, grants, agreed, { now, state }) {
  const revoked = file.get('revoked') ?? [];
  grants.forEach((grant, index) => {
    if (now < grant.from || grant.until <= now || revoked.includes(grant.hash)) throw no('grant_expired', `/grants/${index}`);
  });
  const intent = message.get('intent');
  if (!intent) return;
  const last = grants[grants.length - 1];
  if (!last) {
    if (agreed.intent.get('grant') === true) throw no('no_grant', '/grants');
    return;
  }
  const met = (/** @type {any} */ term) => {
    const value = intent.get('args').get(term.field);
    const unit = agreed.intent.get('units')?.get(term.field);
    try {
      return value !== undefined && meets(term, value, unit);
    } catch (error) {
      if (!(error instanceof Ambiguous)) throw error;
      return false;
    }
  };
  const named = last.value.get('intents').includes(intent.get('type')) && last.value.get('audience').includes(message.get('to'));
  if (!named || !last.terms.every(met)) throw no('grant_exceeded', `/grants/${grants.length - 1}`);
  grants.forEach((grant, index) => {
    const most = grant.value.get('max_uses');
    if (most !== undefined && (state?.uses?.[grant.hash] ?? 0) >= most.value) throw no('grant_used', `/grants/${index}`);
  });
}

/** Microseconds since 1970, if there is such a day and hour. @param {string} text @returns {number | undefined} */
export function instant(text) {
  const [year, month, day, hour, minute, second, micros] = text.split(/[-T:.Z]/).map(Number);
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  const real = date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  if (!real || year === 0 || hour > 23 || minute > 59 || second > 59) return undefined;
  return ((date.getTime() / 1000 + hour * 3600 + minute * 60 + second) * 1e6) + micros;
}
