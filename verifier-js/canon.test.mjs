// @ts-check
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { CanonError, Num, canonicalize, parse, toBytes, write } from './canon.js';

const folder = new URL('../vectors/canon/', import.meta.url);
const sets = readdirSync(folder).filter((name) => name.endsWith('.jsonl'));
assert.deepEqual(sets.sort(), ['house.jsonl', 'jcs.jsonl']);

/** @param {() => unknown} run */
function refusal(run) {
  try {
    run();
  } catch (error) {
    if (error instanceof CanonError) return error;
    throw error;
  }
  return undefined;
}

for (const set of sets) {
  test(`vectors of ${set}`, () => {
    const lines = readFileSync(new URL(set, folder), 'utf8').trimEnd().split('\n');
    assert.ok(lines.length > 100);
    for (const line of lines) {
      const { id, input, input_hex, canonical, sha256, error, place } = JSON.parse(line);
      const bytes = input === undefined ? Buffer.from(input_hex, 'hex') : Buffer.from(input, 'utf8');
      const refused = refusal(() => canonicalize(bytes));
      assert.equal(refused?.code, error, `${id}: ${refused}`);
      if (error === undefined) {
        const written = Buffer.from(canonicalize(bytes));
        assert.equal(written.toString('utf8'), canonical, id);
        assert.equal(createHash('sha256').update(written).digest('hex'), sha256, id);
        assert.deepEqual(Buffer.from(toBytes(parse(bytes))), written, id);
      } else if (place !== undefined) {
        assert.equal(refused?.place, place, id);
      }
    }
  });
}

test('plain JavaScript is written as what is read', () => {
  /** @type {[any, string][]} */
  const cases = [
    [{ b: [1, -0, 0.5, 1e-7], a: null, 10: true }, '{"10":true,"a":null,"b":[1,0,0.5,1e-7]}'],
    [new Map([['\ufb33', 1], ['\u{1f600}', 2]]), '{"\u{1f600}":2,"\ufb33":1}'],
    [new Num('1e20'), '100000000000000000000'],
    [Number.MAX_SAFE_INTEGER, '9007199254740991'],
  ];
  for (const [value, expected] of cases) assert.equal(write(value), expected);
});

test('what JSON does not have is not written', () => {
  let deep = {};
  for (let depth = 1; depth <= 128; depth += 1) deep = { a: deep };
  /** @type {[any, string, string][]} */
  const cases = [
    [{ a: [NaN] }, 'non_finite', '/a/0'],
    [[2 ** 53], 'int_range', '/0'],
    [{ 'a/b': undefined }, 'shape', '/a~1b'],
    [[1n], 'shape', '/0'],
    [['\ud800'], 'lone_surrogate', '/0'],
    [{ a: { '\udc00': 1 } }, 'lone_surrogate', '/a'],
    [deep, 'depth', '/a'.repeat(128)],
  ];
  for (const [value, code, place] of cases) {
    const refused = refusal(() => write(value));
    assert.deepEqual([refused?.code, refused?.place], [code, place]);
  }
});

test('number tokens and the order of members are kept', () => {
  const value = parse('{"b":1.0,"2":1,"__proto__":-0}');
  assert.ok(value instanceof Map);
  assert.deepEqual([...value.keys()], ['b', '2', '__proto__']);
  const numbers = [...value.values()];
  assert.deepEqual(numbers, [new Num('1.0'), new Num('1'), new Num('-0')]);
  assert.deepEqual(numbers.map((number) => number instanceof Num && number.isInteger), [false, true, true]);
});
