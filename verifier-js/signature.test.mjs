// @ts-check
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from './canon.js';
import { publicKey, thumbprint, verifyEd25519, verifySignature } from './signature.js';

/** @param {string} name */
function vectors(name) {
  const file = readFileSync(new URL(`../vectors/keys/${name}`, import.meta.url), 'utf8');
  return file.trimEnd().split('\n').map((line) => JSON.parse(line));
}

const bytes = (/** @type {string} */ text) => Uint8Array.from(Buffer.from(text, 'hex'));

for (const set of ['ed25519.jsonl', 'sig_v2.jsonl']) {
  test(`ed25519: ${set}`, async () => {
    const cases = vectors(set).filter((one) => one.sig !== undefined);
    assert.ok(cases.length > 5);
    for (const { id, public: key, msg, sig, valid } of cases) {
      assert.equal(await verifyEd25519(bytes(key), bytes(msg), bytes(sig)), valid, id);
    }
  });
}

test('jwk', () => {
  const cases = vectors('jwk.jsonl');
  assert.ok(cases.length > 10);
  for (const one of cases) {
    let key;
    try {
      key = publicKey(parse(one.text));
    } catch {
      // Not strict JSON.
    }
    assert.equal(key !== undefined, one.valid, one.id);
    if (key && one.thumbprint) assert.equal(thumbprint(key), one.thumbprint, one.id);
  }
});

test('p-256', async () => {
  for (const one of vectors('p256.jsonl').filter(({ jwk, sig }) => jwk && sig)) {
    const key = publicKey(parse(JSON.stringify(one.jwk)));
    const good = key !== undefined && (await verifySignature(key, bytes(one.msg), bytes(one.sig)));
    assert.equal(good, one.valid, one.id);
  }
});
