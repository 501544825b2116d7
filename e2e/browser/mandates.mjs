// @ts-check
/**
 * An approver's day: a 402, a bond locked on the embedded ledger, the brief read and signed with a wallet, the release on
 * chain; a decline; a budget that is used up; a key of the browser; and all of it once more without scripts. And a principal's:
 * a mandate written, anchored, funded, changed, revoked.
 */

import { execFile, spawn } from 'node:child_process';
import { chmod, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { check, freePort, launch, same, sound, tally, window } from './support.mjs';
import { TestWallet } from './wallet.mjs';

/** @typedef {import('playwright-core').Page} Page */

const run = promisify(execFile);
const COUNTERSIGN = process.env['COUNTERSIGN'] ?? 'countersign';
/** Letters that are not what they seem, and one that cannot be seen. */
const HOSTILE = 'АWS\u202e gnp';

/** @param {number} width */
async function day(width) {
  const at = (/** @type {string} */ name) => `${name} at ${width}`;
  const wallet = new TestWallet();
  const desk = await Desk.start(wallet.hash, 3);
  const { context, page } = await window(browser, width);
  await wallet.inject(context);
  const { url } = desk;
  try {
    await page.goto(`${url}/approvals`);
    await check(at('nobody reads what waits'), async () => {
      await page.getByRole('heading', { name: 'Please show your key' }).waitFor();
      await page.getByRole('link', { name: 'Show your key' }).first().click();
      await sound(page, 'show your key');
    });
    await check(at('the approver shows the key with the wallet'), async () => {
      await page.getByRole('button', { name: 'Sign with Test wallet, a wallet' }).click();
      await page.getByRole('heading', { name: 'Nothing waits for your signature' }).waitFor();
      await sound(page, 'approvals, empty');
    });
    let id = '';
    let hash = '';
    await check(at('a 402 is paid, and the question is in the inbox, priced'), async () => {
      const asked = await desk.ask('A1', 1800);
      [id, hash] = [asked.approval_id, asked.brief_hash];
      await page.goto(`${url}/approvals`);
      await page.getByText('bond 5 ADA').waitFor();
      await sound(page, 'approvals');
      await page.getByRole('link', { name: /18 USDM to AWS/ }).click();
    });
    await check(at('the brief is shown whole, under the hash that the API has'), async () => {
      await page.locator('[data-hash-checked="yes"]').waitFor();
      same(await hashOn(page), hash, 'hash:');
      for (const text of ['18000000', 'INV-A1', 'It is due.', 'Nobody has checked them.', 'The recipient is the same', 'ABOVE_AUTONOMOUS_LIMIT']) {
        await page.getByText(text).first().waitFor();
      }
      const shown = (await page.locator('[data-recipient]').first().textContent())?.replace(/\s/g, '');
      same(shown, desk.recipient, 'recipient:');
      await sound(page, 'a brief');
    });
    await check(at('it is approved and released with the wallet, and the bond goes back'), async () => {
      const before = wallet.asked;
      await page.getByRole('button', { name: 'Approve and sign' }).click();
      await page.locator('[data-state]', { hasText: 'Settled' }).waitFor({ timeout: 40_000 });
      same(wallet.asked - before, 2, 'signatures:');
      await page.getByText('went back to the agent').waitFor();
      await sound(page, 'settled');
    });
    await check(at('the receipt names the hash that was on the screen'), async () => {
      const told = await desk.check('A1', 1800);
      await page.goto(`${url}/receipts/${told.receipt_id}`);
      await page.locator('[data-hash-checked="yes"]').waitFor();
      same(await hashOn(page), told.receipt_hash, 'receipt hash:');
      same(await page.locator('[data-brief-hash]').textContent(), hash, 'brief hash:');
      await sound(page, 'receipt');
    });
    await check(at('a frivolous question costs its bond, and the agent reads why'), async () => {
      const asked = await desk.ask('A2', 2000, HOSTILE);
      await page.goto(`${url}/approvals/M-001/${asked.approval_id}`);
      await page.getByText('The payee’s name: The text contains characters that change the reading direction.').waitFor();
      await page.getByText('The payee’s name: A word mixes letters of several alphabets.').waitFor();
      await page.getByText('was called “AWS” when it was paid before').waitFor();
      same((await page.locator('main').textContent())?.includes('\u202e'), false, 'a hidden character reaches the page:');
      await sound(page, 'a hostile brief');
      await page.getByText('It should not have asked', { exact: true }).first().click();
      await page.getByLabel(/^To the agent/).first().fill('You knew this vendor’s limit.');
      await page.getByRole('button', { name: 'Decline and sign' }).click();
      await page.locator('[data-state]', { hasText: 'Declined' }).waitFor();
      await page.getByText('is lost to the agent').waitFor();
      const told = await desk.check('A2', 2000, HOSTILE);
      same(told.comment, 'You knew this vendor’s limit.', 'comment:');
      await sound(page, 'declined');
    });
    await check(at('a third question is asked, and then nobody is asked any more'), async () => {
      await desk.ask('A3', 1100);
      const denied = await desk.check('A4', 1200);
      same(denied.evaluation.reason, 'INTERRUPT_BUDGET_EXHAUSTED', 'reason:');
      await page.goto(`${url}/approvals`);
      await page.getByRole('heading', { name: 'One payment waits' }).waitFor();
      await page.goto(`${url}/authority/CFO?mandate_id=M-001`);
      await page.getByText('All 3 interruptions of today are used').waitFor();
      await sound(page, 'authority');
    });
    await check(at('the boundary is drawn: spent, floor, attention'), async () => {
      await page.goto(`${url}/mandate/M-001`);
      await page.getByText(/18 USDM spent today, of/).waitFor();
      await page.getByText(/in the vault/).first().waitFor();
      same((await page.locator('[data-boundary] svg').count()) >= 4, true, 'pictures:');
      await sound(page, 'mandate');
    });
    await check(at('a run is followed without loading again'), async () => {
      const first = await desk.check('A5', 100);
      await page.goto(`${url}/runs/${first.run_id}`);
      const before = await page.locator('.entries > li').count();
      await desk.check('A6', 100, 'AWS', first.run_id);
      await page.waitForFunction((count) => document.querySelectorAll('.entries > li').length > count, before);
      await sound(page, 'run');
    });
    await check(at('forgotten, it reads nothing'), async () => {
      await page.goto(`${url}/approvals`);
      await page.getByRole('button', { name: 'Forget it here' }).click();
      await page.goto(`${url}/approvals`);
      await page.getByRole('heading', { name: 'Please show your key' }).waitFor();
    });
  } finally {
    await context.close();
    desk.stop();
  }
}

/** A key made in the browser approves; so does one that a passkey seals. */
async function consoleKey() {
  for (const kind of ['Make a key', 'Make a key behind my passkey']) {
    const port = await freePort();
    const { context, page } = await window(browser, 390, 'light', true);
    /** @type {Desk | undefined} */
    let desk;
    try {
      await check(`${kind}: it is made, approves and releases`, async () => {
        // The key must be there before the mandate that names it: the same origin, served before and after.
        const before = await Desk.start('00'.repeat(28), 3, port);
        await page.goto(`${before.url}/approver/key`);
        await page.getByLabel('What is it called?').fill('Ana’s phone');
        await page.getByRole('button', { name: kind, exact: true }).click();
        const hash = (await page.locator('[data-key-hash]').textContent()) ?? '';
        same(/^[0-9a-f]{56}$/.test(hash), true, 'key hash:');
        await sound(page, kind);
        await before.stopped();
        desk = await Desk.start(hash, 3, port);
        await page.goto(`${desk.url}/approver`);
        await page.getByRole('button', { name: /^Sign with Ana’s phone/ }).click();
        await page.getByRole('heading', { name: 'Nothing waits' }).waitFor();
        const asked = await desk.ask('B1', 1800);
        await page.goto(`${desk.url}/approvals/M-001/${asked.approval_id}`);
        await page.getByRole('button', { name: 'Approve and sign' }).click();
        await page.locator('[data-state]', { hasText: 'Settled' }).waitFor({ timeout: 40_000 });
      });
    } finally {
      await context.close();
      desk?.stop();
    }
  }
}

/**
 * A principal's day: a mandate is written, anchored, its vault opened and filled; changed, emptied, revoked.
 * @param {number} width
 */
async function office(width) {
  const at = (/** @type {string} */ name) => `${name} at ${width}`;
  const wallet = new TestWallet();
  const desk = await Desk.start('11'.repeat(28), 3, undefined, wallet.hash);
  const { context, page } = await window(browser, width);
  await wallet.inject(context);
  const { url } = desk;
  const rule = (/** @type {string} */ name) => page.locator(`[data-rule="${name}"]`);
  const signed = async () => {
    await page.locator('[data-hash-checked="yes"]').waitFor();
    await page.getByRole('button', { name: 'Sign and send' }).click();
    await page.locator('[data-state]', { hasText: 'Done' }).waitFor({ timeout: 40_000 });
  };
  try {
    await page.goto(`${url}/approver`);
    await page.getByRole('button', { name: 'Sign with Test wallet, a wallet' }).click();
    await page.getByRole('link', { name: 'Write a new mandate' }).click();
    await check(at('a form that is no mandate says which field is at fault'), async () => {
      const texts = {
        'Id': 'M-002', 'In force from': '2020-01-01T00:00:00Z', 'In force until': '2100-01-01T00:00:00Z', 'Principal’s name': 'Acme Corp',
        'Principal’s id': 'acme', 'Agent’s id': 'cfo-agent-01', 'Agent’s key': `ed25519:${'22'.repeat(32)}`,
        'Token’s policy': 'ee'.repeat(28), 'Token’s name': '745553444d',
      };
      for (const [label, text] of Object.entries(texts)) await page.getByLabel(label, { exact: true }).fill(text);
      await page.getByLabel('Role').first().fill('CFO');
      await page.getByLabel('Hash of the key').first().fill('33'.repeat(28));
      const values = { alone: '10', 'hard-cap': '5', daily: '50', floor: '1', payees: 'aws, stripe' };
      for (const [name, text] of Object.entries(values)) await rule(name).getByLabel('Amount or list').fill(text);
      await rule('alone').getByLabel('Who').fill('CFO');
      await page.getByRole('button', { name: 'Show what changes' }).click();
      await page.locator('[data-faults]').getByText('Rule 2, value: the hard cap is below the autonomous limit').waitFor();
      await rule('hard-cap').getByText('The hard cap is below the autonomous limit.').waitFor();
      await sound(page, 'mandate editor');
    });
    await check(at('the file of the page has the hash of the page'), async () => {
      await rule('hard-cap').getByLabel('Amount or list').fill('25');
      await page.getByRole('button', { name: 'Show what changes' }).click();
      await page.getByText('One payment is at most 10 USDM').waitFor();
      await sound(page, 'a new mandate');
      const waits = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Download the file' }).click();
      const { stdout } = await run(COUNTERSIGN, ['mandate', 'hash', String(await (await waits).path())]);
      same(stdout.trim(), await hashOn(page), 'hash:');
    });
    await check(at('it is anchored, and its vault opened, each by one signature'), async () => {
      await page.getByRole('button', { name: 'Draft the transaction' }).click();
      await page.getByText('Waits for a signature').waitFor();
      await sound(page, 'an act');
      await signed();
      await page.getByRole('button', { name: 'Open its vault' }).press('Enter');
      await signed();
      same(wallet.asked, 3, 'signatures:');
      await page.goto(`${url}/mandate/M-002`);
      await page.getByText('0 USDM in the vault').waitFor();
    });
    await check(at('a deposit is shown to the last unit, and made'), async () => {
      await desk.tell({ fund: wallet.hash });
      await page.getByLabel('Amount in USDM').first().fill('20.000001');
      await page.getByRole('button', { name: 'Draft the deposit' }).click();
      await page.getByRole('heading', { name: 'Put 20.000001 USDM into the vault' }).waitFor();
      await page.getByText('20000001', { exact: true }).waitFor();
      await signed();
      await page.goto(`${url}/mandate/M-002`);
      await page.getByText('20.000001 USDM in the vault').waitFor();
      await sound(page, 'a principal’s mandate');
    });
    await check(at('a change is shown line by line before it is signed, and is in force after'), async () => {
      await page.getByRole('link', { name: 'Change the mandate' }).click();
      await rule('alone').getByLabel('Amount or list').fill('12.5');
      await page.getByRole('button', { name: 'Show what changes' }).click();
      const row = page.locator('[data-changes] tr', { hasText: 'Rule alone' });
      same(await row.locator('del').textContent(), 'One payment is at most 10 USDM, else CFO must sign', 'before:');
      same(await row.locator('ins').textContent(), 'One payment is at most 12.5 USDM, else CFO must sign', 'after:');
      same(await page.locator('[data-changes] tbody tr').count(), 2, 'lines:');
      await sound(page, 'a difference');
      await page.getByRole('button', { name: 'Draft the transaction' }).click();
      same(await page.locator('[data-changes] tbody tr').count(), 2, 'lines on the act:');
      await signed();
      await page.goto(`${url}/mandate/M-002`);
      await page.getByText('Up to 12.5 USDM the agent pays alone').waitFor();
    });
    await check(at('money is taken out, and the mandate revoked'), async () => {
      await page.getByLabel('Amount in USDM').last().fill('5');
      await page.getByRole('button', { name: 'Draft the withdrawal' }).click();
      await signed();
      await page.goto(`${url}/mandate/M-002`);
      await page.getByText('15.000001 USDM in the vault').waitFor();
      await page.getByRole('button', { name: 'Draft the revocation' }).click();
      await signed();
      await page.goto(`${url}/mandate/M-002`);
      await page.locator('.tag', { hasText: 'Revoked' }).waitFor();
      same(await page.locator('[data-acts] li').count(), 6, 'acts:');
    });
    await check(at('of two approvers two must sign: both are anchored'), async () => {
      await page.goto(`${url}/mandates/new`);
      const texts = {
        'Id': 'M-003', 'In force from': '2020-01-01T00:00:00Z', 'In force until': '2100-01-01T00:00:00Z', 'Principal’s name': 'Acme Corp',
        'Principal’s id': 'acme', 'Agent’s id': 'cfo-agent-01', 'Agent’s key': `ed25519:${'22'.repeat(32)}`,
        'Token’s policy': 'ee'.repeat(28), 'Token’s name': '745553444d', 'How many approvers must sign': '3',
      };
      for (const [label, text] of Object.entries(texts)) await page.getByLabel(label, { exact: true }).fill(text);
      const values = { alone: '10', 'hard-cap': '25', daily: '50', floor: '1', payees: 'aws, stripe' };
      for (const [name, text] of Object.entries(values)) await rule(name).getByLabel('Amount or list').fill(text);
      await rule('alone').getByLabel('Who').fill('CFO');
      await page.getByLabel('Role').first().fill('CFO');
      await page.getByLabel('Hash of the key').first().fill('33'.repeat(28));
      await page.getByRole('button', { name: 'More lines' }).click();
      await page.getByLabel('Role').nth(1).fill('CEO');
      await page.getByLabel('Hash of the key').nth(1).fill('44'.repeat(28));
      await page.getByRole('button', { name: 'Show what changes' }).click();
      await page.locator('[data-faults]').getByText('at most all approvers').waitFor();
      await page.getByLabel('How many approvers must sign', { exact: true }).fill('2');
      await page.getByRole('button', { name: 'Show what changes' }).click();
      await page.getByText('2 of these 2 approvers sign').waitFor();
      same(await page.locator('[data-approvers] li').count(), 2, 'approvers:');
      await sound(page, 'a new mandate of two approvers');
      await page.getByRole('button', { name: 'Draft the transaction' }).click();
      await signed();
      await page.getByRole('button', { name: 'Open its vault' }).press('Enter');
      await signed();
      await page.goto(`${url}/mandate/M-003`);
      await page.locator('dd', { hasText: '2 of 2' }).waitFor();
    });
    await check(at('figures are drawn and listed, for anybody'), async () => {
      await page.goto(`${url}/figures?mandate_id=M-002`);
      await page.locator('[data-figures]').getByText('actions evaluated').waitFor();
      same((await page.locator('[data-plots] svg').count()) >= 2, true, 'plots:');
      await sound(page, 'figures');
    });
  } finally {
    await context.close();
    desk.stop();
  }
}

/** The brief, and the command line's way, without scripts. */
async function withoutScripts() {
  const wallet = new TestWallet();
  const desk = await Desk.start(wallet.hash, 3);
  const folder = await mkdtemp(join(tmpdir(), 'countersign-approver-'));
  const file = join(folder, 'approver.jwk');
  await writeFile(file, wallet.jwk());
  await chmod(file, 0o600);
  const context = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 390, height: 844 } });
  const page = await context.newPage();
  const { url } = desk;
  /** What the command on the page prints. */
  const printed = async () => {
    const command = (await page.locator('[data-command], .copyline code').first().textContent()) ?? '';
    const { stdout } = await run('bash', ['-c', command.replace(/^countersign/, COUNTERSIGN).replace('approver.jwk', file)]);
    return stdout.trim();
  };
  try {
    await check('without scripts: the key is shown by the command line', async () => {
      await page.goto(`${url}/approver`);
      await page.getByLabel('What the command prints').fill(await printed());
      await page.getByRole('button', { name: 'Show my key' }).click();
      await page.getByRole('heading', { name: 'Nothing waits' }).waitFor();
    });
    await check('without scripts: the brief is whole, approved and released by three commands', async () => {
      const asked = await desk.ask('C1', 1800);
      await page.goto(`${url}/approvals/M-001/${asked.approval_id}`);
      same(await hashOn(page), asked.brief_hash, 'hash:');
      await page.getByRole('button', { name: 'Show what to sign to approve' }).click();
      await page.getByLabel('What the command prints').fill(await printed());
      await page.getByRole('button', { name: 'Approve', exact: true }).click();
      await page.getByRole('heading', { name: 'Approved. Now sign the release itself.' }).waitFor();
      await page.getByLabel('What the command prints').fill(await printed());
      await page.getByRole('button', { name: 'Release', exact: true }).click();
      for (let tries = 0; tries < 100 && (await page.locator('[data-state]').textContent()) !== 'Settled'; tries += 1) {
        await page.waitForTimeout(200);
        await page.goto(page.url());
      }
      same(await page.locator('[data-state]').textContent(), 'Settled', 'state:');
    });
    await check('without scripts: declined as legitimate, the bond goes back', async () => {
      const asked = await desk.ask('C2', 1900);
      await page.goto(`${url}/approvals/M-001/${asked.approval_id}`);
      await page.getByRole('button', { name: 'Show what to sign to decline' }).click();
      await page.getByLabel('What the command prints').fill(await printed());
      await page.getByRole('button', { name: 'Decline', exact: true }).click();
      await page.getByRole('heading', { name: 'Declined. Now sign what becomes of the bond.' }).waitFor();
      await page.getByLabel('What the command prints').fill(await printed());
      await page.getByRole('button', { name: 'Send', exact: true }).click();
      await page.getByText('went back to the agent').waitFor();
    });
  } finally {
    await context.close();
    desk.stop();
  }
}

