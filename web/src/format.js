// SPDX-License-Identifier: MIT
// format.js: values with units, times and shares as texts.

const UNITS = {
  bytes: [1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]],
  nanoseconds: [1000, ["ns", "us", "ms", "s"]],
};
// The other units that a profile.proto may state its values in, in these two; as in pprof, kilo is
// 1024 of bytes.  Plural and case do not matter.
const BYTES = {b: 1, byte: 1};
["kilo", "mega", "giga", "tera", "peta"].forEach((prefix, i) => {
  for (const name of ["b", "ib", "byte"]) BYTES[prefix[0] + name] = 1024 ** (i + 1);
  BYTES[`${prefix}byte`] = 1024 ** (i + 1);
});
const NANOSECONDS = {nanosecond: 1, ns: 1, s: 1e9, sec: 1e9, second: 1e9};
for (const [names, size] of [
  ["us microsecond \u00b5s \u00b5second \u03bcs \u03bcsecond", 1e3],
  ["ms millisecond", 1e6],
  ["min minute", 60e9],
  ["hr hour", 3600e9],
])
  for (const name of names.split(" ")) NANOSECONDS[name] = size;

/** The unit that is shown, and how many of it one `unit` is. */
function measure(unit) {
  for (const name of [unit, unit.toLowerCase(), unit.toLowerCase().replace(/s$/, "")])
    for (const [shown, sizes] of [
      ["bytes", BYTES],
      ["nanoseconds", NANOSECONDS],
    ])
      if (name === shown || Object.hasOwn(sizes, name)) return [shown, sizes[name] ?? 1];
  return [unit, 1];
}

const COUNT = [1000, ["", "k", "M", "G", "T"]];

/** "1.50 MiB", "12.3k": three digits, as in the command's tables. */
export function format(value, unit) {
  const [shown, size] = measure(unit ?? ""),
    isMeasured = Object.hasOwn(UNITS, shown),
    [base, names] = isMeasured ? UNITS[shown] : COUNT,
    sign = value < 0 ? "-" : "";
  let rest = Math.abs(value) * size,
    k = 0;
  while (rest >= base && k + 1 < names.length) {
    rest /= base;
    k++;
  }
  const digits = k === 0 ? String(Math.round(rest)) : rest.toPrecision(rest < 999.5 ? 3 : 4);
  if (!names[k]) return sign + digits;
  return sign + digits + (isMeasured ? " " : "") + names[k];
}

export function percent(value, total) {
  return total ? ((100 * value) / total).toFixed(1) + " %" : "";
}

/** "3 m 20 s ago" is too long for a table: "3m". */
export function ago(seconds) {
  for (const [size, name] of [
    [86400, "d"],
    [3600, "h"],
    [60, "m"],
  ])
    if (seconds >= size) return Math.floor(seconds / size) + name;
  return Math.max(0, Math.floor(seconds)) + "s";
}

export function clock(timeNs) {
  return new Date(timeNs / 1e6).toLocaleTimeString("sv-SE");
}
