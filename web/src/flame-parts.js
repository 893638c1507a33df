// SPDX-License-Identifier: MIT
// flame-parts.js: the elements of a flame graph, and how its frames lie.

export const ROW = 18;
const MIN_WIDTH = 0.5;
/* A box of narrow frames opens to so many of them, and a box this wide for the others. */
const OPENED = 200,
  OTHERS_WIDTH = 24;

export const PARTS = `
<div class="flame-head"><b class="total"></b> <span class="about dim"></span></div>
<div class="flame-bar">
<select class="type" title="what is shown (t)" aria-label="sample type"></select>
<span class="group" role="group" aria-label="view">
<button data-view="down" title="callers above, callees below (1)">top-down</button>
<button data-view="up" title="allocating functions first (2)">bottom-up</button>
<button data-view="both" title="callers and callees of one function (3)">sandwich</button>
</span>
<input class="search" type="search" placeholder="search (regular expression)" title="/"
	aria-label="search">
<span class="found" role="status"></span>
<span class="space"></span>
<select class="by" title="colour by (c)" aria-label="colours"></select>
<button class="out" title="Escape">zoom out</button>
<button class="fold" title="frames by which all stacks start (s)">start frames</button>
<button class="turn" title="i">upside down</button>
</div>
<canvas class="minimap" height="5" aria-hidden="true"></canvas>
<div class="place"><div class="room"><canvas class="frames" tabindex="0" role="application"
	aria-label="flame graph; arrow keys move, Enter zooms, Escape zooms out"></canvas></div>
	<div class="empty" role="status"></div></div>
<div class="legend"></div>
<div class="status" role="status"></div>
<div class="tip"></div>`;

export const KEYS =
  "/ search \u00a0 click or Enter: zoom in \u00a0 Escape: out \u00a0 arrows: move \u00a0 " +
  "t: type \u00a0 1 2 3: view \u00a0 c: colours \u00a0 i: upside down \u00a0 s: start frames";

/* A scene is {panels, view, isFolded, zoomed, rest}: the trees, the first of them the main one; the
 * node that fills the width; and if `rest` is not null, of its children only those from that one
 * on are shown. */

/** How many rows below the root are hidden: frames by which all stacks start. */
export const hiddenRows = ({panels, view, isFolded}, tree) =>
  isFolded && tree === panels[0] && view === "down" ? tree.chain : 0;

export const isHidden = (scene, tree, node) =>
  node !== 0 && tree.depth[node] <= hiddenRows(scene, tree);

export const level = (scene, tree, node) =>
  node === 0 ? 0 : tree.depth[node] - hiddenRows(scene, tree);

export const rowCount = scene =>
  scene.panels.reduce((rows, tree) => rows + tree.deepest - hiddenRows(scene, tree), 1);

/** Where a tree's picture begins, how much of it is shown, in the tree's unit, and the first node
 * that is left to the box of the others, or -1. */
export function range(scene, tree, from) {
  if (scene.rest === null || tree !== scene.panels[0])
    return [tree.start[from], tree.size[from], -1];
  let size = 0,
    count = 0,
    k = scene.rest;
  for (; k >= 0 && count < OPENED; k = tree.next[k], count++) size += tree.size[k];
  return [tree.start[scene.rest], size, k];
}

/** The frames of one tree, from `top` on: rows go down, or up with `step` -1.  `paint(tree, node,
 * left, wide, top, isGathered)` also gets the boxes that stand for children too narrow to be seen.
 */
export function drawTree(scene, tree, from, {width, top, step}, paint) {
  const [begin, size, others] = range(scene, tree, from);
  if (!(size > 0)) return;
  const room = width - (others >= 0 ? OTHERS_WIDTH : 0),
    scale = room / size,
    isOpened = scene.rest !== null && tree === scene.panels[0];
  const row = node => top + step * level(scene, tree, node) * ROW;
  for (let node = from; ; node = tree.parents[node]) {
    if (node !== from || scene.rest !== null)
      if (!isHidden(scene, tree, node)) paint(tree, node, 0, width, row(node));
    if (node === 0) break;
  }
  const stack = [];
  const push = first => {
    for (let k = first; k >= 0 && k !== others; k = tree.next[k]) {
      const wide = tree.size[k] * scale;
      if (wide >= MIN_WIDTH) {
        stack.push(k);
        continue;
      }
      let gathered = 0;
      for (let m = k; m >= 0 && m !== others; m = tree.next[m]) gathered += tree.size[m];
      if (gathered * scale >= 1 && !isHidden(scene, tree, k))
        paint(tree, k, (tree.start[k] - begin) * scale, gathered * scale, row(k), true);
      break; // the others are no larger
    }
  };
  if (isOpened) push(scene.rest);
  else stack.push(from);
  if (others >= 0) paint(tree, others, room, OTHERS_WIDTH, row(others), true);
  while (stack.length) {
    const node = stack.pop();
    if (!isHidden(scene, tree, node)) {
      const wide = Math.max(tree.size[node] * scale, MIN_WIDTH);
      paint(tree, node, (tree.start[node] - begin) * scale, wide, row(node));
    }
    push(tree.first[node]);
  }
}
