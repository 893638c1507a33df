// SPDX-License-Identifier: MIT
// format.js: values with units, times and shares as texts.

const UNITS = {
  bytes: [1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]],
  nanoseconds: [1000, ["ns", "us", "ms", "s"]],
};
const COUNT = [1000, ["", "k", "M", "G", "T"]];

/** "1.50 MiB", "12.3k": three digits, as in the command's tables. */
export function format(value, unit) {
  const [base, names] = UNITS[unit] ?? COUNT,
    sign = value < 0 ? "-" : "";
  let rest = Math.abs(value),
    k = 0;
  while (rest >= base && k + 1 < names.length) {
    rest /= base;
    k++;
  }
  const digits = k === 0 ? String(Math.round(rest)) : rest.toPrecision(rest < 999.5 ? 3 : 4);
  if (!names[k]) return sign + digits;
  return sign + digits + (UNITS[unit] ? " " : "") + names[k];
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
