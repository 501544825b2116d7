#!/usr/bin/env bash
# Masumi's published Python client buys a check: it starts the job, pays through a local payment service (which knows no
# chain), polls, and computes the MIP-004 hashes itself; `countersign verify` and the second verifier judge the job's file.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
repo=$(cd "$here/../../.." && pwd)
if [ -z "${DESK:-}" ]; then
    (cd "$repo" && cargo build --quiet -p countersign --example desk)
    DESK="${CARGO_TARGET_DIR:-$repo/target}/debug/examples/desk"
fi
export DESK VERIFIER="$repo/verifier-js/cli.mjs"
exec "$PYTHON" "$here/buyer.py"
