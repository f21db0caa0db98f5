#!/usr/bin/env bash
# Runs the notebooks, but the one that needs a farm.
example=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$example/../common.sh"

if [ -n "${TUNEFARM_BUILD-}" ]; then
  export PYTHONPATH=$TUNEFARM_BUILD/python
else
  export PYTHONPATH=$tunefarm_prefix/lib/python3/dist-packages
fi
for notebook in call_a_model schedule_by_hand tune_a_network stencil_recipe; do
  echo "== $notebook"
  /usr/bin/python3 "$example/$notebook.py"
done
