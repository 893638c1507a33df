/* SPDX-License-Identifier: MIT
 * flame.js -- views.sh puts this at the end of a flame page: clicks, searches, turns.  The results
 * stand in the attribute data-log of the body. */
"use strict";
window.addEventListener("error",
	event => document.body.setAttribute("data-log", "FAILED " + event.message));
const log = [], say = (what, good) => log.push((good ? "ok " : "FAILED ") + what);
const id = name => document.getElementById(name), part = name => document.querySelector("." + name);
const now = () => window.flame.inspect();
const press = key => {
	window.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
	return now();
};
now(); /* the first makes room, which may bring a scroll bar */
say("frames are drawn", now().shown.length > 20);
say("the keys are told", part("status").textContent.startsWith("/ search")
	&& /^[0-9.]+ [KM]iB allocated$/.test(part("total").textContent));
for (const [whole, short] of [["std::map<\u2026>::find", "std::map\u2026"],
	["std::vector", "std::vecto\u2026"]])
	say("a name is cut: " + short, now().cut(whole, 10) === short);
const isDark = () => document.documentElement.classList.contains("dark");
const dark = isDark();
press("d");
say("d switches the colours", isDark() !== dark);
press("d");
say("the legend names modules", part("legend").textContent.includes(DATA.modules[2])
	&& part("legend").textContent.includes("libc"));
say("the header names process, rate and interval",
	/pid [0-9]+/.test(id("title").textContent)
	&& /^20[0-9-]+ [0-9:]+ . T = [0-9. KiB]+ . between .* in 95 of 100 cases$/
		.test(part("about").textContent));

const canvas = part("frames"), place = part("place");
const frame = now().shown.find(one => one.node !== 0 && one.wide > 40
	&& one.wide < place.clientWidth / 2);
const click = one => {
	const box = canvas.getBoundingClientRect();
	canvas.dispatchEvent(new MouseEvent("click", {clientX: box.left + one.left + one.wide / 2,
		clientY: box.top + one.at + 5, bubbles: true}));
	return now();
};
const zoomed = click(frame);
say("a click zooms in", zoomed.zoomed === frame.node
	&& Math.abs(zoomed.shown.find(one => one.node === frame.node).wide
		- place.clientWidth) < 1);
say("Escape zooms out", press("Escape").zoomed === 0);

/* Every function's sum is the same from above and from below. */
const values = DATA.values[now().type], own = Float64Array.from(values), sums = new Map();
for (let i = 1; i < values.length; i++) own[DATA.parents[i]] -= values[i];
own.forEach((value, i) => { if (i > 0 && value !== 0) sums.set(DATA.labels[i],
	(sums.get(DATA.labels[i]) || 0) + value); });
const up = press("2").main, roots = [];
for (let k = up.first[0]; k >= 0; k = up.next[k]) roots.push(k);
say("bottom-up begins with what functions allocate themselves",
	up.values[0] === values[0] && roots.length === sums.size
	&& roots.every(k => up.values[k] === sums.get(up.labels[k])));
const both = press("3"), [callees, callers] = both.panels;
say("the sandwich has callers and callees",
	callees.values[0] === callers.values[0] && callees.title === callers.title
	&& callers.deepest > 0);
const caller = both.shown.find(one => one.tree === callers && one.node !== 0 && one.wide > 20);
const middle = click(caller).panels[0];
say("a click changes the function in the middle",
	middle.title === both.name(callers, caller.node) && middle.deepest > 0);
say("Escape leaves the sandwich", press("Escape").view === "down");

const search = text => {
	part("search").value = text;
	part("search").dispatchEvent(new Event("input", {bubbles: true}));
	return part("found").textContent;
};
say("search finds", /^[0-9]+ frames?, .*%/.test(search("alloc|list")));
say("a bad pattern is told", search("(") === "no regular expression");
search("");
const turned = press("i");
say("i turns", turned.upsideDown && turned.shown.length > 5);
press("i");
const before = now().type, after = press("t");
say("t switches the type", after.type !== before && after.shown.length > 1);
const moved = press("ArrowDown");
say("arrows move", moved.chosen !== null && moved.chosen.node > 0);
document.body.style.width = "400px";
const narrow = now();
say("it fits 400 pixels", place.clientWidth > 350 && place.clientWidth <= 400
	&& document.querySelector("header").scrollWidth <= 400
	&& narrow.shown.every(one => one.left + one.wide <= place.clientWidth + 1));
document.body.setAttribute("data-log", log.join("; "));
