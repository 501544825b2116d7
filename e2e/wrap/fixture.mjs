// A server with the tools, resources and prompts of the conformance suite: over standard input and output, or with a port as
// argument over Streamable HTTP.

import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import * as types from '@modelcontextprotocol/sdk/types.js';
import { Kept } from './kept.mjs';

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
const WAV = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAA';

const text = (said) => ({ content: [{ type: 'text', text: said }] });
const empty = { type: 'object', properties: {} };
const image = { type: 'image', data: PNG, mimeType: 'image/png' };

const choice = (...pairs) => pairs.map(([value, title]) => ({ const: value, title }));
const DEFAULTS = {
    name: { type: 'string', description: 'User name', default: 'John Doe' },
    age: { type: 'integer', description: 'User age', default: 30 },
    score: { type: 'number', description: 'User score', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', description: 'Verification status', default: true },
};
const ENUMS = {
    untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
    titledSingle: {
        type: 'string',
        oneOf: choice(['value1', 'First Option'], ['value2', 'Second Option'], ['value3', 'Third Option']),
    },
    legacyEnum: {
        type: 'string',
        enum: ['opt1', 'opt2', 'opt3'],
        enumNames: ['Option One', 'Option Two', 'Option Three'],
    },
    untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
    titledMulti: {
        type: 'array',
        items: { anyOf: choice(['value1', 'First Choice'], ['value2', 'Second Choice'], ['value3', 'Third Choice']) },
    },
};

const elicited = ({ action, content }) => `action=${action}, content=${JSON.stringify(content ?? {})}`;

const form = (params, extra) =>
    extra.sendRequest({ method: 'elicitation/create', params }, types.ElicitResultSchema);

const TOOLS = {
    test_simple_text: [empty, async () => text('This is a simple text response for testing.')],
    test_image_content: [empty, async () => ({ content: [image] })],
    test_audio_content: [empty, async () => ({ content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }] })],
    test_embedded_resource: [
        empty,
        async () => ({
            content: [
                {
                    type: 'resource',
                    resource: {
                        uri: 'test://embedded-resource',
                        mimeType: 'text/plain',
                        text: 'This is an embedded resource content.',
                    },
                },
            ],
        }),
    ],
    test_multiple_content_types: [
        empty,
        async () => ({
            content: [
                { type: 'text', text: 'Multiple content types test:' },
                image,
                {
                    type: 'resource',
                    resource: {
                        uri: 'test://mixed-content-resource',
                        mimeType: 'application/json',
                        text: JSON.stringify({ test: 'data', value: 123 }),
                    },
                },
            ],
        }),
    ],
    test_tool_with_logging: [
        empty,
        async (_, extra) => {
            for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
                await extra.sendNotification({ method: 'notifications/message', params: { level: 'info', data } });
                await pause(50);
            }
            return text('Tool with logging executed successfully');
        },
    ],
    test_error_handling: [
        empty,
        async () => ({ ...text('This tool intentionally returns an error for testing'), isError: true }),
    ],
    test_tool_with_progress: [
        empty,
        async (_, extra) => {
            const progressToken = extra._meta?.progressToken;
            for (const progress of [0, 50, 100]) {
                if (progressToken !== undefined) {
                    const params = { progressToken, progress, total: 100 };
                    await extra.sendNotification({ method: 'notifications/progress', params });
                }
                await pause(50);
            }
            return text(String(progressToken));
        },
    ],
    test_sampling: [
        { type: 'object', properties: { prompt: { type: 'string' } }, required: ['prompt'] },
        async ({ prompt }, extra) => {
            const messages = [{ role: 'user', content: { type: 'text', text: prompt } }];
            const request = { method: 'sampling/createMessage', params: { messages, maxTokens: 100 } };
            const result = await extra.sendRequest(request, types.CreateMessageResultSchema);
            return text(`LLM response: ${result.content.text}`);
        },
    ],
    test_elicitation: [
        { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
        async ({ message }, extra) => {
            const properties = {
                username: { type: 'string', description: "User's response" },
                email: { type: 'string', description: "User's email address" },
            };
            const requestedSchema = { type: 'object', properties, required: ['username', 'email'] };
            return text(`User response: ${elicited(await form({ message, requestedSchema }, extra))}`);
        },
    ],
    test_elicitation_sep1034_defaults: [
        empty,
        async (_, extra) => {
            const requestedSchema = { type: 'object', properties: DEFAULTS, required: [] };
            const answer = await form({ message: 'Defaults, please', requestedSchema }, extra);
            return text(`Elicitation completed: ${elicited(answer)}`);
        },
    ],
    test_elicitation_sep1330_enums: [
        empty,
        async (_, extra) => {
            const requestedSchema = { type: 'object', properties: ENUMS, required: [] };
            const answer = await form({ message: 'Choose, please', requestedSchema }, extra);
            return text(`Elicitation completed: ${elicited(answer)}`);
        },
    ],
    json_schema_2020_12_tool: [
        {
            $schema: 'https://json-schema.org/draft/2020-12/schema',
            type: 'object',
            $defs: {
                address: { type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } },
            },
            properties: { name: { type: 'string' }, address: { $ref: '#/$defs/address' } },
            additionalProperties: false,
        },
        async (given) => text(JSON.stringify(given)),
    ],
    test_reconnection: [
        empty,
        async (_, extra) => {
            extra.closeSSEStream?.();
            await pause(100);
            return text('Reconnection test completed');
        },
    ],
    // What the suite has not: one that ends the server, one that counts, one that leaves a trace and may never be done.
    die: [empty, async () => process.exit(3)],
    count: [empty, async () => text(String((counted += 1)))],
    append: [
        empty,
        async ({ file, line, wait }) => {
            appendFileSync(file, `${line}\n`);
            return wait ? new Promise(() => {}) : text('done');
        },
    ],
};
let counted = 0;

