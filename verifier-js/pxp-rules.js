// @ts-check
/** Whether an entry may be recorded in a room: crate `pxp`, module `decide`, written again. Each rule gives the code where not. */

import { isCardOf } from './pxp-cards.js';
import { checkProof } from './pxp-evidence.js';
import { claimAsk, confirmAsk, questionAsk, statement } from './pxp-ask.js';
import { answerFault, areAlike, isName, isPrincipal, isSource, limitsFault, says } from './pxp-names.js';
import { amended, canonical, claimOf, deadline, questionOf, readAnswer, seatIndex, seatOf } from './pxp-state.js';
import { thumbprint } from './signature.js';

/** @typedef {import('./pxp-state.js').Room} Room */

/** What a pause and the end of a room do not stop: ending a pause, and taking credentials away. */
const TAKES_AWAY = ['room_resumed', 'share_revoked', 'seat_rotated'];
/** What else may follow the end. */
const OUTLIVES = ['brief', 'disclosed', 'share_created'];

/**
 * The code under which the entry is refused. `unknown` stands for a claim or an offer that the room does not have.
 * @param {Room} state
 * @param {any} event
 * @returns {Promise<string | undefined>}
 */
export async function fault(state, event) {
  const { type } = event;
  if (state.room === undefined && type !== 'room_opened') return 'bad_order';
  if (state.paused && !TAKES_AWAY.includes(type)) return 'paused';
  if (state.phase === 'ended' && ![...TAKES_AWAY, ...OUTLIVES].includes(type)) return 'after_end';
  return RULES[type]?.(state, event);
}

