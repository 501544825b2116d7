// @ts-check
/** A room replayed: each entry judged as the server judged it. Crate `pxp`, module `bundle::replay`, written again. */

import { CanonError, parse, write } from './canon.js';
import { cardHash, clauseRoot, commit, isClauseOf, orAbsent } from './pxp-cards.js';
import { computeBrief } from './pxp-brief.js';
import { apply, areReasonsKnown } from './pxp-enforce.js';
import { areLabels, cardFault, isHttps, isInput, isName, says } from './pxp-names.js';
import { fault } from './pxp-rules.js';
import { bodies } from './pxp-shapes.js';
import { canonical, emptyRoom, evolve, hashOf, questionOf, seatOf } from './pxp-state.js';
import { Refusal } from './refusal.js';
import { shape } from './shape.js';
import { base64url, verifySignature } from './signature.js';
import { hex, sha256 } from './sha256.js';

/**
 * @typedef {import('./pxp-state.js').Room} Room
 * @typedef {{code: string, is: (event: any) => boolean}} Expected
 * @typedef {{expected: Expected[], envelopes: number, partial: boolean, asking: {words?: string, reasons?: any[]},
 *   unchecked: Set<string>}} Run
 */

/**
 * @param {string} code
 * @param {string | number} place an entry's number or a JSON Pointer
 */
export function refused(code, place) {
  return new Refusal(code, typeof place === 'number' ? `entry ${place}` : place, 'see the code');
}

/**
 * Replays the entries; with what could not be checked.
 * @param {any[]} events
 * @returns {Promise<{state: Room, unchecked: string[]}>}
 */
