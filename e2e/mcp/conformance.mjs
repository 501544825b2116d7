// The official conformance suite: every server scenario for a server that offers tools and nothing else.

import { strict as assert } from 'node:assert';
import { check, installed, mcp, run } from './check.mjs';

const APPLY = ['server-initialize', 'ping', 'tools-list', 'server-sse-multiple-streams', 'dns-rebinding-protection'];

// What the others need and this server does not have. A scenario in neither list fails the run, so that a newer suite is
// noticed.
const FIXTURE = 'needs a tool made for the suite (test_* or json_schema_2020_12_tool)';
const NOT = {
    'logging-set-level': 'the logging capability is not offered',
    'completion-complete': 'the completions capability is not offered',
    'tools-call-simple-text': FIXTURE,
    'tools-call-image': FIXTURE,
    'tools-call-audio': FIXTURE,
    'tools-call-embedded-resource': FIXTURE,
    'tools-call-mixed-content': FIXTURE,
    'tools-call-with-logging': FIXTURE,
    'tools-call-error': FIXTURE,
    'tools-call-with-progress': FIXTURE,
    'tools-call-sampling': FIXTURE,
    'tools-call-elicitation': FIXTURE,
    'json-schema-2020-12': `${FIXTURE}; what it looks for is checked on this server's own tools in wire.mjs`,
    'elicitation-sep1034-defaults': FIXTURE,
    'elicitation-sep1330-enums': FIXTURE,
    'server-sse-polling': `${FIXTURE}; answers are JSON, there is no stream to resume`,
    'resources-list': 'the resources capability is not offered',
    'resources-read-text': 'the resources capability is not offered',
    'resources-read-binary': 'the resources capability is not offered',
    'resources-templates-read': 'the resources capability is not offered',
    'resources-subscribe': 'the resources capability is not offered',
    'resources-unsubscribe': 'the resources capability is not offered',
    'prompts-list': 'the prompts capability is not offered',
    'prompts-get-simple': 'the prompts capability is not offered',
    'prompts-get-with-args': 'the prompts capability is not offered',
    'prompts-get-embedded-resource': 'the prompts capability is not offered',
    'prompts-get-with-image': 'the prompts capability is not offered',
};

export async function conformance() {
    const suite = installed('@modelcontextprotocol/conformance/dist/index.js');
    await check('conformance: every server scenario is accounted for', async () => {
        const { stdout } = await run(process.execPath, [suite, 'list', '--server']);
        const names = [...stdout.matchAll(/^ {2}- (\S+)/gm)].map((match) => match[1]);
        assert.deepEqual(names.toSorted(), [...APPLY, ...Object.keys(NOT)].toSorted());
    });
    for (const scenario of APPLY) {
        await check(`conformance: ${scenario}`, async () => {
            const args = [suite, 'server', '--url', mcp, '--scenario', scenario];
            const { status, stdout, stderr } = await run(process.execPath, args);
            assert.equal(status, 0, `${stdout}${stderr}`);
        });
    }
}
