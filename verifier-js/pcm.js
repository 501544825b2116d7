// @ts-check
/**
 * Evidence bundles, as crate `pcm` checks them (spec of PCM 3.14): what can fail, in the same order and with the same codes.
 * The lines that only warn are not told here.
 */

import { CanonError, parse } from './canon.js';
import { verifyInclusion } from './merkle.js';
import { checkAnchor } from './pcm-anchor.js';
import { Approvals } from './pcm-approvals.js';
import { Keys, Structure, checkRecord, hashText, leafOf, lines, parseRecord, parseRecords, readPath } from './pcm-record.js';
import { checkRunSet } from './pcm-runset.js';
import { natural, openCheckpoint } from './pcm-trust.js';
import { openZip, unpack } from './pcm-zip.js';
import { Refusal } from './refusal.js';
import { hex, sha256 } from './sha256.js';

const FORMAT = 'tracekit.bundle.v2';
const VERSION = [1, 4, 2];

/**
 * @typedef {{check: string, status: 'pass' | 'fail', code?: string, place?: string, why?: string}} Check
 * @typedef {{tenant: any, runId: any, seq: number | undefined, hash: string | undefined, runSeq: number | undefined,
 *   runPrev: string | undefined, ends: boolean}} Link
 * @typedef {{first: Link, last: Link, about: string[]}} Run
 */

/**
 * @param {Uint8Array} bytes
 * @param {import('./pcm-trust.js').Evidence} trust
 */
export async function checkEvidence(bytes, trust) {
  const files = new Files(bytes);
  const bundle = new Bundle(files, trust);
  try {
    await bundle.run();
  } catch (error) {
    if (!(error instanceof Structure)) throw error;
    bundle.fail('bundle structure', error.code, error.place, error.detail);
  }
  const differing = files.differing();
  bundle.checks.unshift(
    differing.length === 0
      ? { check: 'manifest', status: 'pass' }
      : { check: 'manifest', status: 'fail', code: 'manifest_differs', place: differing[0], why: 'the files differ from the manifest' },
  );
  const failed = bundle.checks.find((check) => check.status === 'fail');
  return { integrity: failed ? 'FAILED' : bundle.integrity, failed, checks: bundle.checks, facts: bundle.facts };
}

/** The files of a bundle and the manifest over them. What is no bundle is refused as unusable. */
class Files {
  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    const entries = openZip(bytes);
    this.entries = new Map(entries.map((entry) => [entry.name, entry]));
    /** @type {Map<string, Uint8Array>} */
    this.contents = new Map();
    const manifest = this.read('manifest.json');
    if (!manifest) throw format('there is no manifest');
    this.entries.delete('manifest.json');
    this.contents.delete('manifest.json');
    const value = json(manifest, (why) => new Refusal('bad_json', '', why, 'unusable'));
    const get = (/** @type {string} */ name) => (value instanceof Map ? value.get(name) : undefined);
    if (get('format') !== FORMAT) throw format('another format than tracekit.bundle.v2');
    const asked = get('verifier_min_version');
    if (typeof asked !== 'string' || !/^[0-9]{1,9}(\.[0-9]{1,9}){0,2}$/.test(asked)) throw format('no version');
    const [need, ours] = [asked.split('.').map(Number), VERSION];
    const later = [0, 1, 2].map((i) => (need[i] ?? 0) - ours[i]).find((difference) => difference !== 0) ?? 0;
    if (later > 0) throw new Refusal('needs_later_verifier', '', `needs a later verifier: ${asked}`, 'unusable');
    this.listed = get('files');
  }

  /** @param {string} name */
  read(name) {
    const entry = this.entries.get(name);
    if (!entry) return undefined;
    let content = this.contents.get(name);
    if (!content) this.contents.set(name, (content = unpack(entry)));
    return content;
  }

  /** @param {string} name */
  need(name) {
    const content = this.read(name);
    if (!content) throw new Structure('bad_structure', `${name} is missing`);
    return content;
  }

  names() {
    return [...this.entries.keys()].sort((a, b) => (a < b ? -1 : 1));
  }

  /** What differs from the manifest, is missing or is not listed. */
  differing() {
    const found = new Map(this.names().map((name) => [name, hex(sha256(this.need(name)))]));
    if (!(this.listed instanceof Map)) return ['manifest.json'];
    const { listed } = this;
    const all = [...listed.keys()].filter((name) => !found.has(name));
    return all.concat([...found.keys()].filter((name) => listed.get(name) !== found.get(name))).sort();
  }
}

