// @ts-check
/** A set of runs between two sizes of a tenant's registry, as crate `pcm` checks it (spec of PCM 3.12). */

import { CanonError, parse } from './canon.js';
import { leafHash, verifyConsistency, verifyInclusion } from './merkle.js';
import { base64 } from './note.js';
import { Structure, checkRecord, parseRecords, readPath } from './pcm-record.js';
import { natural, openCheckpoint } from './pcm-trust.js';
import { Refusal } from './refusal.js';
import { concat, equal, hex, sha256 } from './sha256.js';

const TYPES = ['run.registered', 'run.final', 'log.closed', 'key.retire', 'capture.gap', 'trace.tamper'];
const FILE = 'registry/run-set.json';

/**
 * The line `run-set`, pushed. Gives the retirements of keys in the range.
 * @param {any} bundle
 * @param {import('./pcm-record.js').Keys} keys
 * @returns {Promise<{seq: number, hash: string}[]>}
 */
export async function checkRunSet(bundle, keys) {
  const value = read(bundle.files.need(FILE));
  const [from, to] = [natural(value.get('from')), natural(value.get('to'))];
  if (from === undefined || to === undefined) {
    bundle.fail('run-set', 'run_set', FILE);
    return [];
  }
  const told = shape(value);
  const { origin } = bundle.checkpoint;
  const id = hex(sha256('registry ', told.salt)).slice(0, 32);
  const name = `${origin}/registry/${id}`;
  if (concat(name).length > 255) throw new Structure('bad_structure', `${FILE} is malformed`);
  /** @type {string | undefined} */
  let first;
  const problem = (code = 'run_set') => (first ??= code);
  /** @type {Map<number, Uint8Array>} */
  const roots = new Map();
  for (const size of [...new Set([from, to])].sort((a, b) => a - b).filter((one) => one > 0)) {
    const note = bundle.files.read(`checkpoints/registry-${size}.note`);
    if (!note) {
      problem();
      continue;
    }
    try {
      const checkpoint = await openCheckpoint(bundle.trust, note, { origin, name });
      if (checkpoint.size !== BigInt(size) || checkpoint.origin !== name) {
        problem();
        continue;
      }
      if (checkpoint.seen.length < bundle.trust.required) problem('witness_quorum');
      roots.set(size, checkpoint.root);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      problem(error.code);
    }
  }
  if (from > to || to === 0) problem();
  if (first !== undefined) {
    bundle.fail('run-set', first, FILE);
    return [];
  }
  const root = (/** @type {number} */ size) => roots.get(size) ?? new Uint8Array(32);
  if (from > 0 && from < to) {
    if (!holds(() => verifyConsistency(BigInt(from), root(from), BigInt(to), root(to), told.consistency))) problem();
  }
  if (told.leaves.length !== to - from) problem();
  const found = new Found(bundle, keys, problem);
  const records = parseRecords(bundle.files.need('registry/records.jsonl'));
  const bySeq = new Map(records.map((record) => [natural(record.event.get('seq')), record]));
  for (const [at, { leaf, path }] of told.leaves.slice(0, to - from).entries()) {
    const within = holds(() => verifyInclusion(leafHash(leaf), BigInt(from + at), BigInt(to), path, root(to)));
    if (within) await found.leaf(leaf, told.salt, bySeq);
    else problem();
  }
  found.runs();
  if (found.closed !== undefined && bundle.checkpoint.size > BigInt(found.closed) + 1n) problem();
  bundle.judge('run-set', first, FILE);
  return found.retired;
}

class Found {
  /**
   * @param {any} bundle
   * @param {import('./pcm-record.js').Keys} keys
   * @param {(code?: string) => string} problem
   */
  constructor(bundle, keys, problem) {
    this.bundle = bundle;
    this.keys = keys;
    this.problem = problem;
    /** @type {string | undefined} */
    this.tenant = undefined;
    /** @type {Map<string, string>} */
    this.registered = new Map();
    /** @type {Map<string, string>} */
    this.finals = new Map();
    /** @type {{seq: number, hash: string}[]} */
    this.retired = [];
    /** @type {number | undefined} */
    this.closed = undefined;
    /** @type {Set<string>} */
    this.targets = new Set();
  }

