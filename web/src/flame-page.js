// SPDX-License-Identifier: MIT
// flame-page.js: the page of `mallow flame`, whose profile is in DATA.
import {mountFlame} from "./flame.js";
import {format} from "./format.js";

const $ = id => document.getElementById(id);
const root = document.documentElement;

/* When, of what, how exact. */
function facts(type) {
  const parts = [];
  if (DATA.base) parts.push(`${DATA.target} less ${DATA.base}`);
  if (DATA.time_ns > 0) parts.push(new Date(DATA.time_ns / 1e6).toLocaleString("sv-SE"));
  if (DATA.mean_bytes === 1) parts.push("exact: every allocation is recorded");
  else if (DATA.mean_bytes > 1) parts.push(`T = ${format(DATA.mean_bytes, "bytes")}`);
  if (type === 0 && DATA.interval) {
    const [low, high] = DATA.interval.map(value => format(value, DATA.types[0].unit));
    parts.push(`between ${low} and ${high} in 95 of 100 cases`);
  }
  if (DATA.filters) parts.push(DATA.filters.trim().split(/\s+/).join(", "));
  return parts.join(" \u00b7 ");
}

function describe(typeName) {
  const type = Math.max(
    0,
    DATA.types.findIndex(one => one.name === typeName),
  );
  $("total").textContent = format(DATA.values[type][0], DATA.types[type].unit);
  $("facts").textContent = facts(type);
}

function shade() {
  root.classList.toggle("dark");
  $("shade").textContent = root.classList.contains("dark") ? "light" : "dark";
  window.flame?.redraw();
}

$("title").textContent = (DATA.program || "profile") + (DATA.pid ? ` (pid ${DATA.pid})` : "");
document.title = "mallow: " + (DATA.program || "profile");
if (window.matchMedia("(prefers-color-scheme: dark)").matches) shade();
describe();
const host = document.createElement("div");
host.className = "picture";
document.querySelector("main").append(host);
window.flame = mountFlame(host, DATA, {onState: state => describe(state.type)});
window.addEventListener("keydown", event => {
  const isTyping = event.target.matches?.("input, select, textarea");
  if (window.flame.keydown(event) || isTyping || event.ctrlKey || event.metaKey) return;
  if (event.key === "d") shade();
});
$("shade").addEventListener("click", shade);
