// @ts-check
/** First start to verified file, at the width of a phone and of a desk; then once more with scripts off. */

import { readFile } from 'node:fs/promises';
import { pushing } from './push.mjs';
import { check, launch, same, serve, shot, sound, tally, tool, window } from './support.mjs';

/** @typedef {import('playwright-core').Page} Page */

const CARD_B = {
  principal: { name: 'Ben' },
  goal: 'Sell 40 chairs at a fair price',
  must_haves: ['At least 850 EUR for the chairs'],
  may_agree_to: ['Delivery on any working day in May 2026'],
  known_facts: ['The chairs are in stock'],
};

const browser = await launch();
try {
  for (const width of [390, 1280]) await play(width);
  for (const width of [390, 1280]) await pushing(browser, width);
  await withoutScripts();
} finally {
  await browser.close();
}
process.exit(tally() ? 0 : 1);

/** @param {number} width */
async function play(width) {
  const server = await serve();
  const { url } = server;
  const at = (/** @type {string} */ name) => `${name} at ${width}`;
  const { page } = await window(browser, width);
  const ben = await window(browser, width, 'dark');
  let room = '';
  /** @type {string[]} */
  let links = [];
  let agentB = '';
  let offer = '';
  try {
    await page.goto(url);
    await sound(page, 'welcome');
    await check(at('the owner enrols a passkey by the one-time link'), async () => {
      await page.goto(server.link);
      same(new URL(page.url()).hash, '', 'the secret left the address bar:');
      await sound(page, 'enrol');
      await page.getByRole('button', { name: 'Make a passkey' }).click();
      await page.getByText('Your passkey is enrolled and you are signed in.').waitFor();
    });
    await sound(page, 'home, empty');
    await check(at('signing out and in again with the passkey'), async () => {
      await page.goto(`${url}/me`);
      await sound(page, 'me');
      await page.getByRole('button', { name: 'Sign out here' }).click();
      await page.getByRole('link', { name: 'Sign in', exact: true }).click();
      await sound(page, 'sign in');
      await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
      await page.waitForURL(`${url}/`);
      await page.getByRole('heading', { name: 'Nothing waits for you' }).waitFor();
    });
    for (const [path, name] of [['/people', 'people'], ['/keys', 'keys'], ['/stop', 'stop'], ['/asks', 'inbox, empty'], ['/open', 'open'], ['/recover', 'recover'], ['/verify', 'verify, empty'], ['/room/nosuchroom', 'no such room']]) {
      await page.goto(`${url}${path}`);
      await sound(page, String(name));
    }
    await check(at('an agent key is shown once and can be revoked'), async () => {
      await page.goto(`${url}/keys`);
      await page.getByLabel('What is it for?').fill('Chairs agent');
      await page.getByRole('button', { name: 'Issue a key' }).click();
      const key = (await page.locator('code.value').first().textContent()) ?? '';
      if (key.length < 20) throw new Error('no key');
      await sound(page, 'agent key');
      await page.goto(`${url}/keys`);
      same((await page.content()).includes(key), false, 'the key is shown again:');
      await page.getByRole('button', { name: /Revoke/ }).click();
      await page.getByText('It no longer works.').waitFor();
    });
    await check(at('a room is opened and its links are shown'), async () => {
      await page.goto(`${url}/rooms/new`);
      await sound(page, 'new room');
      await page.getByLabel('What is it about?').fill('40 chairs <b>for</b> May');
      await page.getByLabel('Your name').fill('Ana');
      await page.getByLabel('Your agent’s name').fill('Agent A');
      await page.getByLabel('Name', { exact: true }).fill('Ben');
      await page.getByRole('button', { name: 'Open the room' }).click();
      await page.getByRole('heading', { name: 'Your room is open' }).waitFor();
      links = await page.locator('code.value').allTextContents();
      same(links.length, 2, 'links:');
      await sound(page, 'room opened');
      await page.getByRole('link', { name: 'Write your card' }).click();
      room = /\/room\/([^/]+)\/card/.exec(page.url())?.[1] ?? '';
    });
    await check(at('a card is written, read back and sealed'), async () => {
      await sound(page, 'card');
      await page.getByLabel('Goal').fill('Get 40 chairs delivered in May');
      await page.getByLabel('Must have').first().fill('40 chairs in May 2026\nAt most 900.00 EUR');
      await page.getByLabel(/^May agree to/).fill('Any colour');
      await page.getByLabel(/^Must never/).fill('Pay in advance');
      await page.getByLabel(/^Facts it may state/).fill('We pay within 14 days');
      const limit = page.getByRole('group', { name: 'Limit 1' });
      await limit.getByLabel('What').fill('price');
      await limit.getByLabel('Value').fill('900');
      await limit.getByLabel('Unit').fill('EUR');
      await limit.getByLabel('line', { exact: true }).fill('2');
      await page.getByRole('button', { name: 'Read it once more' }).click();
      await page.getByText('price: at most 900.00 EUR (must have 2)').waitFor();
      await sound(page, 'card, read back');
      await page.getByRole('button', { name: 'Seal this card' }).click();
      await page.getByText('Your card is sealed.', { exact: true }).waitFor();
    });
    await check(at('the other side takes its invite, its person enrols a passkey of their own'), async () => {
      await ben.page.goto(links[1] ?? '');
      await ben.page.getByLabel('A name for your agent').fill('Agent B');
      await ben.page.getByRole('button', { name: 'Take the seat' }).click();
      await ben.page.getByRole('heading', { name: 'Your seat' }).waitFor();
      const [forAgent = '', forPerson = ''] = await ben.page.locator('code.value').allTextContents();
      agentB = forAgent;
      await ben.page.goto(forPerson);
      await ben.page.getByRole('heading', { name: 'Answer for Ben' }).waitFor();
      await sound(ben.page, 'become, dark');
      await ben.page.getByRole('button', { name: 'Use a passkey' }).click();
      await ben.page.getByText('You now answer for this seat.').waitFor();
      await tool(url, 'seal_intent_card', { link: agentB, card: CARD_B });
    });
    await check(at('agents talk, and the page follows without loading again'), async () => {
      await page.goto(`${url}/room/${room}`);
      await tool(url, 'send_envelope', {
        link: links[0],
        message: 'We need 40 chairs in May and pay within 14 days.',
        status: 'continue',
        claims: [
          { text: 'We pay within 14 days', origin: 'stated', ref: 'known_facts[0]' },
          { text: 'Blue chairs fade in the sun', origin: 'assumed' },
        ],
      });
      await page.getByText('We need 40 chairs in May and pay within 14 days.').waitFor();
      const view = await tool(url, 'get_room', { link: agentB });
      await tool(url, 'send_envelope', {
        link: agentB,
        message: 'We offer 40 chairs on 12 May.',
        status: 'continue',
        reviews: view.claims_to_review.map((/** @type {{id: string, origin: string}} */ claim) => ({
          claim_id: claim.id,
          verdict: claim.origin === 'assumed' ? 'challenge' : 'accept',
          reason: claim.origin === 'assumed' ? 'Our fabric does not fade' : '',
        })),
        claims: [{ text: 'The chairs are in stock', origin: 'stated', ref: 'known_facts[0]' }],
      });
      await page.getByText('We offer 40 chairs on 12 May.').waitFor();
      await sound(page, 'room, talking');
    });
    await check(at('a claim has its page, and its person says with a passkey that it is wrong'), async () => {
      await page.locator('#part-claims a', { hasText: 'Blue chairs' }).first().click();
      await sound(page, 'claim');
      await page.getByLabel('No, it is wrong').check();
      await page.getByRole('button', { name: 'Sign with your passkey' }).click();
      await page.getByText('Recorded what you say of this claim.').waitFor();
      await page.getByText('A person said that it is wrong').first().waitFor();
    });
    await check(at('a price beyond the card stops the agent and asks its person, live'), async () => {
      const view = await tool(url, 'get_room', { link: links[0] });
      const sent = await tool(url, 'send_envelope', {
        link: links[0],
        message: 'We would take them for 950 EUR.',
        status: 'continue',
        reviews: view.claims_to_review.map((/** @type {{id: string}} */ claim) => ({ claim_id: claim.id, verdict: 'accept' })),
        proposal: {
          terms: ['40 chairs on 12 May 2026', 'Price 950.00 EUR'],
          values: [{ label: 'price', kind: 'money', value: 95000, unit: 'EUR', exponent: 2, term: 1 }],
          authority: [{ term: 0, clauses: ['must_haves[0]'] }, { term: 1, clauses: ['must_haves[1]'] }],
        },
      });
      same(sent.accepted_envelope.status, 'escalate', 'status:');
      await page.locator('.call .question').waitFor();
      await sound(page, 'room, asked');
      await page.goto(url);
      await sound(page, 'home, asked');
      await page.goto(`${url}/asks`);
      await sound(page, 'inbox');
    });
    await check(at('the person reads what is asked and signs an answer with the passkey, by keyboard alone'), async () => {
      await tabTo(page, 'Read and answer');
      await page.keyboard.press('Enter');
      await page.waitForURL(/\/asks\/.+\/q1$/);
      await sound(page, 'ask');
      const hash = (await page.locator('[data-hash]').textContent())?.replace(/\s/g, '') ?? '';
      same(/^[0-9a-f]{64}$/.test(hash), true, 'hash shown:');
      await tabTo(page, 'Allow');
      await page.keyboard.press('Space');
      await tabTo(page, 'In your words');
      await page.keyboard.type('Yes, 950 is fine this once.');
      await tabTo(page, 'Say something');
      await page.keyboard.press('Enter');
      await tabTo(page, 'For everyone');
      await page.keyboard.type('Ana approves this price.');
      await tabTo(page, 'Sign with your passkey');
      await page.keyboard.press('Enter');
      await page.getByText('Your answer is recorded.').waitFor();
    });
    await check(at('the approved offer goes out, exactly as approved, and is accepted'), async () => {
      const sent = await tool(url, 'send_envelope', {
        link: links[0],
        message: 'Our offer stands.',
        status: 'continue',
        reviews: [],
        proposal: {
          terms: ['40 chairs on 12 May 2026', 'Price 950.00 EUR'],
          values: [{ label: 'price', kind: 'money', value: 95000, unit: 'EUR', exponent: 2, term: 1 }],
          authority: [{ term: 0, clauses: ['must_haves[0]'] }, { term: 1, clauses: ['must_haves[1]'] }],
        },
      });
      same(sent.accepted_envelope.status, 'continue', 'status:');
      offer = sent.accepted_envelope.offer_hash;
      const view = await tool(url, 'get_room', { link: agentB });
      await tool(url, 'send_envelope', {
        link: agentB,
        message: 'Agreed.',
        status: 'agree',
        accepts: offer,
        reviews: view.claims_to_review.map((/** @type {{id: string}} */ claim) => ({ claim_id: claim.id, verdict: 'accept' })),
        authority: [{ term: 0, clauses: ['may_agree_to[0]'] }, { term: 1, clauses: ['must_haves[0]'] }],
      });
      await page.getByRole('link', { name: 'Read the brief' }).waitFor();
      await sound(page, 'room, agreed');
    });
    await check(at('the brief says what was agreed and on whose authority'), async () => {
      await page.getByRole('link', { name: 'Read the brief' }).click();
      const text = await page.locator('article').innerText();
      for (const part of ['Price 950.00 EUR', 'signed with a passkey', 'Blue chairs fade', 'Ana approves this price.', "'s sealed card, line"]) {
        if (!text.includes(part)) throw new Error(`the brief does not say: ${part}\n${text}`);
      }
      await sound(page, 'brief');
      await ben.page.goto(`${url}/brief/${room}`);
      const other = await ben.page.locator('article').innerText();
      same(other.includes('950 is fine this once'), false, 'private words on the other side:');
      same(other.split('“At least 850 EUR for the chairs”').length - 1, 1, 'own words, beside the own side alone:');
      await sound(ben.page, 'brief, dark');
      if (width > 600) {
        await page.emulateMedia({ media: 'print' });
        await shot(page, 'brief, printed');
        await page.emulateMedia({ media: 'screen' });
      }
    });
    await check(at('a reading link is made and shows the brief alone'), async () => {
      await page.goto(`${url}/room/${room}/manage`);
      await sound(page, 'manage');
      await page.getByRole('button', { name: 'Make a reading link' }).click();
      const link = (await page.locator('code.value').first().textContent()) ?? '';
      const reader = await window(browser, width);
      await reader.page.goto(link);
      await reader.page.getByText('You look with a reading link.').waitFor();
      same(await reader.page.getByText('We need 40 chairs in May').count(), 0, 'messages shown:');
      await sound(reader.page, 'room by a reading link');
      await reader.context.close();
    });
    await verifying(page, url, room, width);
    await check(at('the skip link skips, and focus is in sight'), async () => {
      await page.goto(url);
      await page.keyboard.press('Tab');
      same(await page.evaluate(() => document.activeElement?.textContent), 'Skip to the content');
      await page.keyboard.press('Enter');
      same(await page.evaluate(() => document.activeElement?.id), 'main');
      await page.keyboard.press('Tab');
      const outline = await page.evaluate(() => getComputedStyle(document.activeElement ?? document.body).outlineWidth);
      same(outline, '3px', 'outline:');
    });
  } finally {
    await page.context().close();
    await ben.context.close();
    server.stop();
  }
}

