// @ts-check
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { canonicalize, parse, write } from './canon.js';
import { IMPLICATION, MESSAGE, TOOLS, TRUST } from './pcm-data.js';
import { instant, judgeMessage, readReceiver } from './pcm-message.js';
import { Ambiguous, argv, host, number, path, plainText, url } from './pcm-strict.js';

const at = (/** @type {string} */ name) => new URL(`../${name}`, import.meta.url);
const lines = (/** @type {string} */ name) =>
  readFileSync(at(`vectors/pcm/messages/${name}.jsonl`), 'utf8').trim().split('\n').map((line) => JSON.parse(line));

for (const group of ['envelope', 'evidence', 'claims', 'approvals', 'grants', 'still', 'attacks']) {
  test(`numbered messages: ${group}`, async () => {
    const wrong = [];
    for (const one of lines(group)) {
      const bytes = one.message === undefined ? Uint8Array.from(Buffer.from(one.message_hex, 'hex')) : new TextEncoder().encode(one.message);
      const receiver = readReceiver(parse(JSON.stringify(one.trust)));
      const found = await judgeMessage(bytes, receiver, { now: instant(one.now) ?? 0, receiver: one.receiver, state: one.state });
      const claims = found.claims.map(({ id, code }) => `${id}:${code ?? 'proven'}`);
      const told = [found.overall, ...(found.code ? [found.code] : []), ...claims].join(' ');
      if (told !== one.expected) wrong.push(`${one.n} ${one.name}: ${told} instead of ${one.expected}`);
    }
    assert.deepEqual(wrong, []);
  });
}

test('strict readings', () => {
  const readers = { host, url, argv, path, text: plainText, number: (/** @type {string} */ text) => number(parse(text)) };
  for (const { kind, input, reading } of lines('readings')) {
    let found = null;
    try {
      found = /** @type {any} */ (readers)[kind](input);
    } catch (error) {
      if (!(error instanceof Ambiguous)) throw error;
    }
    assert.deepEqual(found, reading, `${kind} ${input}`);
  }
});

test('an intent is of a schema that is read whole', () => {
  const { trust } = lines('grants').find((one) => one.name === 'grant');
  const check = (/** @type {string} */ schema, /** @type {boolean} */ good) => {
    const file = JSON.stringify({ ...trust, intents: [] }).replace('"intents":[]', `"intents":[{"type":"x","schema":${schema}}]`);
    const read = () => readReceiver(parse(file));
    if (good) read();
    else assert.throws(read, { code: 'bad_trust' }, schema);
  };
  check('{}', true);
  check('{"type":"object","properties":{"n":{"type":["integer","null"],"minimum":0}},"required":["n"]}', true);
  check('{"$defs":{"a":{"const":1}},"properties":{"n":{"$ref":"#/$defs/a"}}}', true);
  check('{"properties":{"n":{"pattern":"^[a-z][a-z0-9_.-]*$"}}}', true);
  check('{"properties":{"n":{"pattern":"^\\\\d{2}-[0-9a-f]{1,4}$"}}}', true);
  check('{"if":{"required":["a"]},"then":{"required":["b"]}}', true);
  check('{"not":{}}', false);
  check('{"properties":{"n":{"multipleOf":2}}}', false);
  check('{"properties":{"n":{"minimum":0.0}}}', true);
  check('{"properties":{"n":{"minimum":0.5}}}', false);
  check('{"properties":{"n":{"$ref":"#/$defs/none"}}}', false);
  check('{"properties":{"n":{"pattern":"^(a|b)$"}}}', false);
  check('{"properties":{"n":{"pattern":"^[a-z]+a$"}}}', false);
  check('{"properties":{"n":{"pattern":"a"}}}', false);
  check('{"items":true}', false);
  check('{"if":{}}', false);
  check('{"enum":[null]}', false);
});

test('what both verifiers agree on is the published data', () => {
  const bare = (/** @type {any} */ value) => {
    if (Array.isArray(value)) return value.map(bare);
    if (value === null || typeof value !== 'object') return value;
    const aside = ['description', 'title', '$schema', '$id'];
    const members = Object.entries(value).filter(([name, inside]) => !(aside.includes(name) && typeof inside === 'string'));
    return Object.fromEntries(members.map(([name, inside]) => [name, bare(inside)]));
  };
  const file = (/** @type {string} */ name) => JSON.parse(readFileSync(at(name), 'utf8'));
  assert.deepEqual(MESSAGE, bare(file('docs/schemas/pcm-message.schema.json')));
  assert.deepEqual(TRUST, bare(file('docs/schemas/pcm-trust.schema.json')));
  assert.deepEqual(IMPLICATION, file('registry/implication-1.json'));
  assert.equal(write(TOOLS), new TextDecoder().decode(canonicalize(readFileSync(at('registry/tools-1.json')))));
});
