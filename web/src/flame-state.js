// SPDX-License-Identifier: MIT
// flame-state.js: what a flame graph shows, and how its frames are named.
import {coloursOf} from "./colours.js";
import {caption} from "./flame-texts.js";
import {format, percent} from "./format.js";
import {pathOf} from "./trees.js";

/* Nodes of the top-down tree that stand for frames that the server left out, and how many. */
function gatheredOf(data) {
  const gathered = new Map();
  for (let i = 0; i < (data.gathered ?? []).length; i += 2)
    gathered.set(data.gathered[i], data.gathered[i + 1]);
  return gathered;
}

/** What a picture shows: one object, which all functions of the picture get first. */
export function createFlame(host, data, settings) {
  const {state = {}, onState = () => {}, onMore = () => {}, colours = coloursOf(data)} = settings;
  const $ = selector => host.querySelector(selector);
  const typeAt = data.types.findIndex(one => one.name === state.type);
  return {
    host,
    $,
    data,
    onState,
    onMore,
    colours,
    canvas: $(".frames"),
    pen: $(".frames").getContext("2d"),
    place: $(".place"),
    isDiff: Boolean(data.base) || data.values.some(row => row.some(value => value < 0)),
    gathered: gatheredOf(data),
    type: Math.max(0, typeAt),
    view: ["up", "both"].includes(state.view) ? state.view : "down",
    upsideDown: Boolean(state.flip),
    isFolded: state.fold !== false,
    by: colours.includes(state.colours) ? state.colours : "module", // what to colour by
    found: null, // the result of the search
    panels: [], // the trees
    main: null, // the first of them
    zoomed: 0, // the node that fills the width
    rest: null, // of the zoomed frame only the children from this one on are shown
    chosen: null,
    hovered: null,
    focus: -1, // the function in the middle of a sandwich
    mouse: null, // the last event of the mouse over the picture
    shown: [], // the frames that were drawn
    queued: false, // a drawing is
    isGone: false,
  };
}

export const scene = ({panels, view, isFolded, zoomed, rest}) => ({
  panels,
  view,
  isFolded,
  zoomed,
  rest,
});

export const show = (flame, value) => format(value, flame.data.types[flame.type].unit);

export const share = ({data, type, main}, value) =>
  percent(Math.abs(value), data.values[type][0] || main.size[0]);

/** How many frames that the server left out a node stands for. */
export const leftOut = ({main, view, gathered}, tree, node) =>
  tree === main && view === "down" ? (gathered.get(node) ?? 0) : 0;

export function name(flame, tree, node) {
  if (node === 0) return tree.title;
  const more = leftOut(flame, tree, node);
  return more ? `${more} more` : flame.data.names[tree.labels[node]] || "(smaller frames)";
}

export const captionOf = (flame, tree, node) =>
  caption(scene(flame), (...one) => name(flame, ...one), tree, node);

export const path = ({view, data, focus, main, zoomed}) =>
  view === "both" ? [data.names[focus]] : pathOf(main, data.names, zoomed);

/** Until the data has what to colour by, colours are those of modules. */
export const shownBy = ({data, by}) => (coloursOf(data).includes(by) ? by : "module");

/** Tells whoever mounted the picture.  `isStep`: a zoom, to which "back" should return. */
export function tellState(flame, isStep = false) {
  const state = {
    type: flame.data.types[flame.type].name,
    view: flame.view,
    flip: flame.upsideDown,
    fold: flame.isFolded,
    search: flame.$(".search").value,
    colours: flame.by,
    path: path(flame),
  };
  flame.onState(state, isStep);
}
