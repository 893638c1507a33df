// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import {test} from "node:test";
import {commandLine, quote} from "../src/command.js";
import {facts, others, totalText} from "../src/flame-texts.js";
import {ago, format, percent} from "../src/format.js";
import {makeHash, parseHash, shared} from "../src/url.js";

test("values have three digits and a unit", () => {
  for (const [value, unit, text] of [
    [0, "bytes", "0 B"],
    [1023, "bytes", "1023 B"],
    [1536, "bytes", "1.50 KiB"],
    [1048575, "bytes", "1024 KiB"],
    [-2048, "bytes", "-2.00 KiB"],
    [999, "count", "999"],
    [12345, "count", "12.3k"],
    [1.5e9, "nanoseconds", "1.50 s"],
    [2048, "kilobytes", "2.00 MiB"],
    [3, "MB", "3.00 MiB"],
    [1500, "us", "1.50 ms"],
    [1500, "\u00b5s", "1.50 ms"],
    [90, "minutes", "5400 s"],
    [5, "requests", "5"],
    [5, "constructor", "5"],
    [5, undefined, "5"],
  ])
    assert.equal(format(value, unit), text);
  assert.equal(percent(1, 3), "33.3 %");
  assert.equal(percent(1, 0), "");
  assert.equal(ago(3700), "1h");
});

test("a flame graph says what its total is, and the view's unit first", () => {
  const types = [
    ["inuse_space", "bytes"],
    ["alloc_objects", "count"],
    ["alloc_space", "bytes"],
    ["cpu", "nanoseconds"],
  ].map(([name, unit]) => ({name, unit}));
  const data = {
    types,
    values: [[2048], [5], [4096], [1e9]],
    mean_bytes: 524288,
    interval: [0, 1024],
  };
  assert.deepEqual(
    types.map((_, i) => totalText(data, i)),
    ["2.00 KiB in use", "5 objects allocated", "4.00 KiB allocated", "1.00 s cpu"],
  );
  assert.equal(facts(data, 0), "T = 512 KiB \u00b7 between 0 B and 1.00 KiB in 95 of 100 cases");
  assert.equal(facts(data, 2), "T = 512 KiB");
  const one = {tree: {column: column => column}, node: 0};
  assert.deepEqual(others(data, 0, one).slice(0, 2), ["alloc_space: 4.00 KiB", "alloc_objects: 5"]);
});

test("an address keeps target, view and options", () => {
  for (const place of [
    {target: "4711", view: "flame", query: {focus: "a|b c&d=#?", live: "1"}},
    {target: "dir/with space/é.pb.gz", view: "top", query: {}},
    {target: "../<b>", view: "overview", query: {zoom: "a\nb"}},
  ])
    assert.deepEqual(parseHash(makeHash(place)), place);
  assert.deepEqual(parseHash(""), {target: "", view: "overview", query: {}});
  assert.equal(parseHash("#/1/constructor").view, "overview");
  assert.deepEqual(shared({type: "x", zoom: "y"}), {type: "x"});
});

test("command lines can be pasted into a shell", () => {
  assert.equal(quote("a b"), "'a b'");
  assert.equal(quote("it's"), "'it'\\''s'");
  assert.equal(
    commandLine({target: "4711", view: "top", query: {cpu: "1", focus: "^f$", type: "cpu"}}),
    "mallow top --cpu --sample-type=cpu '--focus=^f$' 4711",
  );
  assert.equal(
    commandLine({target: "a.pb.gz", view: "overview", query: {}}),
    "mallow timeline a.pb.gz",
  );
});
