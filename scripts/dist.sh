#!/bin/bash
# SPDX-License-Identifier: MIT
# dist.sh [FOLDER] -- writes FOLDER/mallow-VERSION.tar.xz (build/dist): all sources, as they are in
# the working tree.  They build without git, node or network, once the packages of
# scripts/packages.txt's job build are installed.  Two runs on one commit write the same bytes.
. "$(dirname "$0")/lib/common.sh"

[ $# -le 1 ] || die "usage: scripts/dist.sh [FOLDER]"
mkdir -p "${1:-$MALLOW_BUILD/dist}"
folder=$(realpath "${1:-$MALLOW_BUILD/dist}")
name=mallow-$(mallow_version)

# The files of the repository, those that are not yet committed too, each ended by a zero byte;
# without git, as in an unpacked tar ball, all but builds.
list_files() {
    if is_repository; then
        git ls-files -z --cached --others --exclude-standard
    else
        find . \( -path './build*' -o -path ./.git \) -prune -o ! -type d -print0
    fi | while IFS= read -r -d '' file; do
        [ ! -e "$file" ] && [ ! -L "$file" ] || printf '%s\0' "${file#./}"
    done
}

list_files | sort -zu | tar --create --no-recursion --null --files-from=- --owner=0 --group=0 \
    --numeric-owner --mtime="@$(source_epoch)" --mode=u+rw,go+r-w --format=gnu \
    --transform="flags=r;s|^|$name/|" | xz -3 >"$folder/$name.tar.xz.new"
mv "$folder/$name.tar.xz.new" "$folder/$name.tar.xz"
say "${folder#"$MALLOW_ROOT"/}/$name.tar.xz: $(stat -c %s "$folder/$name.tar.xz") bytes"
