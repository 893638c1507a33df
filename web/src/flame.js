// SPDX-License-Identifier: MIT
// flame.js: the flame graph, on a canvas: 100,000 frames stay smooth, because frames narrower than
// half a pixel are gathered into one box.  Used by the page and by `mallow flame`.
// flame-state.js holds what is shown, flame-parts.js lays out, flame-paint.js draws,
// flame-actions.js changes what is shown, flame-input.js listens to the user.
import {coloursOf} from "./colours.js";
import {build, goTo} from "./flame-actions.js";
import {keydown, listen} from "./flame-input.js";
import {draw, redraw, showLegend} from "./flame-paint.js";
import {PARTS} from "./flame-parts.js";
import {captionOf, createFlame, name} from "./flame-state.js";
import {cut} from "./flame-texts.js";
import {nodeAt} from "./trees.js";

function fillControls({$, data, colours, by, type, upsideDown}, searched) {
  data.types.forEach((one, i) => $(".type").add(new Option(one.name, String(i))));
  for (const one of colours) $(".by").add(new Option("by " + one, one));
  $(".by").value = by;
  $(".by").style.display = colours.length > 1 ? "" : "none";
  $(".type").value = String(type);
  $(".turn").setAttribute("aria-pressed", String(upsideDown));
  $(".search").value = searched;
}

/* Shows the path of a stored state. */
function begin(flame, path) {
  const {data, view} = flame;
  if (view === "both" && path?.length) flame.focus = data.names.indexOf(path[0]);
  showLegend(flame);
  build(flame);
  if (view !== "both" && path?.length) {
    flame.zoomed = nodeAt(flame.main, data.names, path);
    redraw(flame);
  }
}

/* For tests: draws at once, and returns what is shown. */
function inspect(flame) {
  draw(flame);
  const {shown, main, panels, zoomed, chosen, type, view, upsideDown} = flame;
  return {
    shown,
    main,
    panels,
    zoomed,
    chosen,
    type,
    view,
    upsideDown,
    name: (tree, node) => name(flame, tree, node),
    cut,
    caption: (tree, node) => captionOf(flame, tree, node),
  };
}

/** Draws `data` into `host`.  `state`: {type, view, path, search, flip, fold, colours}, which
 * `onState` gets whenever it changes, and whether the change was a zoom.  `onMore` is called for
 * more of the frames that were left out.  `colours`: what frames may be coloured by, also what the
 * data does not have yet.
 * Returns {keydown, goTo, redraw, destroy, inspect}. */
export function mountFlame(host, data, settings = {}) {
  const {state = {}, colours = coloursOf(data)} = settings;
  host.classList.add("flame");
  host.innerHTML = PARTS;
  const flame = createFlame(host, data, {...settings, state, colours});
  const stopListening = listen(flame);
  fillControls(flame, state.search ?? "");
  begin(flame, state.path);
  return {
    keydown: event => keydown(flame, event),
    goTo: path => goTo(flame, path),
    redraw() {
      showLegend(flame);
      redraw(flame);
    },
    destroy() {
      flame.isGone = true;
      stopListening();
      host.replaceChildren();
    },
    inspect: () => inspect(flame),
  };
}