/** @type {Record<string, (state: Room, event: any) => string | undefined | Promise<string | undefined>>} */
const RULES = {
  room_opened(state, { data }) {
    if (state.room) return 'bad_order';
    return isOpening(data) && isPolicy(data.policy) ? undefined : 'bad_opening';
  },
  agent_joined(state, { data }) {
    const seat = seatOf(state, data.seat);
    if (!seat || !isName(data.agent, 60)) return 'bad_join';
    const { secret_hash: secret, link_hash: link, key } = data;
    const brings = secret !== undefined || link !== undefined || key !== undefined;
    if (seat.agent !== undefined) return brings || seat.changes >= 8 ? 'bad_join' : undefined;
    const driven = seat.driver === 'built_in' && key === undefined;
    const linked = (link !== undefined) === (seat.principal.audience === undefined);
    return (secret !== undefined || driven) && linked ? undefined : 'bad_join';
  },
  principal_enrolled(state, { data }) {
    const seat = seatOf(state, data.seat);
    if (!seat || seat.principal.used || seat.principal.audience) return 'bad_enrolment';
    const { audience, secret_hash: secret, passkey, key } = data;
    const good =
      audience.kind === 'holder'
        ? audience.stream === `room/${state.room.id}` &&
          audience.role === `principal:${data.seat}` &&
          secret !== undefined &&
          seat.principal.link
        : secret === undefined && passkey === undefined && key === undefined;
    return good ? undefined : 'bad_enrolment';
  },
  card_sealed(state, { data }) {
    if (state.phase !== 'drafting') return 'bad_order';
    const seat = seatOf(state, data.seat);
    if (!seat) return 'bad_card';
    if (seat.card_hash !== undefined) return 'bad_order';
    if (state.seats.some((other) => other.id !== data.seat && areAlike(data.principal, other.name))) return 'bad_card';
    const agent = seat.agent !== undefined || seat.driver === 'built_in';
    return (data.via === 'mcp' ? agent : seat.principal.audience) ? undefined : 'bad_card';
  },
  card_superseded(state, { data }) {
    const sealed = state.phase === 'drafting' && seatOf(state, data.seat)?.card_hash === data.card_hash;
    return sealed ? undefined : 'bad_order';
  },
  answer_relayed(state, { data, body, at }) {
    const question = pending(state, data);
    if (!question || question.state === 'held') return 'bad_answer';
    if (state.room.policy.relayed !== 'hold') return 'bad_evidence';
    if (!body) return undefined;
    const { evidence } = body.proof;
    if (body.confirmation || evidence.kind !== 'relayed' || evidence.agent !== data.agent) return 'bad_evidence';
    const { input, code } = given(question, body.body);
    return code ?? amendment(state, question, input, at).code;
  },
  async answer_disowned(state, { data, body, at }) {
    const question = pending(state, data);
    if (!question || question.state !== 'held') return 'bad_answer';
    if (!body) return isBy(state, data.seat, data.by) ? undefined : 'bad_evidence';
    if (!isDirect(state, data.seat, data.by, body.evidence.kind)) return 'bad_evidence';
    const ask = confirmAsk(state, question);
    return evidence(state, data, body, ask && statement(ask, 'decline', undefined, body.nonce), at);
  },
  principal_answer: answered,
  async claim_confirmed(state, { data, body, at }) {
    const claim = claimOf(state, data.claim_id);
    if (!claim) return 'unknown';
    const other = claim.settled && (claim.settled.seat !== data.seat || claim.settled.accept === data.accept);
    if (other || claim.speaker === 'principal') return 'bad_confirmation';
    const taken = state.room.policy.evidence.includes(data.evidence);
    if (taken && !seatOf(state, data.seat)) return 'bad_confirmation';
    if (!isDirect(state, data.seat, data.by, data.evidence)) return 'bad_evidence';
    if (!body) return undefined;
    if (body.evidence.kind !== data.evidence) return 'bad_evidence';
    const ask = claimAsk(state, data.seat, data.claim_id);
    if (!ask) return 'bad_confirmation';
    return evidence(state, data, body, statement(ask, data.accept ? 'approve' : 'decline', undefined, body.nonce), at);
  },
  source_attached(state, { data }) {
    if (!isSource(data.source)) return 'bad_source';
    const claim = claimOf(state, data.claim_id);
    if (!claim) return 'unknown';
    return claim.seat === data.seat && !claim.source && claim.speaker === 'proxy' ? undefined : 'bad_source';
  },
  offer_withdrawn(state, { data, at }) {
    if (data.reason.length > 300) return 'bad_withdrawal';
    const offer = state.offers.find((one) => one.hash === data.offer_hash);
    if (!offer) return 'unknown';
    const own = offer.seat === data.seat && isHand(state, data);
    return own && offer.standing === 'open' && !hasLapsed(offer, at) ? undefined : 'bad_withdrawal';
  },
  offer_expired(state, { data, at }) {
    const offer = state.offers.find((one) => one.hash === data.offer_hash);
    if (!offer) return 'unknown';
    const own = offer.seat === data.seat && offer.standing === 'open';
    return own && hasLapsed(offer, at) ? undefined : 'bad_expiry';
  },
  stalled(state, { data, at }) {
    const [due, reason] = deadline(state) ?? [Infinity];
    const lapsed = state.offers.some((offer) => offer.standing === 'open' && hasLapsed(offer, at));
    const good = Date.parse(at) >= due && reason === data.reason && state.turn === data.seat && !lapsed;
    return good ? undefined : 'bad_deadline';
  },
  withdrawn(state, { data }) {
    return data.reason.length <= 300 && isHand(state, data) ? undefined : 'bad_leave';
  },
  disclosed(state, { data }) {
    const seat = seatOf(state, data.seat);
    const good =
      seat &&
      seatOf(state, data.to) &&
      data.to !== data.seat &&
      state.disclosures < 200 &&
      seat.principal.audience &&
      seat.card_hash === data.card_hash;
    return good ? undefined : 'bad_disclosure';
  },
  share_created(state, { data, at }) {
    const live = state.shares.filter((one) => !one.revoked && (one.expires_at === undefined || at < one.expires_at));
    const good =
      seatOf(state, data.seat) &&
      (data.expires_at === undefined || data.expires_at > at) &&
      live.length < 50 &&
      state.shares.length < 500 &&
      data.id === `s${state.shares.length + 1}`;
    return good ? undefined : 'bad_share';
  },
  share_revoked(state, { data }) {
    const own = state.shares.some((one) => one.id === data.id && one.seat === data.seat && !one.revoked);
    return own ? undefined : 'bad_share';
  },
  seat_rotated: (state, { data }) => (seatOf(state, data.seat)?.secret ? undefined : 'bad_rotation'),
  room_paused: (_, { data }) => (data.reason.length <= 300 ? undefined : 'bad_pause'),
  room_resumed: (state) => (state.paused ? undefined : 'bad_pause'),
};