const STATIC = [
    {
        uri: 'test://static-text',
        name: 'Static text',
        description: 'A text',
        mimeType: 'text/plain',
        read: { text: 'This is the content of the static text resource.' },
    },
    { uri: 'test://static-binary', name: 'Static binary', description: 'An image', mimeType: 'image/png', read: { blob: PNG } },
    { uri: 'test://watched-resource', name: 'Watched', description: 'A text', mimeType: 'text/plain', read: { text: 'Watched' } },
];
const TEMPLATE = /^test:\/\/template\/([^/]+)\/data$/;

const user = (content) => ({ role: 'user', content });
const said = (words) => user({ type: 'text', text: words });
const argument = (name) => ({ name, description: `Argument ${name}`, required: true });
const PROMPTS = {
    test_simple_prompt: [[], () => [said('This is a simple prompt for testing.')]],
    test_prompt_with_arguments: [
        [argument('arg1'), argument('arg2')],
        ({ arg1, arg2 }) => [said(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)],
    ],
    test_prompt_with_embedded_resource: [
        [argument('resourceUri')],
        ({ resourceUri }) => [
            user({
                type: 'resource',
                resource: { uri: resourceUri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' },
            }),
            said('Please process the embedded resource above.'),
        ],
    ],
    test_prompt_with_image: [[], () => [user(image), said('Please analyze the image above.')]],
};

/** Some, and where the rest begins. */
const page = (all, cursor, size) => {
    const from = Number(cursor ?? 0);
    const nextCursor = from + size < all.length ? String(from + size) : undefined;
    return [all.slice(from, from + size), nextCursor];
};

export function fixture() {
    const server = new Server(
        { name: 'fixture', version: '1.0.0' },
        {
            capabilities: {
                tools: { listChanged: true },
                resources: { subscribe: true, listChanged: true },
                prompts: { listChanged: true },
                logging: {},
                completions: {},
            },
            instructions: 'A server to try things on.',
        },
    );
    const on = (schema, handler) => server.setRequestHandler(schema, handler);
    on(types.ListToolsRequestSchema, async () => ({
        tools: Object.entries(TOOLS).map(([name, [inputSchema]]) => ({ name, description: `Tool ${name}`, inputSchema })),
    }));
    on(types.CallToolRequestSchema, async ({ params }, extra) => {
        const tool = TOOLS[params.name];
        if (!tool) throw new types.McpError(types.ErrorCode.InvalidParams, `no tool ${params.name}`);
        return tool[1](params.arguments ?? {}, extra);
    });
    on(types.ListResourcesRequestSchema, async ({ params }) => {
        const [some, nextCursor] = page(STATIC, params?.cursor, process.env.PAGE ? Number(process.env.PAGE) : 100);
        return { resources: some.map(({ read: _, ...shown }) => shown), nextCursor };
    });
    on(types.ListResourceTemplatesRequestSchema, async () => ({
        resourceTemplates: [
            { uriTemplate: 'test://template/{id}/data', name: 'Template', description: 'By id', mimeType: 'application/json' },
        ],
    }));
    on(types.ReadResourceRequestSchema, async ({ params: { uri } }) => {
        const found = STATIC.find((one) => one.uri === uri);
        if (found) return { contents: [{ uri, mimeType: found.mimeType, ...found.read }] };
        const id = TEMPLATE.exec(uri)?.[1];
        if (!id) throw new types.McpError(-32002, `no resource ${uri}`);
        const body = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
        return { contents: [{ uri, mimeType: 'application/json', text: body }] };
    });
    on(types.SubscribeRequestSchema, async ({ params: { uri } }, extra) => {
        await extra.sendNotification({ method: 'notifications/resources/updated', params: { uri } });
        return {};
    });
    on(types.UnsubscribeRequestSchema, async () => ({}));
    on(types.ListPromptsRequestSchema, async () => ({
        prompts: Object.entries(PROMPTS).map(([name, [args]]) => ({ name, description: `Prompt ${name}`, arguments: args })),
    }));
    on(types.GetPromptRequestSchema, async ({ params }) => {
        const prompt = PROMPTS[params.name];
        if (!prompt) throw new types.McpError(types.ErrorCode.InvalidParams, `no prompt ${params.name}`);
        return { messages: prompt[1](params.arguments ?? {}) };
    });
    on(types.CompleteRequestSchema, async ({ params }) => ({
        completion: {
            values: ['paris', 'park', 'party'].filter((word) => word.startsWith(params.argument.value)),
            total: 3,
            hasMore: false,
        },
    }));
    on(types.SetLevelRequestSchema, async () => ({}));
    return server;
}

/** Over Streamable HTTP with sessions, on this port of this machine. */
async function listen(port) {
    const sessions = new Map();
    createServer(async (request, response) => {
        const known = sessions.get(request.headers['mcp-session-id']);
        if (known) return known.handleRequest(request, response);
        if (request.headers['mcp-session-id']) return response.writeHead(404).end();
        const transport = new StreamableHTTPServerTransport({
            sessionIdGenerator: randomUUID,
            eventStore: new Kept(),
            retryInterval: 100,
            enableDnsRebindingProtection: true,
            allowedHosts: [`127.0.0.1:${port}`, `localhost:${port}`],
            onsessioninitialized: (id) => sessions.set(id, transport),
        });
        await fixture().connect(transport);
        return transport.handleRequest(request, response);
    }).listen(port, '127.0.0.1', () => console.error('fixture listens'));
}

if (process.argv[1] === import.meta.filename) {
    const port = process.argv[2];
    if (port) await listen(Number(port));
    else await fixture().connect(new StdioServerTransport());
}
