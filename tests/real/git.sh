#!/bin/bash
# SPDX-License-Identifier: MIT
# git.sh BUILD_DIR -- git: commits, branches, a merge, gc with threads, fsck, log, clone.
. "$(dirname "$0")/lib.sh"
need git

cat >"$work/session.sh" <<'END'
set -e
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org
export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
export HOME=$PWD GIT_CONFIG_NOSYSTEM=1
git init -q -b main repository
cd repository
git config pack.threads 2
for step in $(seq 1 25); do
    export GIT_AUTHOR_DATE="@$((1700000000 + step)) +0000"
    export GIT_COMMITTER_DATE=$GIT_AUTHOR_DATE
    for file in 1 2 3 4 5 6 7 8; do
        seq "$step" $((step * 40 + file)) >"file$((file * step % 60))"
    done
    git add -A
    git commit -q -m "step $step"
done
git checkout -q -b side HEAD~10
seq 1 5000 >only-here
git add -A
git commit -q -m side
git checkout -q main
git merge -q -m merge side
git gc -q --aggressive --prune=now
git fsck --full --strict 2>&1
git log --stat --format='%H %s' --graph
git diff --stat HEAD~20 HEAD
git blame file20 | sed -n 1,20p
git grep -c 99
git clone -q . ../copy
git -C ../copy rev-parse HEAD
git -C ../copy ls-files -s
END
same git bash "$work/session.sh"