/** @param {any} data */
function isOpening({ topic, protocol, profile, seats }) {
  const seat = (/** @type {any} */ plan, /** @type {number} */ index) =>
    isPrincipal(plan.name, 80) &&
    !seats.slice(0, index).some((/** @type {any} */ other) => areAlike(plan.name, other.name)) &&
    plan.audience?.kind !== 'holder' &&
    seatIndex(plan.seat) === index &&
    (plan.invite_hash === undefined) === (index === 0);
  const named = says(topic, 160) && protocol === 'PXP/0' && profile === 'strict';
  return named && seats.length >= 2 && seats.length <= 8 && seats.every(seat);
}

/** @param {any} policy */
function isPolicy({ max_turns, turn_seconds, answer_seconds, offer_seconds, evidence: kinds }) {
  const year = 366 * 86_400;
  const spans = [turn_seconds, answer_seconds, offer_seconds];
  return (
    max_turns >= 1 &&
    max_turns <= 1000 &&
    spans.every((seconds) => seconds === undefined || (seconds >= 1 && seconds <= year)) &&
    kinds.length > 0 &&
    !kinds.includes('relayed')
  );
}

/**
 * @param {any} offer
 * @param {string} at
 */
function hasLapsed(offer, at) {
  return offer.expires_at !== undefined && at >= offer.expires_at;
}

/**
 * The seat is there, and somebody answers for it where its principal is said to have acted.
 * @param {Room} state
 * @param {any} data
 */
function isHand(state, { seat, by_principal }) {
  const found = seatOf(state, seat);
  return found && (!by_principal || found.principal.audience);
}

/**
 * An answer takes effect: by the principal's own evidence, or passed on where the room takes that.
 * @param {Room} state
 * @param {any} event
 */
async function answered(state, { data, body, at }) {
  const question = pending(state, data);
  const relayed = data.evidence === 'relayed';
  if (!question || data.speaker !== 'principal' || data.via !== (relayed ? 'mcp' : 'web')) return 'bad_answer';
  const { input, code } = body ? given(question, body.body) : { input: undefined, code: undefined };
  if (code) return code;
  const agrees =
    !input ||
    (input.ruling === data.ruling &&
      input.clears.join() === data.clears.join() &&
      input.public_summary === data.public_summary);
  if (!agrees || !areClearable(question, data)) return 'bad_answer';
  const fits = {
    relayed: relayed && state.room.policy.relayed !== 'hold',
    direct: !relayed,
    confirmed: !relayed && question.state === 'held',
  }[/** @type {'relayed' | 'direct' | 'confirmed'} */ (data.standing)];
  if (!fits || (!relayed && !isDirect(state, data.seat, data.by, data.evidence))) return 'bad_evidence';
  if (!body) return undefined;
  const proof = body.confirmation ?? body.proof;
  const confirmed = data.standing === 'confirmed';
  if (proof.evidence.kind !== data.evidence || (body.confirmation !== undefined) !== confirmed) return 'bad_evidence';
  let signed;
  if (confirmed) {
    const passedOn = { ...body, confirmation: undefined };
    const { held } = question;
    const same = !held.body || told(held.body) === told(passedOn);
    if (held.commitment !== data.answer_commitment || !same) return 'bad_answer';
    const ask = confirmAsk(state, question);
    signed = ask && statement(ask, 'approve', undefined, proof.nonce);
  } else {
    const ask = questionAsk(state, question);
    signed = ask && statement(ask, data.ruling === 'deny' ? 'decline' : 'approve', body.body, proof.nonce);
  }
  const unproven = await evidence(state, data, proof, signed, at);
  if (unproven) return unproven;
  const { card, code: unfit } = amendment(state, question, input, at);
  return unfit ?? (card && !isCardOf(card, data) ? 'bad_card_hash' : undefined);
}

