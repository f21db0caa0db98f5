#!/usr/bin/env bash
# Tunes squeezenet through a farm on this machine and prints how much faster it became. Installs and builds what is needed;
# starts tracker, device_agent and `tuner serve` on loopback; submits the network; builds it untuned and tuned.
#   deploy/quickstart.sh [--minutes M] [--target TARGET]
#     --minutes M       how long to tune [5]
#     --target TARGET   the processor to compile for, which this machine must be able to stand in for, as in
#                       x86_64:cpu=haswell [host]
# You can run it again: finished steps are skipped, and the database keeps growing. Everything it makes is under build/;
# `rm -r build/quickstart` starts over. Ctrl-C stops everything it started; the next run continues from there.
set -euo pipefail

usage() { sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }
fail() { echo "quickstart.sh: $*" >&2; exit 1; }

minutes=5
target=host
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --minutes) minutes=${2:-}; shift 2 || shift ;;
    --minutes=*) minutes=${1#*=}; shift ;;
    --target) target=${2:-}; shift 2 || shift ;;
    --target=*) target=${1#*=}; shift ;;
    *) echo "quickstart.sh: unknown argument $1; it takes --minutes M and --target TARGET" >&2; exit 2 ;;
  esac
done
[[ $minutes =~ ^([0-9]+\.?[0-9]*|\.[0-9]+)$ && $minutes =~ [1-9] ]] ||
  { echo "quickstart.sh: --minutes needs a number above 0, as in --minutes 1.5" >&2; exit 2; }
[ -n "$target" ] || { echo "quickstart.sh: --target needs a target, as in --target x86_64:cpu=haswell" >&2; exit 2; }

cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=build/release/bin
out=build/quickstart
key=quickstart
declare -A pids=()

step() { printf '\n== %s\n' "$*" >&2; }

# The tuner first, so that it can finish what is being measured while the farm is there.
stop_all() {
  trap '' INT TERM
  local name tries
  for name in client tuner agent tracker; do
    local pid=${pids[$name]:-}
    unset "pids[$name]"
    if [ -z "$pid" ] || ! kill -TERM "$pid" 2>/dev/null; then continue; fi
    for ((tries = 0; tries < 150; ++tries)); do
      kill -0 "$pid" 2>/dev/null || break
      sleep 0.1
    done
    kill -KILL "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
}
interrupted() {
  printf '\nstopping; the next run continues with the results so far\n' >&2
  exit "$1"
}
catch_signals() {
  trap 'interrupted 130' INT
  trap 'interrupted 143' TERM
}
trap stop_all EXIT
catch_signals

# start NAME PROGRAM ARGUMENTS…: a daemon whose log is $out/NAME.log, in a session of its own so that the terminal's
# Ctrl-C reaches only this script, and ended by the kernel should this script be killed.
start() {
  local name=$1
  shift
  : >"$out/$name.log"
  setsid setpriv --pdeathsig TERM "$@" >>"$out/$name.log" 2>&1 </dev/null &
  pids[$name]=$!
}

# await NAME WHAT COMMAND…: until the command succeeds; fails with the daemon's log if it ends or a minute passes.
await() {
  local name=$1 what=$2 tries
  shift 2
  for ((tries = 0; tries < 300; ++tries)); do
    if "$@"; then return; fi
    kill -0 "${pids[$name]}" 2>/dev/null || break
    sleep 0.2
  done
  tail -n 5 "$out/$name.log" >&2
  fail "$what; the whole log is $out/$name.log"
}

# Daemons listen on a port that the kernel picks, and say which.
endpoint_of() { sed -n 's/.*listening on \(127\.0\.0\.1:[0-9]*\).*/\1/p' "$out/$1.log" | head -n 1; }
is_listening() { [ -n "$(endpoint_of "$1")" ]; }
device_is_known() { "$bin/tracker" devices --tracker "$tracker" --key $key --json | grep -q '"'$key'"'; }

# One CPU measures; tuner, builders and the rest keep off it where there is more than one.
last_cpu=$(python3 -c 'import os; print(max(os.sched_getaffinity(0)))')
other_cpus=$(python3 -c 'import os; a = sorted(os.sched_getaffinity(0)); print(",".join(map(str, a[:-1] or a)))')

