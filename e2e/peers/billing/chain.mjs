// A development chain on loopback with one account: `node chain.mjs PORT KEY`.
import ganache from 'ganache';

const [port, key] = process.argv.slice(2);
const server = ganache.server({
  chain: { chainId: 1337 },
  logging: { quiet: true },
  wallet: { accounts: [{ secretKey: key, balance: '0xde0b6b3a7640000' }] },
});
await server.listen(Number(port), '127.0.0.1');
console.log('ready');
