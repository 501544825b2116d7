// @ts-check
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from './canon.js';
import { Refusal } from './refusal.js';
import { base64url, publicKey } from './signature.js';
import { verifyAssertion } from './webauthn.js';

const file = readFileSync(new URL('../vectors/keys/webauthn.jsonl', import.meta.url), 'utf8');
const cases = file.trimEnd().split('\n').map((line) => JSON.parse(line)).filter((one) => one.kind === 'assertion');

/** @param {any} one */
async function judge(one) {
  const key = publicKey(parse(JSON.stringify(one.credential.key)));
  const challenge = base64url(one.challenge);
  assert.ok(key && challenge);
  try {
    return { asserted: await verifyAssertion(one.rp, challenge, { ...one.credential, key }, one.assertion) };
  } catch (error) {
    if (error instanceof Refusal) return { refusal: error };
    throw error;
  }
}

test('assertions', async () => {
  assert.ok(cases.length > 60);
  for (const one of cases) {
    const { asserted, refusal } = await judge(one);
    assert.equal(refusal?.code, one.code, `${one.id}: ${refusal}`);
    if (one.place) assert.equal(refusal?.place, one.place, one.id);
    if (one.report) assert.deepEqual(asserted, one.report, one.id);
  }
});

test('no bit of a signature can be turned', async () => {
  const good = cases.find((one) => one.id === 'eddsa');
  const signature = base64url(good.assertion.signature);
  assert.ok(signature);
  for (let bit = 0; bit < 512; bit += 1) {
    const turned = Buffer.from(signature);
    turned[bit >> 3] ^= 1 << (bit & 7);
    const assertion = { ...good.assertion, signature: turned.toString('base64url') };
    assert.ok((await judge({ ...good, assertion })).refusal, `bit ${bit}`);
  }
});
