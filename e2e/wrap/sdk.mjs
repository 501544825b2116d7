// Clients of both generations, by the official SDKs, on a server that is a program.

import { Client as Legacy } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { Client as Modern } from '@modelcontextprotocol/client';
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio';

const info = { name: 'e2e', version: '1.0.0' };
const capabilities = { sampling: {}, elicitation: { form: {} }, roots: { listChanged: true } };

/** A client of 2025-11-25. `notes` collects what it is told. */
export async function legacy([command, ...args]) {
    const client = new Legacy(info, { capabilities });
    client.setRequestHandler(CreateMessageRequestSchema, async () => ({
        model: 'none',
        role: 'assistant',
        content: { type: 'text', text: 'sampled' },
    }));
    client.setRequestHandler(ElicitRequestSchema, async () => ({ action: 'accept', content: { username: 'u', email: 'e@x.example' } }));
    client.setRequestHandler(ListRootsRequestSchema, async () => ({ roots: [{ uri: `file://${process.env.OUT}`, name: 'out' }] }));
    const notes = [];
    client.fallbackNotificationHandler = async (note) => notes.push(note.method);
    const transport = new LegacyStdio({ command, args, env: process.env, stderr: 'ignore' });
    await client.connect(transport);
    return { client, notes, pid: transport.pid };
}

/** A client of 2026-07-28. */
export async function modern([command, ...args]) {
    const client = new Modern(info, {
        capabilities: { elicitation: { form: {} } },
        versionNegotiation: { mode: { pin: '2026-07-28' } },
    });
    client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: { sure: true } }));
    await client.connect(new ModernStdio({ command, args, env: process.env, stderr: 'ignore' }));
    return { client };
}
