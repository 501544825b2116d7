// @ts-check
/** What a room takes: lengths, names, labels, addresses, cards and messages. Crate `pxp`, modules `wire`, `limit`, `card`. */

import { skeleton } from './confusables.js';
import { isLimit, isValue } from './pxp-limits.js';
import { isOneScript, oddity, warnings } from './text.js';

const HTTPS = /^https:\/\/([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*)(?::[0-9]{1,5})?(?:[/?#][!-[\]-~]*)?$/i;
const HIDDEN =
  /[\p{Cc}\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{e0000}-\u{e0fff}]/u;
const BLANK = /^\p{White_Space}*$/u;
const CLAUSE = /^(must_haves|may_agree_to|must_never|escalate_when|known_facts|amendment)\[(0|[1-9][0-9]*)\]$/;
const PROSE = ['must_haves', 'may_agree_to', 'must_never', 'escalate_when', 'known_facts'];

/**
 * `https`, no user name, a host of ASCII letters without an `xn--` label, visible ASCII without a backslash.
 * @param {string} uri
 */
export function isHttps(uri) {
  const host = HTTPS.exec(uri)?.[1];
  return host !== undefined && !host.split('.').some((label) => /^xn--/i.test(label));
}

/** @param {any} source */
export function isSource({ uri }) {
  return isName(uri, 1000) && isHttps(uri);
}

/**
 * Labels of limits and values are plain, so that none passes for another; a limit may have none.
 * @param {{label?: string}[] | undefined} labelled
 */
export function areLabels(labelled) {
  return (labelled ?? []).every(({ label }) => label === undefined || /^[A-Za-z0-9 ._-]*$/.test(label));
}

/**
 * Text that says something.
 * @param {string} text
 * @param {number} most in UTF-16 code units
 */
export function says(text, most) {
  return !BLANK.test(text) && text.length <= most;
}

/**
 * The same without hidden or control characters.
 * @param {string} text
 * @param {number} most
 */
export function isName(text, most) {
  return says(text, most) && !HIDDEN.test(text);
}

/**
 * The same, or blank.
 * @param {string} text
 * @param {number} most
 */
function isBlankOrName(text, most) {
  return BLANK.test(text) ? text.length <= most : isName(text, most);
}

/**
 * A principal's name.
 * @param {string} name
 * @param {number} most
 */
export function isPrincipal(name, most) {
  const spaced = /^\p{White_Space}|\p{White_Space}$/u.test(name) || name.includes('  ') || /[\n\t]/.test(name);
  return says(name, most) && !spaced && warnings([name]).length === 0 && isOneScript(name);
}

/**
 * Whether people could take one name for the other, equal ones among them.
 * @param {string} one
 * @param {string} other
 */
export function areAlike(one, other) {
  if (one === other) return true;
  const theirs = skeletons(other);
  return skeletons(one).some((mine) => theirs.includes(mine));
}

/** @param {string} name */
function skeletons(name) {
  const flat = [...name].filter((char) => !/\p{White_Space}/u.test(char) && oddity(char) === undefined).join('');
  return [flat.toLowerCase(), flat].map((text) =>
    [...skeleton(text)].map((char) => char.toLowerCase()).join(''),
  );
}

/**
 * The list and place that a clause's name means.
 * @param {string} name
 * @returns {[string, number] | undefined}
 */
export function clauseOf(name) {
  const [, list, digits] = CLAUSE.exec(name) ?? [];
  return list !== undefined && Number(digits) <= 65_535 ? [list, Number(digits)] : undefined;
}

/**
 * The text of a card's clause; of an amendment its answer.
 * @param {any} card
 * @param {string} name
 * @returns {string | undefined}
 */
export function clauseText(card, name) {
  const at = clauseOf(name);
  if (!at) return undefined;
  return at[0] === 'amendment' ? card.amendments[at[1]]?.answer : card[at[0]][at[1]];
}

/**
 * Why limits are not those of this card: `bad_label`, or `bad_card` for anything else.
 * @param {any} card
 * @param {any[]} limits
 */
export function limitsFault(card, limits) {
  for (const limit of limits) {
    if (limit.label !== undefined) {
      if (!says(limit.label, 60)) return 'bad_card';
      if (!areLabels([limit])) return 'bad_label';
    }
    if (clauseText(card, limit.clause) === undefined || !isLimit(limit)) return 'bad_card';
  }
  return undefined;
}

/**
 * Why a card could not have been sealed.
 * @param {any} card
 */
export function cardFault(card) {
  const { name, role, org } = card.principal;
  const party = isPrincipal(name, 80) && isBlankOrName(role, 120) && (org === undefined || isName(org, 120));
  const lists = PROSE.every(
    (list) => card[list].length <= 12 && card[list].every((/** @type {string} */ clause) => says(clause, 300)),
  );
  if (!party || !says(card.goal, 400) || card.must_haves.length === 0 || !lists || card.limits.length > 24) {
    return 'bad_card';
  }
  const fault = limitsFault(card, card.limits);
  const whole = card.pxp === '0' && card.amendments.length === 0 && card.salt !== undefined;
  return fault ?? (whole ? undefined : 'bad_card');
}

/**
 * Whether an answer is one that can be given.
 * @param {any} answer
 * @returns {string | undefined} the code where it is not
 */
export function answerFault({ ruling, clears, text, public_summary: summary, limits }) {
  const told = says(text, 1000) && (summary === undefined || says(summary, 1000));
  const fits = (ruling === 'allow' || clears.length === 0) && (ruling === 'amend' || limits.length === 0);
  if (!told || !fits || limits.length > 24) return 'bad_answer';
  for (const { label } of limits) {
    if (label === undefined) continue;
    if (!says(label, 60)) return 'bad_answer';
    if (!areLabels([{ label }])) return 'bad_label';
  }
  return undefined;
}

/**
 * Whether a message is one that a room takes: every length and count, and that each member fits the status.
 * @param {any} input
 */
export function isInput(input) {
  const { claims, reviews, proposal, authority, escalation } = input;
  return (
    says(input.message, 1500) &&
    claims.length <= 8 &&
    claims.every(isClaim) &&
    reviews.length <= 100 &&
    reviews.every(
      (/** @type {any} */ review) =>
        review.claim_id.length <= 20 && review.reason.length <= 300 && review.touches.length <= 12,
    ) &&
    (proposal === undefined || isProposal(proposal)) &&
    areCited(authority) &&
    (escalation === undefined || escalation.claims.length <= 100) &&
    fitsStatus(input)
  );
}

/** @param {any} input */
function fitsStatus({ status, accepts, proposal, authority, escalation }) {
  if ((status === 'escalate') !== (escalation !== undefined)) return false;
  return status === 'agree'
    ? accepts !== undefined && proposal === undefined
    : accepts === undefined && authority.length === 0;
}

/** @param {any} claim */
function isClaim({ text, ref, quote, source, touches }) {
  return (
    says(text, 400) &&
    (ref === undefined || isBlankOrName(ref, 160)) &&
    (quote === undefined || quote.length <= 300) &&
    (source === undefined || isSource(source)) &&
    touches.length <= 12
  );
}

/** @param {any} proposal */
function isProposal({ terms, depends_on, values, authority }) {
  const value = (/** @type {any} */ one) =>
    says(one.label, 60) &&
    areLabels([one]) &&
    (one.unit === undefined || isName(one.unit, 20)) &&
    one.term < terms.length &&
    isValue(one);
  return (
    terms.length > 0 &&
    terms.length <= 10 &&
    terms.every((/** @type {string} */ term) => says(term, 300)) &&
    depends_on.length <= 100 &&
    depends_on.every((/** @type {string} */ id) => id.length <= 20) &&
    values.length <= 40 &&
    values.every(value) &&
    areCited(authority)
  );
}

/** @param {any[]} cited */
function areCited(cited) {
  return (
    cited.length <= 10 &&
    cited.every(
      ({ clauses }) =>
        clauses.length <= 12 && clauses.every((/** @type {string} */ clause) => isBlankOrName(clause, 28)),
    )
  );
}
