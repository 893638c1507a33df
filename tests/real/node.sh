#!/bin/bash
# SPDX-License-Identifier: MIT
# node.sh BUILD_DIR -- node: JSON, buffers, worker threads, compression, a child process.
. "$(dirname "$0")/lib.sh"
need node

cat >"$work/script.js" <<'END'
const { Worker, isMainThread, parentPort, workerData } = require("worker_threads");
const crypto = require("crypto"), zlib = require("zlib"),
    { execFileSync } = require("child_process");

function work(seed) {
    const rows = [];
    for (let i = 0; i < 20000; i++)
        rows.push({ id: i, name: "n" + (i * seed % 977), list: [i, i + 1, String(i)] });
    const text = JSON.stringify(rows), back = JSON.parse(text);
    const packed = zlib.deflateSync(text), buffers = [];
    for (let i = 0; i < 2000; i++) buffers.push(Buffer.alloc(1 + i * 37 % 5000, i & 255));
    const hash = crypto.createHash("sha256").update(zlib.inflateSync(packed))
        .update(Buffer.concat(buffers));
    return `${seed} ${back.length} ${hash.digest("hex")}`;
}
if (isMainThread) {
    const jobs = [1, 2, 3, 4].map(seed => new Promise((done, broken) =>
        new Worker(__filename, { workerData: seed }).on("message", done).on("error", broken)));
    Promise.all(jobs).then(lines => {
        lines.forEach(line => console.log(line));
        console.log(execFileSync(process.execPath,
            ["-e", "console.log([1,2,3].map(x => x * 2))"]).toString());
    });
} else {
    parentPort.postMessage(work(workerData));
}
END
same node node "$work/script.js"
