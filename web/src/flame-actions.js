// SPDX-License-Identifier: MIT
// flame-actions.js: what the user does with a flame graph: each changes the state and draws.
import {isHidden, level, ROW, rowCount} from "./flame-parts.js";
import {draw, explainEmpty, redraw, showLegend, tell} from "./flame-paint.js";
import {leftOut, path, scene, share, show, tellState} from "./flame-state.js";
import {facts, totalText} from "./flame-texts.js";
import {bottomUp, largestFunction, nodeAt, sandwich, search, topDown} from "./trees.js";

export function find(flame, text) {
  const {$, data, type} = flame;
  flame.found = null;
  $(".found").textContent = "";
  if (text !== "") {
    try {
      const found = search(data, type, new RegExp(text, "i"));
      flame.found = found;
      $(".found").textContent = found.frames
        ? `${found.frames} frame${found.frames === 1 ? "" : "s"}, ${show(flame, found.sum)} ` +
          `(${share(flame, found.sum)})`
        : "nothing found";
    } catch (error) {
      $(".found").textContent = "no regular expression";
    }
  }
  redraw(flame);
}

/* The root's row is where reading begins: at an edge, in a sandwich in the middle. */
function showRoot(flame) {
  const {panels, place, upsideDown, view} = flame;
  const rows =
    view === "both" ? panels[upsideDown ? 0 : 1].deepest : upsideDown ? rowCount(scene(flame)) : 0;
  place.scrollTop =
    view === "both" ? Math.max(0, (rows + 1.5) * ROW - place.clientHeight * 0.7) : rows * ROW;
  redraw(flame);
}

function treesOf({view, data, type, focus}) {
  if (view === "both") return sandwich(data, type, focus);
  return [view === "up" ? bottomUp(data, type) : topDown(data, type)];
}

/** Makes the trees of the view. */
export function build(flame) {
  const {$, host, data, type, view} = flame;
  flame.zoomed = 0;
  flame.rest = flame.chosen = flame.hovered = null;
  if (view === "both" && flame.focus < 0) flame.focus = largestFunction(data, type);
  flame.panels = treesOf(flame);
  flame.main = flame.panels[0];
  for (const button of host.querySelectorAll("[data-view]"))
    button.setAttribute("aria-pressed", String(view === button.dataset.view));
  $(".fold").style.display = view === "down" && flame.main.chain > 0 ? "" : "none";
  $(".fold").setAttribute("aria-pressed", String(!flame.isFolded));
  $(".total").textContent = totalText(data, type);
  $(".about").textContent = facts(data, type);
  explainEmpty(flame);
  find(flame, $(".search").value);
  tell(flame, view === "both" ? {tree: flame.main, node: 0} : null);
  draw(flame);
  showRoot(flame);
}

export function setView(flame, to) {
  const {chosen} = flame;
  if (to === "both" && chosen && (chosen.node !== 0 || flame.view === "both"))
    flame.focus = chosen.tree.labels[chosen.node];
  flame.view = to;
  build(flame);
  tellState(flame);
}

export function setType(flame, to) {
  flame.type = to;
  flame.$(".type").value = String(to);
  build(flame);
  tellState(flame);
}

/** Whoever mounted the picture gets data with these colours, if it has none. */
export function setColours(flame, to) {
  flame.by = to;
  flame.$(".by").value = to;
  showLegend(flame);
  redraw(flame);
  tellState(flame);
}

export function unfold(flame) {
  flame.isFolded = !flame.isFolded;
  flame.$(".fold").setAttribute("aria-pressed", String(!flame.isFolded));
  redraw(flame);
  tellState(flame);
}

export function turn(flame) {
  flame.upsideDown = !flame.upsideDown;
  flame.$(".turn").setAttribute("aria-pressed", String(flame.upsideDown));
  draw(flame);
  showRoot(flame);
  tellState(flame);
}

/* A second click on the root shows the frames by which all stacks start, or hides them. */
const isSecondOnRoot = ({zoomed, rest, chosen, main, view}, node) =>
  node === 0 &&
  zoomed === 0 &&
  rest === null &&
  chosen?.node === 0 &&
  main.chain > 0 &&
  view === "down";

/** In the sandwich a frame takes the place of the one in the middle. */
export function zoom(flame, {tree, node, isGathered}) {
  if (flame.view === "both") {
    if (node !== 0) {
      flame.focus = tree.labels[node];
      build(flame);
    }
  } else if (leftOut(flame, tree, node) && !isGathered) {
    flame.onMore();
    return;
  } else if (isGathered) {
    flame.zoomed = tree.parents[node];
    flame.rest = node;
  } else if (isSecondOnRoot(flame, node)) {
    unfold(flame);
  } else {
    flame.zoomed = node;
    flame.rest = null;
    flame.chosen = {tree, node};
    tell(flame, flame.chosen);
  }
  redraw(flame);
  tellState(flame, true);
}

export function zoomOut(flame) {
  if (flame.view === "both") setView(flame, "down");
  else zoom(flame, {tree: flame.main, node: 0});
}

/** Undoes the zoom, else the search, else the sandwich. */
export function escape(flame) {
  const {$, main, zoomed, rest, view} = flame;
  if (zoomed !== 0 || rest !== null) zoom(flame, {tree: main, node: 0});
  else if ($(".search").value !== "") {
    $(".search").value = "";
    find(flame, "");
    tellState(flame);
  } else if (view === "both") setView(flame, "down");
}

/* The frame that an arrow key leads to: up is towards main, down towards the leaves; sideways among
 * siblings. */
function neighbour(flame, tree, from, key) {
  const now = scene(flame);
  const flipped = flame.upsideDown !== (tree !== flame.main),
    down = flipped ? "ArrowUp" : "ArrowDown",
    up = flipped ? "ArrowDown" : "ArrowUp";
  const {first, next, parents} = tree;
  let node = from;
  if (key === down && first[node] >= 0)
    do node = first[node];
    while (isHidden(now, tree, node));
  else if (key === up)
    do node = parents[node];
    while (isHidden(now, tree, node));
  else if (key === "ArrowRight" && node !== 0 && next[node] >= 0) node = next[node];
  else if (key === "ArrowLeft" && node !== 0)
    for (let k = first[parents[node]]; k >= 0 && k !== from; k = next[k]) node = k;
  return node;
}

/** Chooses the next frame in the direction of an arrow key. */
export function move(flame, key) {
  const {place, upsideDown} = flame;
  const {tree, node: from} = flame.chosen || {tree: flame.main, node: flame.zoomed};
  const now = scene(flame),
    node = neighbour(flame, tree, from, key);
  flame.chosen = {tree, node};
  draw(flame);
  const depth = level(now, tree, node),
    row = (upsideDown ? rowCount(now) - 1 - depth : depth) * ROW;
  if (!flame.shown.some(one => one.tree === tree && one.node === node)) {
    if (row < place.scrollTop) place.scrollTop = row;
    if (row + ROW > place.scrollTop + place.clientHeight)
      place.scrollTop = row + ROW - place.clientHeight;
  }
  tell(flame, flame.chosen);
  redraw(flame);
}

/** Zooms to a path, and tells nobody. */
export function goTo(flame, to) {
  const {data, view} = flame;
  if (to.join("\n") === path(flame).join("\n")) return;
  const label = data.names.indexOf(to[0] ?? "");
  if (view === "both" && label > 0) {
    flame.focus = label;
    build(flame);
  } else if (view !== "both") {
    flame.zoomed = nodeAt(flame.main, data.names, to);
    flame.rest = null;
    redraw(flame);
  }
}
