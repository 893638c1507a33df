/* SPDX-License-Identifier: MIT
 * pan.js -- views.sh puts this at the end of a call graph's picture: wheel, drag, keys.  The
 * results stand in the attribute data-log of the picture. */
"use strict";
const log = [], say = (what, good) => log.push((good ? "ok " : "FAILED ") + what);
const svg = document.documentElement,
	box = () => ["x", "y", "width", "height"].map(key => svg.viewBox.baseVal[key]);
const send = (Kind, type, more) =>
	svg.dispatchEvent(new Kind(type,
	{clientX: 300, clientY: 200, bubbles: true, cancelable: true, pointerId: 1, ...more}));
svg.setPointerCapture = () => {}; /* which wants a real pointer */
const whole = box(), place = () =>
	new DOMPoint(300, 200).matrixTransform(svg.getScreenCTM().inverse());
const under = place();
send(WheelEvent, "wheel", {deltaY: -100});
const near = box();
say("the wheel zooms in", near[2] < whole[2] * 0.9
	&& Math.abs(near[3] / near[2] - whole[3] / whole[2]) < 0.01);
say("what is under the pointer stays there",
	Math.abs(place().x - under.x) < whole[2] / 50
	&& Math.abs(place().y - under.y) < whole[3] / 50);
send(PointerEvent, "pointerdown", {});
send(PointerEvent, "pointermove", {clientX: 250, clientY: 180});
send(PointerEvent, "pointerup", {});
const moved = box();
say("a drag moves", moved[0] > near[0] && moved[1] > near[1] && moved[2] === near[2]);
send(PointerEvent, "pointermove", {clientX: 100, clientY: 100});
say("a pointer that is up does not", box().join() === moved.join());
window.dispatchEvent(new KeyboardEvent("keydown", {key: "0"}));
const all = box();
send(WheelEvent, "wheel", {deltaY: 100});
say("0 shows all", all[0] === 0 && all[1] === 0 && box()[2] > all[2]);
svg.setAttribute("data-log", log.join("; "));
