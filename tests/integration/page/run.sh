#!/usr/bin/env bash
# run.sh PROGRAMS: the dashboard's tests in Chromium, with the programs of that folder. Ends with 77 where something that
# they need is missing, and says what. SCREENSHOTS=FOLDER keeps a picture of each page.
set -euo pipefail
programs=$(cd "${1:?usage: run.sh PROGRAMS}" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")"
skip() { echo "skipped: $1"; exit 77; }
[ -x "${CHROMIUM:=/usr/bin/chromium}" ] || skip "there is no $CHROMIUM: deploy/install_packages.sh --page-tests"
[ "$(node -p "parseInt(process.versions.node)" 2>/dev/null || echo 0)" -ge 20 ] || skip "there is no node.js 20 or later, which playwright needs"
[ -d node_modules/playwright-core ] || skip "playwright is missing: deploy/build_page.sh --check"
grep -q 'id="app"' <(strings -n 8 "$programs/tuner") || skip "tuner has no dashboard: deploy/build_page.sh, then build it again"
export CHROMIUM PROGRAMS=$programs
exec node --test --test-concurrency=1 --test-reporter=spec page_test.mjs secured_test.mjs
