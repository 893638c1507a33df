// SPDX-License-Identifier: MIT
// csv.test.mjs: rows as comma-separated values.
import assert from "node:assert/strict";
import {test} from "node:test";
import {csv, hasCsv} from "../src/csv.js";

test("names with commas, quotes and line ends are quoted", () => {
  const rows = [{flat: 1, cum: 2, name: 'map<int, "x">::f', file: "a\nb.c", line: 3}];
  assert.equal(
    csv("top", {rows}),
    'flat,cum,function,file,line\r\n1,2,"map<int, ""x"">::f","a\nb.c",3\r\n',
  );
});

test("a missing value is an empty cell", () => {
  const moments = [{time_ns: 5, value: 6}];
  assert.equal(csv("overview", {type: "inuse_space", moments}).split("\r\n")[1], "5,6,,");
});

test("a stack is one cell, callers and callees are rows", () => {
  assert.match(
    csv("traces", {stacks: [{value: 7, frames: [{name: "f"}, {name: "main"}]}]}),
    /7,f;main/,
  );
  const node = {flat: 1, cum: 3, name: "f", callers: [{name: "main", value: 3}]};
  assert.match(csv("tree", {nodes: [node]}), /caller,3,,,main,f\r\nself,,1,3,f,\r\n$/);
  assert.ok(!hasCsv("graph"));
});
