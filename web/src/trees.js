// SPDX-License-Identifier: MIT
// trees.js: the trees that a flame graph draws, from the columns that `mallow flame --json` writes:
// names, parents, labels, values.  Parents come before their children; node 0 is the root.

/** A tree ready to be drawn: children beside each other, the largest first.  `collect` returns for
 * a column of the data, which has a number for each of its nodes, those of the tree's nodes. */
export function makeTree(title, parents, labels, values, collect = column => column) {
  const count = parents.length,
    known = new Map();
  const tree = {title, parents, labels, values, count, deepest: 0, chain: 0, chainEnd: 0};
  tree.column = column => {
    if (!known.has(column)) known.set(column, collect(column));
    return known.get(column);
  };
  tree.depth = new Int32Array(count);
  for (let i = 1; i < count; i++) {
    tree.depth[i] = tree.depth[parents[i]] + 1;
    tree.deepest = Math.max(tree.deepest, tree.depth[i]);
  }
  tree.size = Float64Array.from(values, Math.abs);
  // In a difference a parent may be smaller than its children: it is drawn as wide as they are.
  const {size} = tree,
    sums = new Float64Array(count);
  for (let i = count - 1; i > 0; i--) {
    if (sums[i] > size[i]) size[i] = sums[i];
    sums[parents[i]] += size[i];
  }
  if (sums[0] > size[0]) size[0] = sums[0];
  layOut(tree);
  return tree;
}

function sortChildren({first, next, size}, parent) {
  const children = [];
  for (let k = first[parent]; k >= 0; k = next[k]) children.push(k);
  children.sort((a, b) => size[b] - size[a] || a - b);
  first[parent] = children[0];
  children.forEach((node, i) => (next[node] = children[i + 1] ?? -1));
}

function layOut(tree) {
  const {count, parents, size} = tree;
  const first = (tree.first = new Int32Array(count).fill(-1));
  const next = (tree.next = new Int32Array(count).fill(-1));
  // Children of one caller are few: sorting them apart is faster than sorting all nodes.
  for (let i = count - 1; i > 0; i--) {
    next[i] = first[parents[i]];
    first[parents[i]] = i;
  }
  for (let i = 0; i < count; i++) if (first[i] >= 0 && next[first[i]] >= 0) sortChildren(tree, i);
  const start = (tree.start = new Float64Array(count)),
    stack = [0];
  while (stack.length) {
    const node = stack.pop();
    let at = start[node];
    for (let k = first[node]; k >= 0; k = next[k]) {
      start[k] = at;
      at += size[k];
      stack.push(k);
    }
  }
}

/* The first entries of the data's modules: no file is known; libc and languages' libraries. */
const SYSTEM = 1;

/** The frames of libraries below the root by which all stacks start; the picture may fold them.
 * Of the program's own frames, and of stacks that were selected, nothing is folded. */
function findChain(tree, data) {
  const {first, next, size, values, labels} = tree;
  const only = node =>
    first[node] >= 0 &&
    size[first[node]] > 0 &&
    (next[first[node]] < 0 || size[next[first[node]]] === 0)
      ? first[node]
      : -1;
  for (
    let node = data.filters ? -1 : only(0);
    node >= 0 &&
    data.name_modules[labels[node]] === SYSTEM &&
    only(node) >= 0 &&
    values[only(node)] === values[node];
    node = only(node)
  ) {
    tree.chain++;
    tree.chainEnd = node;
  }
}

/** Collects stacks frame by frame into the columns of a tree. */
function collector(nameCount) {
  const parents = [0],
    labels = [0],
    values = [0],
    known = new Map();
  const child = (parent, label) => {
    const key = parent * nameCount + label;
    let node = known.get(key);
    if (node === undefined) {
      known.set(key, (node = parents.length));
      parents.push(parent);
      labels.push(label);
      values.push(0);
    }
    return node;
  };
  return {parents, labels, values, child};
}

function ownOf(data, column) {
  const own = Float64Array.from(column);
  for (let i = 1; i < column.length; i++) own[data.parents[i]] -= column[i];
  return own;
}

/** The value of each node without its callees. */
export const ownValues = (data, type) => ownOf(data, data.values[type]);

export const rootName = data => data.program || "all";

export function topDown(data, type) {
  const tree = makeTree(rootName(data), data.parents, data.labels, data.values[type]);
  findChain(tree, data);
  return tree;
}

/** Allocating functions first, their callers below. */
export function bottomUp(data, type) {
  const isShown = ownValues(data, type);
  const collect = column => {
    const own = ownOf(data, column),
      c = collector(data.names.length);
    for (let i = 0; i < own.length; i++) {
      if (isShown[i] === 0) continue;
      c.values[0] += own[i];
      for (let node = i, at = 0; node !== 0; node = data.parents[node]) {
        at = c.child(at, data.labels[node]);
        c.values[at] += own[i];
      }
    }
    return c;
  };
  const {parents, labels, values} = collect(data.values[type]);
  return makeTree(rootName(data), parents, labels, values, column => collect(column).values);
}

