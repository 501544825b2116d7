// @ts-check
/** What verifiers say of a quote. Crate `mandate`, module `basis`. */

import { toBytes } from './canon.js';
import { millis, nullable, reported, texts, u32, units } from './mandate-shapes.js';
import { isBacked } from './mandate-verifiers.js';
import { Refusal } from './refusal.js';
import { flag, integer, is, natural, object, words } from './shape.js';
import { hex, sha256 } from './sha256.js';

export const TYPE = 'urn:countersign:fx-basis:1';

const PROOF = object({ evidence: reported, sepolia_tx: nullable(texts(1, 100)), type: words(TYPE) });
const PAIR = /^([A-Z]{2,10})\/([A-Z]{2,10})$/;
const RATE = /^(0|[1-9][0-9]*)(?:\.([0-9]*[1-9]))?$/;
const isRate = (/** @type {any} */ value) =>
  typeof value === 'string' && RATE.test(value) && value.replace('.', '').length <= 12 && /[1-9]/.test(value);
const isPair = (/** @type {any} */ value) => {
  const found = typeof value === 'string' ? value.match(PAIR) : null;
  return found !== null && found[1] !== found[2];
};
const BASIS = object({
  facts: object({ fresh: flag, on_market: flag, priced: flag }),
  feed: object({
    chain_id: natural,
    contract: texts(42, 42),
    decimals: integer(255),
    price: nullable(units),
    round_id: texts(1, 40),
    updated_at_ms: millis,
  }),
  limits: object({ max_age_seconds: u32, tolerance_bps: integer(65_535) }),
  quote: object({ pair: is(isPair), rate: is(isRate) }),
  reason: nullable(words('PRICE_UNAVAILABLE', 'PRICE_STALE', 'OFF_MARKET')),
  result: words('ON_MARKET', 'OFF_MARKET'),
  schema: words('fx-basis/v0.1'),
  trigger_id: texts(1, 64),
});

/**
 * @param {import('./canon.js').Value} value
 * @param {import('./index.js').Trust | undefined} trust
 * @param {import('./index.js').Report} report
 */
export async function checkBasis(value, trust, report) {
  const proof = PROOF.read(value, '', true).evidence;
  const refused = (/** @type {string} */ code) => new Refusal(code, '/evidence', 'see the code');
  if (proof.statements.length === 0 || !(await isBacked(proof))) throw refused('bad_statement');
  const basis = read(proof.report);
  if (!basis) throw refused('bad_basis');
  const reason = reasonOf(basis.facts);
  if (basis.reason !== reason || (basis.result === 'ON_MARKET') !== (reason === null)) throw refused('bad_basis');
  const hash = hex(sha256(toBytes(proof.report)));
  const follows = (/** @type {any} */ { statement }) => {
    const { invoice_number, observed_at_ms } = statement.doc;
    const facts = factsOf(basis, observed_at_ms);
    return (
      invoice_number === null &&
      facts.fresh === basis.facts.fresh &&
      facts.on_market === basis.facts.on_market &&
      facts.priced === basis.facts.priced
    );
  };
  if (hash !== proof.report_hash || !proof.statements.every(follows)) throw refused('bad_basis');
  const known = proof.statements.filter((/** @type {any} */ { key }) => trust?.verifiers.includes(key)).length;
  // It stands on its verifiers alone.
  if (trust && known < Math.max(1, trust.verifiers_required)) {
    const detail = 'too few of the verifiers in the trust file signed for it';
    throw new Refusal('verifiers_missing', '/evidence/statements', detail);
  }
  report.facts.quote = `${basis.quote.pair} ${basis.quote.rate}`;
  report.facts.result = basis.result === 'ON_MARKET' ? 'on market' : 'off market';
  report.facts.verifiers = String(proof.statements.length);
  report.facts.report = hash;
}

/** @param {any} value */
function read(value) {
  try {
    return BASIS.read(value, '', true);
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

/** @param {any} facts */
function reasonOf({ fresh, on_market, priced }) {
  if (!priced) return 'PRICE_UNAVAILABLE';
  if (!fresh) return 'PRICE_STALE';
  return on_market ? null : 'OFF_MARKET';
}

/**
 * @param {any} basis
 * @param {number} now
 */
function factsOf({ feed, limits, quote }, now) {
  const age = Math.floor(Math.max(0, now - feed.updated_at_ms) / 1000);
  const priced = feed.price !== null && feed.price !== '0' && feed.decimals <= 18;
  return {
    fresh: age <= limits.max_age_seconds && feed.updated_at_ms - now <= 60_000,
    on_market: priced && near(quote.rate, BigInt(feed.price), feed.decimals, limits.tolerance_bps),
    priced,
  };
}

/**
 * @param {string} rate
 * @param {bigint} price
 * @param {number} decimals
 * @param {number} tolerance in hundredths of a percent
 */
function near(rate, price, decimals, tolerance) {
  const [whole, fraction = ''] = rate.split('.');
  const offered = BigInt(whole + fraction) * 10n ** BigInt(decimals);
  const market = price * 10n ** BigInt(fraction.length);
  const off = offered > market ? offered - market : market - offered;
  return off * 10_000n <= market * BigInt(tolerance);
}
