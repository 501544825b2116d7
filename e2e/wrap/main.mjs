// `countersign wrap` before servers of others, driven by clients of others: what comes through it is what comes without it.

import { strict as assert } from 'node:assert';
import { spawn } from 'node:child_process';
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { check, countersign, installed, out, run, summary } from '../mcp/check.mjs';
import { legacy, modern } from './sdk.mjs';

const node = process.execPath;
const here = (name) => new URL(name, import.meta.url).pathname;
const started = [];

/** A free port of this machine. */
const free = () =>
    new Promise((resolve) => {
        const server = createServer().listen(0, '127.0.0.1', () => {
            const { port } = server.address();
            server.close(() => resolve(port));
        });
    });

/** The command line of the gateway before this. */
const wrap = (name, ...rest) => [countersign, 'wrap', '--state', `${out}/${name}`, ...rest];

/** Starts a program of ours and waits until it says that it listens. */
async function start(...command) {
    const child = spawn(command[0], command.slice(1), { stdio: ['ignore', 'ignore', 'pipe'] });
    started.push(child);
    await new Promise((resolve, reject) => {
        child.stderr.on('data', (said) => String(said).includes('listens') && resolve());
        child.on('exit', (status) => reject(new Error(`${command} ended with ${status}`)));
    });
}

const text = (result) => result.content[0].text;
const notice = (result) => result._meta['countersign/decision'];

/** Until it holds. */
async function until(what, holds) {
    for (let tries = 0; tries < 200; tries += 1) {
        if (await holds()) return;
        await pause(50);
    }
    throw new Error(`never: ${what}`);
}

async function suite(port) {
    const index = installed('@modelcontextprotocol/conformance/dist/index.js');
    const args = [index, 'server', '--suite', 'all', '--url', `http://127.0.0.1:${port}/mcp`];
    const { stdout } = await run(node, args, { cwd: out });
    return stdout.slice(stdout.indexOf('=== SUMMARY ===')).trim();
}

async function conformance() {
    const [http, direct, through, remote] = [await free(), await free(), await free(), await free()];
    await start(node, here('fixture.mjs'), String(http));
    await start(node, here('bridge.mjs'), String(direct), node, here('fixture.mjs'));
    await start(node, here('bridge.mjs'), String(through), ...wrap('suite', '--', node, here('fixture.mjs')));
    await start(node, here('bridge.mjs'), String(remote), ...wrap('suite-http', '--http', `http://127.0.0.1:${http}/mcp`));
    let expected = '';
    await check('conformance suite: the fixture itself passes it all', async () => {
        expected = await suite(direct);
        assert.match(expected, /Total: [0-9]+ passed, 0 failed/);
    });
    await check('conformance suite: the same through wrap', async () => assert.equal(await suite(through), expected));
    await check('conformance suite: the same through wrap --http', async () => assert.equal(await suite(remote), expected));
}

/** What a client sees of a server. */
async function seen({ client }) {
    const has = client.getServerCapabilities();
    const all = {
        server: client.getServerVersion(),
        instructions: client.getInstructions(),
        has,
        tools: await client.listTools(),
    };
    if (has.resources) {
        all.resources = await client.listResources();
        all.templates = await client.listResourceTemplates();
    }
    if (has.prompts) all.prompts = await client.listPrompts();
    return all;
}

const SERVERS = {
    filesystem: (folder) => [installed('@modelcontextprotocol/server-filesystem/dist/index.js'), folder],
    memory: () => [installed('@modelcontextprotocol/server-memory/dist/index.js')],
    everything: () => [installed('@modelcontextprotocol/server-everything/dist/index.js')],
};

