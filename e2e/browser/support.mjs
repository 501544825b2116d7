// @ts-check
/** The server under test, agents that speak MCP by hand, and browsers with an authenticator. */

import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AxeBuilder } from '@axe-core/playwright';
import { chromium } from 'playwright-core';

/** @typedef {import('playwright-core').Page} Page */

const SHOTS = process.env['SHOTS'];
const FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'];

let passed = 0;
let failed = 0;

/**
 * One check. A thrown error fails it, and the run goes on where it can.
 * @param {string} name
 * @param {() => unknown} body
 */
export async function check(name, body) {
  try {
    await body();
    passed += 1;
    console.log(`ok    ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL  ${name}\n      ${String(error instanceof Error ? error.stack : error).split('\n').slice(0, 14).join('\n      ')}`);
  }
}

export function tally() {
  console.log(`${passed} passed, ${failed} failed`);
  return failed === 0;
}

/**
 * A fresh server on loopback. Gives its address, the first owner's link, and the link of an opener's person as it prints it.
 * @param {string[]} [more] further lines of its configuration
 */
export async function serve(more = []) {
  const port = await freePort();
  const data = await mkdtemp(join(tmpdir(), 'countersign-browser-'));
  const url = `http://localhost:${port}`;
  const config = join(data, 'countersign.toml');
  await writeFile(config, [
    `listen = "127.0.0.1:${port}"`,
    `data = "${join(data, 'data')}"`,
    '[server]',
    `public_url = "${url}"`,
    ...more,
  ].join('\n'));
  const child = spawn(process.env['COUNTERSIGN'] ?? 'countersign', ['serve', '--config', config], {
    cwd: data,
    env: { PATH: process.env['PATH'], HOME: data },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  const link = await new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}: ${printed}`)));
    child.stdout.on('data', (chunk) => {
      printed += chunk;
      const found = /http\S+\/enrol\/\S+/.exec(printed);
      if (found) resolve(found[0]);
    });
  });
  /**
   * @param {string} room
   * @returns {Promise<string>}
   */
  const principal = (room) =>
    new Promise((resolve) => {
      const look = () => {
        const found = new RegExp(`http\\S+/room/${room}#seat=A&p=\\S+\\n`).exec(printed);
        if (!found) return;
        child.stdout.off('data', look);
        resolve(found[0].trim());
      };
      child.stdout.on('data', look);
      look();
    });
  return { url, link: String(link), principal, stop: () => child.kill('SIGTERM') };
}

export async function launch() {
  return chromium.launch({ executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium', args: FLAGS });
}

/**
 * A browser window of its own, with an authenticator that always says yes.
 * @param {import('playwright-core').Browser} browser
 * @param {number} width
 * @param {'light' | 'dark'} [scheme]
 * @param {boolean} [seals] the authenticator has PRF
 */
export async function window(browser, width, scheme = 'light', seals = false) {
  const context = await browser.newContext({
    viewport: { width, height: width < 600 ? 844 : 900 },
    colorScheme: scheme,
    acceptDownloads: true,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  page.on('pageerror', (error) => console.log(`      page error: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error' && !/status of 40[19]/.test(message.text())) console.log(`      console: ${message.text()}`);
  });
  const cdp = await context.newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
      hasPrf: seals,
    },
  });
  return { context, page };
}

/**
 * The page has no serious or critical fault that axe knows, and does not scroll sideways.
 * @param {Page} page
 * @param {string} name
 */
export async function sound(page, name) {
  await check(`${name}: accessible, fits`, async () => {
    await shot(page, name);
    const found = await new AxeBuilder({ page }).analyze();
    const bad = found.violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
    const lines = bad.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`);
    if (lines.length > 0) throw new Error(lines.join('\n'));
    const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    if (over > 1) throw new Error(`scrolls sideways by ${over} px`);
  });
}

/**
 * @param {Page} page
 * @param {string} name
 */
export async function shot(page, name) {
  if (!SHOTS) return;
  await mkdir(SHOTS, { recursive: true });
  const width = page.viewportSize()?.width ?? 0;
  await page.screenshot({ path: join(SHOTS, `${name.replace(/\W+/g, '-')}-${width}.png`), fullPage: true });
}

let calls = 0;

/**
 * Calls a tool as an agent would, in one stateless request.
 * @param {string} url
 * @param {string} name
 * @param {object} args
 */
export async function tool(url, name, args) {
  calls += 1;
  const response = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-11-25',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: calls, method: 'tools/call', params: { name, arguments: args } }),
  });
  const answer = await response.json();
  if (answer.error || answer.result?.isError) throw new Error(`${name}: ${JSON.stringify(answer.error ?? answer.result).slice(0, 600)}`);
  return answer.result.structuredContent;
}

/**
 * @param {unknown} actual
 * @param {unknown} expected
 * @param {string} [what]
 */
export function same(actual, expected, what = '') {
  if (actual !== expected) throw new Error(`${what} expected ${JSON.stringify(expected)}, found ${JSON.stringify(actual)}`);
}

/** @returns {Promise<number>} */
export function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}
