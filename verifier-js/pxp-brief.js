// @ts-check
/** The decision brief of an ended room, computed again. */

import { claimOf, isVerified } from './pxp-state.js';
import { thumbprint } from './signature.js';

const GRANTS = /^(must_haves|may_agree_to|amendment)\[(0|[1-9][0-9]*)\]$/;

/**
 * @param {import('./pxp-state.js').Room} state whose last entry is its end
 * @param {string} at
 * @returns {any} `undefined` while the room goes on
 */
export function computeBrief(state, at) {
  if (state.phase !== 'ended' || !state.room) return undefined;
  const outcome = /** @type {string} */ (state.about);
  const offer = state.agreement && state.offers.find((one) => one.hash === state.agreement.offer_hash);
  const line = (/** @type {any} */ claim) => claimLine(state, claim);
  const dependsOn = (offer?.depends_on ?? [])
    .map((/** @type {string} */ id) => claimOf(state, id))
    .filter(Boolean)
    .map(line);
  const stalled = outcome === 'turns' || outcome.endsWith('_deadline');
  return {
    type: 'urn:countersign:pxp-brief:1',
    room: state.room.id,
    topic: state.room.topic,
    outcome: stalled ? 'stalled' : outcome,
    reason: stalled ? outcome : outcome === 'withdrawn' ? state.left?.reason || undefined : undefined,
    seat: outcome.endsWith('_deadline') ? state.turn : outcome === 'withdrawn' ? state.left?.seat : undefined,
    agreement: offer && agreement(offer),
    authority: offer ? authority(state, offer) : [],
    depends_on: dependsOn,
    unverified_dependencies: dependsOn.filter((/** @type {any} */ claim) => !claim.verified),
    unverified_in_record: state.claims.map(line).filter((claim) => !claim.verified),
    disputed: state.claims.flatMap((claim) =>
      claim.reviews
        .filter((/** @type {any} */ review) => review.verdict !== 'accept')
        .map((/** @type {any} */ { by, verdict, reason, cleared }) => ({
          claim: claim.id,
          text: claim.text,
          by,
          verdict,
          reason,
          cleared,
        })),
    ),
    escalations: state.questions.map((question) => escalation(state, question)),
    protocol_flags: state.envelopes.flatMap((envelope) =>
      envelope.protocol_flags.map((/** @type {any} */ flag) => ({
        seq: envelope.seq,
        seat: envelope.from.seat,
        ...flag,
      })),
    ),
    parties: state.seats.map((seat) => ({
      seat: seat.id,
      name: seat.name,
      card_hash: seat.card_hash,
      agent: seat.agent,
      signed_by: seat.key && thumbprint(seat.key),
      principal: principal(seat.principal.audience),
    })),
    notes: notes(state, offer),
    turns: state.turns,
    ledger_head: state.head,
    generated_at: at,
  };
}

/** @param {any} offer */
function agreement(offer) {
  return {
    terms: offer.terms,
    values: offer.values.length > 0 ? offer.values : undefined,
    offer_hash: offer.hash,
    proposal_hash: offer.proposal_hash,
    proposed_by: offer.seat,
    proposed_seq: offer.seq,
    accepted_by: offer.accepted.map((/** @type {any} */ { seat, seq }) => ({ seat, seq })),
  };
}

/**
 * The clauses cited for a term that can be authority for it.
 * @param {any[]} cited
 * @param {number} term
 * @returns {string[]}
 */
export function granting(cited, term) {
  return cited
    .filter((one) => one.term === term)
    .flatMap((one) => one.clauses)
    .filter((clause) => Number(clause.match(GRANTS)?.[2] ?? NaN) <= 65_535);
}

/**
 * @param {import('./pxp-state.js').Room} state
 * @param {any} offer
 * @returns {any[]}
 */
function authority(state, offer) {
  const of = (/** @type {any} */ { seat, authority: cited }, /** @type {number} */ term) => {
    const clauses = granting(cited, term);
    const answers = state.questions
      .filter((one) => one.seat === seat && one.matter === offer.matter && one.answer?.ruling === 'allow')
      .filter((one) => one.state === 'answered')
      .map((one) => one.question_id);
    const basis = clauses.length > 0 ? 'clause' : answers.length > 0 ? 'answer' : 'none';
    return { seat, basis, clauses, answers };
  };
  return offer.terms.map((/** @type {string} */ term, /** @type {number} */ index) => ({
    term,
    seats: [offer, ...offer.accepted].map((one) => of(one, index)),
  }));
}

/**
 * @param {import('./pxp-state.js').Room} state
 * @param {any} claim
 */
function claimLine(state, claim) {
  return {
    id: claim.id,
    seat: claim.seat,
    text: claim.text,
    origin: claim.origin,
    ref: claim.ref,
    verified: isVerified(state, claim),
    denied: claim.settled && !claim.settled.accept ? true : undefined,
  };
}

/**
 * @param {import('./pxp-state.js').Room} state
 * @param {any} question
 */
function escalation(state, question) {
  const answer = question.state === 'answered' ? question.answer : undefined;
  return {
    question_id: question.question_id,
    seat: question.seat,
    principal: state.seats.find((seat) => seat.id === question.seat)?.name ?? '',
    forced: question.forced,
    claims: question.claims,
    ruling: answer?.ruling,
    clears: answer?.clears ?? [],
    public_summary: answer?.public_summary,
    standing: answer?.standing,
    evidence: answer?.evidence,
    answered_by: answer && member(answer.by),
  };
}

/** @param {any} by */
function member(by) {
  if (by.kind === 'holder') return undefined;
  return `${by.org}/${by.member}` + (by.acting_for === undefined ? '' : ` for ${by.acting_for}`);
}

/** @param {any} audience */
function principal(audience) {
  switch (audience?.kind) {
    case undefined:
      return 'nobody has enrolled';
    case 'member':
      return `member ${audience.org}/${audience.member}`;
    case 'approvers':
      return `approvers of ${audience.org}`;
    default:
      return "holder of the seat's principal credential";
  }
}

/**
 * @param {import('./pxp-state.js').Room} state
 * @param {any} offer
 */
function notes(state, offer) {
  const out = state.seats
    .filter((seat) => !seat.key)
    .map((seat) => `Seat ${seat.id} does not sign its messages: this server attests what it received.`);
  for (const question of state.questions) {
    const { question_id: id, seat, answer } = question;
    if (question.state !== 'answered') {
      out.push(`Question ${id} was not answered.`);
    } else if (answer.standing === 'relayed') {
      out.push(
        `The answer to ${id} was passed on by the agent of seat ${seat} and not confirmed by its principal.`,
      );
    } else if (answer.evidence === 'session') {
      out.push(`The answer to ${id} rests on a signed-in session, not on a key.`);
    }
  }
  if (offer) {
    authority(state, offer).forEach(({ seats }, term) => {
      for (const { seat, basis } of seats) {
        if (basis === 'none') out.push(`Term ${term + 1} has no stated authority on the side of seat ${seat}.`);
      }
    });
    if (offer.depends_on.length === 0) out.push('The agreed offer names no claim that it depends on.');
  }
  if (state.claims.some((claim) => claim.speaker === 'principal')) {
    out.push("The words of principals' answers are private; their rulings and summaries are not.");
  }
  return out;
}
