// SPDX-License-Identifier: MIT
// flame-input.js: keys, mouse and controls of a flame graph.
import {
  escape,
  find,
  move,
  setColours,
  setType,
  setView,
  turn,
  unfold,
  zoom,
  zoomOut,
} from "./flame-actions.js";
import {hit, point, redraw, showTip} from "./flame-paint.js";
import {tellState} from "./flame-state.js";

const keys = {
  "/": flame => flame.$(".search").focus(),
  Escape: escape,
  1: flame => setView(flame, "down"),
  2: flame => setView(flame, "up"),
  3: flame => setView(flame, "both"),
  t: flame => setType(flame, (flame.type + 1) % flame.data.types.length),
  c: flame => {
    const {colours, by} = flame;
    setColours(flame, colours[(colours.indexOf(by) + 1) % colours.length]);
  },
  i: turn,
  s: unfold,
};

function keyInSearch(flame, event) {
  if (event.key === "Escape") {
    flame.$(".search").value = "";
    find(flame, "");
  }
  if (event.key === "Escape" || event.key === "Enter") {
    flame.canvas.focus();
    tellState(flame);
  }
}

/** Returns whether the key was one of the picture's. */
export function keydown(flame, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  if (event.target === flame.$(".search")) {
    keyInSearch(flame, event);
    return true;
  }
  if (event.target.matches?.("input, select, textarea")) return false;
  if (event.key.startsWith("Arrow")) move(flame, event.key);
  else if (event.key === "Enter" && event.target === flame.canvas && flame.chosen)
    zoom(flame, flame.chosen);
  else if (keys[event.key]) keys[event.key](flame);
  else return false;
  event.preventDefault();
  return true;
}

function listenToMouse(flame) {
  const {canvas} = flame;
  canvas.addEventListener("mousemove", event => {
    flame.mouse = event;
    point(flame);
  });
  canvas.addEventListener("mouseleave", event => {
    flame.mouse = flame.hovered = null;
    showTip(flame, event, null);
    redraw(flame);
  });
  canvas.addEventListener("click", event => {
    const one = hit(flame, event);
    if (one) zoom(flame, one);
  });
}

/** Listens to the user.  Returns a function that ends what the picture's end does not. */
export function listen(flame) {
  const {$, host, place} = flame;
  listenToMouse(flame);
  place.addEventListener("scroll", () => redraw(flame));
  const sizes = new ResizeObserver(() => redraw(flame));
  sizes.observe(place);
  $(".search").addEventListener("input", event => find(flame, event.target.value));
  $(".search").addEventListener("change", () => tellState(flame));
  $(".type").addEventListener("change", event => setType(flame, Number(event.target.value)));
  $(".by").addEventListener("change", event => setColours(flame, event.target.value));
  $(".out").addEventListener("click", () => zoomOut(flame));
  $(".fold").addEventListener("click", () => unfold(flame));
  $(".turn").addEventListener("click", () => turn(flame));
  for (const button of host.querySelectorAll("[data-view]"))
    button.addEventListener("click", () => setView(flame, button.dataset.view));
  return () => sizes.disconnect();
}
