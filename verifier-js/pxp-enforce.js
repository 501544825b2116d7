// @ts-check
/** What the server makes of a message before it records it: crate `pxp`, module `enforce`, written again. */

import { granting } from './pxp-brief.js';
import { Known, uncovered } from './pxp-facts.js';
import { readLimit } from './pxp-limits.js';
import { clauseOf, clauseText } from './pxp-names.js';
import { claimOf, matterOf, normal, seatOf, toReview } from './pxp-state.js';
import { describe, spell } from './pxp-ask.js';
import { Refusal } from './refusal.js';

/**
 * @typedef {import('./pxp-state.js').Room} Room
 * @typedef {{code: string, subject: string, detail: string}} Reason
 * @typedef {{words?: string, claims: string[], offer_hash?: string, matter?: string, forced: boolean}} Asked
 * @typedef {{status: string, claims: any[], reviews: any[], proposal?: any, accepts?: any, authority: any[], flags: any[],
 *   question?: Asked, reasons: Reason[]}} Applied
 * @typedef {{state: Room, seat: string, card: any, told: any}} Sight a card that is withheld says what the record says
 */

const LIMITS = ['limit_crossed', 'limit_unreadable', 'escalate_when'];

/** The server would not have taken it. */
const untaken = (code = 'not_enforced') => new Refusal(code, '', 'not what the server would have taken');

/**
 * The message as enforcement leaves it. Throws where the server would have refused it.
 * @param {Room} state
 * @param {string} seat
 * @param {any} told the recorded envelope
 * @param {any} input
 * @param {string} at
 * @returns {Applied}
 */
export function apply(state, seat, told, input, at) {
  /** @type {Sight} */
  const sight = { state, seat, card: seatOf(state, seat).card, told };
  const reviews = review(sight, input);
  /** @type {any[]} */
  const flags = [];
  const claims = make(sight, input.claims, flags);
  /** @type {Applied} */
  const applied = { status: input.status, claims, reviews, authority: [], flags, reasons: [] };
  if (input.proposal) applied.proposal = propose(sight, input.proposal, applied, at);
  tagged(state, input, applied);
  if (input.status === 'agree') agree(sight, input, applied, at);
  else if (input.status === 'escalate') ask(sight, input, applied);
  else offer(sight, applied);
  return applied;
}

/**
 * Every claim of the others reviewed, once, unless the seat only asks.
 * @param {Sight} sight
 * @param {any} input
 */
function review({ state, seat, card }, input) {
  /** @type {any[]} */
  const reviews = [];
  for (const { claim_id, verdict, reason, touches } of input.reviews) {
    const id = resolve(state, [], claim_id);
    if (claimOf(state, id)?.seat === seat || reviews.some((other) => other.claim_id === id)) throw untaken();
    touching(card, touches);
    reviews.push({ claim_id: id, verdict, reason, touches });
  }
  if (input.status !== 'escalate') {
    const missing = toReview(state, seat).some((claim) => !reviews.some((other) => other.claim_id === claim.id));
    if (missing) throw untaken();
  }
  return reviews;
}

/**
 * Claims with their ids and the origin that holds.
 * @param {Sight} sight
 * @param {any[]} inputs
 * @param {any[]} flags
 */
function make(sight, inputs, flags) {
  const { state, seat } = sight;
  return inputs.map((input, index) => {
    const id = `${seat}${state.envelopes.length + 1}.${index + 1}`;
    touching(sight.card, input.touches);
    const restated = restates(state, seat, input);
    const [origin, code, why] = originOf(sight, id, input, restated);
    if (code !== undefined) flags.push({ code, message: `${id} is ${origin}: ${why}` });
    const { text, quote, source, touches } = input;
    const ref = blank(input.ref) ? undefined : input.ref;
    return { id, text, origin, ref, quote, source, touches, restates: restated?.id };
  });
}

/**
 * A claim id, or `new<k>` for the k-th of the new ones.
 * @param {Room} state
 * @param {any[]} made
 * @param {string} id
 * @returns {string}
 */
function resolve(state, made, id) {
  if (/^new\+?[0-9]+$/.test(id)) {
    const claim = made[Number(id.slice(3)) - 1];
    if (!claim) throw untaken();
    return claim.id;
  }
  const known = /^[A-H][0-9.q]{1,19}$/.test(id) && (claimOf(state, id) || made.some((claim) => claim.id === id));
  if (!known) throw untaken();
  return id;
}

/**
 * @param {any} card
 * @param {string[]} touches
 */
