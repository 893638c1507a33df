// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import {test} from "node:test";
import {filesOf, ownFirst, placeOf} from "../src/order.js";

test("lifetimes and sizes have an order", () => {
  const tags = [
    "over 1000 s",
    "100 s to 1000 s",
    "0.1 s to 1 s",
    "1 s to 10 s",
    "10 ms to 0.1 s",
    "under 1 us",
    "100 us to 1 ms",
    "1 us to 10 us",
  ];
  const sorted = [...tags].sort((a, b) => placeOf({tag: a}) - placeOf({tag: b}));
  assert.deepEqual(sorted, [
    "under 1 us",
    "1 us to 10 us",
    "100 us to 1 ms",
    "10 ms to 0.1 s",
    "0.1 s to 1 s",
    "1 s to 10 s",
    "100 s to 1000 s",
    "over 1000 s",
  ]);
  assert.ok(placeOf({tag: 48}) < placeOf({tag: 320}));
});

test("a program's own functions come before those of libraries and those without lines", () => {
  const rows = ["_mutate", "malloc", "operator[]", "a::parse(int, char)", "main", "run"].map(
    name => ({
      name,
    }),
  );
  const files = filesOf([
    {name: "main /home/me/a b.c:4"},
    {name: "operator[] /usr/include/c++/12/bits/stl_map.h:500"},
    {name: "a::parse(int, char) ../src/parse.cc:12"},
    {name: "a::parse(int, char) ../src/other.h:1"},
    {name: "malloc ./malloc/malloc.c:3300"},
    {name: "run work.c:8"},
    {name: "no line"},
  ]);
  assert.equal(files.get("a::parse(int, char)"), "../src/parse.cc");
  assert.deepEqual(
    ownFirst(rows, files).map(row => row.name),
    ["a::parse(int, char)", "main", "run", "malloc", "operator[]", "_mutate"],
  );
});
