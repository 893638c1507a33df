// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import {readFileSync} from "node:fs";
import {test} from "node:test";
import * as trees from "../src/trees.js";

/* main calls a (3 itself, b 5) and b (2). */
const DATA = {
  program: "p",
  names: ["root", "main", "a", "b"],
  name_modules: [0, 2, 2, 2],
  parents: [0, 0, 1, 2, 1],
  labels: [0, 1, 2, 3, 3],
  values: [
    [10, 10, 8, 5, 2],
    [-4, -4, -6, -6, 2],
  ],
};

test("the top-down tree has the largest child first", () => {
  const tree = trees.topDown(DATA, 0);
  assert.equal(tree.first[1], 2);
  assert.equal(tree.next[2], 4);
  assert.deepEqual([...tree.start], [0, 0, 0, 0, 8]);
  assert.equal(tree.deepest, 3);
});

test("only frames by which stacks start are folded", () => {
  const OWN = ["main", "run", "Worker::run"];
  const chainOf = (...names) => {
    const data = {
      names: ["", ...names, "a", "b"],
      name_modules: [0, ...names.map(name => (OWN.includes(name) ? 2 : 1)), 2, 2],
      parents: [0, ...names.keys(), names.length, names.length],
      labels: [...Array(names.length + 3).keys()],
      values: [[...Array(names.length + 1).fill(5), 3, 2]],
    };
    const frames = more => {
      const tree = trees.topDown({...data, ...more}, 0);
      assert.equal(tree.chainEnd, tree.chain);
      return tree.chain;
    };
    assert.equal(frames({filters: "   focus=a\n"}), 0);
    return frames({});
  };
  assert.equal(chainOf("_start", "__libc_start_main_impl", "main", "run"), 2);
  assert.equal(chainOf("main", "_start"), 0);
  assert.equal(
    chainOf(
      "clone3",
      "start_thread",
      "execute_native_thread_routine",
      "std::thread::_State_impl<\u2026>::_M_run",
      "std::__invoke_impl<\u2026>",
      "Worker::run",
      "std::vector<int>::resize",
    ),
    5,
  );
  assert.equal(chainOf("start_thread", "[libstdc++.so.6]", "std::sort"), 2);
});

test("values of functions without their callees", () => {
  assert.deepEqual([...trees.ownValues(DATA, 0)], [0, 0, 3, 5, 2]);
  assert.equal(DATA.names[trees.largestFunction(DATA, 0)], "b");
});

test("the bottom-up tree adds the same function from all its callers", () => {
  const tree = trees.bottomUp(DATA, 0);
  const roots = [];
  for (let k = tree.first[0]; k >= 0; k = tree.next[k])
    roots.push([DATA.names[tree.labels[k]], tree.values[k]]);
  assert.deepEqual(roots, [
    ["b", 7],
    ["a", 3],
  ]);
  assert.equal(tree.values[0], 10);
});

test("a sandwich has callees and callers of one function", () => {
  const [callees, callers] = trees.sandwich(DATA, 0, 2);
  assert.deepEqual(callees.values, [8, 5]);
  assert.deepEqual(callers.values, [8, 8]);
  assert.equal(callers.title, "a");
});

test("other columns of the data are summed for the same nodes", () => {
  const tree = trees.bottomUp(DATA, 0),
    other = [20, 20, 16, 10, 4];
  assert.deepEqual(
    [...tree.column(other)],
    [...tree.values].map(value => 2 * value),
  );
  assert.equal(tree.column(other), tree.column(other), "summed once");
  const [callees, callers] = trees.sandwich(DATA, 0, 2);
  assert.deepEqual(callees.column(other), [16, 10]);
  assert.deepEqual(callers.column(other), [16, 16]);
  assert.deepEqual(trees.topDown(DATA, 0).column(other), other);
});

test("a column of another profile comes to the nodes with the same path", () => {
  const other = {names: ["", "b", "main", "a"], parents: [0, 0, 1, 1], labels: [0, 2, 1, 3]};
  assert.deepEqual(trees.columnByPath(DATA, other, [9, 8, 7, 6]), [9, 8, 6, 0, 7]);
});

test("in a difference a frame is as wide as its children", () => {
  const tree = trees.topDown(DATA, 1);
  assert.equal(tree.size[1], 8); // -6 and 2 beside each other
  assert.equal(tree.size[0], 8);
});

test("a place is found again by its names", () => {
  const tree = trees.topDown(DATA, 0),
    path = trees.pathOf(tree, DATA.names, 3);
  assert.deepEqual(path, ["main", "a", "b"]);
  assert.equal(trees.nodeAt(tree, DATA.names, path), 3);
  assert.equal(trees.nodeAt(tree, DATA.names, ["main", "gone", "b"]), 1);
});

test("a search counts each stack once", () => {
  const {frames, sum} = trees.search(DATA, 0, /^[ab]$/);
  assert.equal(frames, 3);
  assert.equal(sum, 10);
});

test("names are short as the command's are", () => {
  const pairs = JSON.parse(readFileSync(new URL("names.json", import.meta.url)));
  assert.ok(pairs.length > 10);
  for (const [whole, short] of pairs) assert.equal(trees.withoutArguments(whole), short);
});
