#!/bin/bash
# SPDX-License-Identifier: MIT
# shell.sh SOURCE_DIR BUILD_DIR -- pipes.py and shellcheck over every script. BUILD_DIR/shellcheck/
# keeps a file for each script that was found good, named by a hash of all that shellcheck read;
# such a script is not checked again.
set -euo pipefail
cd "$1"
known=$2/shellcheck
command -v shellcheck >/dev/null || {
    echo "shellcheck is not installed"
    exit 77
}
mapfile -t scripts < <(find scripts tests bench contrib -name '*.sh' | sort)
scripts+=(.ci/run)
mapfile -t libraries < <(find scripts tests bench contrib -name '*.bash' -o -name 'lib*.sh' -o \
    -path '*/lib/*.sh' | sort)
python3 tests/checks/pipes.py "${scripts[@]}" "${libraries[@]}"

mkdir -p "$known"
options=(--external-sources --source-path=SCRIPTDIR)
shared=$(shellcheck --version; echo "${options[@]}"; cat "${libraries[@]}")
new=()
names=()
for script in "${scripts[@]}"; do
    name=$({ echo "$shared" "$script"; cat "$script"; } | sha256sum)
    [ -e "$known/${name%% *}" ] || {
        new+=("$script")
        names+=("$known/${name%% *}")
    }
done
status=0
if [ "${#new[@]}" -gt 0 ]; then
    # Eight scripts a process: each reads the libraries once more for each script anyway.
    printf '%s\0' "${new[@]}" |
        xargs -0 -P "$(nproc)" -n 8 shellcheck "${options[@]}" || status=1
    [ "$status" -ne 0 ] || touch "${names[@]}"
fi
echo "${#scripts[@]} scripts, ${#new[@]} of them checked by shellcheck"
exit $status