async function official() {
    const folder = `${out}/files`;
    await mkdir(folder, { recursive: true });
    process.env.MEMORY_FILE_PATH = `${out}/memory.jsonl`;
    for (const [name, command] of Object.entries(SERVERS)) {
        await check(`${name}: a client sees the same server`, async () => {
            const direct = await legacy([node, ...command(folder)]);
            const through = await legacy(wrap('official', '--', node, ...command(folder)));
            assert.deepEqual(await seen(through), await seen(direct));
            await direct.client.close();
            await through.client.close();
        });
    }
    await check('filesystem: a file is written and read', async () => {
        const { client } = await legacy(wrap('official', '--', node, ...SERVERS.filesystem(folder)));
        const path = `${folder}/a.txt`;
        await client.callTool({ name: 'write_file', arguments: { path, content: 'written through wrap' } });
        assert.equal(await readFile(path, 'utf8'), 'written through wrap');
        assert.equal(text(await client.callTool({ name: 'read_text_file', arguments: { path } })), 'written through wrap');
        const outside = await client.callTool({ name: 'read_text_file', arguments: { path: '/etc/hostname' } });
        assert.equal(outside.isError, true);
        await client.close();
    });
    await check('memory: what is remembered is found', async () => {
        const { client } = await legacy(wrap('official', '--', node, ...SERVERS.memory()));
        const entities = [{ name: 'Ana', entityType: 'person', observations: ['countersigns'] }];
        await client.callTool({ name: 'create_entities', arguments: { entities } });
        const found = await client.callTool({ name: 'search_nodes', arguments: { query: 'countersigns' } });
        assert.match(text(found), /Ana/);
        await client.close();
    });
    await check('everything: progress, logging, sampling, roots, resources, prompts, completion', async () => {
        const { client, notes } = await legacy(wrap('official', '--', node, ...SERVERS.everything()));
        const tools = (await client.listTools()).tools.map((tool) => tool.name);
        assert.equal(text(await client.callTool({ name: 'echo', arguments: { message: 'hi' } })), 'Echo: hi');
        const long = tools.find((name) => name.includes('long-running'));
        const steps = [];
        const options = { onprogress: (step) => steps.push(step.progress) };
        await client.callTool({ name: long, arguments: { duration: 1, steps: 3 } }, undefined, options);
        assert.deepEqual(steps, [1, 2, 3]);
        const sampling = tools.find((name) => name.includes('sampling') && !name.includes('async'));
        assert.match(JSON.stringify(await client.callTool({ name: sampling, arguments: { prompt: 'p', maxTokens: 5 } })), /sampled/);
        const { resources } = await client.listResources();
        assert.ok((await client.readResource({ uri: resources[0].uri })).contents.length > 0);
        const { prompts } = await client.listPrompts();
        const simple = prompts.find((prompt) => !prompt.arguments?.length);
        assert.ok((await client.getPrompt({ name: simple.name })).messages.length > 0);
        assert.ok(Array.isArray(notes));
        await client.close();
    });
}

async function together() {
    const file = `${out}/servers.json`;
    const server = (args, env) => ({ command: node, args, env });
    await mkdir(`${out}/files`, { recursive: true });
    await writeFile(
        file,
        JSON.stringify({
            mcpServers: {
                files: server(SERVERS.filesystem(`${out}/files`)),
                memory: server(SERVERS.memory()),
                fixture: server([here('fixture.mjs')], { PAGE: '1' }),
            },
        }),
    );
    const { client, notes } = await legacy(wrap('many', '--config', file));
    await check('many: tools carry the name of their server, and reach it', async () => {
        const names = (await client.listTools()).tools.map((tool) => tool.name);
        for (const name of ['files__write_file', 'memory__read_graph', 'fixture__count']) assert.ok(names.includes(name), name);
        assert.equal(text(await client.callTool({ name: 'fixture__count', arguments: {} })), '1');
    });
    await check('many: pages of resources are put together, and each is read by its name', async () => {
        const found = [];
        let cursor;
        do {
            const page = await client.listResources({ cursor });
            found.push(...page.resources.map((resource) => resource.uri));
            cursor = page.nextCursor;
        } while (cursor);
        assert.deepEqual(
            found.filter((uri) => uri.startsWith('fixture+')),
            ['static-text', 'static-binary', 'watched-resource'].map((name) => `fixture+test://${name}`),
        );
        const read = await client.readResource({ uri: 'fixture+test://static-text' });
        assert.match(read.contents[0].text, /static text/);
    });
    await check('many: prompts, completion, sampling', async () => {
        const prompt = await client.getPrompt({ name: 'fixture__test_simple_prompt' });
        assert.equal(prompt.messages.length, 1);
        const ref = { type: 'ref/prompt', name: 'fixture__test_prompt_with_arguments' };
        const { completion } = await client.complete({ ref, argument: { name: 'arg1', value: 'par' } });
        assert.equal(completion.values[0], 'paris');
        const sampled = await client.callTool({ name: 'fixture__test_sampling', arguments: { prompt: 'p' } });
        assert.equal(text(sampled), 'LLM response: sampled');
    });
    await check('many: a server that dies fails its own call alone, and comes back', async () => {
        const lost = await client.callTool({ name: 'fixture__die', arguments: {} });
        assert.equal(notice(lost).code, 'unknown');
        assert.match(text(await client.callTool({ name: 'memory__read_graph', arguments: {} })), /entities/);
        await until('the fixture is back', async () => {
            const answer = await client.callTool({ name: 'fixture__count', arguments: {} });
            return !answer.isError && text(answer) === '1';
        });
        assert.ok(notes.includes('notifications/tools/list_changed'));
    });
    await client.close();
}