step "packages"
deploy/install_packages.sh

step "programs"
programs=(compiler tuner tracker device_agent build_worker trial_worker gpu_worker)
deploy/build_page.sh >&2 || echo "quickstart.sh: continuing without the dashboard" >&2
cmake --preset release >&2
cmake --build build/release --target "${programs[@]}" >&2
mkdir -p "$out"

step "squeezenet, without a database"
[ -s "$out/squeezenet.onnx" ] || "$bin/compiler" zoo squeezenet -o "$out/squeezenet.onnx"
if [ ! "$out/before.json" -nt "$bin/compiler" ] || [ "$(cat "$out/before.target" 2>/dev/null)" != "$target" ]; then
  "$bin/compiler" build "$out/squeezenet.onnx" --target "$target" -o "$out/before" --json >"$out/before.json.part"
  mv "$out/before.json.part" "$out/before.json"
  echo "$target" >"$out/before.target"
fi
taskset -c "$last_cpu" "$bin/compiler" bench "$out/before"

step "farm"
start tracker "$bin/tracker" serve --listen 127.0.0.1:0 --state "$out/tracker.db"
await tracker "the tracker did not start" is_listening tracker
tracker=$(endpoint_of tracker)
start agent "$bin/device_agent" --tracker "$tracker" --key $key --cpus "$last_cpu" --without-sandbox missing --state-dir "$out/agent"
await agent "the device agent did not reach the tracker" device_is_known
start tuner taskset -c "$other_cpus" "$bin/tuner" serve --db "$out/tune.db" --tracker "$tracker" --listen 127.0.0.1:0
await tuner "the tuner did not start" is_listening tuner
server=$(endpoint_of tuner)
echo "tracker $tracker, agent on CPU $last_cpu, tuner $server; logs: $out/*.log" >&2

step "tuning for $minutes min (Ctrl-C stops everything; measurements are kept)"
# A run that was interrupted left its job in the database, and the tuner took it up again.
for job in $("$bin/tuner" jobs --server "$server" --json | python3 -c '
import json, sys
for line in sys.stdin:
    job = json.loads(line)
    if job["state"] in ("queued", "running", "paused"): print(job["job"])'); do
  echo "cancelling job $job of an interrupted run; its measurements are kept" >&2
  "$bin/tuner" cancel "$job" --server "$server"
done
setpriv --pdeathsig TERM "$bin/tuner" submit "$out/squeezenet.onnx" --server "$server" --target "$target" --device $key \
  --minutes "$minutes" --follow >/dev/null &  # its result is the job's number
pids[client]=$!
wait "${pids[client]}" || fail "tuning failed; the logs are $out/*.log"
unset "pids[client]"

step "squeezenet, with the database"
"$bin/compiler" build "$out/squeezenet.onnx" --target "$target" --db "tuner://$server" -o "$out/after" --json \
  >"$out/after.json"
stop_all
catch_signals

step "before and after, on CPU $last_cpu"
for round in 1 2 3 4 5; do  # in turns, so that what else the machine does meets both
  for model in before after; do
    taskset -c "$last_cpu" "$bin/compiler" bench "$out/$model" --runs 20 --profile --json \
      >"$out/bench.$model.$round.json" 2>"$out/bench.$model.$round.log" || { cat "$out/bench.$model.$round.log" >&2; exit 1; }
  done
done
python3 deploy/quickstart_table.py "$out"
cat "$out"/bench.*.log | grep -v 'the machine was busy' >&2 || true
busy=$(cat "$out"/bench.*.log | grep -c 'the machine was busy' || true)
[ "$busy" = 0 ] ||
  echo "the machine was busy in $busy of 10 benchmarks: compare the fastest runs, or repeat when it is idle" >&2
cat >&2 <<END

$out/after/model.so and model.h are the tuned network; $out/tune.db what was learned. To look further:
  $bin/tuner best --db $out/tune.db
  $bin/tuner report --db $out/tune.db -o $out/report.html    # a page for a browser, where npm built the dashboard
  $bin/compiler bench $out/after --profile
END
