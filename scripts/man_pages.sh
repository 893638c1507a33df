#!/bin/bash
# SPDX-License-Identifier: MIT
# man_pages.sh MALLOW OVERVIEW DIR -- writes the man pages of the command into DIR: one a
# subcommand, and OVERVIEW (doc/man/mallow.1.in) with the list of them.
set -euo pipefail
overview=$2 directory=$3
# The words of the emulator, if one is needed, and the command.
read -ra mallow <<<"${MALLOW_EMULATOR:-}"
mallow+=("$1")
mkdir -p "$directory"
rm -f "$directory"/*.1
"${mallow[@]}" help --man >"$directory/list"
while read -r subcommand; do
    "${mallow[@]}" help --man "$subcommand" >"$directory/mallow-$subcommand.1"
done < <(sed -n 's/^\.It Xr mallow-\([a-z]*\) 1$/\1/p' "$directory/list")
for name in jeprof pprof; do
    "${mallow[@]}" help --man "$name" >"$directory/$name.1"
done
sed -e "/^@SUBCOMMANDS@\$/{r $directory/list" -e 'd}' "$overview" >"$directory/mallow.1"
rm "$directory/list"