  /**
   * @param {Uint8Array} leaf
   * @param {Uint8Array} salt
   * @param {Map<number | undefined, import('./pcm-record.js').Unverified>} records
   */
  async leaf(leaf, salt, records) {
    const type = TYPES[leaf[0] - 1];
    if (leaf.length !== 89 || !type) return this.problem('bad_leaf');
    const seq = new DataView(leaf.buffer, leaf.byteOffset).getBigUint64(49);
    const hash = `sha256:${hex(leaf.slice(57))}`;
    const record = seq <= Number.MAX_SAFE_INTEGER ? records.get(Number(seq)) : undefined;
    if (!record || record.hash !== hash || !this.bundle.includes({ seq: Number(seq), hash })) return this.problem();
    try {
      await checkRecord(record, this.keys);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return this.problem(error.code);
    }
    const { event } = record;
    const run = equal(leaf.slice(1, 33), sha256(salt, event.get('run_id')));
    if (event.get('type') !== type || event.get('log_id') !== hex(leaf.slice(33, 49)) || !run) return this.problem();
    return this.take(type, event, Number(seq), hash);
  }

  /**
   * @param {string} type
   * @param {Map<string, any>} event
   * @param {number} seq
   * @param {string} hash
   */
  take(type, event, seq, hash) {
    const [tenant, run] = [event.get('tenant'), event.get('run_id')];
    if (type === 'run.registered' || type === 'run.final') {
      this.tenant ??= tenant;
      if (this.tenant !== tenant) return this.problem();
      this.targets.add(runFile(tenant, run));
    }
    if (type === 'run.registered') this.registered.set(run, hash);
    if (type === 'run.final') {
      if (this.finals.has(run)) this.problem();
      this.finals.set(run, hash);
    }
    if (type === 'key.retire') this.retired.push({ seq, hash });
    if (type === 'log.closed') this.closed = natural(event.get('data').get('final_seq')) ?? 0;
    return undefined;
  }

  runs() {
    /** @type {Map<string, import('./pcm.js').Run>} */
    const runs = this.bundle.runs;
    if (this.tenant === undefined) {
      if (runs.size > 0) this.problem();
      return;
    }
    for (const [run, hash] of this.finals) {
      const there = runs.get(runFile(this.tenant, run));
      const begins = this.registered.get(run) ?? there?.first.hash;
      if (there?.last.hash !== hash || there.first.hash !== begins) this.problem();
    }
    if ([...runs.values()].some((run) => run.first.tenant !== this.tenant)) this.problem();
    if ([...runs.keys()].filter((name) => !this.targets.has(name)).length > 1) this.problem();
  }
}

/** @param {Uint8Array} bytes */
function read(bytes) {
  try {
    const value = parse(bytes);
    return value instanceof Map ? value : new Map();
  } catch (error) {
    throw error instanceof CanonError ? new Structure('bad_json', error.message) : error;
  }
}

/** @param {Map<string, any>} value */
function shape(value) {
  const malformed = new Structure('bad_structure', `${FILE} is malformed`);
  const bytes = (/** @type {any} */ text) => (typeof text === 'string' ? base64(text) : undefined);
  const salt = bytes(value.get('tenant_salt'));
  const consistency = readPath(value.get('consistency'));
  if (salt?.length !== 32 || !consistency || !Array.isArray(value.get('leaves'))) throw malformed;
  const leaves = value.get('leaves').map((/** @type {any} */ one) => {
    const leaf = one instanceof Map ? bytes(one.get('leaf')) : undefined;
    const path = one instanceof Map ? readPath(one.get('inclusion')) : undefined;
    if (!leaf || !path) throw malformed;
    return { leaf, path };
  });
  return { salt, consistency, leaves };
}

/**
 * @param {string} tenant
 * @param {string} run
 */
function runFile(tenant, run) {
  return `runs/${hex(sha256(tenant, '/', run)).slice(0, 32)}.jsonl`;
}

/** @param {() => void} check */
function holds(check) {
  try {
    check();
    return true;
  } catch (error) {
    if (error instanceof Refusal) return false;
    throw error;
  }
}
