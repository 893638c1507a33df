#!/bin/bash
# SPDX-License-Identifier: MIT
# pages.sh BUILD_DIR -- the page in Chromium, on data of all kinds (pages/), its pure functions in
# node (web/test), and its bundle, made again and compared.  Skipped (77) without node, npm,
# Chromium, or where npm's packages cannot be fetched.  SHOTS=DIR keeps pictures of the pages,
# ONLY=RE runs the tests that match.
source "$(dirname "$0")/../support/own_pids.bash"
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
source=$here/../../web
for tool in node npm chromium; do
    command -v "$tool" >/dev/null || {
        echo "skipped: no $tool"
        exit 77
    }
done
work=$(mktemp -d /tmp/mallow-pages.XXXXXX)
trap 'rm -rf "$work"' EXIT
cp -r "$source"/{package.json,package-lock.json,build.mjs,index.html,flame.html,src,test} "$work"
cd "$work"
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >npm.log 2>&1 || {
    tail -n 3 npm.log
    echo "skipped: npm's packages cannot be fetched"
    exit 77
}
node build.mjs
diff -r dist "$source/dist" >/dev/null || {
    echo "FAILED: web/dist is not what 'npm run build' makes of web/src"
    exit 1
}
node --test test/
cp "$here"/pages/*.mjs "$here/../support/made_proto.py" .
cc -g -O1 -fno-builtin -o work "$here/work.c"
cc -g -O1 -pthread -o locks "$here/../tool/locks.c"
MALLOW_BUILD=$build node --test ${ONLY:+"--test-name-pattern=$ONLY"} --test-concurrency=1 \
    ./{flame,process,secret,tables,fleet}.mjs
