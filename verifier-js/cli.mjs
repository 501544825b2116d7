#!/usr/bin/env node
// @ts-check
/**
 * `node cli.mjs FILE [--trust FILE]`: the report as JSON; exit code 0 valid, 1 refused, 2 unusable, 3 unproven.
 * `node cli.mjs --batch`: a line `{"id":…,"file":base64,"trust":text?,"now":microseconds?}` in, a line
 * `{"id":…,"verdict":…,"code":…,"place":…,"unchecked":[…]}` out.
 */

import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Refusal } from './refusal.js';
import { parseTrust, verify } from './index.js';

const EXIT = { valid: 0, refused: 1, unusable: 2, unproven: 3 };
const [first, ...rest] = process.argv.slice(2);

if (first === '--batch') {
  /** @type {Map<string, import('./index.js').Trust>} */
  const trusts = new Map();
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, file, trust, now } = JSON.parse(line);
    if (trust && !trusts.has(trust)) trusts.set(trust, parseTrust(Uint8Array.from(Buffer.from(trust))));
    const known = trusts.get(trust);
    const believed = known && typeof now === 'number' ? { ...known, now } : known;
    const { verdict, code, place, unchecked } = await verify(Uint8Array.from(Buffer.from(file, 'base64')), believed);
    const report = { id, verdict, code: code ?? null, place: place ?? null, unchecked: unchecked ?? [] };
    process.stdout.write(JSON.stringify(report) + '\n');
  }
} else if (first === undefined || (rest.length > 0 && (rest.length !== 2 || rest[0] !== '--trust'))) {
  console.error('usage: node cli.mjs FILE [--trust FILE]');
  process.exitCode = 2;
} else {
  try {
    const trust = rest[1] === undefined ? undefined : parseTrust(Uint8Array.from(readFileSync(rest[1])));
    if (trust) trust.now = Date.now() * 1000;
    const report = await verify(Uint8Array.from(readFileSync(first)), trust);
    console.log(JSON.stringify(report, null, 2));
    process.exitCode = EXIT[report.verdict];
  } catch (error) {
    if (!(error instanceof Refusal) && !(error instanceof Error && 'code' in error)) throw error;
    console.error(error.message);
    process.exitCode = 2;
  }
}