function touching(card, touches) {
  if (!touches.every((clause) => has(card, clause))) throw untaken();
}

/**
 * @param {any} card
 * @param {string} clause
 */
function has(card, clause) {
  return card ? clauseText(card, clause) !== undefined : clauseOf(clause) !== undefined;
}

/**
 * The other side's claim that this one repeats.
 * @param {Room} state
 * @param {string} seat
 * @param {any} input
 */
function restates(state, seat, input) {
  const cited = input.ref === undefined ? undefined : trim(input.ref);
  const named = cited !== undefined && /^[A-H][0-9.q]{1,19}$/.test(cited) ? claimOf(state, cited) : undefined;
  if (named && named.seat !== seat) return named;
  const first = state.said.words.get(normal(input.text));
  return first && first.seat !== seat ? first : undefined;
}

/**
 * @param {Sight} sight
 * @param {string} id
 * @param {any} input
 * @param {any} restated
 * @returns {[string, string?, string?]}
 */
function originOf(sight, id, input, restated) {
  if (restated) {
    if (input.source) return ['sourced'];
    if (restated.origin === input.origin) return [restated.origin];
    const why = `it repeats ${restated.id} of seat ${restated.seat} and keeps that claim's origin`;
    return [restated.origin, 'restated_claim', why];
  }
  const ref = blank(input.ref) ? undefined : trim(input.ref);
  if (input.origin === 'assumed') return ['assumed'];
  if (input.origin === 'sourced') {
    if (ref !== undefined || input.source) return ['sourced'];
    return ['assumed', 'claim_without_ref', 'a sourced claim names its source'];
  }
  if (ref === undefined) return ['assumed', 'claim_without_ref', 'a stated claim names a clause'];
  const clause = stated(sight, id, ref, input.quote);
  if (clause === 'says') return ['stated'];
  if (clause === 'otherwise') {
    return ['assumed', 'quote_not_in_clause', 'the words quoted are not in the clause'];
  }
  if (/^[A-H][0-9.q]{1,19}$/.test(ref) && claimOf(sight.state, ref)) {
    return ['assumed', 'claim_cites_claim', 'a stated claim names a clause, not a claim'];
  }
  return ['assumed', 'ref_unresolved', "the seat's card has no such clause"];
}

/**
 * What the cited clause makes of a claim with these words in quotes.
 * @param {Sight} sight
 * @param {string} id
 * @param {string} ref
 * @param {string | undefined} quote
 */
function stated({ card, told }, id, ref, quote) {
  if (clauseOf(ref) === undefined) return 'missing';
  if (card) {
    const words = clauseText(card, ref);
    if (words === undefined) return 'missing';
    return quote === undefined || quotes(words, quote) ? 'says' : 'otherwise';
  }
  const claim = told.claims.find((/** @type {any} */ one) => one.id === id);
  if (claim?.origin === 'stated') return 'says';
  const flagged = told.protocol_flags.some(
    (/** @type {any} */ flag) => flag.code === 'quote_not_in_clause' && flag.message.startsWith(`${id} is `),
  );
  return claim && quote !== undefined && flagged ? 'otherwise' : 'missing';
}

/**
 * @param {string} clause
 * @param {string} quote
 */
function quotes(clause, quote) {
  return normal(quote) !== '' && normal(clause).includes(normal(quote));
}

/**
 * @param {Sight} sight
 * @param {any} input
 * @param {Applied} applied
 * @param {string} at
 */
function propose({ state, card, told }, input, applied, at) {
  const depends_on = [
    ...new Set(input.depends_on.map((/** @type {string} */ id) => resolve(state, applied.claims, id))),
  ];
  if (depends_on.length === 0) {
    applied.flags.push({ code: 'no_dependencies', message: 'the offer names no claim that it depends on' });
  }
  if (input.expires_in_seconds === 0) throw untaken();
  const offered = [state.room.policy.offer_seconds, input.expires_in_seconds].filter((one) => one !== undefined);
  const seconds = offered.length > 0 ? Math.min(...offered) : undefined;
  const { terms, values } = input;
  const authority = resolved({ card, told }, input.authority, terms.length, applied.flags);
  const expires_at = seconds === undefined ? undefined : later(at, seconds);
  return { terms, depends_on, values, authority, expires_at };
}

/**
 * @param {string} at
 * @param {number} seconds
 */
function later(at, seconds) {
  return new Date(Math.min(Date.parse(at) + seconds * 1000, 253_402_214_400_000)).toISOString();
}

