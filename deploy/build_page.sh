#!/usr/bin/env bash
# Builds the dashboard of `tuner serve --http` and the page of `tuner report` into build/page; CMake embeds what is there in
# `tuner`. Needs npm and node.js 18 or later, protoc, and once the network. Safe to run again: it does nothing if nothing changed.
#   deploy/build_page.sh [--check]
#     --check   also runs the page's unit tests, and installs what its tests in Chromium need
set -euo pipefail

check=
for argument in "$@"; do
  case $argument in
    -h | --help) sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" && exit 0 ;;
    --check) check=1 ;;
    *) echo "build_page.sh: there is no option '$argument': --check" >&2 && exit 2 ;;
  esac
done
cd "$(dirname "${BASH_SOURCE[0]}")/.."
page=tuner/web/page

fail() { echo "build_page.sh: $1" >&2 && exit 1; }
command -v npm >/dev/null || fail "needs npm, for the dashboard: apt-get install nodejs npm"
[ "$(node -p 'parseInt(process.versions.node)')" -ge 18 ] || fail "needs node.js 18 or later, and this is $(node --version)"
command -v protoc >/dev/null || fail "needs protoc (Debian: apt-get install protobuf-compiler)"

# What the build reads, and the build itself.
state() {
  {
    find proto $page/src $page/tools -type f ! -name messages.ts -print0 | sort -z | xargs -0 sha256sum
    sha256sum $page/*.json $page/*.html $page/*.ts $page/.npmrc deploy/build_page.sh
    node --version
  } | sha256sum | cut -d' ' -f1
}
before=$(state)
if [ -z "$check" ] && [ -s build/page/report.html ] && [ "$(cat build/page.state 2>/dev/null)" = "$before" ]; then
  echo "page: build/page is up to date"
  exit 0
fi
install() { # FOLDER: its npm packages, as locked
  local lock
  lock=$(sha256sum <"$1/package-lock.json")
  [ "$(cat "$1/node_modules/.installed" 2>/dev/null)" != "$lock" ] || return 0
  npm ci --prefix "$1" --no-audit --no-fund --loglevel=error
  echo "$lock" >"$1/node_modules/.installed"
}
install $page
npm run --silent --prefix $page types
npm run --silent --prefix $page check
if [ -n "$check" ]; then
  npm test --silent --prefix $page
  install tests/integration/page
fi
rm -rf build/page
npm run --silent --prefix $page build
mkdir -p build
echo "$before" >build/page.state
size=$(cat build/page/assets/*.js build/page/assets/*.css | gzip -9 | wc -c)
echo "page: build/page is built; $((size / 1024)) KiB go over the line, compressed"
