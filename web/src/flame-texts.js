// SPDX-License-Identifier: MIT
// flame-texts.js: what a flame graph says of its frames: labels, tooltips, why it is empty.
import {shadeOf} from "./colours.js";
import {hiddenRows} from "./flame-parts.js";
import {format, percent} from "./format.js";
import {withoutArguments} from "./trees.js";

/* "map<\u2026" has its dots already. */
export const cut = (text, length) => text.slice(0, length).replace(/<?\u2026?>?$/, "") + "\u2026";

/** A label that fits into a frame so many pixels wide. */
export function fit(pen, label, wide) {
  const room = Math.floor((wide - 8) / 6.4);
  if (label.length > room) label = withoutArguments(label);
  if (label.length > room) label = room > 3 ? cut(label, room - 1) : "";
  while (label.length > 2 && pen.measureText(label).width > wide - 6)
    label = cut(label, label.length - 2);
  return label;
}

/** The root says which frames are hidden. */
export function caption(scene, name, tree, node) {
  if (node !== 0 || hiddenRows(scene, tree) === 0) return name(tree, node);
  const frames = [];
  for (let k = tree.chainEnd; k !== 0; k = tree.parents[k]) frames.unshift(name(tree, k));
  return (
    `${tree.title}   (${frames.length} start frame${frames.length === 1 ? "" : "s"} hidden: ` +
    `${frames.join(", ")}; s shows ${frames.length === 1 ? "it" : "them"})`
  );
}

const WORDS = {
  inuse_space: "in use",
  inuse_objects: "objects in use",
  alloc_space: "allocated",
  alloc_objects: "objects allocated",
  peak_space: "in use at the peak",
  peak_objects: "objects at the peak",
  freed_objects: "objects freed",
  temporary_objects: "temporary objects",
};

/** The sum of all stacks, and what of. */
export function totalText(data, type) {
  const {name, unit} = data.types[type];
  return `${format(data.values[type][0], unit)} ${WORDS[name] ?? name}`;
}

/** When, of what, how exact. */
export function facts(data, type) {
  const parts = [];
  if (data.base) parts.push(`${data.target} less ${data.base}`);
  if (data.time_ns > 0) parts.push(new Date(data.time_ns / 1e6).toLocaleString("sv-SE"));
  if (data.mean_bytes === 1) parts.push("exact: every allocation is recorded");
  else if (data.mean_bytes > 1) parts.push(`T = ${format(data.mean_bytes, "bytes")}`);
  if (type === 0 && data.interval) {
    const [low, high] = data.interval.map(value => format(value, data.types[0].unit));
    parts.push(`between ${low} and ${high} in 95 of 100 cases`);
  }
  if (data.filters) parts.push(data.filters.trim().split(/\s+/).join(", "));
  return parts.join(" \u00b7 ");
}

function own(tree, node) {
  let value = tree.values[node];
  for (let k = tree.first[node]; k >= 0; k = tree.next[k]) value -= tree.values[k];
  return value;
}

/** The value of a frame, its share, and what it holds itself.  Of a tree of callers the rest below
 * a frame is of stacks that begin there. */
export function told(data, scene, type, tree, node) {
  const show = value => format(value, data.types[type].unit);
  const all = data.values[type][0] || scene.panels[0].size[0];
  const value = tree.values[node],
    isCallers = scene.view === "up" || tree === scene.panels[1];
  return [`${show(value)}, ${percent(Math.abs(value), all)}`].concat(
    isCallers ? [] : `itself: ${show(own(tree, node))}`,
  );
}

/** The other sample types of a frame, those in the unit of the view first. */
export function others(data, type, {tree, node}) {
  const isOther = ({unit}) => Number(unit !== data.types[type].unit);
  return data.types
    .map((kind, i) => [kind, i === type ? 0 : tree.column(data.values[i])[node]])
    .filter(([, value]) => value !== 0)
    .sort(([a], [b]) => isOther(a) - isOther(b))
    .map(([kind, value]) => `${kind.name}: ${format(value, kind.unit)}`);
}

/** The age of what a frame holds, or how much of it is new. */
export function shadeText(data, by, {tree, node}) {
  const value = by === "module" ? null : shadeOf(data, by, tree, node);
  if (value === null) return [];
  if (by === "age") return [`mean age about ${format(10 ** (value + 2.5), "nanoseconds")}`];
  const grown = tree.column(data.growth)[node];
  const sign = grown > 0 ? "+" : "";
  return [`since then: ${sign}${format(grown, "bytes")}`];
}

/** Why nothing is shown, and which sample types have something. */
export function whyEmpty(data, type, isDiff) {
  const kind = data.types[type].name;
  const filled = data.types
    .filter((_, i) => data.values[i].some(value => value !== 0))
    .map(one => one.name);
  const why = data.filters
    ? `No stack has any ${kind} with these options: ` +
      `${data.filters.trim().split(/\s+/).join(", ")}.`
    : isDiff || data.base
      ? `No difference: ${kind} is the same in both profiles.`
      : `This profile is empty: ${kind} is 0.`;
  return (
    why + (filled.length ? ` There is something in ${filled.join(", ")}: choose it above.` : "")
  );
}