async function generations() {
    const port = await free();
    await start(node, here('modern.mjs'), String(port));
    const ways = {
        'standard input and output': ['modern', '--', node, here('modern.mjs')],
        http: ['modern-http', '--http', `http://127.0.0.1:${port}/mcp`],
    };
    for (const [way, args] of Object.entries(ways)) {
        await check(`2026-07-28 over ${way}: tools, a question, resources, prompts`, async () => {
            const { client } = await modern(wrap(...args));
            const { tools } = await client.listTools();
            assert.deepEqual(tools.map((tool) => tool.name), ['greet', 'confirm']);
            assert.equal(text(await client.callTool({ name: 'greet', arguments: { name: 'Zoë' } })), 'Hello, Zoë');
            assert.match(text(await client.callTool({ name: 'confirm', arguments: {} })), /sure true$/);
            assert.equal((await client.readResource({ uri: 'note://one' })).contents[0].text, 'A note');
            assert.equal((await client.getPrompt({ name: 'hello' })).messages.length, 1);
            await client.close();
        });
    }
}

async function inspector() {
    const cli = installed('@modelcontextprotocol/inspector/clients/cli/build/index.js');
    const inspect = async (era, target, ...args) => {
        const always = ['--protocol-era', era, '--format', 'json', '--quiet'];
        const config = `${out}/inspector-${era}-${started.length}.json`;
        const [command, ...rest] = target;
        await writeFile(config, JSON.stringify({ mcpServers: { it: { type: 'stdio', command, args: rest } } }));
        const all = [cli, '--config', config, '--server', 'it', ...always, ...args];
        const { status, stdout, stderr } = await run(node, all, { env: { ...process.env, HOME: out } });
        assert.equal(status, 0, `${stdout}${stderr}`);
        const answer = JSON.parse(stdout);
        return answer.result ?? answer;
    };
    for (const era of ['legacy', 'modern']) {
        await check(`Inspector, ${era}: tools are listed and called through wrap`, async () => {
            const target = wrap('inspector', '--', node, here('modern.mjs'));
            const { tools } = await inspect(era, target, '--method', 'tools/list');
            assert.equal(tools.length, 2);
            const call = ['--method', 'tools/call', '--tool-name', 'greet', '--tool-arg', 'name=Ben'];
            assert.equal(text(await inspect(era, target, ...call)), 'Hello, Ben');
        });
    }
}

