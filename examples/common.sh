# What every run.sh begins with. `tunefarm` runs Tunefarm's programs, $tunefarm_include has its C headers, and the current
# folder is an empty one: the script's argument or a temporary folder.
set -euo pipefail
if [ -n "${TUNEFARM_BUILD-}" ]; then
  export TUNEFARM_PROGRAMS=$TUNEFARM_BUILD/bin
  PATH=$(cd "$example/../../deploy/package" && pwd):$PATH
  tunefarm_include=$example/../../compiler/runtime
  tunefarm_cmake=$TUNEFARM_BUILD/lib/cmake
else
  command -v tunefarm >/dev/null || { echo "$0: install Tunefarm, or set TUNEFARM_BUILD to a build folder" >&2; exit 1; }
  tunefarm_prefix=$(dirname "$(dirname "$(readlink -f "$(command -v tunefarm)")")")
  tunefarm_include=$tunefarm_prefix/include/tunefarm
  tunefarm_cmake=$tunefarm_prefix/lib/cmake
fi
if [ -n "${1-}" ]; then
  mkdir -p "$1"
  cd "$1"
else
  cd "$(mktemp -d)"
  trap 'rm -rf "$PWD"' EXIT
fi
