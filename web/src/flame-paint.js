// SPDX-License-Identifier: MIT
// flame-paint.js: draws a flame graph, and writes the texts around it.
import {colour, legend} from "./colours.js";
import {drawTree, KEYS, range, ROW, rowCount} from "./flame-parts.js";
import {captionOf, name, scene, share, show, shownBy} from "./flame-state.js";
import {fit, others, shadeText, told, whyEmpty} from "./flame-texts.js";

const FONT = "px system-ui, 'DejaVu Sans', sans-serif",
  LARGE = 12,
  SMALL = 11,
  VALUE_GAP = 12,
  LEAST_FOR_VALUE = 130,
  TIP_GAP = 6;

const isDark = () => document.documentElement.classList.contains("dark");

export function showLegend(flame) {
  const {$, data, isDiff} = flame;
  $(".legend").replaceChildren(
    ...legend(data, isDiff, isDark(), shownBy(flame)).map(([text, back]) => {
      const item = document.createElement("span");
      const mark = document.createElement("i");
      mark.style.background = back;
      item.append(mark, text);
      return item;
    }),
  );
}

/* ---- the picture ---- */

function makeRoom({$, canvas, pen, place}, height) {
  const ratio = window.devicePixelRatio || 1,
    width = place.clientWidth;
  $(".room").style.height = height + "px";
  if (
    canvas.width !== Math.round(width * ratio) ||
    canvas.height !== Math.round(place.clientHeight * ratio)
  ) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(place.clientHeight * ratio);
    canvas.style.width = width + "px";
    canvas.style.height = place.clientHeight + "px";
  }
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.font = LARGE + FONT;
  pen.textBaseline = "middle";
}

/* Which part of the whole the zoom shows. */
function drawMinimap(flame, of) {
  const {$, place, main, view, zoomed, rest} = flame;
  const map = $(".minimap"),
    width = place.clientWidth,
    ink = map.getContext("2d");
  const [begin, size] = range(scene(flame), main, zoomed),
    all = main.size[0] || 1;
  map.width = width;
  ink.fillStyle = of("--line");
  ink.fillRect(0, 0, width, 5);
  ink.fillStyle = of("--found");
  if (view !== "both" && (zoomed !== 0 || rest !== null))
    ink.fillRect((width * begin) / all, 0, Math.max(2, (width * size) / all), 5);
}

/* The colour of a frame; `look`: what all frames of one drawing have in common. */
function colourOf(flame, look, tree, node, matches) {
  const {data, isDiff, view, found} = flame;
  if (matches) return look.of("--found");
  return colour(data, isDiff, tree, node, name(flame, tree, node), {
    dark: look.dark,
    faint: found !== null,
    by: look.by,
    plain: (node === 0 && view !== "both") || tree.labels[node] === 0,
  });
}

/* The name, and behind it as much of the value as has room. */
function writeLabel(flame, tree, node, {left, wide, at}) {
  const {pen} = flame,
    name = fit(pen, captionOf(flame, tree, node), wide);
  pen.fillText(name, left + 4, at + ROW / 2);
  if (wide < LEAST_FOR_VALUE) return;
  const value = tree.values[node],
    begin = pen.measureText(name).width + 4 + VALUE_GAP;
  pen.font = SMALL + FONT;
  const text = [`${show(flame, value)}, ${share(flame, value)}`, show(flame, value)].find(
    one => begin + pen.measureText(one).width + 6 < wide,
  );
  if (text) pen.fillText(text, left + begin, at + ROW / 2);
  pen.font = LARGE + FONT;
}

function paintFrame(flame, look, tree, node, {left, wide, at, isGathered}) {
  const {pen, place, found, view, hovered, chosen} = flame;
  if (at < -ROW || at > place.clientHeight) return;
  const matches =
    found && !isGathered && (node !== 0 || view === "both") && found.names[tree.labels[node]];
  pen.fillStyle = isGathered ? look.of("--dim") : colourOf(flame, look, tree, node, matches);
  pen.fillRect(
    left,
    at + (isGathered ? 5 : 0),
    wide - (wide > 3 ? 1 : 0),
    isGathered ? ROW - 11 : ROW - 1,
  );
  flame.shown.push({node, left, wide, at, tree, isGathered});
  if ([hovered, chosen].some(one => one && one.tree === tree && one.node === node)) {
    pen.strokeStyle = look.of("--text");
    pen.lineWidth = 1.5;
    pen.strokeRect(left + 0.75, at + 0.75, Math.max(wide - 2.5, 1), ROW - 2.5);
  }
  if (wide <= 26 || isGathered) return;
  pen.fillStyle = look.of(matches ? "--found-text" : "--text");
  writeLabel(flame, tree, node, {left, wide, at});
}

