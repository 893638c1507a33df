// SPDX-License-Identifier: MIT
// order.js: in which order a view shows its things.

/* Sources of the system's libraries and headers are not the program's own. */
const SYSTEM = /^(\/usr\/(include|lib|src)\/|\.?\.?\/?(sysdeps|csu|nptl|malloc)\/|\/build\/glibc)/;

/** The functions with their lines' files: rows of `top --lines` end in " FILE:LINE". */
export function filesOf(rows) {
  const files = new Map();
  for (const {name} of rows) {
    const [, text, file] =
      /^(.+?) (\.{0,2}\/.*):\d+$/.exec(name) ?? /^(.*) (\S+):\d+$/.exec(name) ?? [];
    if (file && !files.has(text)) files.set(text, file);
  }
  return files;
}

/** The program's own functions whose lines are known first, then others with lines, then the rest;
 * each in its order. */
export function ownFirst(rows, files) {
  const rank = ({name}) => (!files.has(name) ? 2 : SYSTEM.test(files.get(name)) ? 1 : 0);
  return rows
    .map((row, i) => [rank(row), i, row])
    .sort((a, b) => a[0] - b[0] || a[1] - b[1])
    .map(([, , row]) => row);
}

const SECONDS = {us: 1e-6, ms: 1e-3, s: 1};

/** Where a bar stands among the others: sizes and lifetimes have an order. */
export function placeOf({tag}) {
  if (typeof tag === "number") return tag;
  const [, word, number, unit] = /^(under |over )?([\d.]+) (us|ms|s)\b/.exec(tag) ?? [];
  if (!unit) return 0;
  return word === "under " ? 0 : Number(number) * SECONDS[unit] * (word === "over " ? 1.5 : 1);
}
