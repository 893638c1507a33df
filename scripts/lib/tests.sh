# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# tests.sh -- run_tests, which check.sh and test.sh share, and run_inner_tests.  Sourced after
# common.sh.

# Prints how many test cases of the report have one of the given states.
count_status() {
    grep -cE "<testcase .*status=\"($2)\"" "$1" || true
}

# Prints a line for each skipped test case: its name, and what it said was missing.
list_skipped() {
    awk '
        /<testcase / { split($0, part, "\""); name = part[2]; skipped = 0; why = "" }
        /<skipped message="SKIP_RETURN_CODE=/ { skipped = 1 }
        skipped && match($0, /skipped: .*/) {
            why = why (why == "" ? "" : "; ") substr($0, RSTART + 9)
        }
        /<\/testcase>/ && skipped {
            sub(/<\/system-out>.*/, "", why)
            gsub(/&lt;/, "<", why); gsub(/&gt;/, ">", why); gsub(/&quot;/, "\"", why)
            gsub(/&amp;/, "\\&", why)
            print "  " name ": " why
        }
    ' "$1"
}

# Prints the name of each test case of the report that failed or did not run, skipped ones left out.
list_failed() {
    awk '
        /<testcase / { split($0, part, "\""); name = part[2]; failed = !/ status="run"/ }
        /<skipped message="SKIP_RETURN_CODE=/ { failed = 0 }
        /<\/testcase>/ && failed { print name }
    ' "$1"
}

# Prints the output of each test case that list_failed names (its last 60 lines), and then the names
# with the reason, which a reader needs who sees only the end of a log.
print_failures() {
    awk '
        function plain(text) {
            gsub(/&lt;/, "<", text); gsub(/&gt;/, ">", text); gsub(/&quot;/, "\"", text)
            gsub(/&amp;/, "\\&", text)
            return text
        }
        /<testcase / {
            split($0, part, "\"")
            name = part[2]; seconds = part[6]; failed = !/ status="run"/
            why = "did not run"; count = 0; inside = 0
        }
        /<skipped message="SKIP_RETURN_CODE=/ { failed = 0 }
        /<failure / { split($0, part, "\""); why = part[2] == "" ? "failed" : part[2] }
        sub(/.*<system-out>/, "") { inside = 1 }
        inside {
            ends = sub(/<\/system-out>.*/, "")
            lines[count++] = $0
            if (ends)
                inside = 0
        }
        /<\/testcase>/ && failed {
            print "---- " name " (" seconds " s)"
            for (i = count > 60 ? count - 60 : 0; i < count; i++)
                print plain(lines[i])
            names[named++] = "FAILED: " name ": " plain(why)
        }
        END { for (i = 0; i < named; i++) print names[i] }
    ' "$1"
}