/**
 * The clauses that the seat's card has; a flag says that others were named.
 * @param {{card: any, told: any}} sight
 * @param {any[]} cited
 * @param {number} terms
 * @param {any[]} flags
 */
function resolved({ card, told }, cited, terms, flags) {
  const out = [];
  for (const { term, clauses } of cited) {
    if (term >= terms) throw untaken();
    const found = [];
    for (const clause of clauses) {
      const message = `term ${term + 1} cites ${quoted(clause)}, which the seat's card does not have`;
      const flag = { code: 'authority_unresolved', message };
      if (has(card, clause) && (card || !isFlagged(told, flag))) found.push(clause);
      else flags.push(flag);
    }
    if (found.length > 0) out.push({ term, clauses: found });
  }
  return out;
}

/**
 * @param {any} told
 * @param {{code: string, message: string}} flag
 */
function isFlagged(told, { code, message }) {
  return told.protocol_flags.some((/** @type {any} */ one) => one.code === code && one.message === message);
}

/**
 * @param {Room} state
 * @param {any} input
 * @param {Applied} applied
 */
function tagged(state, input, applied) {
  const own = new Known();
  applied.claims.forEach((claim) => own.learn(claim.text));
  for (const value of applied.proposal?.values ?? []) own.learn(spell(value, value.value));
  const found = new Set(
    [input.message, ...(input.proposal?.terms ?? [])].flatMap((text) => uncovered(text, [own, state.said.facts])),
  );
  for (const fact of found) applied.flags.push({ code: 'untagged_fact', message: `no claim covers ${quoted(fact)}` });
}

/**
 * Accepts exactly the offer that is named, unless the seat's principal must be asked first.
 * @param {Sight} sight
 * @param {any} input
 * @param {Applied} applied
 * @param {string} at
 */
function agree(sight, input, applied, at) {
  const { state, seat } = sight;
  const found = state.offers.find((one) => one.hash === input.accepts);
  const lapsed = found?.expires_at !== undefined && at >= found.expires_at;
  if (!found || found.seat === seat || found.standing !== 'open' || lapsed) throw untaken('bad_acceptance');
  if (lastRuling(state, seat, found.matter) === 'deny') throw untaken();
  const cited = resolved(sight, input.authority, found.terms.length, applied.flags);
  const reasons = reasonsOf(sight, subjectOf(found, cited, true), applied.reviews);
  if (reasons.length === 0) {
    applied.accepts = { seq: found.seq, proposal_hash: found.proposal_hash, offer_hash: found.hash };
    applied.authority = cited;
    return;
  }
  const words = `May your agent accept the offer of seat ${found.seat}: ${found.terms.join('; ')}`;
  force(applied, reasons, words, found.hash, found.matter);
}

/**
 * An offer of the seat's own binds it, so it is checked like an acceptance.
 * @param {Sight} sight
 * @param {Applied} applied
 */
function offer(sight, applied) {
  const { proposal } = applied;
  if (!proposal) return;
  const matter = matterOf(sight.seat, proposal);
  if (lastRuling(sight.state, sight.seat, matter) === 'deny') throw untaken();
  const reasons = reasonsOf(sight, subjectOf({ ...proposal, matter }, proposal.authority, false), applied.reviews);
  if (reasons.length > 0) force(applied, reasons, `May your agent offer this: ${proposal.terms.join('; ')}`, undefined, matter);
}

/**
 * A question of the seat's own accord; what the server would have asked is asked with it.
 * @param {Sight} sight
 * @param {any} input
 * @param {Applied} applied
 */
function ask(sight, input, applied) {
  const { state, seat } = sight;
  const { claims, offer_hash } = input.escalation;
  const named = claims.map((/** @type {string} */ id) => resolve(state, applied.claims, id));
  let matter;
  if (offer_hash !== undefined) {
    const found = state.offers.find((one) => one.hash === offer_hash);
    if (!found) throw untaken('bad_acceptance');
    matter = found.matter;
    applied.reasons = reasonsOf(sight, subjectOf(found, [], true), applied.reviews);
  } else if (applied.proposal) {
    matter = matterOf(seat, applied.proposal);
    const subject = subjectOf({ ...applied.proposal, matter }, applied.proposal.authority, false);
    applied.reasons = reasonsOf(sight, subject, applied.reviews);
  }
  applied.question = { claims: named, offer_hash, matter, forced: false };
}

/**
 * @param {any} offer
 * @param {any[]} authority
 * @param {boolean} accepting
 */
