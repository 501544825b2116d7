// The whole path of an invoice, told by lines: each check prints one, and any that fails ends in 1.
import { spawn, spawnSync } from 'node:child_process';
import { createHash, createPrivateKey, randomBytes, sign } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

const { NODE, PYTHON, COUNTERSIGN, OUT } = process.env;
const contracts = JSON.parse(readFileSync(new URL('../../../contracts/evm/contracts.json', import.meta.url), 'utf8'));
const started = [];
let failed = 0;

function check(what, holds, seen = '') {
  console.log(`${holds ? 'ok  ' : 'FAIL'} ${what}${holds ? '' : ` ${typeof seen === 'string' ? seen : JSON.stringify(seen)}`}`);
  if (!holds) failed += 1;
}

async function port() {
  const server = createServer();
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

/** Starts a process and waits until it has printed this. */
function start(program, args, until) {
  const child = spawn(program, args, { cwd: OUT, stdio: ['ignore', 'pipe', 'inherit'] });
  started.push(child);
  return new Promise((done, fail) => {
    let text = '';
    child.stdout.on('data', (chunk) => {
      text += chunk;
      if (text.includes(until)) done({ child, text });
    });
    child.on('exit', (code) => fail(new Error(`${program} ${args.join(' ')} ended with ${code}: ${text}`)));
  });
}

function run(...args) {
  const done = spawnSync(COUNTERSIGN, args, { cwd: OUT, encoding: 'utf8' });
  if (done.status !== 0) throw new Error(`countersign ${args.join(' ')}: ${done.stdout}${done.stderr}`);
  return done.stdout.trim();
}

const file = (name, text) => writeFileSync(`${OUT}/${name}`, text, { mode: 0o600 });
const secret = () => randomBytes(24).toString('hex');
const lined = (text, word) => text.split('\n').find((line) => line.trim().startsWith(`${word} `)).trim().slice(word.length).trim();

/** Canonical JSON of what has only texts, booleans, null, lists and objects. */
function canonical(value) {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical)}]`;
  return `{${Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`)}}`;
}

// The billing source.
const stripe = `http://127.0.0.1:${await port()}`;
const listens = async (url) => {
  for (let tries = 0; tries < 100; tries += 1) {
    if (await fetch(url).then(() => true, () => false)) return;
    await pause(100);
  }
  throw new Error(`nothing listens at ${url}`);
};
started.push(spawn(PYTHON, [new URL('source.py', import.meta.url).pathname, new URL(stripe).port], { stdio: 'ignore' }));
await listens(stripe);
async function bill(path, form = {}) {
  const headers = { authorization: 'Bearer sk_test_12345', 'content-type': 'application/x-www-form-urlencoded' };
  const answer = await fetch(`${stripe}/v1/${path}`, { method: 'POST', headers, body: new URLSearchParams(form) });
  return answer.json();
}
const vendor = 'addr_test1vzs6rgdp5xs6rgdp5xs6rgdp5xs6rgdp5xs6rgdp5xs6rggfw5wvl';
const customer = (await bill('customers', { email: 'billing@acme.example' })).id;
async function invoice(number, cents, vendorId = 'aws') {
  await bill('invoiceitems', { customer, amount: cents, currency: 'usd' });
  const { id } = await bill('invoices', {
    customer,
    'metadata[number]': number,
    'metadata[vendor_id]': vendorId,
    'metadata[payout_chain]': 'cardano-preprod',
    'metadata[payout_address]': vendor,
  });
  // Nobody can be charged, so it is finalized and stays open.
  await bill(`invoices/${id}/pay`);
  return id;
}

// The development chain, its contracts, and the owner's key.
const owner = `0x${randomBytes(32).toString('hex')}`;
const node = `http://127.0.0.1:${await port()}`;
await start(NODE, [new URL('chain.mjs', import.meta.url).pathname, new URL(node).port, owner], 'ready');
async function rpc(method, ...params) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const answer = await (await fetch(node, { method: 'POST', headers: { 'content-type': 'application/json' }, body })).json();
  if (answer.error) throw new Error(`${method}: ${answer.error.message}`);
  return answer.result;
}
const [account] = await rpc('eth_accounts');
async function transact(transaction) {
  const hash = await rpc('eth_sendTransaction', { from: account, gas: '0xf4240', ...transaction });
  return rpc('eth_getTransactionReceipt', hash);
}
const registry = (await transact({ data: contracts.ReportRegistry.bytecode })).contractAddress;
const feed = (await transact({ data: contracts.TestFeed.bytecode })).contractAddress;
const word = (number) => BigInt(number).toString(16).padStart(64, '0');
/** set(uint256,uint256) */
const setPrice = (price, at) => transact({ to: feed, data: `0x1ab06ee5${word(price)}${word(at)}` });
await setPrice(18_340_000, Math.floor(Date.now() / 1000));

