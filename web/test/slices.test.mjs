// SPDX-License-Identifier: MIT
// slices.test.mjs: cells of a heap's map.
import assert from "node:assert/strict";
import {test} from "node:test";
import {cellAt, describe, fillOf, layOut, SLICES} from "../src/slices.js";

const chunk = (kinds, pages = []) => {
  const zeros = Array(SLICES).fill(0);
  const map = {start: "0x7f0000000000", kinds: kinds.padEnd(SLICES, "f")};
  for (const key of ["block_bytes", "used", "touched", "holes"]) map[key] = [...zeros];
  pages.forEach(([i, bytes, used, touched, holes]) => {
    map.block_bytes[i] = bytes;
    map.used[i] = used;
    map.touched[i] = touched;
    map.holes[i] = holes;
  });
  return map;
};

test("a page is filled by its blocks in use, and above them by its free ones", () => {
  const map = chunk("pp", [
    [0, 1024, 16, 48, 0],
    [1, 1024, 64, 60, 0],
  ]);
  assert.deepEqual(fillOf(map, 0, 65536), [
    ["used", 0.25],
    ["free", 0.5],
  ]);
  assert.deepEqual(fillOf(map, 1, 65536), [
    ["used", 1],
    ["free", 0],
  ]);
  assert.deepEqual(fillOf(map, 2, 65536), []);
});

test("the slices of a large block have its colour", () => {
  const map = chunk("lrrsrd");
  assert.deepEqual(
    [0, 1, 2, 3, 4, 5].map(i => fillOf(map, i, 65536)[0][0]),
    ["large", "large", "large", "sampled", "sampled", "kept"],
  );
});

test("a place of the picture is a cell or none", () => {
  assert.deepEqual(layOut(384), {columns: 1, cell: 6, span: 402});
  const wide = layOut(1450);
  assert.deepEqual(wide, {columns: 2, cell: 11, span: 717});
  assert.deepEqual(cellAt(0, 0, wide, 3), {chunk: 0, slice: 0});
  assert.deepEqual(cellAt(717, 12, wide, 4), {chunk: 3, slice: 0});
  assert.equal(cellAt(697, 0, wide, 4), null);
  assert.equal(cellAt(717, 12, wide, 3), null);
});

test("a tooltip has address, blocks and holes", () => {
  const map = chunk("p", [[0, 1024, 16, 48, 3]]);
  assert.deepEqual(describe(map, 0).slice(0, 5), [
    "blocks of 1.00 KiB",
    "0x7f0000010000",
    "16 in use, 16.0 KiB",
    "32 free and resident, 32.0 KiB",
    "3 kernel pages given back",
  ]);
  assert.match(describe(map, 1)[0], /given back/);
});
