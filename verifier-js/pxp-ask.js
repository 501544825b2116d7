// @ts-check
/** What a principal was shown and signed, computed again: the statements of crate `approvals` for the asks of a room. */

import { claimOf, hashOf, readAnswer, seatOf } from './pxp-state.js';
import { show, warnings } from './text.js';
import { hex, sha256 } from './sha256.js';

/** @typedef {import('./pxp-state.js').Room} Room */
/** @typedef {{id: string, action_hash: string, brief_hash: string}} Ask */

const LISTS = [
  ['must_haves', 'must_haves'],
  ['may_agree_to', 'may_agree_to'],
  ['must_never', 'must_never'],
  ['escalate_when', 'escalate_when'],
  ['known_facts', 'known_facts'],
  ['amendments', 'amendment'],
];

/**
 * Every clause of a card with its name, in the order of the lists; an amendment's text is its answer.
 * @param {any} card
 * @returns {{ref: string, text: string}[]}
 */
export function clauses(card) {
  return LISTS.flatMap(([list, name]) =>
    card[list].map((/** @type {any} */ clause, /** @type {number} */ index) => ({
      ref: `${name}[${index}]`,
      text: clause.answer ?? clause,
    })),
  );
}

/**
 * The hash that evidence signs (decision D6).
 * @param {Ask} ask
 * @param {'approve' | 'decline'} decision
 * @param {string | undefined} body
 * @param {string} nonce
 */
export function statement(ask, decision, body, nonce) {
  return hashOf({
    v: 1,
    ask_id: ask.id,
    action_hash: ask.action_hash,
    brief_hash: ask.brief_hash,
    decision,
    answer_hash: body === undefined ? undefined : hex(sha256(body)),
    nonce,
  });
}

/**
 * The question to its principal; `undefined` where its words are withheld.
 * @param {Room} state
 * @param {any} question
 * @returns {Ask | undefined}
 */
export function questionAsk(state, question) {
  const { body } = question;
  const card = seatOf(state, question.seat)?.card;
  if (!body || !card) return undefined;
  const offer =
    question.offer_hash === undefined
      ? state.offers.find((one) => one.seat === question.seat && one.seq === question.seq)
      : state.offers.find((one) => one.hash === question.offer_hash);
  const claims = question.claims.map((/** @type {string} */ id) => claimOf(state, id)).filter(Boolean);
  const sections = [
    section('Why you are asked', [
      ...(body.reason ? [item(undefined, body.reason, 'claimed')] : []),
      ...body.reasons.map((/** @type {any} */ one) => item(one.subject, one.detail, 'checked')),
    ]),
    ...(offer ? [offerSection(offer, question.seat)] : []),
    section('Claims in question', claims.map(claimItem)),
    section('Your card', [
      item('goal', card.goal, 'stated'),
      ...clauses(card).map(({ ref, text }) => item(ref, text, 'stated')),
    ]),
  ];
  return ask(question.question_id, action(state, question.seat, 'question', question.question_id, {
    content: question.question_commitment,
    claims: question.claims,
    offer_hash: question.offer_hash,
    matter: question.matter,
  }), {
    title: `Your agent asks, in "${topic(state)}"`,
    question: show(body.question),
    sections: sections.filter(({ items }) => items.length > 0),
    warnings: odd([body.question, ...(offer?.terms ?? []), ...claims.map((/** @type {any} */ one) => one.text)]),
  });
}

/**
 * The confirmation of an answer that an agent passed on.
 * @param {Room} state
 * @param {any} question
 * @returns {Ask | undefined}
 */
export function confirmAsk(state, question) {
  if (question.state !== 'held') return undefined;
  const answer = question.held.body && readAnswer(question.held.body.body);
  if (!answer || !question.body) return undefined;
  const said = (/** @type {string} */ label, /** @type {string} */ text) => item(label, text, 'claimed');
  const items = [
    said('Ruling', answer.ruling),
    said('Answer', answer.text),
    ...(answer.public_summary === undefined ? [] : [said('Told to others', answer.public_summary)]),
    ...answer.clears.map((/** @type {string} */ id) => said('No longer disputed', id)),
    ...answer.limits.map((/** @type {any} */ limit) => said('New limit', describe(limit))),
  ];
  const subject = question.question_id;
  return ask(`${subject}.confirm`, action(state, question.seat, 'confirmation', subject, {
    content: question.held.commitment,
  }), {
    title: `Your agent says you answered, in "${topic(state)}"`,
    question: 'Did you give this answer?',
    sections: [
      section('The question', [item(undefined, question.body.question, 'claimed')]),
      section('The answer', items),
    ],
    warnings: odd([answer.text]),
  });
}

