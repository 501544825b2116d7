// A server of the generation without sessions, made with the official SDK: over standard input and output, or with a port as
// argument over Streamable HTTP. It speaks the older generation too.

import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { McpServer, acceptedContent, createMcpHandler, fromJsonSchema, inputRequired } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const object = (properties) => fromJsonSchema({ type: 'object', properties });
const text = (said) => ({ content: [{ type: 'text', text: said }] });
let asked = 0;

function modern() {
    const server = new McpServer({ name: 'modern', version: '1.0.0' });
    const greeting = { description: 'Greets', inputSchema: object({ name: { type: 'string', 'x-mcp-header': 'Name' } }) };
    server.registerTool('greet', greeting, async ({ name }) => text(`Hello, ${name}`));
    server.registerTool('confirm', { description: 'Asks first', inputSchema: object({}) }, async (_, ctx) => {
        const answer = acceptedContent(ctx.mcpReq.inputResponses, 'sure');
        if (answer) return text(`asked ${asked}, sure ${answer.sure}`);
        asked += 1;
        const requestedSchema = { type: 'object', properties: { sure: { type: 'boolean' } }, required: ['sure'] };
        return inputRequired({ inputRequests: { sure: inputRequired.elicit({ message: 'Sure?', requestedSchema }) } });
    });
    server.registerResource('note', 'note://one', { mimeType: 'text/plain' }, async (uri) => ({
        contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'A note' }],
    }));
    server.registerPrompt('hello', { description: 'Says hello' }, async () => ({
        messages: [{ role: 'user', content: { type: 'text', text: 'Hello' } }],
    }));
    return server;
}

const port = process.argv[2];
if (port) {
    const handler = createMcpHandler(modern);
    createServer(async (request, response) => {
        const body = ['GET', 'HEAD', 'DELETE'].includes(request.method) ? undefined : Readable.toWeb(request);
        const { method, headers } = request;
        const answer = await handler.fetch(new Request(`http://127.0.0.1:${port}${request.url}`, { method, headers, body, duplex: 'half' }));
        response.writeHead(answer.status, Object.fromEntries(answer.headers));
        if (answer.body) for await (const piece of answer.body) response.write(piece);
        response.end();
    }).listen(Number(port), '127.0.0.1', () => console.error('modern listens'));
} else {
    serveStdio(modern);
}