/** @param {Page} page */
async function hashOn(page) {
  return (await page.locator('[data-hash]').first().textContent())?.replace(/\s/g, '');
}

/** A server with one mandate on the embedded ledger, and the agent's side of it. */
class Desk {
  /**
   * @param {string} url
   * @param {import('node:child_process').ChildProcess} child
   * @param {(command: object) => Promise<any>} tell
   * @param {{agent: string, recipient: string}} ready
   */
  constructor(url, child, tell, ready) {
    this.url = url;
    this.child = child;
    this.tell = tell;
    this.agent = ready.agent;
    this.recipient = ready.recipient;
  }

  /**
   * @param {string} approver
   * @param {number} perDay
   * @param {number} [port]
   * @param {string} [opener] who may open mandates
   */
  static async start(approver, perDay, port, opener) {
    port ??= await freePort();
    const child = spawn(process.env['DESK'] ?? 'desk', [], { stdio: ['pipe', 'pipe', 'inherit'] });
    /** @type {((line: string) => void)[]} */
    const waiting = [];
    createInterface({ input: child.stdout }).on('line', (line) => waiting.shift()?.(line));
    const tell = async (/** @type {object} */ command) => {
      const line = new Promise((resolve) => waiting.push(resolve));
      child.stdin.write(`${JSON.stringify(command)}\n`);
      return JSON.parse(String(await line));
    };
    const ready = await tell({ port, approver, per_day: perDay, ...(opener ? { opener } : {}) });
    return new Desk(`http://localhost:${port}`, child, tell, ready);
  }