/**
 * What a person signs who vouches for a claim, or says it is wrong.
 * @param {Room} state
 * @param {string} seat
 * @param {string} id
 * @returns {Ask | undefined}
 */
export function claimAsk(state, seat, id) {
  const claim = claimOf(state, id);
  if (!claim || !seatOf(state, seat)) return undefined;
  return ask(`claim:${id}`, action(state, seat, 'claim', id, { content: claim.text }), {
    title: `A claim in "${topic(state)}"`,
    question: `Do you confirm that this is true? ${show(claim.text)}`,
    sections: [section('The claim', [claimItem(claim)])],
    warnings: odd([claim.text]),
  });
}

/**
 * @param {string} id
 * @param {any} act
 * @param {any} brief
 * @returns {Ask}
 */
function ask(id, act, brief) {
  return { id, action_hash: hashOf(act), brief_hash: hashOf(brief) };
}

/**
 * @param {Room} state
 * @param {string} seat
 * @param {string} kind
 * @param {string} subject
 * @param {{content: string, claims?: string[], offer_hash?: string, matter?: string}} rest
 */
function action(state, seat, kind, subject, rest) {
  const intent_hash = seatOf(state, seat)?.card_hash;
  return { kind, room: state.room.id, seat, intent_hash, subject, claims: [], ...rest };
}

/**
 * @param {string} heading
 * @param {any[]} items
 */
function section(heading, items) {
  return { heading, items };
}

/**
 * @param {string | undefined} label
 * @param {string} text
 * @param {string} standing
 */
function item(label, text, standing) {
  return { label: label === undefined ? undefined : show(label), text: show(text), standing };
}

/** @param {any} claim */
function claimItem(claim) {
  const standing = claim.origin === 'assumed' ? 'claimed' : claim.origin;
  return item(`${claim.id} of seat ${claim.seat}`, claim.text, standing);
}

/**
 * @param {any} offer
 * @param {string} reader
 */
function offerSection(offer, reader) {
  const heading = offer.seat === reader ? 'What your agent would offer' : `The offer of seat ${offer.seat}`;
  return section(heading, [
    ...offer.terms.map((/** @type {string} */ term, /** @type {number} */ index) =>
      item(`term ${index + 1}`, term, 'claimed'),
    ),
    ...offer.values.map((/** @type {any} */ one) => item(one.label, spell(one, one.value), 'claimed')),
  ]);
}

/** @param {string[]} texts */
function odd(texts) {
  const sentences = warnings(texts);
  return sentences.length > 0 ? sentences : undefined;
}

/** @param {Room} state */
function topic(state) {
  return show(state.room.topic);
}

const OPS = {
  le: 'at most',
  ge: 'at least',
  lt: 'less than',
  gt: 'more than',
  eq: 'exactly',
  in: 'one of',
  not_in: 'none of',
};

/** @param {any} limit */
export function describe(limit) {
  const values = [limit.value].flat().map((one) => spell(limit, one));
  const op = OPS[/** @type {keyof typeof OPS} */ (limit.op)];
  return `${limit.label ?? 'any value'}: ${op} ${values.join(', ')} (${limit.clause})`;
}

/**
 * @param {{kind: string, unit?: string, exponent?: number}} measure
 * @param {number | string} value
 */
export function spell({ kind, unit, exponent }, value) {
  const decimals = kind === 'money' || kind === 'number' ? exponent ?? 0 : 0;
  const amount = typeof value === 'string' ? value : decimal(value, decimals);
  return unit === undefined ? amount : `${amount} ${unit}`;
}

/**
 * `95000` with 2 decimals is `950.00`.
 * @param {number} amount
 * @param {number} exponent
 */
function decimal(amount, exponent) {
  const digits = String(Math.abs(amount)).padStart(exponent + 1, '0');
  const whole = digits.slice(0, digits.length - exponent);
  const part = digits.slice(digits.length - exponent);
  return (amount < 0 ? '-' : '') + (part ? `${whole}.${part}` : whole);
}
