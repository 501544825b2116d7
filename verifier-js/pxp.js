// @ts-check
/** Room bundles: the order of checks of crate `verify`, the rules of crate `pxp`, written again. */

import { CanonError, parse, write } from './canon.js';
import { checkHead, checkLog, knownServer, logProof, signedHead } from './log.js';
import { leafHash, root, verifyInclusion } from './merkle.js';
import { checkProof } from './pxp-evidence.js';
import { claimAsk, clauses, confirmAsk, questionAsk, statement } from './pxp-ask.js';
import { computeBrief } from './pxp-brief.js';
import { areLabels, isHttps } from './pxp-names.js';
import { bodies, brief as briefShape, facts, roomId, seatId, timestamp } from './pxp-shapes.js';
import { canonical, emptyRoom, evolve, hashOf, questionOf, readAnswer, seatOf } from './pxp-state.js';
import { Refusal } from './refusal.js';
import { array, digestText, natural, object, optional, publicKeyOf, shape, table, text, within } from './shape.js';
import { base64url, sameKey, verifySignature } from './signature.js';
import { concat, digest, hex, hmac, sha256 } from './sha256.js';

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
 * @param {Record<string, string>} out
 */
export async function checkBundle(value, trust, out) {
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
  const state = await fold(events);
  checkRoom(bundle, state);
  if (trust && trust.origins.length > 0) checkOrigins(events, trust.origins);
  const open = state.phase !== 'ended';
  const outcome = /** @type {string} */ (state.about);
  out.outcome = open ? 'open' : outcome === 'agreed' || outcome === 'withdrawn' ? outcome : 'stalled';
  await checkLog(bundle.log, `room/${bundle.room}`, bundle.head, bundle.keys.server, trust, out);
}

/**
 * @param {string} code
 * @param {string | number} place an entry's number or a JSON Pointer
 */