class Bundle {
  /**
   * @param {Files} files
   * @param {import('./pcm-trust.js').Evidence} trust
   */
  constructor(files, trust) {
    this.files = files;
    this.trust = trust;
    /** @type {Check[]} */
    this.checks = [];
    this.integrity = 'VERIFIED';
    /** @type {Record<string, string>} */
    this.facts = {};
    /** @type {Map<string, Uint8Array[]>} */
    this.proofs = new Map();
    /** @type {Map<string, Run>} */
    this.runs = new Map();
    this.approvals = new Approvals();
    this.inParts = false;
    /**
     * Of records the first problem; whether there is any of the others.
     * @type {{record: Refusal | undefined, chain: boolean, parts: boolean}}
     */
    this.found = { record: undefined, chain: false, parts: false };
  }

  async run() {
    if (!(await this.ground())) return;
    const records = parseRecords(this.files.need('keys/records.jsonl'));
    const logId = records[0]?.event.get('log_id');
    const keys = new Keys(typeof logId === 'string' ? logId : '', this.trust);
    let { problem, shown } = await this.keys(records, keys);
    await this.read(keys);
    if (this.files.entries.has('registry/run-set.json')) {
      const retired = await checkRunSet(this, keys);
      if (retired.some(({ seq, hash }) => !shown.some((one) => one.seq === seq && one.hash === hash))) {
        problem ??= new Refusal('bad_key_record', '', 'a retirement is withheld');
      }
    } else if (!this.aboutOne()) {
      throw new Structure('bad_structure', 'neither one run, nor one with its findings and replays, nor a set of runs');
    }
    if (keys.declared.length === 0) problem ??= new Refusal('bad_key_record', '', 'no key is declared');
    this.judge('keys', problem?.code, problem?.place, problem?.detail);
    if (this.inParts) this.judge('run parts', this.found.parts ? 'run_parts' : undefined);
    this.judge('signatures', this.found.record?.code, this.found.record?.place);
    this.judge('run chain', this.found.chain ? 'run_chain' : undefined);
    const outside = [...this.runs.values()].some((run) => !this.includes(run.first) || !this.includes(run.last));
    this.judge('inclusion', outside ? 'not_included' : undefined);
    for (const name of this.files.names().filter((one) => one.startsWith('policies/'))) {
      const own = `policies/${hex(sha256(this.files.need(name)))}.json`;
      this.judge('policy snapshot', own === name ? undefined : 'policy_name', name);
    }
    const open = [...this.runs.values()].filter((run) => !run.last.ends);
    if (open.length > 0) {
      this.integrity =
        this.runs.size === 1 ? `VERIFIED TO HEAD ${open[0].last.runSeq} (open)` : `VERIFIED (${open.length} run(s) open)`;
    }
    if (this.approvals.constraints) this.judge('constraints', this.approvals.early ? 'bad_approval' : undefined);
    if (this.approvals.bad) this.fail('approvals', 'bad_approval');
    if (this.approvals.badAgents) this.fail('approvals by agents', 'bad_approval');
  }

