// @ts-check
/**
 * A server that keeps no mandate: a recorded run is replayed, with and without scripts, and by a page of another origin; the
 * Verify page puts a receipt together with its log and its transaction, and refuses what was tampered with.
 */

import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { check, launch, same, serve, sound, tally, window } from './support.mjs';

const VECTORS = new URL('../../vectors/claudia/', import.meta.url);

/** The parts of a whole proof, as a person has them. */
async function parts() {
  const { receipt, transaction, ...log } = JSON.parse(await readFile(new URL('01-receipt.json', VECTORS), 'utf8'));
  return { receipt, log, tx: /** @type {string} */ (transaction) };
}

const browser = await launch();
const server = await serve();
const { url } = server;
try {
  for (const width of [390, 1280]) {
    const { context, page } = await window(browser, width);
    await check(`a recorded run is replayed event by event at ${width}`, async () => {
      await page.goto(`${url}/live`);
      same(new URL(page.url()).search, '?mode=replay', 'query:');
      const shown = page.locator('.entries > li:visible');
      await page.getByLabel('Speed').selectOption('0');
      await page.getByRole('button', { name: 'Play again' }).waitFor();
      const all = await page.locator('.entries > li').count();
      same(all > 8 && (await shown.count()) === all, true, 'entries:');
      const seqs = await page.locator('.entries .n').allTextContents();
      same(seqs.every((seq, at) => at === 0 || Number(seq) > Number(seqs[at - 1])), true, 'numbers grow:');
      await sound(page, 'replay');
    });
    await check(`it is stepped through with the keyboard at ${width}`, async () => {
      const shown = page.locator('.entries > li:visible');
      await page.getByLabel('Speed').selectOption('1');
      await page.getByRole('button', { name: 'From the beginning' }).focus();
      await page.keyboard.press('Enter');
      await page.locator('.entries > li:visible').first().waitFor();
      await page.getByRole('button', { name: 'Pause' }).focus();
      await page.keyboard.press('Enter');
      const before = await shown.count();
      await page.getByRole('button', { name: 'Next entry' }).focus();
      await page.keyboard.press('Enter');
      same(await shown.count(), before + 1, 'entries:');
      // Going on from there leaves nothing out and shows nothing twice.
      await page.getByLabel('Speed').selectOption('0');
      await page.getByRole('button', { name: 'Play', exact: true }).click();
      await page.getByRole('button', { name: 'Play again' }).waitFor();
      same(await shown.count(), await page.locator('.entries > li').count(), 'entries:');
    });
    const result = page.locator('[data-result]');
    /**
     * @param {{receipt: any, log: any, tx: string}} all
     * @param {BufferEncoding} [as] the transaction as its bytes, or as their hex
     */
    const verdict = async ({ receipt, log, tx }, as = 'utf8') => {
      await page.goto(`${url}/verify`);
      await page.locator('#file').setInputFiles([
        { name: 'receipt.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(receipt)) },
        { name: 'log.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(log)) },
        { name: 'release.tx', mimeType: 'application/octet-stream', buffer: Buffer.from(tx, as) },
      ]);
      await result.waitFor();
      return result.getAttribute('data-result');
    };
    await check(`a receipt, its log and its transaction are checked together at ${width}`, async () => {
      same(await verdict(await parts(), 'hex'), 'valid', await result.innerText());
      same(await verdict(await parts()), 'valid', await result.innerText());
      await page.getByText('commits to this log').waitFor();
      await sound(page, 'verify, parts');
    });
    /** @type {[string, string, (all: Awaited<ReturnType<typeof parts>>) => void][]} */
    const tamperings = [
      ['the outcome of the receipt', 'bad_receipt_hash', ({ receipt }) => { receipt.receipt.evaluation.outcome = 'ALLOW'; }],
      ['the record that was signed', 'bad_authorization', ({ receipt }) => { receipt.authorization.fields.amount = '1'; }],
      ['a word of the log', 'bad_hash', ({ log }) => { log.entries[2].payload.action.rationale = 'urgent'; }],
      ['an entry that is missing', 'bad_number', ({ log }) => { log.entries.splice(5, 1); }],
      ['another transaction', 'transaction_mismatch', (all) => { all.tx = all.tx.replace('021a00028d15', '021a00028d16'); }],
      ['a transaction without its metadata', 'metadata_missing', (all) => { all.tx = all.tx.slice(2, 86); }],
    ];
    for (const [what, code, edit] of tamperings) {
      await check(`refused at ${width}: ${what}`, async () => {
        const all = await parts();
        edit(all);
        same(await verdict(all), 'refused', await result.innerText());
        same((await result.innerText()).includes(code), true, `${code} in ${await result.innerText()}:`);
      });
    }
    await context.close();
  }
  await check('without scripts the whole run is a plain list', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`${url}/live?mode=replay`);
    const all = await page.locator('.entries > li').count();
    same(all > 8 && (await page.locator('.entries > li:visible').count()) === all, true, 'entries:');
    same(await page.locator('[data-controls]').isVisible(), false, 'controls:');
    await context.close();
  });
  await check('a page of another origin reads the recordings, and nothing that is not open', async () => {
    const other = createServer((_, response) => {
      response.setHeader('content-type', 'text/html');
      response.end('<!doctype html><title>elsewhere</title>');
    });
    await new Promise((resolve) => other.listen(0, '127.0.0.1', () => resolve(undefined)));
    const address = other.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`http://localhost:${port}/`);
    const told = await page.evaluate(async (base) => {
      const get = async (/** @type {string} */ path) => {
        try {
          return (await fetch(`${base}${path}`)).status;
        } catch {
          return 'blocked';
        }
      };
      const body = JSON.stringify({ mandate_id: 'M-001', execute: true, proposal: { action: { id: 'A-INV-0002' }, agent_signature: '' } });
      const priced = await fetch(`${base}/api/fixture/v1/authority/check`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer x', 'idempotency-key': 'k' },
        body,
      });
      const runs = await (await fetch(`${base}/api/fixture/v1/runs`)).json();
      const source = new EventSource(`${base}/api/fixture/v1/runs/${runs.runs[0].run_id}/events?speed=0`);
      const first = await new Promise((resolve) => source.addEventListener('message', (event) => resolve(event.lastEventId)));
      source.close();
      return {
        card: await get('/api/fixture/.well-known/agent.json'),
        priced: priced.status,
        required: (priced.headers.get('payment-required') ?? '').length > 0,
        event: Number(first) > 0,
        rooms: await get('/api/rooms'),
      };
    }, url);
    same(JSON.stringify(told), JSON.stringify({ card: 200, priced: 402, required: true, event: true, rooms: 'blocked' }));
    await context.close();
    other.close();
  });
} finally {
  server.stop();
  await browser.close();
}
process.exit(tally() ? 0 : 1);
