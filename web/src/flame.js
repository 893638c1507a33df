// SPDX-License-Identifier: MIT
// flame.js: the flame graph, on a canvas: 100,000 frames stay smooth, because frames narrower than
// half a pixel are gathered into one box.  Used by the page and by `mallow flame`.
import {colour, legend} from "./colours.js";
import {format, percent} from "./format.js";
import {
  bottomUp,
  largestFunction,
  nodeAt,
  ownValues,
  pathOf,
  sandwich,
  search,
  topDown,
  withoutArguments,
} from "./trees.js";

const ROW = 18;
const MIN_WIDTH = 0.5;
/* A box of narrow frames opens to so many of them, and a box this wide for the others. */
const OPENED = 200,
  OTHERS_WIDTH = 24;
const PARTS = `
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
<button class="out" title="Escape">zoom out</button>
<button class="fold" title="frames that all stacks share (s)">shared frames</button>
<button class="turn" title="i">upside down</button>
</div>
<canvas class="minimap" height="5" aria-hidden="true"></canvas>
<div class="place"><div class="room"><canvas class="frames" tabindex="0" role="application"
	aria-label="flame graph; arrow keys move, Enter zooms, Escape zooms out"></canvas></div>
	<div class="empty" role="status"></div></div>
<div class="legend"></div>
<div class="status" role="status"></div>
<div class="tip"></div>`;
const KEYS =
  "/ search \u00a0 click or Enter: zoom in \u00a0 Escape: out \u00a0 arrows: move \u00a0 " +
  "t: type \u00a0 1 2 3: view \u00a0 i: upside down \u00a0 s: shared frames";

/** Draws `data` into `host`.  `state`: {type, view, path, search, flip, fold}, which `onState`
 * gets whenever it changes.  `onMore` is called for more of the frames that were left out.
 * Returns {keydown, redraw, destroy, inspect}. */
