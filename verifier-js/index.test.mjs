// @ts-check
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parseTrust, verify } from './index.js';
import { parseNote, parseVkey, pins, verifyNote } from './note.js';

const folder = new URL('../vectors/pxp/', import.meta.url);
const read = (/** @type {string} */ name) => Uint8Array.from(readFileSync(new URL(name, folder)));
const trust = parseTrust(read('trust.json'));

for (const one of JSON.parse(readFileSync(new URL('cases.json', folder), 'utf8'))) {
  test(`${one.file}: ${one.why}`, async () => {
    const report = await verify(read(one.file), one.trust ? trust : undefined);
    assert.deepEqual([report.verdict, report.code ?? null], [one.verdict, one.code], JSON.stringify(report));
    if (one.place) assert.equal(report.place, one.place);
    if (one.unchecked) assert.deepEqual(report.unchecked, one.unchecked);
  });
}

test('the published checkpoint, with and without lines of unknown keys', async () => {
  const vector = JSON.parse(readFileSync(new URL('../ledger/c2sp_checkpoint.json', folder), 'utf8'));
  const pinned = pins([parseVkey(vector.log_vkey)], [parseVkey(vector.wit_vkey)], 1);
  for (const member of ['note', 'hybrid']) {
    const note = parseNote(new TextEncoder().encode(vector[member]));
    assert.equal(note.text, vector.text);
    const [seen] = await verifyNote(note, pinned);
    assert.deepEqual(seen, { witness: 'witness.example.org/w1', time: 0x68e77800n });
  }
});
