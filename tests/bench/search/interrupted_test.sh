#!/usr/bin/env bash
# What Ctrl-C leaves: exit 130, by which run.sh ends, too, and a pool that the next call goes on with.
# Usage: interrupted_test.sh SEARCH_REPLAY
set -u

pools=$(mktemp -d)
trap 'rm -rf "$pools"' EXIT
code=0
# In the foreground it signals once; else the group, too, and a second signal ends the process.
timeout --foreground --preserve-status --signal INT 8 "$1" record --pools "$pools" --tasks gemm_512 \
  2>"$pools/said" || code=$?
cat "$pools/said" >&2
[ "$code" = 130 ] || { echo "exit $code, not 130" >&2; exit 1; }
grep -q '; run the same command to continue$' "$pools/said"
