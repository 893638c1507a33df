/* SPDX-License-Identifier: MIT
 * flame.js -- views.sh puts this at the end of a flame page: clicks, searches, turns.  The results
 * stand in the attribute data-log of the body. */
"use strict";
window.addEventListener("error",
	event => document.body.setAttribute("data-log", "FAILED " + event.message));
const log = [], say = (what, good) => log.push((good ? "ok " : "FAILED ") + what);
const press = key => { window.dispatchEvent(new KeyboardEvent("keydown",
	{key, bubbles: true})); draw(); };
draw(); /* the first makes room, which may bring a scroll bar */
draw();
say("frames are drawn", shown.length > 20);
say("the keys are told", $("status").textContent.startsWith("/ search")
	&& /^[0-9.]+ [KM]iB$/.test($("total").textContent));
for (const [whole, short] of [["std::map<\u2026>::find", "std::map\u2026"],
	["std::vector", "std::vecto\u2026"]])
	say("a name is cut: " + short, cut(whole, 10) === short);
for (const [whole, short] of [["std::map<a, b<c> >::find<d>", "std::map<\u2026>::find<\u2026>"],
	["std::operator<< <a>", "std::operator<< <\u2026>"],
	["a::operator-><b>", "a::operator-><\u2026>"], ["<T as Trait>::run", "<T as Trait>::run"],
		["f<a", "f<a"], ["f", "f"]])
	say("arguments are left out: " + short, withoutArguments(whole) === short);
/* WCAG's contrast of two colours as the canvas knows them: "#rrggbb". */
const luminance = hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16) / 255)
	.map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4).reduce((sum, c, i) =>
		sum + c * [0.2126, 0.7152, 0.0722][i], 0);
const asHex = css => { pen.fillStyle = css.trim(); return pen.fillStyle; };
const contrast = (a, b) => { const [x, y] = [luminance(asHex(a)), luminance(asHex(b))].sort();
	return (y + 0.05) / (x + 0.05); };
const of = key => getComputedStyle(document.documentElement).getPropertyValue(key);
const readable = () => {
	const least = (text, backs) => Math.min(...backs.map(back => contrast(of(text), back)));
	const boxes = [false, true].flatMap(faint =>
		Array.from({length: main.count}, (_, i) => colour(main, i, isDark(), faint)));
	const hues = Array.from({length: 360},
		(_, hue) => colour(main, 1, isDark(), false).replace(/hsl\([0-9]+/, "hsl(" + hue));
	return least("--text", [...boxes, ...hues, of("--back"), of("--bar")]) >= 4.5
		&& least("--dim", [of("--bar")]) >= 4.5
		&& contrast(of("--found-text"), of("--found")) >= 4.5;
};
const dark = isDark();
say("text is readable", readable());
press("d");
say("text is readable in the other shade", readable());
say("d switches the colours", isDark() !== dark);
press("d");

const system = DATA.names.findIndex((text, i) =>
	DATA.name_modules[i] === SYSTEM && text === "_start");
const other = DATA.names.findIndex((_, i) => DATA.name_modules[i] > SYSTEM);
const shadeOf = label => colour({labels: [0, label], values: [1, 1], size: [1, 1],
	title: ""}, 1, false, false);
say("runtime libraries are grey, modules are not",
	/ 4% /.test(shadeOf(system)) && / 66% /.test(shadeOf(other)));
say("the legend names modules",
	$("legend").textContent.includes(DATA.modules[2])
	&& $("legend").textContent.includes("libc"));
say("the header names process, rate and interval",
	/pid [0-9]+/.test($("title").textContent)
	&& /^20[0-9-]+ [0-9:]+ . T = [0-9. KiB]+ . between .* in 95 of 100 cases$/
		.test($("facts").textContent));

const frame = shown.find(([node, , wide]) => node !== 0 && wide > 40
	&& wide < place.clientWidth / 2);
const click = ([, left, wide, at]) => {
	const box = canvas.getBoundingClientRect();
	canvas.dispatchEvent(new MouseEvent("click",
		{clientX: box.left + left + wide / 2, clientY: box.top + at + 5, bubbles: true}));
	draw();
};
click(frame);
say("a click zooms in", zoomed === frame[0]
	&& Math.abs(shown.find(([node]) => node === zoomed)[2] - place.clientWidth) < 1);
press("Escape");
say("Escape zooms out", zoomed === 0);

/* Every function's sum is the same from above and from below. */
const flat = ownValues(), total = DATA.values[type][0], sums = new Map();
flat.forEach((value, i) => { if (i > 0 && value !== 0) sums.set(DATA.labels[i],
	(sums.get(DATA.labels[i]) || 0) + value); });
press("2");
const roots = [];
for (let k = main.first[0]; k >= 0; k = main.next[k]) roots.push(k);
say("bottom-up begins with what functions allocate themselves",
	main.values[0] === total && roots.length === sums.size
	&& roots.every(k => main.values[k] === sums.get(main.labels[k])));
press("3");
const [callees, callers] = panels;
say("the sandwich has callers and callees",
	callees.values[0] === callers.values[0] && callees.title === callers.title
	&& callers.deepest > 0);
const caller = shown.find(([node, , wide, , tree]) => tree === callers && node !== 0 && wide > 20),
	callerName = name(callers, caller[0]);
click(caller);
say("a click changes the function in the middle",
	panels[0].title === callerName && panels[0].deepest > 0);
press("Escape");
say("Escape leaves the sandwich", view === "down");

$("search").value = "alloc|list";
$("search").dispatchEvent(new Event("input", {bubbles: true}));
say("search finds", /^[0-9]+ frames?, .*%/.test($("found").textContent));
$("search").value = "(";
$("search").dispatchEvent(new Event("input", {bubbles: true}));
say("a bad pattern is told", $("found").textContent === "no regular expression");
$("search").value = "";
search("");
press("i");
say("i turns", upsideDown && shown.length > 5);
press("i");
const before = type;
press("t");
say("t switches the type", type !== before && shown.length > 1);
press("ArrowDown");
say("arrows move", chosen !== null && chosen.node > 0);
document.body.style.width = "400px";
draw();
say("it fits 400 pixels", place.clientWidth > 350 && place.clientWidth <= 400
	&& document.querySelector("header").scrollWidth <= 400
	&& shown.every(one => one[1] + one[2] <= place.clientWidth + 1));
document.body.setAttribute("data-log", log.join("; "));