// Three verifiers, each with its own key and its own way to the source.
const serverSecret = secret();
const verifiers = [];
for (const name of ['north', 'south', 'west']) {
  mkdirSync(`${OUT}/${name}`, { mode: 0o700 });
  file(`${name}/server.secret`, serverSecret);
  file(`${name}/stripe.key`, 'sk_test_12345');
  const listen = `127.0.0.1:${await port()}`;
  const config = (url) => `name = "${name}"
listen = "${listen}"
data = "${name}"
fetch_allow = ["${new URL(url).host}", "${new URL(node).host}"]
callers = ["server.secret"]
[stripe]
url = "${url}"
key_file = "stripe.key"
[customers]
"M-001" = "${customer}"
[feeds]
"BRL/USD" = { url = "${node}", chain_id = 1337, contract = "${feed}" }
`;
  file(`${name}.toml`, config(stripe));
  const { child, text } = await start(COUNTERSIGN, ['verifier', '--config', `${name}.toml`], 'key ');
  verifiers.push({ name, listen, config, child, key: lined(text, 'key') });
}

// The principal anchors a mandate on the embedded ledger and fills its vault.
mkdirSync(`${OUT}/data`, { mode: 0o700 });
file('data/server.secret', serverSecret);
file('data/agent.secret', secret());
file('data/owner.key', owner);
const keys = Object.fromEntries(
  ['principal', 'approver', 'agent', 'data/engine'].map((name) => {
    const [key, hash] = run('mandate', 'key', `${name}.jwk`).split(' ');
    return [name, { key, hash }];
  }),
);
const deny = (id, kind, rest) => ({ id, kind, on_violation: 'DENY', ...rest });
file('M-001.json', JSON.stringify({
  schema: 'mandate/v0.1', id: 'M-001', version: 1, status: 'active',
  principal: { type: 'organization', id: 'acme', name: 'Acme Corp', cardano_key_hash: keys.principal.hash },
  delegate: { type: 'agent', id: 'cfo-agent-01', public_key: keys.agent.key },
  approvers: [{ role: 'CFO', cardano_key_hash: keys.approver.hash }],
  authority_engine: { public_key: keys['data/engine'].key },
  asset: { symbol: 'USDM', decimals: 6 },
  validity: { starts_at: '2020-01-01T00:00:00Z', expires_at: '2099-01-01T00:00:00Z' },
  delegation: { allowed: false }, interrupt_budget: { per_day: 3 },
  constraints: [
    deny('vendors', 'counterparty_in', { values: ['aws'] }), deny('acts', 'action_in', { values: ['pay_invoice'] }),
    { id: 'autonomous', kind: 'amount_lte', value: '10000000', on_violation: 'ESCALATE', approver: 'CFO' },
    deny('hard_cap', 'amount_lte', { value: '25000000' }), deny('daily', 'daily_spend_lte', { value: '90000000' }),
    deny('floor', 'balance_after_gte', { value: '1000000' }), deny('facts', 'verified_facts', { source: 'stripe' }),
  ],
}));
const base = '\n[mandates]\n';
file('countersign.toml', `data = "data"\n${base}`);
const token = `${'ee'.repeat(28)}.745553444d`;
const principal = (...args) => run('mandate', 'principal', ...args);
principal('fund', '--times', '6');
const anchored = principal('anchor', 'M-001.json', '--asset', token, '--key', 'principal.jwk');
principal('open', lined(anchored, 'mandate_ref'), '--vault', 'vault.json', '--key', 'principal.jwk');
principal('fund', bech32(keys.principal.hash), '--asset', token, '--amount', '150000000');
principal('deposit', 'vault.json', '--amount', '150000000', '--key', 'principal.jwk');
const vault = JSON.parse(readFileSync(`${OUT}/vault.json`, 'utf8'));
file('data/M-001.json', readFileSync(`${OUT}/M-001.json`, 'utf8'));

