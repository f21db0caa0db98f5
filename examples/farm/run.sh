#!/usr/bin/env bash
# Starts a farm on this machine, gives it a network to tune, builds the network from the results, and stops the farm.
example=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$example/../common.sh"

pids=()
stop() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
}
trap 'stop; [ -n "${1-}" ] || rm -rf "$PWD"' EXIT

# start NAME ARGUMENTS…: `tunefarm ARGUMENTS…` in the background, with its log in NAME.log.
start() {
  tunefarm "${@:2}" >"$1.log" 2>&1 </dev/null &
  pids+=($!)
}
# address NAME: where the daemon listens, once it does.
address() {
  local tries
  for ((tries = 0; tries < 300; ++tries)); do
    sed -n 's/.*listening on \(127\.0\.0\.1:[0-9]*\).*/\1/p' "$1.log" | head -n 1 | grep . && return
    sleep 0.1
  done
  echo "$1 does not start: $(tail -n 1 "$1.log")" >&2
  return 1
}

start tracker tracker serve --listen 127.0.0.1:0 --state tracker.db
tracker=$(address tracker)
# This agent runs only what our own tuner sends it, so layers of the sandbox that this machine lacks may be missing.
start agent device_agent --tracker "$tracker" --key desk --state-dir agent --without-sandbox missing
start tuner tuner serve --db farm.db --tracker "$tracker" --listen 127.0.0.1:0
tuner=$(address tuner)
agent=${pids[1]}
for ((tries = 0; ; ++tries)); do
  tunefarm tracker devices --tracker "$tracker" | grep -q desk && break
  if ((tries == 150)) || ! kill -0 "$agent" 2>/dev/null; then
    echo "agent does not register: $(tail -n 1 agent.log)" >&2
    exit 1
  fi
  sleep 0.2
done

tunefarm compiler zoo mlp -o mlp.onnx
tunefarm tuner submit mlp.onnx --server "$tuner" --target host --device desk --trials "${TRIALS:-100}" --follow
tunefarm compiler build mlp.onnx --target host --db "tuner://$tuner" -o tuned
tunefarm tuner best --db "tuner://$tuner"
