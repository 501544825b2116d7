#!/usr/bin/env bash
# Runs every target for $1 seconds (10) from its corpus. What is found stays in a scratch folder; a crash is kept in
# artifacts/ and ends the run.
set -euo pipefail
cd "$(dirname "$0")"
seconds=${1:-10}
# Flags from outside would replace those that turn coverage on.
unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS
cargo build --release --quiet
found=$(mktemp -d)
trap 'rm -rf "$found"' EXIT
mkdir -p artifacts
for file in fuzz_targets/*.rs; do
    target=$(basename "$file" .rs)
    mkdir -p "$found/$target"
    if ! cargo run --release --quiet --bin "$target" -- "$found/$target" "corpus/$target" \
        -max_total_time="$seconds" -timeout=5 -verbosity=0 -print_final_stats=1 \
        -artifact_prefix="artifacts/$target-" >"$found/$target.log" 2>&1; then
        cat "$found/$target.log"
        echo "fuzz: $target failed; see fuzz/artifacts"
        exit 1
    fi
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$found/$target.log")
    echo "fuzz: $target: $runs runs in $seconds s, nothing found"
done