function subjectOf({ terms, values, depends_on, matter }, authority, accepting) {
  return { terms: terms.length, values, depends_on, matter, authority, accepting };
}

/**
 * Turns the message into a question: what the seat wanted is not done.
 * @param {Applied} applied
 * @param {Reason[]} reasons
 * @param {string} words
 * @param {string | undefined} offer_hash
 * @param {string} matter
 */
function force(applied, reasons, words, offer_hash, matter) {
  /** @type {string[]} */
  const claims = [];
  for (const reason of reasons) {
    const flag = flagOf(reason);
    if (!isFlagged({ protocol_flags: applied.flags }, flag)) applied.flags.push(flag);
    if (/^[A-H][0-9.q]{1,19}$/.test(reason.subject) && !claims.includes(reason.subject)) claims.push(reason.subject);
  }
  applied.status = 'escalate';
  applied.question = { words: clipped(words), claims, offer_hash, matter, forced: true };
  applied.reasons = reasons;
}

/**
 * The four cases in which a seat must ask.
 * @param {Sight} sight
 * @param {ReturnType<typeof subjectOf>} subject
 * @param {any[]} reviews
 * @returns {Reason[]}
 */
function reasonsOf(sight, subject, reviews) {
  const { state, seat, card, told } = sight;
  /** @type {Reason[]} */
  let reasons = [];
  for (const limit of card?.limits ?? []) {
    const code = readLimit(limit, subject.values);
    if (code !== 'holds') reasons.push({ code, subject: describe(limit), detail: DETAILS[code] });
  }
  for (let term = 0; term < subject.terms; term += 1) {
    if (granting(subject.authority, term).length === 0) {
      const detail = 'no must-have, concession or answer covers it';
      reasons.push({ code: 'term_uncited', subject: `term ${term + 1}`, detail });
    }
  }
  if (subject.accepting) reasons.push(...assumptions(state, seat, subject, reviews));
  const ruled = state.questions.filter(
    (one) => one.seat === seat && one.matter === subject.matter && isAllowed(one),
  );
  const unknown = ruled.some((question) => question.body === undefined);
  const allowed = ruled.flatMap((question) => question.body?.reasons ?? []);
  reasons = reasons.filter(
    (reason) =>
      !allowed.some((other) => other.code === reason.code && other.subject === reason.subject) &&
      (!unknown || isFlagged(told, flagOf(reason))),
  );
  if (!card) {
    const flags = told.protocol_flags.filter((/** @type {any} */ flag) => LIMITS.includes(flag.code));
    reasons.unshift(...flags.map((/** @type {any} */ { code }) => ({ code, subject: '', detail: '' })));
  }
  return [...reasons, ...disputes(state, seat, subject, reviews)];
}

/** @param {any} question */
function isAllowed(question) {
  return question.state === 'answered' && question.answer.ruling === 'allow';
}

/**
 * Whether what the principal was told follows from what is at hand.
 * @param {Room} state
 * @param {string} seat
 * @param {Applied} applied
 */
export function areReasonsKnown(state, seat, { question }) {
  if (!seatOf(state, seat).card) return false;
  const same = (/** @type {any} */ one) => one.seat === seat && one.matter === question?.matter && isAllowed(one);
  return question?.matter === undefined || state.questions.filter(same).every((one) => one.body !== undefined);
}

/** @type {Record<string, string>} */
const DETAILS = {
  limit_crossed: 'the offer is outside this limit',
  escalate_when: 'the offer meets this condition',
  limit_unreadable: 'the offer has no value that this limit can be read against',
};

/**
 * An own conflict stands in the way of any agreement; a challenge in the way of agreeing to what depends on the claim.
 * @param {Room} state
 * @param {string} seat
 * @param {ReturnType<typeof subjectOf>} subject
 * @param {any[]} reviews
 */
function disputes(state, seat, subject, reviews) {
  const old = [...state.said.disputed]
    .sort((a, b) => a - b)
    .flatMap((at) => {
      const claim = state.claims[at];
      const own = claim.reviews.filter(
        (/** @type {any} */ one) => one.by === seat && one.verdict !== 'accept' && !one.cleared,
      );
      return own.map((/** @type {any} */ one) => ({ claim_id: claim.id, verdict: one.verdict }));
    });
  /** @type {Reason[]} */
  const reasons = [];
  for (const { claim_id: claim, verdict } of [...old, ...reviews]) {
    const depends = subject.depends_on.includes(claim);
    /** @type {Reason | undefined} */
    let found;
    if (verdict === 'conflict' && (subject.accepting || depends)) {
      const detail = 'your agent found it in conflict with your card';
      found = { code: 'conflict_unresolved', subject: claim, detail };
    } else if (verdict === 'challenge' && subject.accepting && depends) {
      found = { code: 'disputed_dependency', subject: claim, detail: 'your agent could not verify it' };
    }
    const again = reasons.some((one) => one.code === found?.code && one.subject === found?.subject);
    if (found && !again) reasons.push(found);
  }
  return reasons;
}