  /** The checkpoint and the proofs under it. Whether anything can rest on them. */
  async ground() {
    const proofs = json(this.files.need('proofs/records.json'), (why) => new Structure('bad_json', why));
    const get = (/** @type {string} */ name) => (proofs instanceof Map ? proofs.get(name) : undefined);
    const name = get('checkpoint');
    if (typeof name !== 'string' || !name.startsWith('checkpoints/') || !name.endsWith('.note')) {
      throw new Structure('bad_structure', 'the proofs name no checkpoint');
    }
    const note = this.files.need(name);
    try {
      this.checkpoint = await openCheckpoint(this.trust, note);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.fail('checkpoint', error.code, error.place, error.detail);
      return false;
    }
    const { origin, size, root, seen } = this.checkpoint;
    Object.assign(this.facts, { origin, size: String(size), root: hex(root) });
    const told = natural(get('tree_size'));
    this.judge('checkpoint', told !== undefined && BigInt(told) === size ? undefined : 'tree_size', 'proofs/records.json');
    this.judge('witness quorum', seen.length < this.trust.required ? 'witness_quorum' : undefined);
    await this.anchor(note, String(size));
    const inclusion = get('inclusion');
    if (!(inclusion instanceof Map)) throw new Structure('bad_structure', 'there are no proofs');
    for (const [seq, hashes] of inclusion) {
      const path = readPath(hashes);
      if (path && /^(0|[1-9][0-9]*)$/.test(seq) && BigInt(seq) < 1n << 64n) this.proofs.set(seq, path);
    }
    return true;
  }

  /**
   * @param {Uint8Array} note
   * @param {string} size
   */
  async anchor(note, size) {
    if (!this.trust.rekor) return;
    const entry = this.files.read(`rekor/${size}.json`);
    if (!entry) return;
    try {
      await checkAnchor(note, entry, this.files.read(`tsa/${size}.tsr`) ?? new Uint8Array(), this.trust);
      this.judge('rekor anchor', undefined);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.fail('rekor anchor', error.code, `rekor/${size}.json`, error.detail);
    }
  }

  /**
   * @param {import('./pcm-record.js').Unverified[]} records
   * @param {Keys} keys
   */
  async keys(records, keys) {
    /** @type {Refusal | undefined} */
    let problem;
    const shown = [];
    for (const record of records) {
      const seq = natural(record.event.get('seq'));
      try {
        if (!this.includes({ seq, hash: record.hash })) throw new Refusal('not_included', '', 'not in the tree');
        shown.push({ seq, hash: record.hash });
        await keys.take(record);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        problem ??= new Refusal(error.code, seq === undefined ? 'keys/records.jsonl' : `seq ${seq}`, error.detail);
      }
    }
    return { problem, shown };
  }

  /** @param {{seq: number | undefined, hash: string | undefined}} record */
  includes({ seq, hash }) {
    const path = seq === undefined ? undefined : this.proofs.get(String(seq));
    if (!path || hash === undefined || !this.checkpoint || seq === undefined) return false;
    try {
      verifyInclusion(leafOf(hash), BigInt(seq), this.checkpoint.size, path, this.checkpoint.root);
      return true;
    } catch (error) {
      if (error instanceof Refusal) return false;
      throw error;
    }
  }

  /**
   * Every run, every record.
   * @param {Keys} keys
   */
  async read(keys) {
    /** @type {Map<string, string[]>} */
    const named = new Map();
    for (const name of this.files.names().filter((one) => one.startsWith('runs/'))) {
      const whole = name.replace(/(?<=^runs\/.+)\.part-[0-9]+\.jsonl$/, '.jsonl');
      named.set(whole, [...(named.get(whole) ?? []), name]);
    }
    for (const [name, parts] of named) {
      const inParts = parts.some((part) => part !== name);
      this.inParts ||= inParts;
      for (const [at, part] of parts.entries()) {
        if (inParts && part !== name.replace(/\.jsonl$/, `.part-${String(at + 1).padStart(4, '0')}.jsonl`)) {
          this.found.parts = true;
        }
        await this.part(name, part, keys);
      }
      if (!this.runs.has(name)) throw new Structure('bad_structure', 'a run has no records');
    }
    const runs = [...this.runs.values()].map(({ first }) => JSON.stringify([first.tenant ?? null, first.runId ?? null]));
    if (new Set(runs).size < runs.length) this.found.chain = true;
  }

