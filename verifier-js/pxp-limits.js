// @ts-check
/** Typed limits and values: crate `pxp`, module `limit`, written again. */

/** @typedef {{text?: string, unit?: string, exponent: number, amount: bigint} | undefined} Measure */

/** @type {Record<string, bigint>} */
const SECONDS = { s: 1n, min: 60n, h: 3_600n, d: 86_400n };
const MOST = 9_223_372_036_854_775_807n;

/** @param {string} text */
const folded = (text) => text.replace(/^\p{White_Space}+|\p{White_Space}+$/gu, '').toLowerCase();

/**
 * Whether a limit can be compared at all.
 * @param {any} limit
 */
export function isLimit({ kind, op, value, unit, exponent }) {
  const many = op === 'in' || op === 'not_in';
  if (many !== Array.isArray(value)) return false;
  const operands = [value].flat();
  if (operands.length === 0 || operands.length > 50) return false;
  if (kind === 'enum' && !['eq', 'in', 'not_in'].includes(op)) return false;
  return operands.every((one) => measure(kind, one, unit, exponent) !== undefined);
}

/** @param {any} value */
export function isValue({ kind, value, unit, exponent }) {
  return measure(kind, value, unit, exponent) !== undefined;
}

/** @param {any} limit */
export function isTrigger(limit) {
  return limit.clause.startsWith('escalate_when[');
}

/**
 * Compares a limit with the values of one proposal.
 * @param {any} limit
 * @param {any[]} values
 * @returns {'holds' | 'limit_crossed' | 'escalate_when' | 'limit_unreadable'}
 */
export function readLimit(limit, values) {
  const applies = (/** @type {any} */ value) =>
    limit.label === undefined ? limit.kind === value.kind : folded(limit.label) === folded(value.label);
  const meant = (/** @type {any} */ value) =>
    limit.label !== undefined && !applies(value) && outline(limit.label) === outline(value.label);
  const mine = values.filter(applies);
  if (values.some(meant) || mine.length === 0) return 'limit_unreadable';
  /** @type {ReturnType<typeof readLimit>} */
  let reading = 'holds';
  for (const value of mine) {
    const holds = compare(limit, value);
    if (holds === undefined) return 'limit_unreadable';
    if (holds && isTrigger(limit)) reading = 'escalate_when';
    if (!holds && !isTrigger(limit)) reading = 'limit_crossed';
  }
  return reading;
}

/**
 * `undefined` where they cannot be compared.
 * @param {any} limit
 * @param {any} value
 * @returns {boolean | undefined}
 */
function compare(limit, value) {
  if (value.kind !== limit.kind) return undefined;
  const left = measure(value.kind, value.value, value.unit, value.exponent);
  const orders = [limit.value].flat().map((one) => order(left, measure(limit.kind, one, limit.unit, limit.exponent)));
  if (orders.includes(undefined)) return undefined;
  const [first = 0] = /** @type {number[]} */ (orders);
  switch (limit.op) {
    case 'le':
      return first <= 0;
    case 'ge':
      return first >= 0;
    case 'lt':
      return first < 0;
    case 'gt':
      return first > 0;
    case 'eq':
      return first === 0;
    default:
      return orders.includes(0) === (limit.op === 'in');
  }
}

/**
 * @param {Measure} one
 * @param {Measure} other
 * @returns {number | undefined}
 */
function order(one, other) {
  if (!one || !other || one.unit !== other.unit) return undefined;
  if (one.text !== undefined || other.text !== undefined) return one.text === other.text ? 0 : -1;
  const most = Math.max(one.exponent, other.exponent);
  const [a, b] = [one, other].map(({ amount, exponent }) => amount * 10n ** BigInt(most - exponent));
  return a === b ? 0 : /** @type {bigint} */ (a) < /** @type {bigint} */ (b) ? -1 : 1;
}

/**
 * @param {string} kind
 * @param {number | string} value
 * @param {string | undefined} unit
 * @param {number | undefined} exponent
 * @returns {Measure}
 */
function measure(kind, value, unit, exponent) {
  if (exponent !== undefined && exponent > 12) return undefined;
  const amount = typeof value === 'number' ? BigInt(value) : undefined;
  if (kind === 'money' && amount !== undefined) {
    const good = unit !== undefined && /^[A-Z]{3}$/.test(unit) && exponent !== undefined;
    return good ? { amount, exponent, unit } : undefined;
  }
  if (kind === 'number' && amount !== undefined) return { amount, exponent: exponent ?? 0, unit };
  if (exponent !== undefined) return undefined;
  if (kind === 'count' && amount !== undefined && amount >= 0n) return { amount, exponent: 0, unit };
  if (kind === 'duration' && amount !== undefined && amount >= 0n) {
    const factor = unit !== undefined && Object.hasOwn(SECONDS, unit) ? SECONDS[unit] : undefined;
    const seconds = factor === undefined ? undefined : amount * factor;
    return seconds === undefined || seconds > MOST ? undefined : { amount: seconds, exponent: 0 };
  }
  if (unit !== undefined || typeof value !== 'string') return undefined;
  if (kind === 'date') return isDay(value) ? { amount: BigInt(value.replaceAll('-', '')), exponent: 0 } : undefined;
  if (kind === 'enum' && folded(value) !== '') return { text: folded(value), amount: 0n, exponent: 0 };
  return undefined;
}

/** @param {string} text */
function isDay(text) {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const at = Date.parse(`${text}T00:00:00.000Z`);
  return at >= -62_135_596_800_000 && at <= 253_402_214_400_000 && new Date(at).toISOString().startsWith(text);
}

/**
 * What is left of a label once all that a glance misses is gone.
 * @param {string} label
 */
function outline(label) {
  const plain = [...label].filter((char) => /^[\p{Alphabetic}\p{N}]$/u.test(char)).map((char) => char.toLowerCase());
  return plain
    .join('')
    .replace(/[i1]/g, 'l')
    .replaceAll('0', 'o')
    .replaceAll('rn', 'm')
    .replaceAll('vv', 'w');
}