/**
 * Assumptions that touch a must-have.
 * @param {Room} state
 * @param {string} seat
 * @param {ReturnType<typeof subjectOf>} subject
 * @param {any[]} reviews
 * @returns {Reason[]}
 */
function assumptions(state, seat, subject, reviews) {
  const links = (/** @type {any} */ claim) => {
    const earlier = claim.reviews.filter((/** @type {any} */ one) => one.by === seat);
    const now = reviews.filter((one) => one.claim_id === claim.id);
    const own = claim.seat === seat ? [...claim.touches, ...(claim.ref === undefined ? [] : [claim.ref])] : [];
    return [...[...earlier, ...now].flatMap((one) => one.touches), ...own].some(
      (clause) => clauseOf(clause)?.[0] === 'must_haves',
    );
  };
  return subject.depends_on
    .map((/** @type {string} */ id) => claimOf(state, id))
    .filter(Boolean)
    .filter((/** @type {any} */ claim) => claim.origin === 'assumed' && !isConfirmed(state, claim) && links(claim))
    .map((/** @type {any} */ claim) => {
      return { code: 'assumed_must_have', subject: claim.id, detail: 'it is assumed, and a must-have rests on it' };
    });
}

/**
 * Whether a principal said that it is so, of the claim or of an earlier one that it restates.
 * @param {Room} state
 * @param {any} claim
 */
function isConfirmed(state, claim) {
  let limit = state.claims.length;
  for (let one = claim; ; ) {
    if (one.settled) return one.settled.accept;
    if (one.restates === undefined) return false;
    const at = state.claims.findIndex((other) => other.id === one.restates);
    if (at < 0 || at >= limit) return false;
    limit = at;
    one = state.claims[at];
  }
}

/**
 * @param {Room} state
 * @param {string} seat
 * @param {string} matter
 */
function lastRuling(state, seat, matter) {
  const of = (/** @type {any} */ one) => one.seat === seat && one.matter === matter && one.state === 'answered';
  return state.questions.findLast(of)?.answer.ruling;
}

/**
 * The public side of a reason.
 * @param {Reason} reason
 */
function flagOf({ code, subject }) {
  /** @type {Record<string, string>} */
  const messages = {
    limit_crossed: "a term is outside a typed limit of the seat's card",
    limit_unreadable: "a typed limit of the seat's card cannot be read against the offer",
    escalate_when: 'a typed condition to ask the principal is met',
    term_uncited: `${subject} cites no clause that allows it`,
    conflict_unresolved: `the seat holds ${subject} to be in conflict with its card`,
    disputed_dependency: `the offer depends on ${subject}, which the seat disputes`,
  };
  const message = messages[code] ?? `the offer depends on ${subject}, an assumption that touches a must-have`;
  return { code, message };
}

/** @param {string} words */
function clipped(words) {
  if (words.length <= 400) return words;
  let out = '';
  for (const char of words) {
    if (out.length + char.length >= 400) break;
    out += char;
  }
  return `${out}…`;
}

/** @param {string} text */
function trim(text) {
  return text.replace(/^\p{White_Space}+|\p{White_Space}+$/gu, '');
}

/** @param {string | undefined} text */
function blank(text) {
  return text === undefined || /^\p{White_Space}*$/u.test(text);
}

/**
 * A text in quotes, as Rust writes it for debugging.
 * @param {string} text
 */
function quoted(text) {
  /** @type {Record<string, string>} */
  const short = { '\0': '\\0', '\t': '\\t', '\r': '\\r', '\n': '\\n', '\\': '\\\\', '"': '\\"' };
  const written = [...text].map((char) => {
    if (short[char]) return short[char];
    if (char === ' ' || !/^[\p{C}\p{Z}\p{Grapheme_Extend}]$/u.test(char)) return char;
    return `\\u{${/** @type {number} */ (char.codePointAt(0)).toString(16)}}`;
  });
  return `"${written.join('')}"`;
}