export function mountFlame(host, data, state = {}, onState = () => {}, onMore = () => {}) {
  host.classList.add("flame");
  host.innerHTML = PARTS;
  const $ = selector => host.querySelector(selector);
  const canvas = $(".frames"),
    pen = canvas.getContext("2d"),
    place = $(".place");
  const isDiff = Boolean(data.base) || data.values.some(row => row.some(value => value < 0));
  let type = Math.max(
    0,
    data.types.findIndex(one => one.name === state.type),
  );
  let view = ["up", "both"].includes(state.view) ? state.view : "down";
  let upsideDown = Boolean(state.flip),
    isFolded = state.fold !== false,
    found = null;
  let panels = [],
    main = null,
    zoomed = 0,
    chosen = null,
    hovered = null,
    focus = -1;
  let mouse = null; // the last event of the mouse over the picture
  let rest = null; // of the zoomed frame only the children from this one on are shown
  let shown = [],
    queued = false,
    isGone = false;

  const unit = () => data.types[type].unit;
  const show = value => format(value, unit());
  const share = value => percent(Math.abs(value), data.values[type][0] || main.size[0]);
  /* Nodes of the top-down tree that stand for frames that the server left out. */
  const gathered = new Map();
  for (let i = 0; i < (data.gathered ?? []).length; i += 2)
    gathered.set(data.gathered[i], data.gathered[i + 1]);
  const leftOut = (tree, node) =>
    tree === main && view === "down" ? (gathered.get(node) ?? 0) : 0;
  const name = (tree, node) =>
    node === 0
      ? tree.title
      : leftOut(tree, node)
        ? `${leftOut(tree, node)} more`
        : data.names[tree.labels[node]] || "(smaller frames)";

  function tellState() {
    onState({
      type: data.types[type].name,
      view,
      flip: upsideDown,
      fold: isFolded,
      search: $(".search").value,
      path: view === "both" ? [data.names[focus]] : pathOf(main, data.names, zoomed),
    });
  }

  /* ---- colours ---- */

  const isDark = () => document.documentElement.classList.contains("dark");

  function showLegend() {
    $(".legend").replaceChildren(
      ...legend(data, isDiff, isDark()).map(([text, back]) => {
        const item = document.createElement("span");
        const mark = document.createElement("i");
        mark.style.background = back;
        item.append(mark, text);
        return item;
      }),
    );
  }

  /* ---- drawing ---- */

  /* How many rows below the root are hidden: frames that all stacks share. */
  const hiddenRows = tree => (isFolded && tree === main && view === "down" ? tree.chain : 0);
  const isHidden = (tree, node) => node !== 0 && tree.depth[node] <= hiddenRows(tree);
  const level = (tree, node) => (node === 0 ? 0 : tree.depth[node] - hiddenRows(tree));
  const rowCount = () => panels.reduce((rows, tree) => rows + tree.deepest - hiddenRows(tree), 1);

  /* Where a tree's picture begins, and how much of it is shown, in the tree's unit. */
  function range(tree, from) {
    if (rest === null || tree !== main) return [tree.start[from], tree.size[from], -1];
    let size = 0,
      count = 0,
      k = rest;
    for (; k >= 0 && count < OPENED; k = tree.next[k], count++) size += tree.size[k];
    return [tree.start[rest], size, k]; // k: the first of the others
  }

  /* The frames of one tree, from `top` on: rows go down, or up with `step` -1.  `paint` also
   * gets the boxes that stand for children too narrow to be seen. */
  function drawTree(tree, from, top, step, paint) {
    const [begin, size, others] = range(tree, from);
    if (!(size > 0)) return;
    const room = place.clientWidth - (others >= 0 ? OTHERS_WIDTH : 0),
      scale = room / size;
    const row = node => top + step * level(tree, node) * ROW;
    for (let node = from; ; node = tree.parents[node]) {
      if (node !== from || rest !== null)
        if (!isHidden(tree, node)) paint(tree, node, 0, place.clientWidth, row(node));
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
        if (gathered * scale >= 1 && !isHidden(tree, k))
          paint(tree, k, (tree.start[k] - begin) * scale, gathered * scale, row(k), true);
        break; // the others are no larger
      }
    };
    if (rest !== null && tree === main) push(rest);
    else stack.push(from);
    if (others >= 0) paint(tree, others, room, OTHERS_WIDTH, row(others), true);
    while (stack.length) {
      const node = stack.pop();
      if (!isHidden(tree, node))
        paint(tree, node, (tree.start[node] - begin) * scale, tree.size[node] * scale, row(node));
      push(tree.first[node]);
    }
  }

  /* "map<\u2026" has its dots already. */
  const cut = (text, length) => text.slice(0, length).replace(/<?\u2026?>?$/, "") + "\u2026";

  function fit(label, wide) {
    const room = Math.floor((wide - 8) / 6.4);
    if (label.length > room) label = withoutArguments(label);
    if (label.length > room) label = room > 3 ? cut(label, room - 1) : "";
    while (label.length > 2 && pen.measureText(label).width > wide - 6)
      label = cut(label, label.length - 2);
    return label;
  }

  function caption(tree, node) {
    if (node !== 0 || hiddenRows(tree) === 0) return name(tree, node);
    const frames = [];
    for (let k = tree.chainEnd; k !== 0; k = tree.parents[k]) frames.unshift(name(tree, k));
    return (
      `${tree.title}   (${frames.length} frames that all stacks share are hidden: ` +
      `${frames.join(", ")}; s shows them)`
    );
  }

  function makeRoom(height) {
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
    pen.font = "12px system-ui, 'DejaVu Sans', sans-serif";
    pen.textBaseline = "middle";
  }

  /* Which part of the whole the zoom shows. */
  function drawMinimap(style) {
    const map = $(".minimap"),
      width = place.clientWidth,
      ink = map.getContext("2d");
    const [begin, size] = range(main, zoomed),
      all = main.size[0] || 1;
    map.width = width;
    ink.fillStyle = style.getPropertyValue("--line");
    ink.fillRect(0, 0, width, 5);
    ink.fillStyle = style.getPropertyValue("--found");
    if (view !== "both" && (zoomed !== 0 || rest !== null))
      ink.fillRect((width * begin) / all, 0, Math.max(2, (width * size) / all), 5);
  }

  function draw() {
    queued = false;
    if (isGone) return;
    const height = Math.max(place.clientHeight, rowCount() * ROW + 4);
    makeRoom(height);
    const style = getComputedStyle(document.documentElement),
      dark = isDark();
    const of = key => style.getPropertyValue(key).trim();
    pen.fillStyle = of("--back");
    pen.fillRect(0, 0, place.clientWidth, place.clientHeight);
    shown = [];
    const paint = (tree, node, left, wide, at, isGathered = false) => {
      if (at < -ROW || at > place.clientHeight) return;
      const matches =
        found && !isGathered && (node !== 0 || view === "both") && found.names[tree.labels[node]];
      pen.fillStyle = isGathered
        ? of("--dim")
        : matches
          ? of("--found")
          : colour(data, isDiff, tree, node, name(tree, node), {
              dark,
              faint: found !== null,
              plain: (node === 0 && view !== "both") || tree.labels[node] === 0,
            });
      pen.fillRect(
        left,
        at + (isGathered ? 5 : 0),
        Math.max(wide - (wide > 3 ? 1 : 0), MIN_WIDTH),
        isGathered ? ROW - 11 : ROW - 1,
      );
      shown.push({node, left, wide, at, tree, isGathered});
      if ([hovered, chosen].some(one => one && one.tree === tree && one.node === node)) {
        pen.strokeStyle = of("--text");
        pen.lineWidth = 1.5;
        pen.strokeRect(left + 0.75, at + 0.75, Math.max(wide - 2.5, 1), ROW - 2.5);
      }
      if (wide <= 26 || isGathered) return;
      pen.fillStyle = of(matches ? "--found-text" : "--text");
      pen.fillText(fit(caption(tree, node), wide), left + 4, at + ROW / 2);
    };
    const turned = upsideDown ? -1 : 1;
    const under = panels.length > 1 ? (upsideDown ? panels[0] : panels[1]).deepest : 0;
    const top = (upsideDown && panels.length === 1 ? height - ROW : under * ROW) - place.scrollTop;
    panels.forEach((tree, i) =>
      drawTree(tree, i === 0 ? zoomed : 0, top, i === 0 ? turned : -turned, paint),
    );
    drawMinimap(style);
    if (mouse) point();
  }
  function redraw() {
    if (queued) return;
    queued = true;
    requestAnimationFrame(draw);
  }

  /* ---- texts ---- */

  function own(tree, node) {
    let value = tree.values[node];
    for (let k = tree.first[node]; k >= 0; k = tree.next[k]) value -= tree.values[k];
    return value;
  }

  /* Of a tree of callers the rest below a frame is of stacks that begin there. */
  function told(tree, node) {
    const value = tree.values[node],
      isCallers = view === "up" || tree === panels[1];
    return [`${show(value)}, ${share(value)}`, isCallers ? "" : `itself: ${show(own(tree, node))}`];
  }

  function tell(one) {
    $(".status").textContent = one
      ? `${name(one.tree, one.node)} \u2014 ` + told(one.tree, one.node).filter(Boolean).join("; ")
      : KEYS;
  }

  /* The other sample types of a frame of the top-down tree, whose columns the data has. */
  function others(one) {
    if (one.tree !== main || view !== "down") return [];
    return data.types
      .map((kind, i) => [kind, data.values[i][one.node]])
      .filter(([kind, value], i) => i !== type && value !== 0)
      .map(([kind, value]) => `${kind.name}: ${format(value, kind.unit)}`);
  }

  function showTip(event, one) {
    const tip = $(".tip");
    tip.style.display = one ? "block" : "none";
    if (!one) return;
    const bold = document.createElement("b"),
      lines = [];
    if (one.isGathered) {
      bold.textContent = "frames too narrow to be seen";
      lines.push("click: show them alone");
    } else {
      const module = data.modules[data.name_modules[one.tree.labels[one.node]]];
      bold.textContent = name(one.tree, one.node);
      lines.push(...told(one.tree, one.node).filter(Boolean), ...others(one));
      if (module && one.node !== 0) lines.push(module);
    }
    tip.replaceChildren(
      bold,
      ...lines.map(text => {
        const line = document.createElement("div");
        line.textContent = text;
        return line;
      }),
    );
    tip.style.left =
      Math.max(4, Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8)) + "px";
    tip.style.top =
      (event.clientY + 18 + tip.offsetHeight > window.innerHeight
        ? event.clientY - tip.offsetHeight - 8
        : event.clientY + 18) + "px";
  }

  /* An empty profile says why, and which sample types have something. */
  function explainEmpty() {
    const isEmpty = data.values[type].every(value => value === 0);
    const kind = data.types[type].name,
      box = $(".empty");
    box.style.display = isEmpty ? "block" : "none";
    if (!isEmpty) return;
    const filled = data.types
      .filter((_, i) => data.values[i].some(value => value !== 0))
      .map(one => one.name);
    const why = data.filters
      ? `No stack has any ${kind} with these options: ` +
        `${data.filters.trim().split(/\s+/).join(", ")}.`
      : isDiff || data.base
        ? `No difference: ${kind} is the same in both profiles.`
        : `This profile is empty: ${kind} is 0.`;
    box.textContent =
      why + (filled.length ? ` There is something in ${filled.join(", ")}: choose it above.` : "");
  }

  /* ---- what the user does ---- */

  function find(text) {
    found = null;
    $(".found").textContent = "";
    if (text !== "") {
      try {
        found = search(data, type, new RegExp(text, "i"));
        $(".found").textContent = found.frames
          ? `${found.frames} frame` +
            `${found.frames === 1 ? "" : "s"}, ${show(found.sum)} ` +
            `(${share(found.sum)})`
          : "nothing found";
      } catch (error) {
        $(".found").textContent = "no regular expression";
      }
    }
    redraw();
  }

  /* In the sandwich a frame takes the place of the one in the middle. */
  function zoom(one) {
    const {tree, node} = one;
    if (view === "both") {
      if (node !== 0) {
        focus = tree.labels[node];
        build();
      }
    } else if (leftOut(tree, node) && !one.isGathered) {
      onMore();
      return;
    } else if (one.isGathered) {
      zoomed = tree.parents[node];
      rest = node;
    } else if (
      node === 0 &&
      zoomed === 0 &&
      rest === null &&
      chosen?.node === 0 &&
      main.chain > 0 &&
      view === "down"
    ) {
      unfold();
    } else {
      zoomed = node;
      rest = null;
      chosen = {tree, node};
      tell(chosen);
    }
    redraw();
    tellState();
  }

  /* Makes the trees of the view. */
  function build() {
    zoomed = 0;
    rest = chosen = hovered = null;
    if (view === "both" && focus < 0) focus = largestFunction(data, type);
    panels =
      view === "both"
        ? sandwich(data, type, focus)
        : [view === "up" ? bottomUp(data, type) : topDown(data, type)];
    main = panels[0];
    for (const button of host.querySelectorAll("[data-view]"))
      button.setAttribute("aria-pressed", String(view === button.dataset.view));
    $(".fold").style.display = view === "down" && main.chain > 0 ? "" : "none";
    $(".fold").setAttribute("aria-pressed", String(!isFolded));
    explainEmpty();
    find($(".search").value);
    tell(view === "both" ? {tree: main, node: 0} : null);
    draw();
    showRoot();
  }

  /* The root's row is where reading begins: at an edge, in a sandwich in the middle. */
  function showRoot() {
    const rows = view === "both" ? panels[upsideDown ? 0 : 1].deepest : upsideDown ? rowCount() : 0;
    place.scrollTop =
      view === "both" ? Math.max(0, (rows + 1.5) * ROW - place.clientHeight * 0.7) : rows * ROW;
    redraw();
  }
  function setView(to) {
    if (to === "both" && chosen && (chosen.node !== 0 || view === "both"))
      focus = chosen.tree.labels[chosen.node];
    view = to;
    build();
    tellState();
  }
  function setType(to) {
    type = to;
    $(".type").value = String(to);
    build();
    tellState();
  }
  function unfold() {
    isFolded = !isFolded;
    $(".fold").setAttribute("aria-pressed", String(!isFolded));
    redraw();
    tellState();
  }
  function turn() {
    upsideDown = !upsideDown;
    $(".turn").setAttribute("aria-pressed", String(upsideDown));
    draw();
    showRoot();
    tellState();
  }
  function escape() {
    if (zoomed !== 0 || rest !== null) zoom({tree: main, node: 0});
    else if ($(".search").value !== "") {
      $(".search").value = "";
      find("");
      tellState();
    } else if (view === "both") setView("down");
  }

  function hit(event) {
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

  /* Up is towards main, down towards the leaves; sideways among siblings. */
  function move(key) {
    const {tree, node: from} = chosen || {tree: main, node: zoomed};
    const flipped = upsideDown !== (tree !== main),
      down = flipped ? "ArrowUp" : "ArrowDown",
      up = flipped ? "ArrowDown" : "ArrowUp";
    const {first, next, parents} = tree;
    let node = from;
    if (key === down && first[node] >= 0)
      do node = first[node];
      while (isHidden(tree, node));
    else if (key === up)
      do node = parents[node];
      while (isHidden(tree, node));
    else if (key === "ArrowRight" && node !== 0 && next[node] >= 0) node = next[node];
    else if (key === "ArrowLeft" && node !== 0)
      for (let k = first[parents[node]]; k >= 0 && k !== from; k = next[k]) node = k;
    chosen = {tree, node};
    draw();
    const row = (upsideDown ? rowCount() - 1 - level(tree, node) : level(tree, node)) * ROW;
    if (!shown.some(one => one.tree === tree && one.node === node)) {
      if (row < place.scrollTop) place.scrollTop = row;
      if (row + ROW > place.scrollTop + place.clientHeight)
        place.scrollTop = row + ROW - place.clientHeight;
    }
    tell(chosen);
    redraw();
  }

  const keys = {
    "/": () => $(".search").focus(),
    Escape: escape,
    1: () => setView("down"),
    2: () => setView("up"),
    3: () => setView("both"),
    t: () => setType((type + 1) % data.types.length),
    i: turn,
    s: unfold,
  };
  /* Returns whether the key was one of the picture's. */
  function keydown(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    if (event.target === $(".search")) {
      if (event.key === "Escape") {
        $(".search").value = "";
        find("");
      }
      if (event.key === "Escape" || event.key === "Enter") {
        canvas.focus();
        tellState();
      }
      return true;
    }
    if (event.target.matches?.("input, select, textarea")) return false;
    if (event.key.startsWith("Arrow")) move(event.key);
    else if (event.key === "Enter" && event.target === canvas && chosen) zoom(chosen);
    else if (keys[event.key]) keys[event.key]();
    else return false;
    event.preventDefault();
    return true;
  }

  /* The frame below the mouse; after each drawing it may be another one. */
  function point() {
    const one = hit(mouse);
    if (one?.node !== hovered?.node || one?.tree !== hovered?.tree) {
      hovered = one;
      redraw();
    }
    showTip(mouse, one);
  }
  canvas.addEventListener("mousemove", event => {
    mouse = event;
    point();
  });
  canvas.addEventListener("mouseleave", event => {
    mouse = hovered = null;
    showTip(event, null);
    redraw();
  });
  canvas.addEventListener("click", event => {
    const one = hit(event);
    if (one) zoom(one);
  });
  place.addEventListener("scroll", redraw);
  const sizes = new ResizeObserver(redraw);
  sizes.observe(place);
  $(".search").addEventListener("input", event => find(event.target.value));
  $(".search").addEventListener("change", tellState);
  $(".type").addEventListener("change", event => setType(Number(event.target.value)));
  $(".out").addEventListener("click", () =>
    view === "both" ? setView("down") : zoom({tree: main, node: 0}),
  );
  $(".fold").addEventListener("click", unfold);
  $(".turn").addEventListener("click", turn);
  for (const button of host.querySelectorAll("[data-view]"))
    button.addEventListener("click", () => setView(button.dataset.view));

  data.types.forEach((one, i) => $(".type").add(new Option(one.name, String(i))));
  $(".type").value = String(type);
  $(".turn").setAttribute("aria-pressed", String(upsideDown));
  $(".search").value = state.search ?? "";
  if (view === "both" && state.path?.length) focus = data.names.indexOf(state.path[0]);
  showLegend();
  build();
  if (view !== "both" && state.path?.length) {
    zoomed = nodeAt(main, data.names, state.path);
    redraw();
  }
  return {
    keydown,
    redraw() {
      showLegend();
      redraw();
    },
    destroy() {
      isGone = true;
      sizes.disconnect();
      host.replaceChildren();
    },
    /* For tests: draws at once, and returns what is shown. */
    inspect() {
      draw();
      return {shown, main, panels, zoomed, chosen, type, view, upsideDown, name, caption, cut};
    },
  };
}