/**
 * @param {Page} page
 * @param {string} url
 * @param {string} room
 * @param {number} width
 */
async function verifying(page, url, room, width) {
  /** @type {string} */
  let bundle = '';
  const result = page.locator('[data-result]');
  const verdict = async (/** @type {string} */ text) => {
    await page.goto(`${url}/verify`);
    /** @type {string[]} */
    const sent = [];
    page.on('request', (request) => {
      if (request.method() !== 'GET') sent.push(request.url());
    });
    await page.locator('#file').setInputFiles({ name: 'room.json', mimeType: 'application/json', buffer: Buffer.from(text) });
    await result.waitFor();
    same(sent.length, 0, 'requests sent:');
    return result.getAttribute('data-result');
  };
  await check(`the record page checks the room in the browser at ${width}`, async () => {
    await page.goto(`${url}/room/${room}/record`);
    await page.getByRole('button', { name: 'Check it in this browser' }).click();
    await result.waitFor();
    same(await result.getAttribute('data-result'), 'valid', await result.innerText());
    await page.locator('summary').first().click();
    await sound(page, 'record');
  });
  await check(`the Verify page accepts the room's file at ${width}`, async () => {
    await page.goto(`${url}/room/${room}/record`);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download the room' }).click(),
    ]);
    bundle = await readFile(await download.path(), 'utf8');
    same(await verdict(bundle), 'valid', await result.innerText());
    await sound(page, 'verify, valid');
  });
  /** @type {[string, (text: string) => string][]} */
  const tamperings = [
    ['a changed price', (text) => text.replaceAll('Price 950.00 EUR', 'Price 850.00 EUR')],
    ['a changed answer', (text) => text.replaceAll('"ruling":"allow"', '"ruling":"deny"')],
    ['a changed time', (text) => text.replace(/"at":"20(\d\d)-/, '"at":"21$1-')],
    ['a missing entry', (text) => edit(text, (room) => room.entries.splice(3, 1))],
    ['another head', (text) => edit(text, (room) => { room.head.hash = room.entries[0].hash; })],
  ];
  for (const [name, change] of tamperings) {
    await check(`the Verify page refuses ${name} at ${width}`, async () => {
      const text = change(bundle);
      same(text === bundle, false, 'nothing was changed:');
      same(await verdict(text), 'refused', await result.innerText());
      if (name === 'a changed price') await sound(page, 'verify, refused');
    });
  }
}

/**
 * Presses Tab until an element of that name has the focus.
 * @param {Page} page
 * @param {string} name
 */
async function tabTo(page, name) {
  for (let presses = 0; presses < 60; presses += 1) {
    await page.keyboard.press('Tab');
    const found = await page.evaluate((wanted) => {
      const element = document.activeElement;
      const labels = element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement ? element.labels : null;
      return (labels?.[0] ?? element)?.textContent?.trim().startsWith(wanted);
    }, name);
    if (found) return;
  }
  throw new Error(`no Tab reaches ${name}`);
}

/**
 * @param {string} text
 * @param {(room: any) => unknown} change
 */
function edit(text, change) {
  const room = JSON.parse(text);
  change(room);
  return JSON.stringify(room);
}

/** Everything that signs nothing, without a script: entering by a pasted link, the card, an answer by the link, the brief. */
async function withoutScripts() {
  const server = await serve();
  const { url } = server;
  const context = await browser.newContext({ viewport: { width: 390, height: 844 }, javaScriptEnabled: false });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  try {
    const opened = await tool(url, 'create_room', { topic: 'Hall hire', your_principal: 'Ana', counterpart: 'Ben', agent_name: 'Agent A' });
    const joined = await tool(url, 'join_room', { link: opened.invite_link_for_counterpart, agent_name: 'Agent B' });
    await check('scripts off: a pasted personal link opens the room', async () => {
      await page.goto(`${url}/open`);
      await page.getByLabel('Link').fill(await server.principal(opened.room_id));
      await page.getByRole('button', { name: 'Open' }).click();
      await page.getByRole('heading', { name: 'Answer for Ana' }).waitFor();
      await page.getByRole('button', { name: 'Use this browser' }).click();
      await page.getByText('You now answer for this seat.').waitFor();
    });
    await check('scripts off: the card is written and sealed', async () => {
      await page.getByRole('link', { name: 'Write your card' }).click();
      await page.getByLabel('Goal').fill('Rent the hall');
      await page.getByLabel('Must have').first().fill('Seats for the guests');
      await page.getByRole('button', { name: 'Read it once more' }).click();
      await page.getByRole('button', { name: 'Change it' }).click();
      await page.getByLabel(/^May agree to/).fill('A fair price');
      await page.getByRole('button', { name: 'Read it once more' }).click();
      await page.getByRole('button', { name: 'Seal this card' }).click();
      await page.getByText('Your card is sealed.', { exact: true }).waitFor();
    });
    await check('scripts off: a question is answered with the link alone', async () => {
      await tool(url, 'seal_intent_card', { link: joined.your_link, card: { ...CARD_B, goal: 'Let the hall' } });
      await tool(url, 'send_envelope', {
        link: opened.your_link,
        message: 'I have to ask.',
        status: 'escalate',
        escalation: { question: 'May I offer the evening slot?', reason: 'Your card does not say.' },
      });
      await page.getByRole('link', { name: 'Look again' }).click();
      await page.getByRole('link', { name: 'Read and answer' }).click();
      await shot(page, 'ask, scripts off');
      await page.getByLabel('Deny').check();
      await page.getByLabel('In your words, for your agent').fill('No, the morning.');
      same(await page.getByRole('button', { name: 'Sign with your passkey' }).isVisible(), false, 'signing without scripts:');
      await page.getByRole('button', { name: 'Answer without signing' }).click();
      await page.getByText('Your answer is recorded.').waitFor();
    });
    await check('scripts off: leaving, the brief, the record', async () => {
      await page.getByRole('link', { name: 'Show, share, stop' }).click();
      await page.getByLabel('I want to end this room').check();
      await page.getByRole('button', { name: 'Leave the room' }).click();
      await page.getByRole('link', { name: 'Read the brief' }).click();
      const text = await page.locator('article').innerText();
      for (const part of ['NOTHING WAS AGREED', 'refused it', 'not signed']) {
        if (!text.includes(part)) throw new Error(`the brief does not say: ${part}\n${text}`);
      }
      await page.goto(`${url}/room/${opened.room_id}/record`);
      await page.getByText('A person answered').waitFor();
      await shot(page, 'record, scripts off');
    });
  } finally {
    await context.close();
    server.stop();
  }
}
