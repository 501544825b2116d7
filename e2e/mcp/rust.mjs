// rmcp's client, 2026-07-28: the whole room of the server's own tests.

import { strict as assert } from 'node:assert';
import { check, run } from './check.mjs';

export async function rust() {
    await check('rmcp: a whole room, 2026-07-28 against 2025-11-25', async () => {
        const test = 'mcp::a_whole_room_between_two_generations';
        const args = ['test', '--quiet', '--package', 'server', '--test', 'it', '--', '--exact', test];
        const { status, stdout, stderr } = await run('cargo', args, { timeout: 3_000_000 });
        assert.equal(status, 0, `${stdout}${stderr}`);
        assert.match(stdout, /1 passed/);
    });
}
