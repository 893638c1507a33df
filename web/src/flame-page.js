// SPDX-License-Identifier: MIT
// flame-page.js: the page of `mallow flame`, whose profile is in DATA.
import {mountFlame} from "./flame.js";

const $ = id => document.getElementById(id);
const root = document.documentElement;

function shade() {
  root.classList.toggle("dark");
  $("shade").textContent = root.classList.contains("dark") ? "light" : "dark";
  window.flame?.redraw();
}

$("title").textContent = (DATA.program || "profile") + (DATA.pid ? ` (pid ${DATA.pid})` : "");
document.title = "mallow: " + (DATA.program || "profile");
if (window.matchMedia("(prefers-color-scheme: dark)").matches) shade();
const host = document.createElement("div");
host.className = "picture";
document.querySelector("main").append(host);
window.flame = mountFlame(host, DATA);
window.addEventListener("keydown", event => {
  const isTyping = event.target.matches?.("input, select, textarea");
  if (window.flame.keydown(event) || isTyping || event.ctrlKey || event.metaKey) return;
  if (event.key === "d") shade();
});
$("shade").addEventListener("click", shade);