/**
 * What an answer and its proof say, to be compared.
 * @param {any} body
 */
function told({ body, salt, proof }) {
  const key = proof.key && thumbprint(proof.key);
  return JSON.stringify([body, salt, proof.by, proof.nonce, proof.evidence, proof.statement, key, proof.site]);
}

/**
 * The answer as it was given: of this question, and one that it can have.
 * @param {any} question
 * @param {string} body
 * @returns {{input?: any, code?: string}}
 */
function given(question, body) {
  const input = readAnswer(body);
  if (!input || input.question_id !== question.question_id) return { code: 'bad_answer' };
  const code = answerFault(input);
  if (code) return { code };
  return areClearable(question, input) ? { input } : { code: 'bad_answer' };
}

/**
 * Only an allowance clears claims, and only those that the question names.
 * @param {any} question
 * @param {any} answer
 */
function areClearable(question, { ruling, clears }) {
  if (ruling !== 'allow' && clears.length > 0) return false;
  return clears.every((/** @type {string} */ claim) => question.claims.includes(claim));
}

/**
 * The question that waits for this seat's principal.
 * @param {Room} state
 * @param {any} data
 */
function pending(state, data) {
  if (state.phase !== 'awaiting' || state.about !== data.question_id) return undefined;
  const question = questionOf(state, data.question_id);
  return question?.seat === data.seat ? question : undefined;
}

/**
 * Whether this person answers for the seat.
 * @param {Room} state
 * @param {string} letter
 * @param {any} by
 */
function isBy(state, letter, by) {
  const audience = seatOf(state, letter)?.principal.audience;
  if (audience?.kind === 'holder') return by.kind === 'holder';
  if (!audience || by.kind !== 'member' || audience.org !== by.org) return false;
  return audience.kind === 'approvers' || audience.member === by.member || audience.member === by.acting_for;
}

/**
 * Whether the evidence is the principal's own. Whoever enrolled a passkey or a key answers with it.
 * @param {Room} state
 * @param {string} letter
 * @param {any} by
 * @param {string} kind
 */
function isDirect(state, letter, by, kind) {
  if (!state.room.policy.evidence.includes(kind) || !isBy(state, letter, by)) return false;
  const { passkey, key } = seatOf(state, letter).principal;
  return kind !== 'session' || by.kind !== 'holder' || (!passkey && !key);
}

/**
 * Evidence by the one who acts, and, where it signs, over exactly this statement; `undefined` where what was asked is
 * withheld.
 * @param {Room} state
 * @param {any} data
 * @param {any} proof
 * @param {string | undefined} signed
 * @param {string} at
 */
async function evidence(state, data, proof, signed, at) {
  if (!['kind', 'org', 'member', 'acting_for'].every((name) => proof.by[name] === data.by[name])) return 'bad_evidence';
  if (signed === undefined) return undefined;
  const { principal } = seatOf(state, data.seat);
  return (await checkProof(proof, signed, principal, at)) ? undefined : 'bad_evidence';
}

/**
 * The seat's card with the answer; none where the card or the question is withheld.
 * @param {Room} state
 * @param {any} question
 * @param {any} input
 * @param {string} at
 * @returns {{card?: any, code?: string}}
 */
function amendment(state, question, input, at) {
  const { card } = seatOf(state, question.seat);
  if (!card || !question.body) return {};
  const made = amended(card, { question: question.body.question, answer: input.text, at }, []);
  const code = limitsFault(made, input.limits);
  if (code) return { code: code === 'bad_card' ? 'bad_answer' : code };
  return { card: amended(card, made.amendments.at(-1), input.limits) };
}
