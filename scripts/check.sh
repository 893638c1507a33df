#!/bin/bash
# SPDX-License-Identifier: MIT
# check.sh [CTEST OPTION...] -- builds everything and runs every test and check.  The last line says
# how many passed and failed, counted from ctest's report; exit status 0 only if some ran and none
# failed.  `scripts/check.sh -R unit/` runs the units alone, `-L slow` would run the long ones.
. "$(dirname "$0")/lib/common.sh"

report=$MALLOW_BUILD/check.xml

# Prints how many test cases of the report have one of the given states.
count_status() {
    grep -cE "<testcase .*status=\"($1)\"" "$report" || true
}

scripts/bootstrap.sh check
scripts/build.sh release
rm -f "$report"
ctest --test-dir "$MALLOW_BUILD" --parallel "$(job_count)" --output-on-failure \
    --output-junit "$report" "$@" || true
[ -s "$report" ] || die "ctest left no report: nothing ran"

passed=$(count_status run)
# Skipped: the test itself said that what it needs is not here (exit status 77).  Any other test that
# did not run counts as failed: somebody relies on it.
skipped=$(grep -cE '<skipped message="SKIP_RETURN_CODE=' "$report" || true)
failed=$(($(count_status 'fail|notrun|disabled') - skipped))
if [ "$skipped" -gt 0 ]; then
    echo "$skipped skipped: $(grep -B 1 '<skipped message="SKIP_RETURN_CODE=' "$report" |
        sed -n 's/.*<testcase name="\([^"]*\)".*/\1/p' | tr '\n' ' ')"
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