export async function fold(events) {
  const state = emptyRoom();
  /** @type {Run} */
  const run = { expected: [], envelopes: 0, partial: false, asking: {}, unchecked: new Set() };
  for (const event of events) {
    event.body = bodyOf(event);
    const code = await check(state, event, run);
    if (code) throw refused(code, event.n);
    evolve(state, event, { n: event.n, hash: event.hash });
    expect(state, event, run);
  }
  const [cut] = run.expected;
  if (cut) throw refused(cut.code, state.head.n);
  const kinds = ['card', 'questions', 'answers', 'confirmations', 'disclosures'];
  const order = kinds.flatMap((what) => [...'ABCDEFGH'].map((seat) => `${what} of seat ${seat}`));
  return { state, unchecked: ['brief', 'agreement', 'messages', ...order].filter((what) => run.unchecked.has(what)) };
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
export function reshaped(code, n, read) {
  try {
    return read();
  } catch (error) {
    throw error instanceof CanonError || error instanceof Refusal ? refused(code, n) : error;
  }
}

/** The codes of what an envelope or an end brings about. */
const BROUGHT_ABOUT = /** @type {Record<string, string>} */ ({
  review: 'bad_review',
  escalation: 'bad_escalation',
  agreement: 'bad_agreement',
  turn_limit: 'bad_turn_limit',
  brief: 'bad_brief',
});

/**
 * What must hold before an entry is folded: the code where it does not.
 * @param {Room} state
 * @param {any} event
 * @param {Run} run
 * @returns {Promise<string | undefined>}
 */
async function check(state, event, run) {
  const { type, data, body, at } = event;
  if ((data.payload !== undefined) !== (event.shape !== undefined)) return 'bad_payload';
  if (state.at !== undefined && at < state.at) return 'bad_time';
  const expected = run.expected.shift();
  if (expected) {
    if (!expected.is(event)) return expected.code;
    if (at !== state.at) return 'bad_time';
  } else if (BROUGHT_ABOUT[type] && !(run.partial && mayBeBroughtAbout(state, event))) {
    return BROUGHT_ABOUT[type];
  }
  if (body && data.answer_commitment !== undefined) {
    if (commit(body.salt, 'pxp.answer.v1', body.body) !== data.answer_commitment) return 'bad_commitment';
  }
  const code = await fault(state, event);
  if (code === 'unknown') {
    if (!run.partial) return UNKNOWN[type];
    if (type === 'claim_confirmed') run.unchecked.add(`confirmations of seat ${data.seat}`);
    return undefined;
  }
  return code ?? CHECKS[type]?.(state, event, run);
}

/** @type {Record<string, string>} */
const UNKNOWN = {
  claim_confirmed: 'bad_confirmation',
  source_attached: 'bad_source',
  offer_withdrawn: 'bad_withdrawal',
  offer_expired: 'bad_expiry',
};

/**
 * Where messages are withheld, what they may have brought about.
 * @param {Room} state
 * @param {any} event
 */
function mayBeBroughtAbout(state, { type, data }) {
  if (state.phase !== 'negotiating') return false;
  switch (type) {
    case 'escalation':
      return state.turn === data.seat && data.question_id === `q${state.questions.length + 1}`;
    case 'turn_limit':
      return state.turns >= state.room.policy.max_turns && data.turns === state.turns;
    default:
      return type !== 'brief';
  }
}

/**
 * What must come next, once an entry is folded.
 * @param {Room} state
 * @param {any} event
 * @param {Run} run
 */
function expect(state, { type, data }, run) {
  const next = (/** @type {string} */ kind, /** @type {string} */ code, /** @type {string | undefined} */ seat) =>
    run.expected.push({
      code,
      is: (event) => event.type === kind && (seat === undefined || event.data.seat === seat),
    });
  if (type === 'room_opened') next('agent_joined', 'bad_join', 'A');
  if (type === 'principal_enrolled' && seatOf(state, data.seat)?.agent === undefined) {
    next('agent_joined', 'bad_join', data.seat);
  }
  if (type === 'card_superseded') next('card_sealed', 'bad_order', data.seat);
  if (['agreement', 'turn_limit', 'stalled', 'withdrawn'].includes(type)) next('brief', 'bad_brief', undefined);
  if (type === 'envelope' && !run.partial) {
    const end = ending(state);
    if (end) run.expected.push(exactly(...end));
  }
}

/**
 * Exactly this, its private part aside.
 * @param {string} type
 * @param {any} data
 * @returns {Expected}
 */
function exactly(type, data) {
  const is = (/** @type {any} */ event) =>
    event.type === type && canonical(data) === canonical({ ...event.data, payload: undefined });
  return { code: /** @type {string} */ (BROUGHT_ABOUT[type]), is };
}

/**
 * The end that the last message has brought about.
 * @param {Room} state
 * @returns {[string, any] | undefined}
 */
function ending(state) {
  const last = state.envelopes.at(-1);
  if (!last || last.status === 'escalate') return undefined;
  const hash = last.accepts?.offer_hash;
  const offer = hash === undefined ? undefined : state.offers.find((one) => one.hash === hash);
  if (offer && offer.accepted.length === Math.max(state.seats.length - 1, 0)) {
    const accepted = offer.accepted.map((/** @type {any} */ one) => one.seat);
    return [
      'agreement',
      {
        proposal_hash: offer.proposal_hash,
        proposed_by: offer.seat,
        accepted_by: accepted.length === 1 ? accepted[0] : accepted,
        offer_hash: offer.hash,
        proposed_seq: offer.seq,
      },
    ];
  }
  return state.turns >= state.room.policy.max_turns ? ['turn_limit', { turns: state.turns }] : undefined;
}

/** @type {Record<string, (state: Room, event: any, run: Run) => string | undefined | Promise<string | undefined>>} */
const CHECKS = {
  card_sealed(_, { data, body, payload }, { unchecked }) {
    if (!body) return void unchecked.add(`card of seat ${data.seat}`);
    if (hex(sha256(payload)) !== data.card_hash || body.principal.name !== data.principal) return 'bad_card_hash';
    return clauseRoot(body) === data.clause_root ? cardFault(body) : 'bad_clause_root';
  },
  envelope: checkMessage,
  escalation(_, { data, body }, run) {
    const { words, reasons } = run.asking;
    run.asking = {};
    if (!body) return void run.unchecked.add(`questions of seat ${data.seat}`);
    const { question, reason, salt } = body;
    if (commit(salt, 'pxp.question.v1', canonical({ question, reason })) !== data.question_commitment) {
      return 'bad_commitment';
    }
    const asked =
      words === undefined ? says(question, 400) && reason.length <= 400 : question === words && reason === '';
    const reasoned = reasons === undefined || canonical({ reasons }) === canonical({ reasons: body.reasons });
    return asked && reasoned ? undefined : 'bad_escalation';
  },
  answer_relayed: answers,
  answer_disowned: answers,
  principal_answer: answers,
  claim_confirmed(_, { data, body }, { unchecked }) {
    if (!body) unchecked.add(`confirmations of seat ${data.seat}`);
    return undefined;
  },
  agreement(_, __, run) {
    if (run.partial) run.unchecked.add('agreement');
    return undefined;
  },
  disclosed(state, { data, body }, { unchecked }) {
    if (!body) return void unchecked.add(`disclosures of seat ${data.seat}`);
    const { card, clause } = body;
    if ((card === undefined) === (clause === undefined)) return 'bad_disclosure';
    const shows = card
      ? data.ref === undefined && cardHash(card) === data.card_hash
      : data.ref === clause.ref && isClauseOf(clause, seatOf(state, data.seat).clause_root);
    return shows ? undefined : 'bad_disclosure';
  },
  brief(state, { data, payload, at }, run) {
    if (payload !== undefined && hex(sha256(payload)) !== data.brief_hash) return 'bad_brief';
    const computed = computeBrief(state, at);
    if (!computed) return 'bad_order';
    if (computed.outcome !== data.outcome) return 'bad_brief';
    if (run.partial) return void run.unchecked.add('brief');
    return hashOf(computed) === data.brief_hash ? undefined : 'bad_brief';
  },
};

/**
 * Evidence over a question or a card that is withheld could not be verified.
 * @param {Room} state
 * @param {any} event
 * @param {Run} run
 */
function answers(state, { data, body }, { unchecked }) {
  const known = questionOf(state, data.question_id)?.body && seatOf(state, data.seat)?.card;
  if (!body || !known) unchecked.add(`answers of seat ${data.seat}`);
  return undefined;
}

/**
 * A message, held against what enforcement makes of what its seat sent.
 * @param {Room} state
 * @param {any} event
 * @param {Run} run
 * @returns {Promise<string | undefined>}
 */
async function checkMessage(state, { data, body, value, at }, run) {
  if (state.phase !== 'negotiating' || state.turn !== data.seat) return 'bad_turn';
  const seat = seatOf(state, data.seat);
  if (!seat) return 'bad_envelope';
  run.envelopes += 1;
  const joined = seat.agent !== undefined || seat.driver === 'built_in';
  if (data.seq !== run.envelopes || !joined) return 'bad_envelope';
  if (data.signed !== (seat.key !== undefined)) return 'bad_signature';
  if (!body) {
    run.partial = true;
    return void run.unchecked.add('messages');
  }
  const { envelope, input } = body;
  const form = formFault(state, data, body, value);
  if (form) return form;
  /** @type {string | undefined} */
  let matter;
  if (run.partial) {
    if (!isAsSent(envelope, input)) return 'bad_input';
  } else {
    try {
      const applied = apply(state, data.seat, envelope, input, at);
      const difference = compare(state, envelope, input, applied);
      if (difference) return difference;
      const reasons = applied.question && areReasonsKnown(state, data.seat, applied) ? applied.reasons : undefined;
      run.asking = { words: applied.question?.words, reasons };
      matter = applied.question?.matter;
    } catch (error) {
      if (error instanceof Refusal) return error.code;
      throw error;
    }
  }
  const { seq, reviews, escalation } = envelope;
  for (const { claim_id, verdict } of reviews) {
    run.expected.push(exactly('review', { seq, seat: data.seat, claim_id, verdict }));
  }
  if (escalation) {
    const { id, commitment, claims, offer_hash, forced } = escalation;
    const told = { question_id: id, question_commitment: commitment, claims, offer_hash, forced };
    const loose = (/** @type {any} */ one) => {
      const { question_id, question_commitment, claims: named, offer_hash: offer, forced: by } = one.data;
      const same = { question_id, question_commitment, claims: named, offer_hash: offer, forced: by };
      return one.type === 'escalation' && canonical(told) === canonical(same);
    };
    const exact = exactly('escalation', { ...told, seat: data.seat, seq, matter });
    run.expected.push(run.partial ? { code: 'bad_escalation', is: loose } : exact);
  }
  return checkSignature(state, data, body, value);
}

/**
 * What the envelope says of itself, and what any message is held to.
 * @param {Room} state
 * @param {any} data
 * @param {any} body
 * @param {any} value the payload as it was read
 */
function formFault(state, data, { envelope, input, msg_id }, value) {
  if (hex(sha256(write(value.get('envelope')))) !== data.envelope_hash) return 'bad_envelope_hash';
  const seat = seatOf(state, data.seat);
  const { from } = envelope;
  const agrees =
    envelope.pxp === '0' &&
    envelope.seq === data.seq &&
    from.seat === data.seat &&
    from.speaker === 'proxy' &&
    envelope.status === data.status &&
    envelope.room === state.room.id &&
    envelope.intent_hash === seat.card_hash &&
    from.principal === seat.name &&
    from.agent === seat.agent &&
    envelope.message === input.message;
  if (!agrees) return 'bad_envelope';
  if (!envelope.claims.every((/** @type {any} */ { source }) => !source || isHttps(source.uri))) return 'bad_source';
  if (!areLabels(envelope.proposal?.values)) return 'bad_label';
  const named = msg_id === undefined || (isName(msg_id, 64) && !state.messages.has(`${data.seat} ${msg_id}`));
  return named && isInput(input) ? undefined : 'bad_input';
}

/**
 * The first difference between what is recorded and what enforcement makes of the input.
 * @param {Room} state
 * @param {any} told
 * @param {any} input
 * @param {import('./pxp-enforce.js').Applied} applied
 */
function compare(state, told, input, applied) {
  const { question, proposal } = applied;
  const commitment = input.escalation?.commitment ?? (question && told.escalation?.commitment);
  if (question && commitment === undefined) return 'not_enforced';
  if (question && state.questions.length >= 100) return 'not_enforced';
  const escalation = question && {
    id: `q${state.questions.length + 1}`,
    commitment,
    claims: question.claims,
    offer_hash: question.offer_hash,
    forced: question.forced,
  };
  const same = (/** @type {any} */ a, /** @type {any} */ b) => canonical({ it: a }) === canonical({ it: b });
  const differences = [
    [applied.status === told.status, 'not_enforced'],
    [same(applied.claims, told.claims), 'bad_input'],
    [same(applied.reviews, told.reviews), 'bad_input'],
    [same(proposal, told.proposal), 'bad_input'],
    [told.proposal_hash === (proposal && hashOf(proposal.terms)), 'bad_offer_hash'],
    [told.offer_hash === (proposal && offerHash(told, proposal)), 'bad_offer_hash'],
    [same(applied.accepts, told.accepts), 'bad_acceptance'],
    [same(applied.authority, told.authority), 'bad_input'],
    [same(escalation, told.escalation), 'bad_escalation'],
    [same(applied.flags, told.protocol_flags), 'bad_flags'],
  ];
  return /** @type {string | undefined} */ (differences.find(([alike]) => !alike)?.[1]);
}

/**
 * @param {any} envelope
 * @param {any} proposal
 */
function offerHash({ room, seq, from, intent_hash }, { terms, depends_on, values }) {
  return hashOf({ room, seq, seat: from.seat, terms, depends_on, intent_hash, values: orAbsent(values) });
}

/**
 * What can be said where messages before are withheld: whether enforcement alone may lie between what the seat sent and
 * what is recorded.
 * @param {any} envelope
 * @param {any} input
 */
function isAsSent(envelope, input) {
  const { from, seq, proposal, accepts } = envelope;
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
      claim.ref === (sent.ref === undefined || /^\p{White_Space}*$/u.test(sent.ref) ? undefined : sent.ref) &&
      (claim.origin === sent.origin || claim.origin === 'assumed' || claim.restates !== undefined),
  );
  const reviews = each(envelope.reviews, input.reviews, (/** @type {any} */ review, /** @type {any} */ sent) =>
    alike(review, sent, ['claim_id', 'verdict', 'reason', 'touches']),
  );
  const offers = proposal
    ? input.proposal !== undefined &&
      alike(proposal, input.proposal, ['terms', 'values']) &&
      areAmong(proposal.authority, input.proposal.authority) &&
      envelope.proposal_hash === hashOf(proposal.terms) &&
      envelope.offer_hash === offerHash(envelope, proposal)
    : input.proposal === undefined && envelope.proposal_hash === undefined && envelope.offer_hash === undefined;
  const accepted = accepts === undefined || accepts.offer_hash === input.accepts;
  const status = envelope.status === input.status || envelope.escalation?.forced === true;
  return claims && reviews && offers && accepted && status && areAmong(envelope.authority, input.authority);
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
 * A seat with a key signs every message.
 * @param {Room} state
 * @param {any} data
 * @param {any} body
 * @param {any} value
 */
async function checkSignature(state, data, { msg_id, signature }, value) {
  const key = seatOf(state, data.seat)?.key;
  if (!key && signature === undefined) return undefined;
  if (!key || signature === undefined || msg_id === undefined) return 'bad_signature';
  const bytes = base64url(signature);
  const signed = write({ room: state.room.id, seat: data.seat, msg_id, envelope: value.get('input') });
  return bytes?.length === 64 && (await verifySignature(key, sha256(signed), bytes)) ? undefined : 'bad_signature';
}