function refused(code, place) {
  return new Refusal(code, typeof place === 'number' ? `entry ${place}` : place, 'see the code');
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
 * Replays the entries and checks every rule they can show.
 * @param {any[]} events
 * @returns {Promise<Room>}
 */
async function fold(events) {
  const state = emptyRoom();
  const run = { partial: false, reviews: /** @type {any[]} */ ([]) };
  for (const event of events) {
    event.body = bodyOf(event);
    const code = await check(state, event, run);
    if (code) throw refused(code, event.n);
    evolve(state, event, { n: event.n, hash: event.hash });
    const late = event.type === 'principal_answer' ? checkCard(seatOf(state, event.data.seat)) : undefined;
    if (late) throw refused(late, event.n);
  }
  if (run.reviews.length > 0) throw refused('bad_review', state.head.n);
  return state;
}

/**
 * A payload in its one spelling, read.
 * @param {any} event
 */
function bodyOf(event) {
  if (event.payload === undefined || event.shape === undefined) return undefined;
  return reshaped('bad_payload', event.n, () => {
    const value = parse(event.payload);
    if (write(value) !== event.payload) throw shape('');
    event.value = value;
    return bodies[/** @type {keyof typeof bodies} */ (event.shape)].read(value, '', true);
  });
}

/**
 * @template T
 * @param {string} code
 * @param {number} n
 * @param {() => T} read
 * @returns {T}
 */
function reshaped(code, n, read) {
  try {
    return read();
  } catch (error) {
    throw error instanceof CanonError || error instanceof Refusal ? refused(code, n) : error;
  }
}

/** What may follow the end. */
const OUTLIVES = ['brief', 'disclosed', 'share_created', 'share_revoked', 'seat_rotated', 'room_resumed'];

/** @typedef {{partial: boolean, reviews: any[]}} Run */

/**
 * What must hold before an entry is folded: the code where it does not.
 * @param {Room} state
 * @param {any} event
 * @param {Run} run
 * @returns {Promise<string | undefined>}
 */
async function check(state, event, run) {
  if ((state.room === undefined) !== (event.type === 'room_opened')) return 'bad_order';
  if (event.type !== 'review' && run.reviews.length > 0) return 'bad_review';
  if (state.phase === 'ended' && !OUTLIVES.includes(event.type)) return 'after_end';
  return RULES[event.type]?.(state, event, run);
}

/** @type {Record<string, (state: Room, event: any, run: Run) => string | undefined | Promise<string | undefined>>} */
const RULES = {
  card_sealed(state, { data, body, payload }) {
    const seat = seatOf(state, data.seat);
    if (state.phase !== 'drafting' || !seat || seat.card_hash !== undefined) return 'bad_order';
    if (!body) return undefined;
    if (hex(sha256(payload)) !== data.card_hash || body.principal.name !== data.principal) return 'bad_card_hash';
    if (clauseRoot(body) !== data.clause_root) return 'bad_clause_root';
    return areLabels(body.limits) ? undefined : 'bad_label';
  },
  async envelope(state, event, run) {
    const { data, body, value } = event;
    if (state.phase !== 'negotiating' || state.turn !== data.seat) return 'bad_turn';
    if (!body) {
      run.partial = true;
      return undefined;
    }
    const code =
      checkEnvelope(state, data, body, value, run.partial) ?? (await checkSignature(state, data, body, value));
    run.reviews = [...body.envelope.reviews];
    return code;
  },
  review(_, { data }, run) {
    if (run.reviews.length === 0) return run.partial ? undefined : 'bad_review';
    const told = run.reviews.shift();
    return told.claim_id === data.claim_id && told.verdict === data.verdict ? undefined : 'bad_review';
  },
  escalation(state, { data, body }, run) {
    const told = state.envelopes.at(-1)?.escalation;
    const agrees =
      told &&
      told.id === data.question_id &&
      told.commitment === data.question_commitment &&
      told.claims.join() === data.claims.join() &&
      told.offer_hash === data.offer_hash &&
      told.forced === data.forced;
    if (!agrees && !run.partial) return 'bad_escalation';
    if (!body) return undefined;
    const words = canonical({ question: body.question, reason: body.reason });
    return commit(body.salt, 'pxp.question.v1', words) === data.question_commitment ? undefined : 'bad_commitment';
  },
  answer_relayed(state, { data, body }) {
    if (!isPending(state, data)) return 'bad_answer';
    return body && !isCommitted(body, data) ? 'bad_commitment' : undefined;
  },
  async answer_disowned(state, { data, body, at }) {
    if (!isPending(state, data)) return 'bad_answer';
    const ask = body && confirmAsk(state, questionOf(state, data.question_id));
    if (!ask) return undefined;
    return evidence(state, data.seat, body, statement(ask, 'decline', undefined, body.nonce), at);
  },
  async principal_answer(state, { data, body, at }) {
    if (!isPending(state, data)) return 'bad_answer';
    return body && checkAnswer(state, data, body, at);
  },
  async claim_confirmed(state, { data, body, at }) {
    const ask = body && claimAsk(state, data.seat, data.claim_id);
    if (!ask) return undefined;
    if (!isBy(body, data)) return 'bad_evidence';
    const decision = data.accept ? 'approve' : 'decline';
    return evidence(state, data.seat, body, statement(ask, decision, undefined, body.nonce), at);
  },
  source_attached(_, { data }) {
    return isHttps(data.source.uri) ? undefined : 'bad_source';
  },
  agreement(state, { data, at }, run) {
    const offer = state.offers.find((one) => one.hash === data.offer_hash);
    const good =
      offer &&
      offer.standing === 'open' &&
      (offer.expires_at === undefined || at < offer.expires_at) &&
      offer.accepted.length === Math.max(state.seats.length - 1, 0) &&
      offer.accepted.map((/** @type {any} */ one) => one.seat).join() === [data.accepted_by].flat().join() &&
      offer.proposal_hash === data.proposal_hash &&
      offer.seat === data.proposed_by &&
      offer.seq === data.proposed_seq;
    return good || run.partial ? undefined : 'bad_agreement';
  },
  turn_limit(state, { data }) {
    const spent = state.turns >= state.room.policy.max_turns && data.turns === state.turns;
    return spent ? undefined : 'bad_turn_limit';
  },
  stalled(state, { data, at }) {
    const { turn_seconds, answer_seconds } = state.room.policy;
    const [seconds, reason] =
      state.phase === 'negotiating'
        ? [turn_seconds, 'turn_deadline']
        : [state.phase === 'awaiting' ? answer_seconds : undefined, 'escalation_deadline'];
    if (seconds === undefined || state.since === undefined || reason !== data.reason) return 'bad_deadline';
    const due = Math.min(Date.parse(state.since) + seconds * 1000, 253_402_214_400_000);
    return Date.parse(at) >= due ? undefined : 'bad_deadline';
  },
  disclosed(state, { data, body }) {
    const seat = seatOf(state, data.seat);
    if (!seat || seat.card_hash !== data.card_hash) return 'bad_disclosure';
    if (!body) return undefined;
    const { card, clause } = body;
    const whole = !card || (data.ref === undefined && cardHash(card) === data.card_hash);
    const part = !clause || (data.ref === clause.ref && isClauseOf(clause, seat.clause_root));
    return whole && part && (card === undefined) !== (clause === undefined) ? undefined : 'bad_disclosure';
  },
  brief(state, { data, payload, at }, run) {
    if (payload !== undefined && hex(sha256(payload)) !== data.brief_hash) return 'bad_brief';
    if (state.brief !== undefined) return 'bad_order';
    const computed = computeBrief(state, at);
    if (!computed) return 'bad_order';
    if (computed.outcome !== data.outcome) return 'bad_brief';
    return run.partial || hashOf(computed) === data.brief_hash ? undefined : 'bad_brief';
  },
};

/**
 * @param {Room} state
 * @param {any} data
 * @param {any} body
 * @param {any} value the payload as it was read
 * @param {boolean} partial
 */
function checkEnvelope(state, data, { envelope, input }, value, partial) {
  if (hex(sha256(write(value.get('envelope')))) !== data.envelope_hash) return 'bad_envelope_hash';
  const seat = seatOf(state, data.seat);
  if (!seat) return 'bad_envelope';
  const agrees =
    envelope.seq === data.seq &&
    (partial || data.seq === state.envelopes.length + 1) &&
    envelope.from.seat === data.seat &&
    envelope.status === data.status &&
    envelope.room === state.room.id &&
    envelope.intent_hash === seat.card_hash &&
    envelope.from.principal === seat.name &&
    envelope.from.agent === seat.agent &&
    envelope.message === input.message;
  if (!agrees) return 'bad_envelope';
  if (!isAsSent(envelope, input)) return 'bad_input';
  if (!envelope.claims.every((/** @type {any} */ { source }) => !source || isHttps(source.uri))) return 'bad_source';
  if (!areLabels(envelope.proposal?.values)) return 'bad_label';
  const { proposal } = envelope;
  if (proposal) {
    const { terms, depends_on, values } = proposal;
    const { room, seq, from, intent_hash } = envelope;
    const offer = { room, seq, seat: from.seat, terms, depends_on, intent_hash, values: orAbsent(values) };
    if (envelope.proposal_hash !== hashOf(terms) || envelope.offer_hash !== hashOf(offer)) return 'bad_offer_hash';
  } else if (envelope.proposal_hash !== undefined || envelope.offer_hash !== undefined) {
    return 'bad_offer_hash';
  }
  if (envelope.status !== 'agree' || partial) return undefined;
  const { accepts } = envelope;
  const offer =
    accepts?.offer_hash === undefined ? undefined : state.offers.find((one) => one.hash === accepts.offer_hash);
  const exact =
    offer &&
    offer.standing === 'open' &&
    offer.seat !== data.seat &&
    offer.seq === accepts.seq &&
    offer.proposal_hash === accepts.proposal_hash &&
    input.accepts === accepts.offer_hash;
  return exact ? undefined : 'bad_acceptance';
}

/**
 * Whether enforcement alone lies between what the seat sent (and may have signed) and what is recorded.
 * @param {any} envelope
 * @param {any} input
 */
function isAsSent(envelope, input) {
  const { from, seq, proposal } = envelope;
  const alike = (/** @type {any} */ a, /** @type {any} */ b, /** @type {string[]} */ names) =>
    names.every((name) => canonical({ it: a[name] }) === canonical({ it: b[name] }));
  const each = (/** @type {any[]} */ a, /** @type {any[]} */ b, /** @type {any} */ same) =>
    a.length === b.length && a.every((one, index) => same(one, b[index], index));
  const claims = each(
    envelope.claims,
    input.claims,
    (/** @type {any} */ claim, /** @type {any} */ sent, /** @type {number} */ index) =>
      claim.id === `${from.seat}${seq}.${index + 1}` &&
      alike(claim, sent, ['text', 'quote', 'source', 'touches']) &&
      (claim.origin === sent.origin || claim.origin === 'assumed' || claim.restates !== undefined),
  );
  const reviews = each(envelope.reviews, input.reviews, (/** @type {any} */ review, /** @type {any} */ sent) =>
    alike(review, sent, ['claim_id', 'verdict', 'reason', 'touches']),
  );
  const offers =
    (proposal === undefined) === (input.proposal === undefined) &&
    (!proposal ||
      (alike(proposal, input.proposal, ['terms', 'values']) &&
        areAmong(proposal.authority, input.proposal.authority)));
  const status = envelope.status === input.status || envelope.escalation?.forced === true;
  return claims && reviews && offers && status && areAmong(envelope.authority, input.authority);
}

/**
 * Every clause cited was cited for the same term.
 * @param {any[]} cited
 * @param {any[]} sent
 */
function areAmong(cited, sent) {
  return cited.every(({ term, clauses: names }) =>
    names.every((/** @type {string} */ name) =>
      sent.some((other) => other.term === term && other.clauses.includes(name)),
    ),
  );
}

/**
 * A seat with a key signs every envelope.
 * @param {Room} state
 * @param {any} data
 * @param {any} body
 * @param {any} value
 */
async function checkSignature(state, data, { msg_id, signature }, value) {
  const key = seatOf(state, data.seat)?.key;
  if (!key && signature === undefined && !data.signed) return undefined;
  if (!key || signature === undefined || !data.signed || msg_id === undefined) return 'bad_signature';
  const bytes = base64url(signature);
  const signed = write({ room: state.room.id, seat: data.seat, msg_id, envelope: value.get('input') });
  return bytes?.length === 64 && (await verifySignature(key, sha256(signed), bytes)) ? undefined : 'bad_signature';
}

/**
 * @param {Room} state
 * @param {any} data
 * @param {any} body
 * @param {string} at
 */
async function checkAnswer(state, data, body, at) {
  if (!isCommitted(body, data)) return 'bad_commitment';
  const input = readAnswer(body.body);
  const question = questionOf(state, data.question_id);
  const agrees =
    input &&
    input.question_id === data.question_id &&
    input.ruling === data.ruling &&
    input.clears.join() === data.clears.join() &&
    input.public_summary === data.public_summary &&
    data.clears.every((/** @type {string} */ claim) => question.claims.includes(claim));
  if (!agrees) return 'bad_answer';
  if (!areLabels(input.limits)) return 'bad_label';
  const proof = body.confirmation ?? body.proof;
  if (!isBy(proof, data)) return 'bad_evidence';
  const relayed = data.evidence === 'relayed';
  const standing = relayed ? 'relayed' : body.confirmation ? 'confirmed' : 'direct';
  const { policy } = state.room;
  const taken = relayed ? policy.relayed === 'accept' : policy.evidence.includes(data.evidence);
  if (data.standing !== standing || !taken) return 'bad_evidence';
  if (body.confirmation && question.state !== 'held') return 'bad_answer';
  const ask = body.confirmation ? confirmAsk(state, question) : questionAsk(state, question);
  if (!ask) return undefined;
  const signed = body.confirmation
    ? statement(ask, 'approve', undefined, proof.nonce)
    : statement(ask, data.ruling === 'deny' ? 'decline' : 'approve', body.body, proof.nonce);
  return evidence(state, data.seat, proof, signed, at);
}

/**
 * @param {Room} state
 * @param {string} seat
 * @param {any} proof
 * @param {string} signed
 * @param {string} at
 */
async function evidence(state, seat, proof, signed, at) {
  const principal = seatOf(state, seat)?.principal;
  return principal && (await checkProof(proof, signed, principal, at)) ? undefined : 'bad_evidence';
}

/**
 * The card of a seat after an answer, where its body is at hand.
 * @param {any} seat
 */
function checkCard(seat) {
  if (!seat?.card) return undefined;
  if (cardHash(seat.card) !== seat.card_hash) return 'bad_card_hash';
  return clauseRoot(seat.card) === seat.clause_root ? undefined : 'bad_clause_root';
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

/** @param {any} card */
function cardHash(card) {
  return hashOf({ ...card, limits: orAbsent(card.limits) });
}

/** @param {any[]} list */
function orAbsent(list) {
  return list.length > 0 ? list : undefined;
}

/**
 * RFC 9162 root over one hiding commitment per clause.
 * @param {any} card
 */
function clauseRoot(card) {
  const salt = card.salt ?? '0'.repeat(64);
  const leaves = clauses(card).map(({ ref, text }) =>
    clauseLeaf(ref, text, commit(salt, 'pxp.clause.salt.v1', ref)),
  );
  return hex(root(leaves));
}

/**
 * @param {any} clause
 * @param {string | undefined} published
 */
function isClauseOf({ ref, text: words, salt, index, size, proof }, published) {
  if (published === undefined) return false;
  const path = proof.map(digest);
  try {
    const leaf = clauseLeaf(ref, words, salt);
    verifyInclusion(leaf, BigInt(index), BigInt(size), path, /** @type {Uint8Array} */ (digest(published)));
    return true;
  } catch (error) {
    if (error instanceof Refusal) return false;
    throw error;
  }
}

/**
 * @param {string} ref
 * @param {string} words
 * @param {string} salt
 */
function clauseLeaf(ref, words, salt) {
  const commitment = commit(salt, 'pxp.clause.v1', canonical({ ref, text: words }));
  return leafHash(/** @type {Uint8Array} */ (digest(commitment)));
}

/**
 * A hiding commitment: HMAC-SHA256(salt, domain ‖ 0x00 ‖ value), in hex.
 * @param {string} salt
 * @param {string} domain
 * @param {string} value
 */
function commit(salt, domain, value) {
  return hex(hmac(/** @type {Uint8Array} */ (digest(salt)), domain, Uint8Array.of(0), value));
}

/**
 * @param {any} body
 * @param {any} data
 */
function isCommitted(body, data) {
  return commit(body.salt, 'pxp.answer.v1', body.body) === data.answer_commitment;
}

/**
 * @param {Room} state
 * @param {any} data
 */
function isPending(state, data) {
  if (state.phase !== 'awaiting' || state.about !== data.question_id) return false;
  return questionOf(state, data.question_id)?.seat === data.seat;
}

/**
 * @param {any} proof
 * @param {any} data
 */
function isBy(proof, data) {
  const same = ['kind', 'org', 'member', 'acting_for'].every((name) => proof.by[name] === data.by[name]);
  return same && proof.evidence.kind === data.evidence;
}