  /**
   * @param {string} name
   * @param {number} cents
   * @param {string} display
   */
  action(name, cents, display) {
    return {
      schema: 'action-ir/v0.1', id: name, mandate_id: 'M-001', actor: 'cfo-agent-01', type: 'pay_invoice',
      purpose: 'invoice_payment', counterparty: { id: 'aws', display },
      amount: { value: String(cents * 10_000), asset: 'USDM' }, recipient: { chain: 'cardano', address: this.recipient },
      source: { vault: 'acme-treasury' }, reference: { invoice_id: `in_${name}`, invoice_number: `INV-${name}` },
      rationale: 'It is due.', created_at: '2026-10-07T03:00:00Z',
    };
  }

  /**
   * @param {string} name
   * @param {number} cents
   * @param {string} [display]
   * @param {string} [runId]
   * @param {string} [payment]
   */
  async post(name, cents, display = 'AWS', runId, payment) {
    const action = this.action(name, cents, display);
    const { agent_signature } = await this.tell({ sign: action });
    return fetch(`${this.url}/v1/authority/check`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${this.agent}`,
        ...(payment ? { 'payment-signature': payment } : {}),
      },
      body: JSON.stringify({ mandate_id: 'M-001', execute: true, proposal: { action, agent_signature }, ...(runId ? { run_id: runId } : {}) }),
    });
  }

  /**
   * @param {string} name
   * @param {number} cents
   * @param {string} [display]
   * @param {string} [runId]
   */
  async check(name, cents, display, runId) {
    const response = await this.post(name, cents, display, runId);
    const body = await response.json();
    if (!response.ok) throw new Error(`${response.status}: ${JSON.stringify(body).slice(0, 400)}`);
    return body;
  }

  /**
   * Priced by a 402, locked, paid: the person is asked.
   * @param {string} name
   * @param {number} cents
   * @param {string} [display]
   */
  async ask(name, cents, display) {
    const priced = await this.post(name, cents, display);
    same(priced.status, 402, 'status:');
    const accepted = (await priced.json()).accepts[0];
    const locked = await this.tell({ lock: accepted.extra });
    const payload = { approval_id: accepted.extra.approval_id, tx_hash: locked.tx_hash, output_index: locked.output_index };
    const payment = Buffer.from(JSON.stringify({ x402Version: 2, accepted, payload })).toString('base64');
    const paid = await this.post(name, cents, display, undefined, payment);
    const body = await paid.json();
    if (!paid.ok || body.bond?.status !== 'locked') throw new Error(`${paid.status}: ${JSON.stringify(body).slice(0, 400)}`);
    const bytes = new TextEncoder().encode(canonical(body.brief));
    const hash = Buffer.from(await crypto.subtle.digest('SHA-256', bytes)).toString('hex');
    return { approval_id: body.approval_id, brief_hash: hash };
  }

  stop() {
    this.child.kill('SIGTERM');
  }

  async stopped() {
    const ended = new Promise((resolve) => this.child.once('exit', resolve));
    this.stop();
    await ended;
  }
}

/**
 * @param {unknown} value
 * @returns {string}
 */
function canonical(value) {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  return `{${Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`;
}

const browser = await launch();
try {
  for (const width of [390, 1280]) await day(width);
  for (const width of [390, 1280]) await office(width);
  await consoleKey();
  await withoutScripts();
} finally {
  await browser.close();
}
process.exit(tally() ? 0 : 1);