  /**
   * @param {string} name
   * @param {string} part
   * @param {Keys} keys
   */
  async part(name, part, keys) {
    let empty = true;
    for (const line of lines(this.files.need(part))) {
      /** @type {import('./pcm-record.js').Unverified | undefined} */
      let record;
      /** @type {Refusal | undefined} */
      let problem;
      try {
        record = parseRecord(line);
        await checkRecord(record, keys);
      } catch (error) {
        if (error instanceof CanonError) throw new Structure('bad_json', error.message);
        if (!(error instanceof Refusal)) throw error;
        problem = error;
      }
      const link = linkOf(record);
      if (problem) this.found.record ??= new Refusal(problem.code, link.seq === undefined ? '' : `seq ${link.seq}`, '');
      const run = this.runs.get(name);
      if (!run) {
        if (link.runSeq !== 0 || link.runPrev !== `sha256:${'0'.repeat(64)}` || link.runId === undefined) {
          this.found.chain = true;
        }
        const about = !problem && record && link.runSeq === 0 ? aboutOf(record.event) : [];
        this.runs.set(name, { first: link, last: link, about });
      } else {
        if (broken(run.last, link)) this.found.chain = true;
        if (empty && link.runPrev !== run.last.hash) this.found.parts = true;
        run.last = link;
      }
      empty = false;
      if (!problem && record) this.approvals.next(record.event);
    }
    if (empty && part !== name) this.found.parts = true;
  }

  /** Whether all runs but one are findings or replays of that one. */
  aboutOne() {
    const main = [...this.runs.values()].filter((run) => run.about.length === 0);
    if (main.length !== 1) return false;
    const { tenant, runId } = main[0].first;
    return [...this.runs.values()].every(
      (run) => run.about.length === 0 || (run.first.tenant === tenant && run.about.includes(runId)),
    );
  }

  /**
   * @param {string} check
   * @param {string} code
   * @param {string} [place]
   * @param {string} [why]
   */
  fail(check, code, place = '', why = code) {
    this.checks.push({ check, status: 'fail', code, place, why });
  }

  /**
   * @param {string} check
   * @param {string | undefined} code
   * @param {string} [place]
   * @param {string} [why]
   */
  judge(check, code, place, why) {
    if (code === undefined) this.checks.push({ check, status: 'pass' });
    else this.fail(check, code, place, why);
  }
}

/**
 * @param {import('./pcm-record.js').Unverified | undefined} record
 * @returns {Link}
 */
function linkOf(record) {
  const event = record?.event ?? new Map();
  const text = (/** @type {string} */ name) => (typeof event.get(name) === 'string' ? event.get(name) : undefined);
  return {
    tenant: text('tenant'),
    runId: text('run_id'),
    seq: natural(event.get('seq')),
    hash: record?.hash,
    runSeq: natural(event.get('run_seq')),
    runPrev: hashText(event.get('run_prev_hash')),
    ends: event.get('type') === 'run.final',
  };
}

/**
 * Whether a record does not come after another.
 * @param {Link} before
 * @param {Link} next
 */
function broken(before, next) {
  return (
    before.ends ||
    next.runSeq === undefined ||
    before.runSeq === undefined ||
    before.runSeq + 1 !== next.runSeq ||
    next.hash === undefined ||
    next.runPrev === undefined ||
    next.runPrev !== before.hash ||
    next.tenant !== before.tenant ||
    next.runId !== before.runId ||
    next.seq === undefined ||
    (before.seq !== undefined && next.seq <= before.seq)
  );
}

/** @param {Map<string, any>} event */
function aboutOf(event) {
  if (event.get('type') !== 'run.registered') return [];
  return ['analyzes', 'replay_of'].map((name) => event.get('data').get(name)).filter((id) => typeof id === 'string');
}

/**
 * @param {Uint8Array} bytes
 * @param {(why: string) => Refusal} refusal
 */
function json(bytes, refusal) {
  try {
    return parse(bytes);
  } catch (error) {
    throw error instanceof CanonError ? refusal(error.message) : error;
  }
}

/** @param {string} why */
function format(why) {
  return new Refusal('bad_format', '', `the manifest is of no format that is read here: ${why}`, 'unusable');
}
