// @ts-check
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parseTrust, verify } from './index.js';
import { parseNote } from './note.js';
import { SCHEMA } from './pcm-event.js';
import { openCheckpoint } from './pcm-trust.js';

const folder = new URL('../vectors/pcm/tracekit/', import.meta.url);
const read = (/** @type {string} */ name) => Uint8Array.from(readFileSync(new URL(name, folder)));
const json = (/** @type {string} */ name) => JSON.parse(new TextDecoder().decode(read(name)));
const EXIT = { valid: 0, refused: 1, unusable: 2 };

for (const { bundle, expected } of json('golden-negative/expected.json').cases) {
  test(bundle, async () => {
    const report = await verify(read(`golden-negative/${bundle}`), parseTrust(read('golden-negative/trust.json')));
    const first = report.verdict === 'unusable' ? 'bundle readable' : report.first_failure;
    const integrity = report.integrity ?? 'UNUSABLE BUNDLE';
    assert.deepEqual({ exit_code: EXIT[report.verdict], integrity, first_failure: first }, expected, JSON.stringify(report));
  });
}

for (const { args, expected } of json('golden-v2/expected.json').cases) {
  test(`${args[0]} under ${args[2]}`, async () => {
    const report = await verify(read(`golden-v2/${args[0]}`), parseTrust(read(`golden-v2/${args[2]}`)));
    assert.equal(`Integrity: ${report.integrity}.`, expected.integrity, JSON.stringify(report));
    assert.equal(EXIT[report.verdict], expected.exit_code);
    const anchored = report.checks?.find(({ check }) => check === 'rekor anchor')?.status;
    assert.equal(anchored, args[2] === 'trust-rekor.json' ? 'pass' : undefined);
  });
}

test('a run with an executor and an approval', async () => {
  const report = await verify(read('generated-t2/t2-approval.tkb'), parseTrust(read('generated-t2/trust.json')));
  assert.equal(report.integrity, 'VERIFIED', JSON.stringify(report));
});

test('a checkpoint with a post-quantum line', async () => {
  const vector = json('slh_dsa_note.json');
  const pinned = JSON.stringify({ logs: [vector.log_vkey, vector.slh_vkey], algs: ['ed25519'] });
  const trust = parseTrust(new TextEncoder().encode(pinned)).evidence;
  assert(trust);
  const note = new TextEncoder().encode(vector.note);
  assert.equal((await openCheckpoint(trust, note)).hybrid, true);
  const [line] = parseNote(note).lines.filter(({ signature }) => signature.length > 5000);
  const without = vector.note.split('\n').filter((/** @type {string} */ one) => one.length < 5000).join('\n');
  await assert.rejects(openCheckpoint(trust, new TextEncoder().encode(without)), { code: 'hybrid_signature' });
  assert.equal(line.signature.length, 7856);
});

test('the schema is the published one without its descriptions', () => {
  const file = new URL('../crates/pcm/schema/tracekit.event.v2.json', import.meta.url);
  /** @type {(value: any, names?: boolean) => any} */
  const bare = (value, names = false) => {
    if (Array.isArray(value)) return value.map((one) => bare(one));
    if (typeof value !== 'object' || value === null) return value;
    const members = Object.entries(value).filter(
      ([name]) => names || !['description', 'title', '$schema', '$id'].includes(name),
    );
    return Object.fromEntries(
      members.map(([name, one]) => [name, bare(one, !names && (name === 'properties' || name === '$defs'))]),
    );
  };
  assert.deepEqual(SCHEMA, bare(JSON.parse(readFileSync(file, 'utf8'))));
});
