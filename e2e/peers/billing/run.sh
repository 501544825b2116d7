#!/usr/bin/env bash
# Invoices of localstripe (PyPI), read by three `countersign verifier` processes for a `countersign serve` on the embedded
# ledger; the registry and a price feed on a development chain (ganache and solc, npm).
set -euo pipefail
cd "$(dirname "$0")"
"$NODE" ../../../contracts/evm/build.mjs --check
exec "$NODE" play.mjs
