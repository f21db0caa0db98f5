#!/usr/bin/env bash
# Kernels against OpenBLAS, BLIS and oneDNN, networks against ONNX Runtime, in turns; docs/explanation/peer-benchmark.md says how to read it.
# Usage: tests/bench/peers/run.sh [--quick] [--full] [--json FILE] [--db FILE] [--tune-minutes M] [--allow LIST] [--threads N,N] [--kernels REGEX] [NETWORK…]
#   --quick           a few kernels and two small networks on one thread, in a minute or two
#   --full            every network of the zoo, and every distinct kernel in them, with less time for each kernel
#   --db FILE         tuned schedules [build/peers/tuning.db if it is there]; what it lacks runs untuned
#   --tune-minutes M  first tune for M minutes more, a third of them kernels; with time, all get 2 minutes a kernel, 20 a
#                     network, shared by its numbers of threads
#   --threads N,N     of networks [1,2]; kernels use the first
#   NETWORK…          of `compiler zoo list`
set -euo pipefail
source "$(dirname "$0")/../options.sh"
quick= full= json= minutes=0 allow= threads=1,2 kernels=.* networks=() db=
while [ $# -gt 0 ]; do
  case "$1" in
    --quick) quick=1 ;;
    --full) full=1 ;;
    --json) want_value "$@" && json=$(realpath -m "$2") && shift ;;
    --db) want_value "$@" && db=$(realpath -m "$2") && shift ;;
    --tune-minutes) want_number "$@" && minutes=$2 && shift ;;
    --allow) want_value "$@" && allow=$2 && shift ;;
    --threads) want_value "$@" && threads=$2 && shift ;;
    --kernels) want_value "$@" && kernels=$2 && shift ;;
    -*) usage "$1" ;;
    *) networks+=("$1") ;;
  esac
  shift
done
[[ $threads =~ ^[0-9]+(,[0-9]+)*$ ]] || refuse "--threads $threads: expected numbers with commas between them"
cd "$(dirname "$0")/../../.."
deploy/install_peers.sh --libraries >&2
export NODE_PATH=$PWD/build/peers/node_modules
cmake --preset release >/dev/null # finds what has just been installed
cmake --build build/release --target compiler tuner build_worker trial_worker peers_bench >&2
bin=$PWD/build/release/bin
db=${db:-$PWD/build/peers/tuning.db}

rounds=15 runs=10 turn_ms=10
if [ -n "$quick" ]; then
  rounds=7 runs=5 turn_ms=5 threads=${threads%%,*}
  [ "$kernels" != ".*" ] || kernels='gemm_(128|512|1024_constant|127.*)$|first_3x3|3x3_64_64_56|1x1_128_512|depthwise_144'
  [ ${#networks[@]} -gt 0 ] || networks=(squeezenet mobilenet_v2)
elif [ -n "$full" ]; then
  turn_ms=4
  [ ${#networks[@]} -gt 0 ] || mapfile -t networks < <("$bin/compiler" zoo list | awk 'NR > 1 {print $1}')
elif [ ${#networks[@]} -eq 0 ]; then
  networks=(resnet50 resnet18 mobilenet_v2 squeezenet inception_v1 bert_mini)
fi
IFS=, read -ra thread_counts <<<"$threads"
kernel_options=(--kernels "$kernels" --threads "${thread_counts[0]}" ${allow:+--allow "$allow"})

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for network in "${networks[@]}"; do
  "$bin/compiler" zoo "$network" -o "$work/$network.onnx" 2>"$work/said" || { cat "$work/said" >&2 && exit 2; }
  [ -z "$full" ] || kernel_options+=(--network "$work/$network.onnx")
done

# Minutes that the database was tuned for NETWORK on N threads, with what is allowed now.
tuned_minutes() {
  local names
  names=$(tr , '\n' <<<"$allow" | sed '/^$/d; s/.*/\\"&\\"/' | sort -u | paste -sd,)
  sqlite3 -cmd ".parameter set :model \"'$1.onnx'\"" -cmd ".parameter set :target \"'host'\"" \
    -cmd ".parameter set :threads $2" -cmd ".parameter set :allow \"'[$names]'\"" \
    "$db" <tests/bench/peers/tuned_minutes.sql
}
tune() {
  "$bin/peers_bench" "${kernel_options[@]}" --db "$db" --tune-minutes "$(awk "BEGIN { print $minutes / 3 }")" >&2
  local network count share left
  share=$(awk "BEGIN { print $minutes * 2 / 3 / ${#networks[@]} / ${#thread_counts[@]} }")
  for network in "${networks[@]}"; do
    for count in "${thread_counts[@]}"; do
      left=$(awk "BEGIN { left = 20 / ${#thread_counts[@]} - $(tuned_minutes "$network" "$count"); print left < $share ? left : $share }")
      if awk "BEGIN { exit !($left > 0.1) }"; then
        "$bin/tuner" tune "$work/$network.onnx" --target host --db "$db" --threads "$count" --minutes "$left" \
          ${allow:+--allow "$allow"} >&2
      fi
    done
  done
}
[ "$minutes" = 0 ] || tune
records=()
[ ! -f "$db" ] || records=(--db "$db")

"$bin/peers_bench" "${kernel_options[@]}" "${records[@]}" --rounds $rounds --turn-ms $turn_ms --json "$work/kernels" >&2

# Winograd and shorter floats err by more than a change of order does.
tolerance=1e-4
[ -z "$allow" ] || tolerance=1e-2
printf '%-24s %2s %10s %10s %7s  %s\n' network th 'ours ms' 'theirs ms' peak 'times as fast [95%]   difference' >&2
for network in "${networks[@]}"; do
  for count in "${thread_counts[@]}"; do
    "$bin/compiler" build "$work/$network.onnx" --target host --threads "$count" ${allow:+--allow "$allow"} "${records[@]}" \
      -o "$work/built" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
    node tests/bench/peers/networks.js --compiler "$bin/compiler" --model "$work/$network.onnx" --built "$work/built" \
      --name "$network" --threads "$count" --rounds $rounds --runs $runs --tolerance $tolerance >>"$work/networks"
  done
done
node -e '
  const rows = require("fs").readFileSync(process.argv[1], "utf8").trim().split("\n").map(JSON.parse);
  const ratios = rows.map((row) => row.times_as_fast.median);
  const mean = Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length);
  console.error(`networks, times as fast as ONNX Runtime, mean ${mean.toFixed(2)}   least ${Math.min(...ratios).toFixed(2)}`);
' "$work/networks"
[ -z "$json" ] || echo "{\"kernels\": $(cat "$work/kernels"), \"networks\": [$(paste -sd, "$work/networks")]}" >"$json"
