// Streamable HTTP before a server over standard input and output: a process for each session, messages carried as they are.
// bridge.mjs PORT PROGRAM ARGUMENT…

import { createServer } from 'node:http';
import { randomUUID } from 'node:crypto';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { Kept } from './kept.mjs';

const [port, command, ...args] = process.argv.slice(2);
const sessions = new Map();
/** Sessions that are open at once: a client that forgets its own costs a process each. */
const MOST = 4;

async function open() {
    if (sessions.size >= MOST) await sessions.values().next().value.close();
    const behind = new StdioClientTransport({ command, args, env: process.env, stderr: 'inherit' });
    const before = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        eventStore: new Kept(),
        retryInterval: 100,
        enableDnsRebindingProtection: true,
        allowedHosts: [`127.0.0.1:${port}`, `localhost:${port}`],
        onsessioninitialized: (id) => sessions.set(id, before),
    });
    // What a server says while it works on a request belongs to that request's stream.
    const underWay = [];
    before.onmessage = (message, extra) => {
        if (message.method && message.id !== undefined) underWay.push(message.id);
        if (message.params?.name === 'test_reconnection') extra?.closeSSEStream?.();
        behind.send(message);
    };
    behind.onmessage = (message) => {
        const answers = !message.method;
        if (answers) underWay.splice(underWay.indexOf(message.id), 1);
        const relatedRequestId = answers ? undefined : underWay.at(-1);
        before.send(message, { relatedRequestId }).catch((error) => console.error(`bridge: ${error}`));
    };
    before.onclose = () => {
        sessions.delete(before.sessionId);
        behind.close();
    };
    await behind.start();
    await before.start();
    return before;
}

createServer(async (request, response) => {
    const known = sessions.get(request.headers['mcp-session-id']);
    if (known) return known.handleRequest(request, response);
    if (request.headers['mcp-session-id']) return response.writeHead(404).end();
    return (await open()).handleRequest(request, response);
}).listen(Number(port), '127.0.0.1', () => console.error('bridge listens'));
