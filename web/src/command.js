// SPDX-License-Identifier: MIT
// command.js: the command line that prints what a view shows.

const OPTIONS = {
  type: "sample-type",
  focus: "focus",
  ignore: "ignore",
  hide: "hide",
  show: "show",
  from: "show-from",
  thread: "thread",
  tagfocus: "tagfocus",
  since: "since",
  at: "alive-at",
  between: "made-between",
  base: "base",
};
const SUBCOMMANDS = {overview: ["timeline"], locks: ["cpu", "--locks"]};
/* These show a process, whatever is chosen. */
const PLAIN = ["overview", "map", "leaks", "locks"];

/** A regular expression for this name alone. */
export const exactly = name => `^${name.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")}$`;

/** Quotes a word for a shell. */
export function quote(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

export function commandLine({target, view, query}) {
  const words = ["mallow", ...(SUBCOMMANDS[view] ?? [view])];
  if (PLAIN.includes(view)) return words.concat(quote(target)).join(" ");
  if (query.cpu) words.push("--cpu");
  for (const [key, option] of Object.entries(OPTIONS))
    if (query[key]) words.push(`--${option}=${query[key]}`);
  if (view === "weblist") words.push(query.fn ? exactly(query.fn) : (query.focus ?? "."));
  words.push(target);
  return words.map(quote).join(" ");
}
