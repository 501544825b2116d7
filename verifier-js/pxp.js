// @ts-check
/** Room bundles: the order of checks of crate `verify`, the rules of crate `pxp`, written again. */

import { CanonError, parse, write } from './canon.js';
import { checkHead, checkLog, knownServer, logProof, signedHead } from './log.js';
import { orAbsent } from './pxp-cards.js';
import { fold, refused, reshaped } from './pxp-replay.js';
import { brief as briefShape, facts, roomId, timestamp } from './pxp-shapes.js';
import { hashOf } from './pxp-state.js';
import { array, digestText, natural, object, optional, publicKeyOf, shape, table, text, within } from './shape.js';
import { sameKey } from './signature.js';
import { concat, hex, sha256 } from './sha256.js';

/** @typedef {import('./pxp-state.js').Room} Room */

export const TYPE = 'urn:countersign:pxp-bundle:1';

/** JSON whose canonical form can be read again, as that form and its value. */
const raw = {
  read(/** @type {any} */ value, place = '') {
    const form = write(value);
    try {
      return { form, value: parse(form) };
    } catch (error) {
      throw error instanceof CanonError ? shape(place) : error;
    }
  },
};

const ENTRIES = array(
  object({ n: natural, type: text, at: timestamp, data: raw, prev: digestText, hash: digestText }),
);

const KEYS = object({ server: publicKeyOf, seats: table(/^[A-H]$/, publicKeyOf) });

const BUNDLE = object({
  type: text,
  room: roomId,
  profile: text,
  entries: ENTRIES,
  payloads: table(/^/, text),
  withheld: array(digestText),
  brief: optional(briefShape),
  keys: KEYS,
  head: signedHead,
  log: optional(logProof),
});

export const BRIEF_TYPE = 'urn:countersign:pxp-brief-proof:1';

const BRIEF_PROOF = object({
  type: text,
  room: roomId,
  brief: briefShape,
  entries: ENTRIES,
  keys: KEYS,
  head: signedHead,
  log: optional(logProof),
});

/**
 * A brief under its server's signature.
 * @param {import('./canon.js').Value} value
 * @param {import('./index.js').Trust | undefined} trust
 * @param {Record<string, string>} out
 */
export async function checkBriefProof(value, trust, out) {
  const { room, brief, entries, keys, head, log } = BRIEF_PROOF.read(value);
  out.room = room;
  out.outcome = brief.outcome;
  out.head = head.hash;
  knownServer(keys.server, trust);
  const [first] = entries;
  if (!first) throw refused('no_entries', '/entries');
  const last = chain(entries, Math.max(first.n - 1, 0), first.prev);
  if (head.n !== last.n || head.hash !== last.hash) throw refused('bad_head', '/head');
  await checkHead(`room/${room}`, head, keys.server, trust);
  const named = first.data.value instanceof Map ? first.data.value.get('brief_hash') : undefined;
  const agrees = first.type === 'brief' && named === hashOf(rewritten(brief)) && brief.room === room;
  if (!agrees || keys.seats.size > 0) throw refused('bad_brief', '/brief');
  await checkLog(log, `room/${room}`, head, keys.server, trust, out);
}

/**
 * @param {import('./canon.js').Value} value
 * @param {import('./index.js').Trust | undefined} trust
 * @param {import('./index.js').Report} report
 */
export async function checkBundle(value, trust, report) {
  const out = report.facts;
  const bundle = BUNDLE.read(value);
  if (bundle.profile !== 'strict') throw refused('bad_profile', '/profile');
  out.room = bundle.room;
  out.entries = String(bundle.head.n);
  out.head = bundle.head.hash;
  out.withheld = String(bundle.withheld.length);
  const last = chain(bundle.entries, 0, '0'.repeat(64));
  knownServer(bundle.keys.server, trust);
  if (last.n === 0) throw refused('no_entries', '/entries');
  if (bundle.head.n !== last.n || bundle.head.hash !== last.hash) throw refused('bad_head', '/head');
  await checkHead(`room/${bundle.room}`, bundle.head, bundle.keys.server, trust);
  const events = attach(bundle);
  const { state, unchecked } = await fold(events);
  checkRoom(bundle, state);
  if (unchecked.length > 0) report.unchecked = unchecked;
  if (trust && trust.origins.length > 0) checkOrigins(events, trust.origins);
  const open = state.phase !== 'ended';
  const outcome = /** @type {string} */ (state.about);
  out.outcome = open ? 'open' : outcome === 'agreed' || outcome === 'withdrawn' ? outcome : 'stalled';
  await checkLog(bundle.log, `room/${bundle.room}`, bundle.head, bundle.keys.server, trust, out);
}

