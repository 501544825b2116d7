// Compiles the contracts beside it with the solc that e2e/package.json names.
// `node build.mjs` writes contracts.json; `node build.mjs --check` ends with 1 where it would be another.
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const here = new URL('.', import.meta.url);
const solc = createRequire(new URL('../../e2e/package.json', here))('solc');
const names = ['ReportRegistry', 'TestFeed'];
const input = {
  language: 'Solidity',
  sources: Object.fromEntries(
    names.map((name) => [`${name}.sol`, { content: readFileSync(new URL(`${name}.sol`, here), 'utf8') }]),
  ),
  settings: {
    evmVersion: 'paris',
    optimizer: { enabled: true, runs: 200 },
    metadata: { bytecodeHash: 'none', appendCBOR: false },
    outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } },
  },
};
const output = JSON.parse(solc.compile(JSON.stringify(input)));
const faults = (output.errors ?? []).filter((error) => error.severity === 'error');
if (faults.length > 0) throw new Error(faults.map((error) => error.formattedMessage).join('\n'));
const contracts = Object.fromEntries(
  names.map((name) => {
    const { abi, evm } = output.contracts[`${name}.sol`][name];
    return [name, { abi, bytecode: `0x${evm.bytecode.object}` }];
  }),
);
const made = `${JSON.stringify({ compiler: `solc ${solc.version()}`, ...contracts }, null, 2)}\n`;
const file = new URL('contracts.json', here);
if (process.argv[2] !== '--check') {
  writeFileSync(file, made);
} else if (readFileSync(file, 'utf8') !== made) {
  console.error('contracts/evm/contracts.json is not what its sources compile to');
  process.exitCode = 1;
}