# A version manager (pyenv) puts a script in the place of python3, which starts dozens of processes
# at each call: what runs from here on finds the program itself.
direct_python() {
    local python
    python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null) || return 0
    [ "$(command -v python3)" -ef "$python" ] || export PATH=${python%/*}:$PATH
}

# Seconds until MALLOW_DEADLINE (seconds since the epoch), which .ci/run sets; without it an hour.
seconds_left() {
    local now
    now=$(date +%s)
    echo $((${MALLOW_DEADLINE:-$((now + 3600))} - now))
}

# Prints a pattern for ctest of the names on standard input, which are taken literally.
pattern_of() {
    printf '^(%s)$' "$(sed 's/[^A-Za-z0-9_\/-]/\\&/g' | paste -sd '|')"
}

# At most so many entries that failed run again: more failures are no chance.
second_run_most=5

# run_failed_again REPORT SECOND_REPORT: runs the entries that failed once more, one at a time, if
# they are few and time is left.  Without a second run there is no SECOND_REPORT.
run_failed_again() {
    local report=$1 second=$2 names count left pattern
    names=$(list_failed "$report")
    count=$(grep -c . <<<"$names" || true)
    [ "$count" -gt 0 ] || return 0
    print_failures "$report" >"${report%.xml}-failures.log"
    say "failed: $count; their output is in ${report%.xml}-failures.log"
    if [ "$count" -gt "$second_run_most" ]; then
        say "no second run: more than $second_run_most entries failed"
        return 0
    fi
    left=$(($(seconds_left) - 20))
    if [ "$left" -lt 30 ]; then
        say "no second run: no time is left for it"
        return 0
    fi
    pattern=$(pattern_of <<<"$names")
    say "the entries that failed run again, one at a time"
    MALLOW_SECOND_RUN=1 timeout "$left" ctest --test-dir "$MALLOW_BUILD" --parallel 1 \
        --output-on-failure --output-junit "$second" -R "$pattern" || true
}

# Entries with these labels come last, one label after the other, where time is left: `again` is
# what ran before, on another library (tests/checks/debug_entries.py, tests/programs); `platform`
# builds all of mallow for another libc, processor, kernel or release.
late_labels=(again platform)
# Seconds that must be left for more of them to begin: as long as the longest takes on a machine
# that is twice as slow as the one on which it took five, or ten, minutes.
declare -A late_limit_s=([again]=600 [platform]=1200)
# How many are begun together.  One of `platform` takes all processors.
declare -A late_batch=([again]=12 [platform]=1)

# add_report REPORT PART: adds the test cases of another report of ctest.
add_report() {
    {
        sed '/<\/testsuite>/d' "$1"
        sed -n '/<testcase /,/<\/testcase>/p' "$2"
        echo '</testsuite>'
    } >"$1.new"
    mv "$1.new" "$1"
    rm -f "$2"
}

# run_batch REPORT NAME...: runs these entries and adds them to the report.
run_batch() {
    local report=$1 part=${1%.xml}-part.xml pattern
    shift
    pattern=$(printf '%s\n' "$@" | pattern_of)
    rm -f "$part"
    # Without what entries are set up by: that ran in the main part.
    ctest --test-dir "$MALLOW_BUILD" --parallel $(($(job_count) + 1)) -FA '.*' \
        --output-on-failure --output-junit "$part" -R "$pattern" </dev/null || true
    [ -s "$part" ] || die "ctest left no report of $*"
    add_report "$report" "$part"
}

# run_late REPORT CTEST_OPTION...: runs the entries with late labels and adds them to the report;
# names in $late those for which no time was left.
run_late() {
    local report=$1 label names
    late=()
    shift
    for label in "${late_labels[@]}"; do
        mapfile -t names < <(ctest --test-dir "$MALLOW_BUILD" -N -L "^$label\$" "$@" |
            sed -n 's/^ *Test *#[0-9]*: //p')
        while [ "${#names[@]}" -gt 0 ]; do
            if [ "$(seconds_left)" -lt "${late_limit_s[$label]}" ]; then
                late+=("${names[@]}")
                break
            fi
            run_batch "$report" "${names[@]:0:${late_batch[$label]}}"
            names=("${names[@]:${late_batch[$label]}}")
        done
    done
}

# run_inner_tests DIRECTORY CTEST_OPTION...: runs tests of another build folder, two at a time, for
# an entry that consists of them; prints the output of those that fail.  Where the check of all runs
# the entry again, only the tests that failed in it run again, one at a time.
run_inner_tests() {
    local directory=$1 again=() log
    shift
    log=$directory/tests.log
    if [ -n "${MALLOW_SECOND_RUN:-}" ] && [ -e "$directory/tests_failed" ]; then
        again=(--rerun-failed --parallel 1)
    fi
    rm -f "$directory/tests.xml" "$directory/tests_failed"
    ctest --test-dir "$directory" --parallel 2 --output-on-failure --timeout 240 "$@" \
        --output-junit "$directory/tests.xml" ${again[@]+"${again[@]}"} >"$log" 2>&1 || {
        if [ -s "$directory/tests.xml" ]; then
            touch "$directory/tests_failed"
            print_failures "$directory/tests.xml"
        else
            tail -n 80 "$log"
        fi
        return 1
    }
    grep 'tests passed' "$log"
}

# run_tests REPORT CTEST_OPTION...: runs the tests of the release build and counts them from ctest's
# report.  Skipped are tests that ended with 77: the test itself said that this machine lacks what
# it needs.  Any other test that did not run counts as failed.
#
# Those with late labels come last (run_late): where the time of .ci/run does not suffice, all
# others have run, and what has not is named.
#
# Entries that fail run a second time, alone (run_failed_again), because they may have failed for
# want of processor time beside others.  What passes then counts as passed and is named: each such
# line is a bug of the test or of what it tests.  The last line is "N passed, N failed"; status 0
# only if some passed and none failed.
run_tests() {
    local report=$1 second=${1%.xml}-second.xml passed skipped failed recovered=() late=() name
    shift
    rm -f "$report" "$second" "${report%.xml}-failures.log"
    direct_python
    # One more than there are cores: some tests wait more than they compute.
    ctest --test-dir "$MALLOW_BUILD" --parallel $(($(job_count) + 1)) --output-on-failure \
        --output-junit "$report" -LE "^($(IFS='|' && echo "${late_labels[*]}"))\$" "$@" || true
    [ -s "$report" ] || die "ctest left no report: nothing ran"
    run_late "$report" "$@"

    passed=$(count_status "$report" run)
    skipped=$(grep -cE '<skipped message="SKIP_RETURN_CODE=' "$report" || true)
    failed=$(($(count_status "$report" 'fail|notrun|disabled') - skipped))
    run_failed_again "$report" "$second"
    if [ -s "$second" ]; then
        mapfile -t recovered < <(sed -nE 's/.*<testcase name="([^"]*)".* status="run".*/\1/p' \
            "$second")
    fi
    if [ "$skipped" -gt 0 ]; then
        echo "$skipped skipped:"
        list_skipped "$report"
    fi
    for name in ${late[@]+"${late[@]}"}; do
        echo "not run, because too little time was left: $name"
    done
    for name in ${recovered[@]+"${recovered[@]}"}; do
        echo "passed only when run again, alone: $name"
    done
    if [ "${#recovered[@]}" -gt 0 ]; then
        echo "${#recovered[@]} of them only in a second run: bugs to mend; the first run's output" \
            "is in ${report%.xml}-failures.log"
    fi
    echo "$((passed + ${#recovered[@]})) passed, $((failed - ${#recovered[@]})) failed"
    [ "$failed" -eq "${#recovered[@]}" ] && [ "$((passed + ${#recovered[@]}))" -gt 0 ]
}
