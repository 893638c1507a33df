/* SPDX-License-Identifier: MIT
 * timeline.js -- timeline.sh puts this at the end of a timeline page: points, drags, keys.  The
 * results stand in the attribute data-log of the body. */
"use strict";
window.addEventListener("error",
	event => document.body.setAttribute("data-log", "FAILED " + event.message));
const log = [], check = (what, good) => log.push((good ? "ok " : "FAILED ") + what);
const mouse = (type, x) => (type === "mouseup" ? window : canvas).dispatchEvent(
	new MouseEvent(type, {clientX: canvas.getBoundingClientRect().left + x,
		clientY: canvas.getBoundingClientRect().top + 50, bubbles: true}));
const press = key => { window.dispatchEvent(new KeyboardEvent("keydown",
	{key, bubbles: true})); draw(); };
const inked = () => pen.getImageData(0, 0, canvas.width,
	canvas.height).data.some((byte, i) => i % 4 === 3 && byte > 0);
draw();
check("something is drawn", inked());
mouse("mousemove", LEFT + plotWidth() / 2);
draw();
const pointed = msOf(LEFT + plotWidth() / 2);
check("pointing tells", times[cursor] <= pointed && !(times[cursor + 1] <= pointed)
	&& /iB,.*resident/.test($("status").textContent));
press("ArrowRight");
const second = cursor;
press("ArrowLeft");
check("arrows move", cursor === second - 1);
const middle = (whole[0] + whole[1]) / 2;
mouse("mousedown", LEFT + plotWidth() / 4);
mouse("mousemove", LEFT + plotWidth() * 3 / 4);
mouse("mouseup", LEFT + plotWidth() * 3 / 4);
draw();
check("a drag zooms in", view[0] > whole[0] && view[1] < whole[1]
	&& view[0] < middle && view[1] > middle);
press("Escape");
check("Escape zooms out", view[0] === whole[0] && view[1] === whole[1]);
const step = timeStep(), zone = new Date(whole[0]).getTimezoneOffset() * 60e3;
check("times are round", STEPS.includes(step) && roundTimes().length > 1
	&& roundTimes().every(ms => Math.abs((ms - zone) % step) < 1e-3));
for (const [ms, width, text] of [[0, 2 * HOUR, "00:00"], [90 * SECOND, SECOND, "00:01:30"],
	[1500, 100, "00:00:01.5"], [DAY, DAY, "1970-01-02"]])
	check("a time is as exact as its step: " + text,
		timeText(ms + new Date(ms).getTimezoneOffset() * 60e3, width) === text);
check("the legend says what lines mean",
	["inuse_space", "resident memory",
	"what happened"].every(text => $("legend").textContent.includes(text)));
check("the peak is marked", named.some(text => /^peak [0-9.]+ MiB$/.test(text)));
const dark = isDark();
press("d");
check("d switches the colours", isDark() !== dark);
document.body.setAttribute("data-log", log.join("; "));