async function killed() {
    const file = `${out}/calls.txt`;
    const call = { name: 'append', arguments: { file, line: 'once', wait: true } };
    const lines = async () => (await readFile(file, 'utf8').catch(() => '')).split('\n').length - 1;
    const before = await legacy(wrap('killed', '--', node, here('fixture.mjs')));
    await check('killed: a gateway that is killed while a call runs takes its server with it', async () => {
        const running = before.client.callTool(call).catch(() => {});
        await until('the call runs', async () => (await lines()) === 1);
        const children = await readFile(`/proc/${before.pid}/task/${before.pid}/children`, 'utf8');
        process.kill(before.pid, 'SIGKILL');
        await running;
        await until('its server has ended', async () => {
            const alive = await readdir('/proc');
            return !children.trim().split(' ').some((pid) => alive.includes(pid));
        });
    });
    await check('killed: the next one says that the outcome is unknown and does not run the call', async () => {
        const after = await legacy(wrap('killed', '--', node, here('fixture.mjs')));
        const again = await after.client.callTool(call);
        assert.equal(again.isError, true);
        assert.equal(notice(again).code, 'unknown');
        assert.equal(await lines(), 1);
        await after.client.callTool({ ...call, arguments: { file, line: 'once', wait: false } });
        assert.equal(await lines(), 2);
        await after.client.close();
    });
    await check('killed: a server that is killed while a call runs fails it as unknown and is started again', async () => {
        const { client, pid } = await legacy(wrap('killed', '--', node, here('fixture.mjs')));
        const running = client.callTool(call);
        await until('the call runs', async () => (await lines()) === 3);
        const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
        process.kill(Number(children.trim().split(' ')[0]), 'SIGKILL');
        assert.equal(notice(await running).code, 'unknown');
        assert.equal(await lines(), 3);
        await until('it is back', async () => {
            const answer = await client.callTool({ name: 'count', arguments: {} });
            return !answer.isError;
        });
        await client.close();
    });
}

async function evidence() {
    const config = ['--config', `${out}/official/signer/countersign.toml`];
    await check('evidence: what went through wrap is a run that anyone can check', async () => {
        const { client } = await legacy(wrap('official', '--', node, here('fixture.mjs')));
        await client.callTool({ name: 'test_simple_text', arguments: {} });
        await client.readResource({ uri: 'test://static-text' });
        await client.close();
        const listed = await run(countersign, ['evidence', 'runs', '--last', '1', ...config]);
        assert.equal(listed.status, 0, listed.stderr);
        const id = listed.stdout.trim().split(/\s+/)[0];
        const shown = await run(countersign, ['evidence', 'show', id, ...config]);
        for (const kind of ['policy.decision', 'tool.result', 'input.observed', 'run.final']) {
            assert.ok(shown.stdout.includes(`  ${kind}  `), `${kind} is missing:\n${shown.stdout}`);
        }
        const trust = await run(countersign, ['evidence', 'trust', ...config]);
        await writeFile(`${out}/trust.json`, trust.stdout);
        const exported = await run(countersign, ['evidence', 'export', id, '--out', `${out}/run.tkb`, ...config]);
        assert.equal(exported.status, 0, exported.stderr);
        const verified = await run(countersign, ['verify', `${out}/run.tkb`, '--trust', `${out}/trust.json`]);
        assert.equal(verified.status, 0, verified.stdout + verified.stderr);
    });
}

async function policy() {
    const file = `${out}/policy.toml`;
    const rule = (id, tools, then) => `[[rule]]\nid = "${id}"\ntools = ["${tools}"]\nthen = "${then}"\n`;
    await writeFile(file, `default = "allow"\n${rule('R-COUNT', 'mcp:*/count', 'deny')}${rule('R-ASK', 'mcp:*/append', 'ask')}`);
    const { client } = await legacy(wrap('policy', '--policy', file, '--', node, here('fixture.mjs')));
    await check('policy: what it denies does not run, and the agent reads the rule', async () => {
        const denied = await client.callTool({ name: 'count', arguments: {} });
        assert.equal(notice(denied).decision, 'deny');
        assert.equal(notice(denied).code, 'R-COUNT');
    });
    await check('policy: what it asks about waits for nobody', async () => {
        const call = { name: 'append', arguments: { file: `${out}/asked.txt`, line: 'x' } };
        const began = Date.now();
        const asked = await client.callTool(call);
        assert.equal(notice(asked).decision, 'ask');
        assert.ok(Date.now() - began < 5000);
        assert.equal(notice(await client.callTool(call)).approval_id, notice(asked).approval_id);
        await assert.rejects(readFile(`${out}/asked.txt`));
    });
    await client.close();
}

try {
    await official();
    await together();
    await generations();
    await inspector();
    await killed();
    await evidence();
    await policy();
    await conformance();
} finally {
    for (const child of started) child.kill();
}
// Programs that still end hold nobody up.
process.exit(summary());
