// The Inspector's command line lists the tools and calls each of them, in both generations.

import { strict as assert } from 'node:assert';
import { readFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { api, check, installed, mcp, out, run, secret, url } from './check.mjs';

export async function inspector() {
    for (const era of ['legacy', 'modern']) {
        let tools = [];
        const called = new Set();
        await check(`Inspector, ${era}: tools/list, schemas without an error`, async () => {
            tools = (await inspect(era, ['--method', 'tools/list', '--strict'])).tools.map((tool) => tool.name);
            assert.ok(tools.length > 0);
        });
        await check(`Inspector, ${era}: a room with every tool`, () => play(era, called));
        await check(`Inspector, ${era}: no tool was left out`, () => {
            assert.deepEqual([...called].toSorted(), tools.toSorted());
        });
    }
}

async function play(era, called) {
    const tool = async (name, given) => {
        called.add(name);
        const args = ['--method', 'tools/call', '--tool-name', name, '--tool-args-json', JSON.stringify(given)];
        const result = await inspect(era, args);
        assert.notEqual(result.isError, true, `${name}: ${JSON.stringify(result.structuredContent)}`);
        return result.structuredContent;
    };
    const card = (name) => ({
        principal: { name },
        goal: 'Hire a hall',
        must_haves: ['Seats for 80 guests'],
        may_agree_to: ['A fair price'],
    });
    const opened = await tool('create_room', { topic: 'Hall hire', your_principal: 'Ana', counterpart: 'Ben' });
    const a = opened.your_link;
    const b = (await tool('join_room', { link: opened.invite_link_for_counterpart })).your_link;
    await tool('seal_intent_card', { link: a, card: card('Ana') });
    const sealed = await tool('seal_intent_card', { link: b, card: card('Ben') });
    assert.equal(sealed.status, 'negotiating');
    assert.equal((await tool('get_room', { link: a })).your_turn, true);

    const sent = await tool('send_envelope', {
        link: a,
        message: 'We would like the hall.',
        status: 'continue',
        claims: [{ text: 'The hall seats 80 guests', origin: 'assumed' }],
        proposal: {
            terms: ['The hall for a fair price'],
            depends_on: ['new1'],
            authority: [{ term: 0, clauses: ['may_agree_to[0]'] }],
        },
    });
    const [claim] = sent.accepted_envelope.claims;
    const source = { uri: 'https://hall.example/seats.pdf', sha256: '9f'.repeat(32) };
    await tool('attach_source', { link: a, claim_id: claim, ...source });
    const waited = await tool('wait_for_turn', { link: b, since: sealed.since });
    assert.equal(waited.your_turn, true);

    // A person vouches with a credential of their own, which their one-time link gave them. The server prints that link.
    const path = `/api/rooms/${opened.room_id}/principal`;
    const { status, text } = await api('POST', path, secret(await principal(opened.room_id)), { as: 'link' });
    assert.equal(status, 200, text);
    const person = `${url}/room/${opened.room_id}#seat=A&t=${JSON.parse(text).secret}`;
    await tool('confirm_claim', { link: person, claim_id: claim, accept: true });

    const asked = await tool('send_envelope', {
        link: b,
        message: 'One moment.',
        status: 'escalate',
        reviews: [{ claim_id: claim, verdict: 'accept' }],
        escalation: { question: 'Is this price fair?' },
    });
    await tool('answer_escalation', {
        link: b,
        question_id: asked.accepted_envelope.question_id,
        ruling: 'allow',
        answer: 'Yes, it is.',
    });
    assert.equal((await tool('list_rooms', { link: a })).rooms.length, 1);
    const left = await tool('withdraw', { link: b, reason: 'The hall is closed' });
    assert.equal(left.status, 'withdrawn');
    assert.equal((await tool('get_brief', { link: a })).brief.outcome, 'withdrawn');
}

/** The link of the person of seat A, which no agent is given. */
async function principal(room) {
    for (let tries = 0; tries < 100; tries += 1) {
        const printed = await readFile(`${out}/serve.log`, 'utf8');
        const found = printed.match(new RegExp(`http\\S+/room/${room}#seat=A&p=\\S+`));
        if (found) return found[0];
        await setTimeout(50);
    }
    throw new Error(`the server printed no link for ${room}`);
}

async function inspect(era, args) {
    const cli = installed('@modelcontextprotocol/inspector/clients/cli/build/index.js');
    const always = ['--server-url', mcp, '--transport', 'http', '--protocol-era', era, '--format', 'json', '--quiet'];
    const own = { env: { ...process.env, HOME: out } };
    const { status, stdout, stderr } = await run(process.execPath, [cli, ...always, ...args], own);
    assert.equal(status, 0, `${stdout}${stderr}`);
    const answer = JSON.parse(stdout);
    return answer.result ?? answer;
}
