#!/usr/bin/env bash
# Plays the console in real Chromium against the real binary. Prints a line for each check and, last, 'N passed, N failed'.
# Takes: COUNTERSIGN and DESK (paths of the binary and of the example `desk`; built if absent), CHROMIUM, SHOTS (a folder for screenshots).
set -euo pipefail
cd "$(dirname "$0")"
repo=$(cd ../.. && pwd)
if [ -z "${COUNTERSIGN:-}" ]; then
  (cd "$repo" && cargo build --quiet -p countersign)
  COUNTERSIGN="${CARGO_TARGET_DIR:-$repo/target}/debug/countersign"
fi
if [ -z "${DESK:-}" ]; then
  (cd "$repo" && cargo build --quiet -p countersign --example desk)
  DESK="${CARGO_TARGET_DIR:-$repo/target}/debug/examples/desk"
fi
export COUNTERSIGN DESK CHROMIUM="${CHROMIUM:-/usr/bin/chromium}"
if [ ! -d ../node_modules/playwright-core ] || [ ! -d ../node_modules/@axe-core/playwright ]; then
  (cd .. && npm install --no-save --silent --no-fund --no-audit --ignore-scripts)
fi
node main.mjs
node live.mjs
exec node mandates.mjs
