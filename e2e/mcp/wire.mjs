// Requests written by hand, of every protocol revision.

import { strict as assert } from 'node:assert';
import { check, mcp, url } from './check.mjs';

const TOOLS = [
    'create_room', 'join_room', 'seal_intent_card', 'get_room', 'wait_for_turn', 'send_envelope', 'answer_escalation',
    'get_brief', 'withdraw', 'list_rooms', 'confirm_claim', 'attach_source',
];
const OLDER = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];
const MODERN = '2026-07-28';
const META = 'io.modelcontextprotocol/';

export async function wire() {
    for (const version of OLDER) {
        await check(`by hand: handshake of ${version}`, () => handshake(version, version));
    }
    await check('by hand: an unknown revision is answered with ours', () => handshake('1999-01-01', '2025-11-25'));
    await check('by hand: a batch of 2025-03-26', async () => {
        const ping = (id) => ({ jsonrpc: '2.0', id, method: 'ping' });
        const { status, body } = await post([ping(1), ping(2)], { 'mcp-protocol-version': '2025-03-26' });
        assert.equal(status, 200);
        assert.deepEqual(body.map((answer) => answer.id), [1, 2]);
    });
    await check('by hand: GET is refused, a session can be ended', async () => {
        assert.equal((await fetch(mcp)).status, 405);
        assert.ok((await fetch(mcp, { method: 'DELETE' })).ok);
    });
    await check('by hand: schemas are whole, closed and of 2020-12', async () => {
        const { body } = await post(request('tools/list'), { 'mcp-protocol-version': '2025-11-25' });
        for (const tool of body.result.tools) {
            for (const schema of [tool.inputSchema, tool.outputSchema]) {
                assert.equal(schema.$schema, 'https://json-schema.org/draft/2020-12/schema', tool.name);
                assert.equal(schema.type, 'object', tool.name);
            }
            assert.equal(tool.inputSchema.additionalProperties, false, tool.name);
        }
        assert.doesNotMatch(JSON.stringify(body.result.tools), /"format":"u?int/);
        const send = body.result.tools.find((tool) => tool.name === 'send_envelope');
        assert.ok(Object.keys(send.inputSchema.$defs).length > 0);
    });
    await modern();
}

async function modern() {
    await check('by hand, 2026-07-28: discovery', async () => {
        const { status, headers, body } = await ask('server/discover');
        assert.equal(status, 200, JSON.stringify(body));
        assert.ok(body.result.supportedVersions.includes(MODERN));
        assert.ok(body.result.capabilities.tools);
        assert.equal(headers.get('mcp-session-id'), null);
    });
    await check('by hand, 2026-07-28: tools are listed without a handshake', async () => {
        const { status, body } = await ask('tools/list');
        assert.equal(status, 200, JSON.stringify(body));
        assert.deepEqual(body.result.tools.map((tool) => tool.name), TOOLS);
        assert.equal(body.result.resultType, 'complete');
    });
    await check('by hand, 2026-07-28: a wait ends with the other side\'s envelope', turn);
    await check('by hand, 2026-07-28: a refusal is a tool result with a code', async () => {
        const { status, body } = await call('get_room', { link: 'nonsense' });
        assert.equal(status, 200);
        assert.equal(body.result.isError, true);
        assert.equal(body.result.structuredContent.error.code, 'bad_link');
    });
    await check('by hand, 2026-07-28: no metadata', () => refused('tools/list', { meta: null }, 400, -32602));
    await check('by hand, 2026-07-28: metadata of another revision', () =>
        refused('tools/list', { meta: { [`${META}protocolVersion`]: '2025-11-25' } }, 400, -32020));
    await check('by hand, 2026-07-28: no Mcp-Method', () =>
        refused('tools/list', { headers: { 'mcp-method': undefined } }, 400, -32020));
    await check('by hand, 2026-07-28: another Mcp-Method', () =>
        refused('tools/list', { headers: { 'mcp-method': 'tools/call' } }, 400, -32020));
    await check('by hand, 2026-07-28: another Mcp-Name', () =>
        refused('tools/call', {
            params: { name: 'get_room', arguments: { link: 'x' } },
            headers: { 'mcp-name': 'list_rooms' },
        }, 400, -32020));
    await check('by hand, 2026-07-28: an unknown method', () => refused('no/such', {}, 404, -32601));
    await check('by hand, 2026-07-28: an unknown tool', () =>
        refused('tools/call', { params: { name: 'no_such' }, headers: { 'mcp-name': 'no_such' } }, 200, -32602));
    await check('by hand: a revision that does not exist yet', async () => {
        const version = '2099-01-01';
        const meta = { [`${META}protocolVersion`]: version };
        const { status, body } = await ask('tools/list', { meta, headers: { 'mcp-protocol-version': version } });
        assert.equal(status, 400, JSON.stringify(body));
        assert.ok([-32022, -32600].includes(body.error.code), JSON.stringify(body));
    });
    await check('by hand: foreign hosts and origins are refused', async () => {
        const { status } = await post(request('ping'), { origin: 'http://evil.example' });
        assert.equal(status, 403);
        const own = await post(request('ping'), { origin: url });
        assert.equal(own.status, 200);
    });
}

async function handshake(offered, expected) {
    const params = { protocolVersion: offered, capabilities: {}, clientInfo: { name: 'by-hand', version: '1' } };
    const opened = await post(request('initialize', params));
    assert.equal(opened.status, 200, JSON.stringify(opened.body));
    assert.equal(opened.body.result.protocolVersion, expected);
    assert.equal(opened.body.result.serverInfo.name, 'countersign');
    const session = { 'mcp-protocol-version': expected, 'mcp-session-id': opened.headers.get('mcp-session-id') };
    const note = await post({ jsonrpc: '2.0', method: 'notifications/initialized' }, session);
    assert.equal(note.status, 202);
    const listed = await post(request('tools/list'), session);
    assert.deepEqual(listed.body.result.tools.map((tool) => tool.name), TOOLS);
    assert.deepEqual((await post(request('ping'), session)).body.result, {});
}

async function turn() {
    const give = async (name, given) => {
        const { status, body } = await call(name, given);
        assert.equal(status, 200, `${name}: ${JSON.stringify(body)}`);
        assert.notEqual(body.result.isError, true, `${name}: ${JSON.stringify(body)}`);
        return body.result.structuredContent;
    };
    const card = (name) => ({ principal: { name }, goal: 'Hire a hall', must_haves: ['Seats for 80 guests'] });
    const opened = await give('create_room', { topic: 'Hall hire', your_principal: 'Ana', counterpart: 'Ben' });
    const joined = await give('join_room', { link: opened.invite_link_for_counterpart });
    await give('seal_intent_card', { link: opened.your_link, card: card('Ana') });
    const { since } = await give('seal_intent_card', { link: joined.your_link, card: card('Ben') });
    const [waited] = await Promise.all([
        give('wait_for_turn', { link: joined.your_link, since, timeout_seconds: 25 }),
        give('send_envelope', { link: opened.your_link, message: 'Is the hall free?', status: 'continue' }),
    ]);
    assert.equal(waited.timed_out, false);
    assert.equal(waited.your_turn, true);
    assert.equal(waited.transcript.at(-1).message, 'Is the hall free?');
}

async function refused(method, changes, status, code) {
    const answer = await ask(method, changes);
    assert.deepEqual([answer.status, answer.body.error?.code], [status, code], JSON.stringify(answer.body));
}

function call(name, given) {
    return ask('tools/call', { params: { name, arguments: given }, headers: { 'mcp-name': name } });
}

/** A request of 2026-07-28: metadata in it, and headers that say the same. */
function ask(method, { params = {}, meta = {}, headers = {} } = {}) {
    const whole = {
        [`${META}protocolVersion`]: MODERN,
        [`${META}clientInfo`]: { name: 'by-hand', version: '1' },
        [`${META}clientCapabilities`]: {},
        ...meta,
    };
    const message = request(method, meta === null ? params : { ...params, _meta: whole });
    return post(message, { 'mcp-protocol-version': MODERN, 'mcp-method': method, ...headers });
}

function request(method, params) {
    return { jsonrpc: '2.0', id: 7, method, ...(params && { params }) };
}

async function post(message, headers = {}) {
    const all = { accept: 'application/json, text/event-stream', 'content-type': 'application/json', ...headers };
    const sent = Object.fromEntries(Object.entries(all).filter(([, value]) => value != null));
    const response = await fetch(mcp, { method: 'POST', headers: sent, body: JSON.stringify(message) });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text && JSON.parse(text) };
}