const at = `127.0.0.1:${await port()}`;
const hosts = [node, ...verifiers.map(({ listen }) => `http://${listen}`)].map((url) => `"${new URL(url).host}"`);
const table = (name, members) => `[[mandates.${name}]]\n${Object.entries(members).map(([k, v]) => `${k} = ${JSON.stringify(v)}`).join('\n')}\n`;
file('countersign.toml', `listen = "${at}"
data = "data"
[server]
public_url = "http://${at}"
fetch_allow = [${hosts}]
${base}verify_seconds = 5
${table('callers', { name: 'cfo-agent', kind: 'agent', key_file: 'agent.secret', mandates: ['M-001'] })}
${verifiers.map(({ name, listen, key }) => table('verifiers', { name, url: `http://${listen}`, key, secret_file: 'server.secret' })).join('\n')}
[mandates.registry]
url = "${node}"
chain_id = 1337
contract = "${registry}"
key_file = "owner.key"
depth = 1
${table('anchored', { file: 'M-001.json' })}[mandates.anchored.vault]
${Object.entries(vault).map(([k, v]) => `${k} = ${JSON.stringify(v)}`).join('\n')}
`);
await start(COUNTERSIGN, ['serve', '--config', 'countersign.toml'], 'listens on');

const agentSecret = readFileSync(`${OUT}/data/agent.secret`, 'utf8');
const signer = createPrivateKey({ key: JSON.parse(readFileSync(`${OUT}/agent.jwk`, 'utf8')), format: 'jwk' });
async function ask(path, body) {
  const headers = { authorization: `Bearer ${agentSecret}`, 'content-type': 'application/json' };
  const answer = await fetch(`http://${at}${path}`, { method: body ? 'POST' : 'GET', headers, body: body && JSON.stringify(body) });
  return { status: answer.status, body: await answer.json(), after: answer.headers.get('retry-after') };
}
async function pay(id, invoiceId, number, cents) {
  const action = {
    schema: 'action-ir/v0.1', id, mandate_id: 'M-001', actor: 'cfo-agent-01', type: 'pay_invoice', purpose: 'vendor_invoice',
    counterparty: { id: 'aws', display: 'Amazon Web Services' }, amount: { value: String(cents * 10_000), asset: 'USDM' },
    recipient: { chain: 'cardano', address: vendor }, source: { vault: 'treasury-main' },
    reference: { invoice_id: invoiceId, invoice_number: number }, rationale: 'It is due.', created_at: '2026-11-07T08:00:00Z',
  };
  const hash = createHash('sha256').update(canonical(action)).digest();
  const agent_signature = sign(null, Buffer.concat([Buffer.from('AGENT_PROPOSAL_V1'), hash]), signer).toString('hex');
  const answer = await ask('/v1/authority/check', { mandate_id: 'M-001', execute: true, proposal: { action, agent_signature } });
  const { evaluation, code, verification } = answer.body;
  const said = evaluation ? [evaluation.outcome, evaluation.reason].filter(Boolean).join(' ') : code;
  return { ...answer, said, by: verification?.statements?.map((one) => one.statement.verifier), verification };
}

