// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import {readFileSync} from "node:fs";
import {test} from "node:test";
import {colour, coloursOf, legend, shadeOf} from "../src/colours.js";

const DATA = {modules: ["", "libc", "app", "lib"], name_modules: [0, 1, 2, 3]};
const tree = {labels: [0, 1, 2, 3], values: [4, 1, 1, -2], size: [4, 1, 1, 2]};

/* The red, green and blue of "hsl(...)" or "#rrggbb", from 0 to 1. */
function parts(css) {
  if (css.startsWith("#")) return [1, 3, 5].map(i => parseInt(css.slice(i, i + 2), 16) / 255);
  const [h, s, l] = css.match(/[-\d.]+/g).map(Number);
  const a = (s / 100) * Math.min(l / 100, 1 - l / 100);
  return [0, 8, 4].map(n => {
    const k = (((n + h / 30) % 12) + 12) % 12;
    return l / 100 - a * Math.max(-1, Math.min(k - 3, 9 - k, 1));
  });
}

/* WCAG's contrast of two colours. */
function contrast(a, b) {
  const [x, y] = [a, b]
    .map(css =>
      parts(css)
        .map(c => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0),
    )
    .sort((p, q) => p - q);
  return (y + 0.05) / (x + 0.05);
}

/* A variable of the style, in the light (0) or dark (1) design. */
const style = readFileSync(new URL("../src/style.css", import.meta.url), "utf8");
const of = (key, dark) =>
  [...style.matchAll(new RegExp(`--${key}:\\s*(#[0-9a-f]{6});`, "g"))][dark ? 1 : 0][1];

test("libc is grey, modules are not, a difference is red and green", () => {
  const shade = (node, isDiff) => colour(DATA, isDiff, tree, node, "f", {});
  assert.match(shade(1, false), / 4% /);
  assert.match(shade(2, false), / 66% /);
  assert.match(shade(2, true), /^hsl\(8 /);
  assert.match(shade(3, true), /^hsl\(160 /);
  assert.deepEqual(
    legend(DATA, false, false).map(([text]) => text),
    ["app", "lib", "libc and language libraries"],
  );
});

const SHADED = {
  ...DATA,
  types: [{name: "inuse_space", unit: "bytes"}],
  values: [[8, 2, 4, 0]],
  ages: [56, 0, 40, 0],
  growth: [4, 2, -4, -1],
};
const shadedTree = {...tree, values: SHADED.values[0], column: column => column};

test("ages are means of decades, growth is a share", () => {
  assert.deepEqual(coloursOf(SHADED), ["module", "age", "growth"]);
  assert.deepEqual(coloursOf({types: []}), ["module"]);
  const shades = by => [0, 1, 2, 3].map(node => shadeOf(SHADED, by, shadedTree, node));
  assert.deepEqual(shades("age"), [7, 0, 10, null]);
  assert.deepEqual(shades("growth"), [0.5, 1, -0.5, -1]);
  const hue = (by, node) =>
    Number(colour(SHADED, false, shadedTree, node, "f", {by}).match(/^hsl\((\d+) /)[1]);
  assert.ok(hue("age", 1) < hue("age", 0) && hue("age", 0) < hue("age", 2));
  assert.deepEqual([hue("growth", 1), hue("growth", 2)], [8, 160]);
  assert.equal(legend(SHADED, false, false, "age").length, 5);
});

/* More modules than hues. */
const MANY = {
  modules: ["", "libc", ..."abcdefghi"],
  name_modules: Array.from({length: 11}, (_, i) => i),
};
const manyTree = {labels: MANY.name_modules};

test("text is readable on every frame and bar", () => {
  for (const dark of [false, true]) {
    const text = of("text", dark);
    for (const isDiff of [false, true])
      for (const faint of [false, true])
        for (let node = 0; node < 4; node++)
          for (let i = 0; i < 300; i++) {
            const back = colour(DATA, isDiff, tree, node, "name" + i, {dark, faint});
            assert.ok(contrast(text, back) >= 4.5, `${text} on ${back}`);
          }
    for (const data of [MANY, {...MANY, modules: MANY.modules.slice(0, 3)}])
      for (let node = 0; node < 11; node++)
        for (let i = 0; i < 300; i++) {
          const back = colour(data, false, manyTree, node, "name" + i, {dark});
          assert.ok(contrast(text, back) >= 4.5, `${text} on ${back}`);
          if (node > 1) assert.ok(!dark || contrast(back, of("back", dark)) > 2, `${back} is dim`);
        }
    for (const by of ["age", "growth"])
      for (let node = 0; node < 4; node++)
        for (let i = 0; i < 50; i++) {
          const back = colour(SHADED, false, shadedTree, node, "name" + i, {dark, by});
          assert.ok(contrast(text, back) >= 4.5, `${text} on ${back}`);
        }
    for (const [front, back] of [
      ["text", "back"],
      ["text", "bar"],
      ["dim", "bar"],
      ["dim", "back"],
      ["link", "back"],
      ["found-text", "found"],
      ["bad", "back"],
    ])
      assert.ok(contrast(of(front, dark), of(back, dark)) >= 4.5, `${front} on ${back}`);
  }
});
