// A room between Ana's agent on the TypeScript SDK and Ben's on the Python SDK, to agreement; then its bundle, judged by
// `countersign verify`.

import { strict as assert } from 'node:assert';
import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { api, check, countersign, mcp, out, python, run, secret } from './check.mjs';
import * as script from './script.mjs';

export async function rooms() {
    for (const [mode, version] of [['auto', '2026-07-28'], ['legacy', '2025-11-25']]) {
        let room;
        await check(`SDKs: TypeScript 2025-11-25 and Python ${version} agree`, async () => {
            room = await play(mode, version);
        });
        await check(`SDKs: the bundle of that room verifies, a changed one does not (${mode})`, () => verify(room, mode));
    }
}

async function play(mode, version) {
    const ana = new Client({ name: 'anas-agent', version: '1' });
    await ana.connect(new StreamableHTTPClientTransport(new URL(mcp)));
    try {
        // Once tools are listed, the SDK checks every result against its schema.
        await ana.listTools();
        const opened = await call(ana, 'create_room', script.room);
        const [seen, other] = await Promise.all([
            playAna(ana, opened.your_link),
            playBen(opened.invite_link_for_counterpart, mode),
        ]);
        assert.equal(other.version, version);
        assert.equal(other.status, 'agreed');
        assert.equal(other.brief_hash, seen.brief_hash, 'both sides have the same brief');
        return { id: opened.room_id, secret: secret(opened.your_link) };
    } finally {
        await ana.close();
    }
}

async function playAna(ana, link) {
    const tool = (name, given = {}) => call(ana, name, { link, ...given });
    const wait = async (since) => {
        for (;;) {
            const view = await tool('wait_for_turn', { since, timeout_seconds: 20 });
            if (view.your_turn) return view;
            since = view.since;
        }
    };
    const sealed = await tool('seal_intent_card', { card: script.anasCard });
    const first = await wait(sealed.since);
    const sent = await tool('send_envelope', { ...script.opening });
    const second = await wait(sent.room.since);
    assert.ok(second.version > first.version);
    const challenged = second.claims.find((claim) => claim.origin === 'assumed');
    assert.equal(challenged.verified, false);
    const offer = second.offers.at(-1).offer_hash;
    const asked = await tool('send_envelope', script.question(offer, second.claims_to_review));
    assert.equal(asked.room.status, 'paused');
    const answered = await tool('answer_escalation', script.answer(asked.accepted_envelope.question_id));
    assert.equal(answered.outcome.standing, 'relayed');
    const agreed = await tool('send_envelope', script.agreement(offer));
    assert.equal(agreed.room.status, 'agreed', JSON.stringify(agreed.accepted_envelope));
    const brief = await tool('get_brief');
    assert.equal(brief.brief.outcome, 'agreed');
    return brief;
}

async function call(client, name, given) {
    const result = await client.callTool({ name, arguments: given });
    assert.notEqual(result.isError, true, `${name}: ${JSON.stringify(result.structuredContent)}`);
    return result.structuredContent;
}

function playBen(invite, mode) {
    const program = fileURLToPath(new URL('ben.py', import.meta.url));
    return new Promise((resolve, reject) => {
        const child = spawn(python, [program, mcp, invite, mode], { timeout: 120_000 });
        const text = { stdout: '', stderr: '' };
        for (const stream of ['stdout', 'stderr']) {
            child[stream].setEncoding('utf8').on('data', (more) => (text[stream] += more));
        }
        child.on('error', reject);
        child.on('close', (status) => {
            if (status === 0) resolve(JSON.parse(text.stdout));
            else reject(new Error(`Ben's agent ended with ${status}: ${text.stderr}`));
        });
        child.stdin.end(JSON.stringify(script.bensCard));
    });
}

async function verify(room, mode) {
    assert.ok(room, 'no room was played');
    const bundle = `${out}/room-${mode}.json`;
    const trust = `${out}/trust.json`;
    const keys = await run(countersign, ['keys', 'trust']);
    assert.equal(keys.status, 0, keys.stderr);
    await writeFile(trust, keys.stdout);
    const text = await exported(room);
    await writeFile(bundle, text);
    const verdict = await run(countersign, ['verify', bundle, '--trust', trust]);
    assert.equal(verdict.status, 0, verdict.stdout + verdict.stderr);
    assert.match(verdict.stdout, /^valid: every check passed, by keys you trust/);

    await writeFile(bundle, text.replace('950 EUR by bank transfer', '590 EUR by bank transfer'));
    const changed = await run(countersign, ['verify', bundle, '--trust', trust]);
    assert.equal(changed.status, 1, changed.stdout + changed.stderr);
}

/** The bundle, once the log's checkpoint covers the room. */
async function exported(room) {
    for (let tries = 0; tries < 100; tries += 1) {
        const { status, text } = await api('GET', `/api/rooms/${room.id}/bundle`, room.secret);
        assert.equal(status, 200, text);
        if (JSON.parse(text).log) return text;
        await pause(50);
    }
    throw new Error('the log did not take the room within five seconds');
}
