// @ts-check
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { blake2b } from './blake2b.js';
import { parse, write } from './canon.js';
import { join } from './mandate-join.js';
import { judge, digestOf, messageOf } from './mandate-engine.js';
import { action, hashed, mandate } from './mandate-shapes.js';
import { parseTrust, verify } from './index.js';
import { canonical } from './pxp-state.js';
import { concat, hex } from './sha256.js';
import { Refusal } from './refusal.js';

const folder = new URL('../vectors/claudia/', import.meta.url);
const read = (/** @type {string} */ name) => Uint8Array.from(readFileSync(new URL(name, folder)));
const trust = parseTrust(read('trust.json'));

for (const one of JSON.parse(readFileSync(new URL('cases.json', folder), 'utf8'))) {
  test(`${one.file}: ${one.why}`, async () => {
    const report = await verify(read(one.file), one.trust ? trust : undefined);
    assert.deepEqual([report.verdict, report.code ?? null], [one.verdict, one.code], JSON.stringify(report));
  });
}

for (const line of readFileSync(new URL('engine.jsonl', folder), 'utf8').trimEnd().split('\n')) {
  const value = /** @type {Map<string, any>} */ (parse(line));
  const plain = JSON.parse(line);
  test(`case ${plain.n}: ${plain.name}`, async () => {
    let read;
    try {
      read = hashed(action).read(value.get('action'), '', true);
    } catch (error) {
      assert(error instanceof Refusal);
    }
    const evidence = plain.evidence && { ...plain.evidence, report: value.get('evidence').get('report') };
    const judged = await judge(
      hashed(mandate).read(value.get('mandate'), '', true),
      read,
      plain.signature ?? undefined,
      { history: [], ...plain.state },
      evidence ?? undefined,
      plain.now,
    );
    assert.equal(canonical(judged.evaluation), write(value.get('evaluation')));
  });
}

test('the published authorizations', () => {
  const { base_fields, cases } = JSON.parse(readFileSync(new URL('claudia.json', folder), 'utf8')).published.authorization;
  for (const one of cases) {
    const fields = { ...base_fields, ...one.changes };
    assert.equal(messageOf(fields).length, one.message_len);
    assert.equal(digestOf(fields), one.digest);
  }
});

test('BLAKE2b of RFC 7693, appendix A, and of several blocks', () => {
  const abc =
    'ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1' +
    '7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923';
  assert.equal(hex(blake2b(concat('abc'), 64)), abc);
  assert.equal(hex(blake2b(new Uint8Array(0))), '0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8');
  // Made with Python's hashlib.
  assert.equal(hex(blake2b(new Uint8Array(300).fill(7), 28)), 'a7fca9137f1438f6f11acb6f55962c4ef1debd02128edf4feda1c1e4');
});

test('a receipt, its log and the transaction, each from somewhere else', async () => {
  const { receipt, transaction } = JSON.parse(readFileSync(new URL('01-receipt.json', folder), 'utf8'));
  const bytes = (/** @type {string} */ text) => new TextEncoder().encode(text);
  const parts = [bytes(JSON.stringify({ ...receipt, id: 'R-0001' })), read('06-export.jsonl'), bytes(transaction)];
  const report = await verify(join(parts), trust);
  assert.deepEqual([report.verdict, report.kind], ['valid', 'receipt'], JSON.stringify(report));
  assert.equal(report.facts.transaction, 'commits to this log');
  const other = transaction.replace('021a00028d15', '021a00028d16');
  const refused = await verify(join([parts[0], parts[1], bytes(other)]), trust);
  assert.equal(refused.code, 'transaction_mismatch');
  // One part is what it is; parts that are nothing together are the first of them.
  assert.equal((await verify(join([parts[1]]), trust)).kind, 'mandate_log');
  assert.equal(join([parts[0], bytes('hello')]), parts[0]);
});
