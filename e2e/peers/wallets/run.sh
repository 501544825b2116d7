#!/usr/bin/env bash
# Wallets: what the libraries of Cardano's wallets sign is accepted here, and what is signed here is accepted by them (CIP-8,
# CIP-30); a mandate's transactions have the same ids there, and their signatures release the money.
set -euo pipefail
cd "$(dirname "$0")"
if [ -z "${DESK:-}" ]; then
    (cd ../../.. && cargo build --quiet --package countersign --example desk)
    DESK=$(dirname "$COUNTERSIGN")/examples/desk
fi
export DESK
"$NODE" messages.mjs
"$PYTHON" wallets.py