export function draw(flame) {
  const {pen, place, panels, upsideDown, zoomed} = flame;
  flame.queued = false;
  if (flame.isGone) return;
  const now = scene(flame),
    width = place.clientWidth,
    height = Math.max(place.clientHeight, rowCount(now) * ROW + 4);
  makeRoom(flame, height);
  const style = getComputedStyle(document.documentElement);
  const look = {
    of: key => style.getPropertyValue(key).trim(),
    dark: isDark(),
    by: shownBy(flame),
  };
  pen.fillStyle = look.of("--back");
  pen.fillRect(0, 0, place.clientWidth, place.clientHeight);
  flame.shown = [];
  const turned = upsideDown ? -1 : 1;
  const under = panels.length > 1 ? (upsideDown ? panels[0] : panels[1]).deepest : 0;
  const top = (upsideDown && panels.length === 1 ? height - ROW : under * ROW) - place.scrollTop;
  panels.forEach((tree, i) =>
    drawTree(
      now,
      tree,
      i === 0 ? zoomed : 0,
      {width, top, step: i === 0 ? turned : -turned},
      (tree, node, left, wide, at, isGathered = false) =>
        paintFrame(flame, look, tree, node, {left, wide, at, isGathered}),
    ),
  );
  drawMinimap(flame, look.of);
  if (flame.mouse) point(flame);
}

export function redraw(flame) {
  if (flame.queued) return;
  flame.queued = true;
  requestAnimationFrame(() => draw(flame));
}

/* ---- texts ---- */

export function tell(flame, one) {
  flame.$(".status").textContent = one
    ? `${name(flame, one.tree, one.node)} \u2014 ` +
      told(flame.data, scene(flame), flame.type, one.tree, one.node).join("; ")
    : KEYS;
}

function tipOf(flame, one) {
  const {data, type} = flame;
  if (one.isGathered) return ["frames too narrow to be seen", "click: show them alone"];
  const module = data.modules[data.name_modules[one.tree.labels[one.node]]];
  return [
    name(flame, one.tree, one.node),
    ...told(data, scene(flame), type, one.tree, one.node),
    ...others(data, type, one),
    ...shadeText(data, shownBy(flame), one),
    ...(module && one.node !== 0 ? [module] : []),
  ];
}

/* Where a box of this size explains a frame and does not hide it: at its right or left, else above
 * it, else below. */
function besideFrame({canvas, place}, event, one, {offsetWidth: wide, offsetHeight: high}) {
  const edge = canvas.getBoundingClientRect(),
    left = edge.left + one.left,
    right = left + one.wide,
    top = edge.top + one.at,
    inside = (at, most) => Math.max(4, Math.min(at, most - 8));
  const isRight = right + TIP_GAP + wide + 8 <= window.innerWidth;
  if (isRight || left - TIP_GAP - wide >= 4)
    return [
      isRight ? right + TIP_GAP : left - TIP_GAP - wide,
      inside(top, window.innerHeight - high),
    ];
  const above = top - TIP_GAP - high;
  return [
    inside(event.clientX + 14, window.innerWidth - wide),
    above >= place.getBoundingClientRect().top ? above : top + ROW + TIP_GAP,
  ];
}

/** Shows what is known of a frame beside it; null: nothing. */
export function showTip(flame, event, one) {
  const tip = flame.$(".tip");
  tip.style.display = one ? "block" : "none";
  if (!one) return;
  tip.replaceChildren(
    ...tipOf(flame, one).map((text, i) => {
      const line = document.createElement(i === 0 ? "b" : "div");
      line.textContent = text;
      return line;
    }),
  );
  const [left, top] = besideFrame(flame, event, one, tip);
  tip.style.left = left + "px";
  tip.style.top = top + "px";
}

export function explainEmpty({$, data, type, isDiff}) {
  const isEmpty = data.values[type].every(value => value === 0),
    box = $(".empty");
  box.style.display = isEmpty ? "block" : "none";
  if (isEmpty) box.textContent = whyEmpty(data, type, isDiff);
}

/* ---- the frame below the mouse ---- */

export function hit({canvas, shown}, event) {
  const box = canvas.getBoundingClientRect(),
    x = event.clientX - box.left,
    y = event.clientY - box.top;
  return (
    shown.find(
      one =>
        x >= one.left && x < one.left + Math.max(one.wide, 1) && y >= one.at && y < one.at + ROW,
    ) ?? null
  );
}

/** Marks it; after each drawing it may be another one. */
export function point(flame) {
  const one = hit(flame, flame.mouse);
  if (one?.node !== flame.hovered?.node || one?.tree !== flame.hovered?.tree) {
    flame.hovered = one;
    redraw(flame);
  }
  showTip(flame, flame.mouse, one);
}