/**
 * Numbers, links and hashes after a head; gives the last one.
 * @param {any[]} entries
 * @param {number} seq
 * @param {string} prev
 */
function chain(entries, seq, prev) {
  return entries.reduce(
    (head, entry) => {
      const n = head.n + 1;
      if (!/^[a-z_]+$/.test(entry.type)) throw refused('bad_body', n);
      if (entry.n !== n) throw refused('bad_number', n);
      if (entry.prev !== head.hash) throw refused('bad_prev', n);
      const body = `{"at":"${entry.at}","data":${entry.data.form},"n":${n},"type":"${entry.type}"}`;
      if (entry.hash !== hex(sha256(head.hash, body))) throw refused('bad_hash', n);
      return { n, hash: entry.hash };
    },
    { n: seq, hash: prev },
  );
}

/**
 * Reads the entries and puts payloads beside those that name them.
 * @param {any} bundle
 */
function attach(bundle) {
  const payloads = [...bundle.payloads];
  const bad = payloads.filter(([name, payload]) => hex(sha256(payload)) !== name);
  if (bad.length > 0) throw refused('bad_payload', within('/payloads', least(bad.map(([name]) => name))));
  const used = new Set();
  const missing = new Set();
  const events = bundle.entries.map((/** @type {any} */ entry) => {
    const kind = Object.hasOwn(facts, entry.type) ? facts[/** @type {keyof typeof facts} */ (entry.type)] : undefined;
    if (!kind) throw refused('unknown_type', entry.n);
    const data = reshaped('bad_data', entry.n, () => kind.data.read(entry.data.value));
    const payload = data.payload === undefined ? undefined : bundle.payloads.get(data.payload);
    if (data.payload !== undefined) (payload === undefined ? missing : used).add(data.payload);
    return { n: entry.n, hash: entry.hash, at: entry.at, type: entry.type, data, payload, shape: kind.body };
  });
  const extra = payloads.map(([name]) => name).filter((name) => !used.has(name));
  if (extra.length > 0) throw refused('extra_payload', within('/payloads', least(extra)));
  if ([...missing].sort().join() !== bundle.withheld.join()) throw refused('bad_withheld', '/withheld');
  return events;
}

/**
 * The first of these names in the order of their UTF-8 bytes.
 * @param {string[]} names
 */
function least(names) {
  return names.reduce((a, b) => (hex(concat(b)) < hex(concat(a)) ? b : a));
}

/**
 * The room, the seats' keys and the brief are those of the chain.
 * @param {any} bundle
 * @param {Room} state
 */
function checkRoom(bundle, state) {
  if (state.room?.id !== bundle.room) throw refused('bad_room', '/room');
  const keyed = state.seats.filter((seat) => seat.key);
  const same = keyed.every((seat) => bundle.keys.seats.has(seat.id) && sameKey(bundle.keys.seats.get(seat.id), seat.key));
  if (!same || keyed.length !== bundle.keys.seats.size) throw refused('bad_seat_keys', '/keys/seats');
  if (bundle.brief && hashOf(rewritten(bundle.brief)) !== state.brief) throw refused('bad_brief', '/brief');
}

/**
 * A brief that was read, with what its writer leaves out left out.
 * @param {any} brief
 */
function rewritten(brief) {
  const line = (/** @type {any} */ claim) => ({ ...claim, denied: claim.denied || undefined });
  return {
    ...brief,
    agreement: brief.agreement && { ...brief.agreement, values: orAbsent(brief.agreement.values) },
    depends_on: brief.depends_on.map(line),
    unverified_dependencies: brief.unverified_dependencies.map(line),
    unverified_in_record: brief.unverified_in_record.map(line),
  };
}

/**
 * Every passkey signed for sites the verifier knows.
 * @param {any[]} events
 * @param {string[]} known
 */
function checkOrigins(events, known) {
  for (const { n, body, shape: kind } of events) {
    const proofs = kind === 'answer' ? [body?.proof, body?.confirmation] : kind === 'proof' ? [body] : [];
    const told = proofs.flatMap((proof) => proof?.site?.origins ?? []);
    if (told.some((origin) => !known.includes(origin))) throw refused('origin_untrusted', n);
  }
}