/* Callees and callers of a function, with the sums of a column. */
function collectBoth(data, label, values) {
  const {parents, labels} = data;
  const callers = collector(data.names.length),
    callees = collector(data.names.length);
  const merged = new Int32Array(parents.length).fill(-1);
  for (let i = 1; i < parents.length; i++) {
    const inside = merged[parents[i]];
    if (inside < 0 && labels[i] !== label) continue;
    merged[i] = inside < 0 ? 0 : callees.child(inside, labels[i]);
    callees.values[merged[i]] += values[i];
    if (inside >= 0) continue;
    callers.values[0] += values[i];
    for (let node = parents[i], at = 0; node !== 0; node = parents[node]) {
      at = callers.child(at, labels[node]);
      callers.values[at] += values[i];
    }
  }
  callers.labels[0] = callees.labels[0] = label;
  return [callees, callers];
}

/** Callees and callers of one function.  Of a recursive function the outermost call counts. */
export function sandwich(data, type, label) {
  return collectBoth(data, label, data.values[type]).map((c, i) =>
    makeTree(
      data.names[label],
      c.parents,
      c.labels,
      c.values,
      column => collectBoth(data, label, column)[i].values,
    ),
  );
}

/** The function that holds most without its callees. */
export function largestFunction(data, type) {
  const own = ownValues(data, type),
    sums = new Float64Array(data.names.length);
  for (let i = 1; i < own.length; i++) sums[data.labels[i]] += own[i];
  return sums.reduce(
    (best, value, i) => (Math.abs(value) > Math.abs(sums[best]) ? i : best),
    data.names.length > 1 ? 1 : 0,
  );
}

/** The names from the root to a node, a place that other data of the process has, too. */
export function pathOf(tree, names, node) {
  const path = [];
  for (; node !== 0; node = tree.parents[node]) path.unshift(names[tree.labels[node]]);
  return path;
}

/** The node at a path; where it ends early, the last node that is there. */
export function nodeAt(tree, names, path) {
  let node = 0;
  for (const name of path) {
    let child = tree.first[node];
    while (child >= 0 && names[tree.labels[child]] !== name) child = tree.next[child];
    if (child < 0) break;
    node = child;
  }
  return node;
}

/* A lambda among the arguments says whose code the function holds. */
function dotsFor(list) {
  let at = list.indexOf("{lambda");
  const stop = list.indexOf("}", at);
  if (at < 0 || stop < 0) return "<\u2026>";
  for (let depth = 0; at > 0 && (depth > 0 || !"<, ".includes(list[at - 1])); at--)
    depth += (list[at - 1] === ")") - (list[at - 1] === "(");
  return `<\u2026${list.slice(at, stop + 1)}\u2026>`;
}

/** "map<string, int>::find" as "map<…>::find", as in tables: operator< and Rust's leading
 * <T as Trait> stay, tags such as [abi:cxx11] do not. */
export function withoutArguments(text) {
  let short = "";
  for (let i = 0; i < text.length; i++) {
    const tag = /^\[abi:\w*\]/.exec(text.slice(i));
    if (tag) {
      i += tag[0].length - 1;
      continue;
    }
    short += text[i];
    if (text[i] !== "<" || i === 0 || /operator<?$/.test(text.slice(0, i))) continue;
    let depth = 0,
      end = i;
    for (; end < text.length; end++) {
      if (text[end] === "<") depth++;
      else if (text[end] === ">" && text[end - 1] !== "-" && --depth === 0) break;
    }
    if (end === text.length) continue;
    short = short.slice(0, -1) + dotsFor(text.slice(i, end));
    i = end;
  }
  return short;
}

const LONG = 80;

/** A name as tables have it: of a long one without the arguments of templates. */
export const shortName = name => (name.length > LONG ? withoutArguments(name) : name);

/** Which nodes match, how many frames, and the sum below them, each stack counted once. */
export function search(data, type, pattern) {
  const names = Uint8Array.from(data.names, text => (pattern.test(text) ? 1 : 0));
  const below = new Uint8Array(data.parents.length);
  let sum = 0,
    frames = 0;
  for (let i = 1; i < below.length; i++) {
    const above = below[data.parents[i]],
      matches = names[data.labels[i]];
    below[i] = above | matches;
    frames += matches;
    if (matches && !above) sum += data.values[type][i];
  }
  return {names, frames, sum};
}

/** A column for `data` from that of another profile of the same program: the value of the node with
 * the same path; 0 where it has none. */
export function columnByPath(data, other, column) {
  const children = new Map(),
    key = (parent, name) => parent + " " + name;
  for (let i = 1; i < other.parents.length; i++)
    children.set(key(other.parents[i], other.names[other.labels[i]]), i);
  const same = new Int32Array(data.parents.length).fill(-1);
  same[0] = 0;
  for (let i = 1; i < same.length; i++)
    if (same[data.parents[i]] >= 0)
      same[i] = children.get(key(same[data.parents[i]], data.names[data.labels[i]])) ?? -1;
  return Array.from(same, node => (node < 0 ? 0 : column[node]));
}
