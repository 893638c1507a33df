// SPDX-License-Identifier: MIT
// url.js: everything that a page shows is in the part of its address behind '#':
// "#/TARGET/VIEW?key=value", so that it can be sent to a colleague, and "back" goes back.

export const VIEWS = {
  overview: "Overview",
  flame: "Flame",
  top: "Table",
  tree: "Callers",
  graph: "Graph",
  weblist: "Source",
  sizes: "Sizes",
  lifetimes: "Lifetimes",
  threads: "Threads",
  traces: "Stacks",
  map: "Map",
  leaks: "Leaks",
  locks: "Locks",
};

/** Options of the query that choose what is shown, in each view. */
export const SHARED = [
  "cpu",
  "live",
  "type",
  "focus",
  "ignore",
  "hide",
  "show",
  "from",
  "thread",
  "tagfocus",
  "since",
  "at",
  "between",
  "base",
];

export function parseHash(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [target = "", view = "overview"] = path.split("/", 2).map(decodeURIComponent);
  return {
    target,
    view: Object.hasOwn(VIEWS, view) ? view : "overview",
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

/** Empty values are left out. */
export function makeHash({target = "", view = "overview", query = {}}) {
  if (!target) return "#/" + suffix(query);
  return `#/${encodeURIComponent(target)}/${view}${suffix(query)}`;
}

function suffix(query) {
  const pairs = Object.entries(query).filter(
    ([, value]) => value !== "" && value != null && value !== false,
  );
  const text = new URLSearchParams(
    pairs.map(([key, value]) => [key, value === true ? "1" : String(value)]),
  ).toString();
  return text ? "?" + text : "";
}

export function shared(query) {
  return Object.fromEntries(SHARED.filter(key => query[key]).map(key => [key, query[key]]));
}