try {
  const one = await invoice('AWS-1', 842);
  const all = await pay('A-1', one, 'AWS-1', 842);
  check('an open invoice is paid on the word of the verifiers', all.said === 'ALLOW' && all.by.length === 3, all);
  const receipt = await rpc('eth_getTransactionReceipt', all.verification?.sepolia_tx);
  check('the report is in the registry, by its trigger and its hash', receipt?.to === registry && receipt.logs[0].topics[3] === `0x${all.verification.report_hash}`, receipt);

  verifiers[2].child.removeAllListeners('exit');
  verifiers[2].child.kill();
  const two = await pay('A-2', await invoice('AWS-2', 500), 'AWS-2', 500);
  check('with one verifier stopped two of three are enough', two.said === 'ALLOW' && two.by.length === 2, two);

  verifiers[1].child.removeAllListeners('exit');
  verifiers[1].child.kill();
  const few = await pay('A-3', await invoice('AWS-3', 500), 'AWS-3', 500);
  check('with two stopped nothing is decided: 503, later', few.status === 503 && few.said === 'VERIFICATION_UNAVAILABLE' && few.after === '30', few);

  // South comes back with a source that says void of everything: it lies.
  const liar = (await import('node:http')).createServer(async (request, response) => {
    const answer = await fetch(`${stripe}${request.url}`, { headers: { authorization: request.headers.authorization } });
    response.writeHead(answer.status, { 'content-type': 'application/json' });
    response.end((await answer.text()).replace('"status": "open"', '"status": "void"'));
  });
  await new Promise((done) => liar.listen(0, '127.0.0.1', done));
  file('south.toml', verifiers[1].config(`http://127.0.0.1:${liar.address().port}`));
  await start(COUNTERSIGN, ['verifier', '--config', 'south.toml'], 'key ');
  const split = await pay('A-4', await invoice('AWS-4', 500), 'AWS-4', 500);
  check('one against one is no report', split.said === 'VERIFICATION_UNAVAILABLE', split);
  await start(COUNTERSIGN, ['verifier', '--config', 'west.toml'], 'key ');
  const lied = await pay('A-5', await invoice('AWS-5', 500), 'AWS-5', 500);
  const other = lied.verification?.dissent?.[0];
  check('a verifier that lies is outvoted', lied.said === 'ALLOW' && lied.by.length === 2, lied);
  check('and what it said is kept beside the report', other?.signed.statement.verifier === 'south' && other.report.status === 'void', other);
  liar.close();

  const wrong = await pay('A-6', await invoice('AWS-6', 500), 'AWS-6', 501);
  check('another amount than the invoice has', wrong.said === 'DENY AMOUNT_MISMATCH', wrong);
  const looks = await pay('A-7', await invoice('AWS-7', 500, '\u0430ws'), 'AWS-7', 500);
  check('a vendor that only looks like it', looks.said === 'DENY CUSTOMER_MISMATCH', looks);
  const number = await pay('A-8', await invoice('AWS-8', 500), 'AWS-80', 500);
  check('another number than the invoice has', number.said === 'DENY INVOICE_NOT_FOUND', number);
  const none = await pay('A-9', 'in_none', 'AWS-9', 500);
  check('an invoice that is not there', none.said === 'DENY INVOICE_NOT_FOUND', none);

  const void_ = await invoice('AWS-10', 500);
  const card = { type: 'card', 'card[number]': '4000000000000341', 'card[exp_month]': 12, 'card[exp_year]': 2040, 'card[cvc]': '123' };
  const method = (await bill('payment_methods', card)).id;
  await bill(`payment_methods/${method}/attach`, { customer });
  await bill(`customers/${customer}`, { 'invoice_settings[default_payment_method]': method });
  await bill(`invoices/${void_}/pay`);
  await bill(`invoices/${void_}/void`);
  const voided = await pay('A-10', void_, 'AWS-10', 500);
  check('a void invoice', voided.said === 'DENY INVOICE_NOT_OPEN', voided);

  const quote = (rate, pair = 'BRL/USD') => ask('/v1/quotes', { mandate_id: 'M-001', quote: { pair, rate } });
  const result = ({ body }) => body.evidence?.report.result;
  const good = await quote('0.1835');
  check('a quote near the feed is on market', result(good) === 'ON_MARKET', good);
  check('one far from it is off', result(await quote('0.19')) === 'OFF_MARKET');
  check('a pair without a feed is not judged', (await quote('1.1', 'EUR/USD')).status === 503);
  await setPrice(18_340_000, Math.floor(Date.now() / 1000) - 7200);
  const stale = await quote('0.1834');
  check('a price two hours old says nothing of now', stale.body.evidence?.report.reason === 'PRICE_STALE', stale);

  // Offline, by both verifiers, with the keys of the three.
  const proof = (await ask('/v1/mandates/M-001/proof')).body;
  file('trust.json', JSON.stringify({ servers: [proof.export.key], verifiers: verifiers.map(({ key }) => key), verifiers_required: 2 }));
  const js = new URL('../../../verifier-js/cli.mjs', import.meta.url).pathname;
  for (const [name, value] of [['log.json', proof], ['quote.json', good.body]]) {
    file(name, JSON.stringify(value));
    const ours = spawnSync(COUNTERSIGN, ['verify', name, '--trust', 'trust.json'], { cwd: OUT, encoding: 'utf8' });
    const second = spawnSync(NODE, [js, name, '--trust', 'trust.json'], { cwd: OUT, encoding: 'utf8' });
    check(`${name} verifies offline, twice`, ours.status === 0 && second.status === 0, ours.stdout + second.stdout);
  }
  const bent = {
    'a statement that is not signed': (file) => { file.evidence.statements[0].signature = '11'.repeat(64); },
    'one verifier twice': (file) => { file.evidence.statements[1] = file.evidence.statements[0]; },
    'another rate': (file) => { file.evidence.report.quote.rate = '0.2'; },
    'no statement': (file) => { delete file.evidence.statements; },
    'a statement of another hour': (file) => { file.evidence.block_time_ms += 3_600_000; },
    'a surplus member': (file) => { file.note = 'x'; },
  };
  for (const [what, edit] of Object.entries(bent)) {
    const changed = structuredClone(good.body);
    edit(changed);
    file('bent.json', JSON.stringify(changed));
    const said = [[COUNTERSIGN, 'verify', 'bent.json', '--json'], [NODE, js, 'bent.json']].map(([program, ...args]) => {
      const { verdict, code } = JSON.parse(spawnSync(program, args, { cwd: OUT, encoding: 'utf8' }).stdout);
      return `${verdict} ${code}`;
    });
    check(`both verifiers refuse ${what}: ${said[0]}`, said[0] === said[1] && said[0].startsWith('refused'), said);
  }
  file('strict.json', JSON.stringify({ servers: [proof.export.key], verifiers: verifiers.map(({ key }) => key), verifiers_required: 3 }));
  const strict = spawnSync(COUNTERSIGN, ['verify', 'log.json', '--trust', 'strict.json'], { cwd: OUT, encoding: 'utf8' });
  check('whoever demands all three is told that they are not there', strict.status === 1 && `${strict.stdout}${strict.stderr}`.includes('verifiers_missing'), strict.stdout);
} finally {
  for (const child of started) {
    child.removeAllListeners('exit');
    child.kill();
  }
}
process.exit(failed > 0 ? 1 : 0);

/** The enterprise address of a key on a test network. */
function bech32(keyHash) {
  const letters = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';
  const words = [];
  let [held, bits] = [0, 0];
  for (const byte of Buffer.from(`60${keyHash}`, 'hex')) {
    held = ((held << 8) | byte) & 0xfff;
    for (bits += 8; bits >= 5; bits -= 5) words.push((held >> (bits - 5)) & 31);
  }
  if (bits > 0) words.push((held << (5 - bits)) & 31);
  const prefix = 'addr_test';
  const codes = [...prefix].map((letter) => letter.charCodeAt(0));
  let sum = 1;
  for (const word of [...codes.map((code) => code >> 5), 0, ...codes.map((code) => code & 31), ...words, 0, 0, 0, 0, 0, 0]) {
    const top = sum >>> 25;
    sum = ((sum & 0x1ffffff) << 5) ^ word;
    [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3].forEach((part, at) => {
      if ((top >> at) & 1) sum ^= part;
    });
  }
  const end = [0, 1, 2, 3, 4, 5].map((at) => ((sum ^ 1) >>> (5 * (5 - at))) & 31);
  return `${prefix}1${[...words, ...end].map((word) => letters[word]).join('')}`;
}
