// SPDX-License-Identifier: MIT
// flame.js: the flame graph, on a canvas: 100,000 frames stay smooth, because frames narrower than
// half a pixel are gathered into one box.  Used by the page and by `mallow flame`.
import {colour, coloursOf, legend} from "./colours.js";
import {
  drawTree,
  hiddenRows,
  isHidden,
  KEYS,
  level,
  PARTS,
  range,
  ROW,
  rowCount,
} from "./flame-parts.js";
import {caption, cut, fit, others, shadeText, told, whyEmpty} from "./flame-texts.js";
import {format, percent} from "./format.js";
import {bottomUp, largestFunction, nodeAt, pathOf, sandwich, search, topDown} from "./trees.js";

/** Draws `data` into `host`.  `state`: {type, view, path, search, flip, fold, colours}, which
 * `onState` gets whenever it changes, and whether the change was a zoom.  `onMore` is called for
 * more of the frames that were left out.  `colours`: what frames may be coloured by, also what the
 * data does not have yet.
 * Returns {keydown, goTo, redraw, destroy, inspect}. */
export function mountFlame(host, data, settings = {}) {
  const {state = {}, onState = () => {}, onMore = () => {}, colours = coloursOf(data)} = settings;
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
  let by = colours.includes(state.colours) ? state.colours : "module"; // what to colour by
  let mouse = null; // the last event of the mouse over the picture
  let rest = null; // of the zoomed frame only the children from this one on are shown
  let shown = [],
    queued = false,
    isGone = false;

  const scene = () => ({panels, view, isFolded, zoomed, rest});
  const show = value => format(value, data.types[type].unit);
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

  const path = () => (view === "both" ? [data.names[focus]] : pathOf(main, data.names, zoomed));

  /* `isStep`: a zoom, to which "back" should return. */
  function tellState(isStep = false) {
    const state = {
      type: data.types[type].name,
      view,
      flip: upsideDown,
      fold: isFolded,
      search: $(".search").value,
      colours: by,
      path: path(),
    };
    onState(state, isStep);
  }

  /* ---- colours ---- */

  /* Until the data has what the colours tell they are those of modules. */
  const shownBy = () => (coloursOf(data).includes(by) ? by : "module");
  const isDark = () => document.documentElement.classList.contains("dark");

  function showLegend() {
    $(".legend").replaceChildren(
      ...legend(data, isDiff, isDark(), shownBy()).map(([text, back]) => {
        const item = document.createElement("span");
        const mark = document.createElement("i");
        mark.style.background = back;
        item.append(mark, text);
        return item;
      }),
    );
  }

  /* ---- drawing ---- */

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
    const [begin, size] = range(scene(), main, zoomed),
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
    const now = scene(),
      colouredBy = shownBy(),
      width = place.clientWidth,
      height = Math.max(place.clientHeight, rowCount(now) * ROW + 4);
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
              by: colouredBy,
              plain: (node === 0 && view !== "both") || tree.labels[node] === 0,
            });
      pen.fillRect(
        left,
        at + (isGathered ? 5 : 0),
        wide - (wide > 3 ? 1 : 0),
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
      pen.fillText(fit(pen, caption(now, name, tree, node), wide), left + 4, at + ROW / 2);
    };
    const turned = upsideDown ? -1 : 1;
    const under = panels.length > 1 ? (upsideDown ? panels[0] : panels[1]).deepest : 0;
    const top = (upsideDown && panels.length === 1 ? height - ROW : under * ROW) - place.scrollTop;
    panels.forEach((tree, i) =>
      drawTree(
        now,
        tree,
        i === 0 ? zoomed : 0,
        {width, top, step: i === 0 ? turned : -turned},
        paint,
      ),
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

  function tell(one) {
    $(".status").textContent = one
      ? `${name(one.tree, one.node)} \u2014 ` +
        told(data, scene(), type, one.tree, one.node).join("; ")
      : KEYS;
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
      lines.push(
        ...told(data, scene(), type, one.tree, one.node),
        ...others(data, type, one),
        ...shadeText(data, shownBy(), one),
      );
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

  function explainEmpty() {
    const isEmpty = data.values[type].every(value => value === 0),
      box = $(".empty");
    box.style.display = isEmpty ? "block" : "none";
    if (isEmpty) box.textContent = whyEmpty(data, type, isDiff);
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
    tellState(true);
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
    const rows =
      view === "both" ? panels[upsideDown ? 0 : 1].deepest : upsideDown ? rowCount(scene()) : 0;
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
  /* Whoever mounted the picture gets data with these colours, if it has none. */
  function setColours(to) {
    by = to;
    $(".by").value = by;
    showLegend();
    redraw();
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
    const now = scene();
    const flipped = upsideDown !== (tree !== main),
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
    chosen = {tree, node};
    draw();
    const depth = level(now, tree, node),
      row = (upsideDown ? rowCount(now) - 1 - depth : depth) * ROW;
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
    c: () => setColours(colours[(colours.indexOf(by) + 1) % colours.length]),
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
  $(".search").addEventListener("change", () => tellState());
  $(".type").addEventListener("change", event => setType(Number(event.target.value)));
  $(".by").addEventListener("change", event => setColours(event.target.value));
  $(".out").addEventListener("click", () =>
    view === "both" ? setView("down") : zoom({tree: main, node: 0}),
  );
  $(".fold").addEventListener("click", unfold);
  $(".turn").addEventListener("click", turn);
  for (const button of host.querySelectorAll("[data-view]"))
    button.addEventListener("click", () => setView(button.dataset.view));

  data.types.forEach((one, i) => $(".type").add(new Option(one.name, String(i))));
  for (const one of colours) $(".by").add(new Option("by " + one, one));
  $(".by").value = by;
  $(".by").style.display = colours.length > 1 ? "" : "none";
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
    /* Zooms to a path, and tells nobody. */
    goTo(to) {
      if (to.join("\n") === path().join("\n")) return;
      const label = data.names.indexOf(to[0] ?? "");
      if (view === "both" && label > 0) {
        focus = label;
        build();
      } else if (view !== "both") {
        zoomed = nodeAt(main, data.names, to);
        rest = null;
        redraw();
      }
    },
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
      return {
        shown,
        main,
        panels,
        zoomed,
        chosen,
        type,
        view,
        upsideDown,
        name,
        cut,
        caption: (tree, node) => caption(scene(), name, tree, node),
      };
    },
  };
}
