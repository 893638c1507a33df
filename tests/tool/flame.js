/* SPDX-License-Identifier: MIT
 * flame.js -- put at the end of a flame page by views.sh: clicks, searches, turns; what came of it
 * stands in the attribute data-log of the body. */
"use strict";
window.addEventListener("error", event => document.body.setAttribute("data-log", "FAILED " + event.message));
const log = [], say = (what, good) => log.push((good ? "ok " : "FAILED ") + what);
const press = key => { window.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true})); draw(); };
draw(); /* the first makes room, which may bring a scroll bar */
draw();
say("frames are drawn", shown.length > 20);
say("the keys are told", $("status").textContent.startsWith("/ search") && /^[0-9.]+ [KM]iB$/.test($("total").textContent));
for (const [whole, short] of [["std::map<\u2026>::find", "std::map\u2026"], ["std::vector", "std::vecto\u2026"]])
	say("a name is cut: " + short, cut(whole, 10) === short);
for (const [whole, short] of [["std::map<a, b<c> >::find<d>", "std::map<\u2026>::find<\u2026>"], ["std::operator<< <a>", "std::operator<< <\u2026>"],
	["a::operator-><b>", "a::operator-><\u2026>"], ["<T as Trait>::run", "<T as Trait>::run"], ["f<a", "f<a"], ["f", "f"]])
	say("arguments are left out: " + short, withoutArguments(whole) === short);
const frame = shown.find(([node, , wide]) => node !== 0 && wide > 40 && wide < place.clientWidth / 2);
const box = canvas.getBoundingClientRect();
canvas.dispatchEvent(new MouseEvent("click", {clientX: box.left + frame[1] + frame[2] / 2, clientY: box.top + frame[3] + 5, bubbles: true}));
draw();
say("a click zooms in", zoomed === frame[0] && Math.abs(shown.find(([node]) => node === zoomed)[2] - place.clientWidth) < 1);
press("Escape");
say("Escape zooms out", zoomed === 0);
$("search").value = "alloc|list";
$("search").dispatchEvent(new Event("input", {bubbles: true}));
say("search finds", /^[0-9]+ frames?, .*%/.test($("found").textContent));
$("search").value = "(";
$("search").dispatchEvent(new Event("input", {bubbles: true}));
say("a bad pattern is told", $("found").textContent === "no regular expression");
press("i");
say("i turns", upsideDown && shown.length > 5);
const before = type;
press("t");
say("t switches the type", type !== before);
const dark = isDark();
press("d");
say("d switches the colours", isDark() !== dark);
press("ArrowUp");
say("arrows move", chosen > 0);
document.body.setAttribute("data-log", log.join("; "));
