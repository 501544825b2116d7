// Checks, counted; and what all of them talk to.

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const url = process.env.URL;
export const mcp = `${url}/mcp`;
export const out = process.env.OUT;
export const countersign = process.env.COUNTERSIGN;
export const python = process.env.PYTHON;

let passed = 0;
const failed = [];

/** Runs one check; what it throws is why it failed. */
export async function check(name, run) {
    try {
        await run();
        passed += 1;
        console.log(`ok      ${name}`);
    } catch (error) {
        failed.push(name);
        console.log(`FAILED  ${name}\n        ${String(error?.message ?? error).replaceAll('\n', '\n        ')}`);
    }
}

/** Prints the count and gives the exit status. */
export function summary() {
    console.log(`\n${passed} passed, ${failed.length} failed`);
    return failed.length > 0 ? 1 : 0;
}

/** The path of a file of an installed package. */
export function installed(path) {
    return fileURLToPath(new URL(`../node_modules/${path}`, import.meta.url));
}

/** Runs a program to its end. Gives its status and output. */
export function run(program, args, options = {}) {
    const limit = { timeout: 120_000, ...options };
    return new Promise((resolve, reject) => {
        const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], ...limit });
        const text = { stdout: '', stderr: '' };
        for (const stream of ['stdout', 'stderr']) {
            child[stream].setEncoding('utf8').on('data', (more) => (text[stream] += more));
        }
        child.on('error', reject);
        child.on('close', (status) => resolve({ status, ...text }));
    });
}

/** A request of the HTTP API: its status and its body. */
export async function api(method, path, secret, body) {
    const headers = { 'content-type': 'application/json' };
    if (secret) headers.authorization = `Bearer ${secret}`;
    const response = await fetch(`${url}${path}`, { method, headers, body: body && JSON.stringify(body) });
    return { status: response.status, text: await response.text() };
}

/** The secret of a room link. */
export function secret(link) {
    return link.slice(link.lastIndexOf('=') + 1);
}
