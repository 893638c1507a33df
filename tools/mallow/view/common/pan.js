/* SPDX-License-Identifier: MIT
 * pan.js -- put into the call graph's picture: the wheel zooms, a drag moves, 0 or a double click
 * shows all.  In a dark page the colours are turned. */
"use strict";
(function () {
	const svg = document.documentElement;
	const whole = svg.viewBox.baseVal, all = [whole.x, whole.y, whole.width, whole.height];
	let view = all.slice(), last = null, pressed = null,
		hasBegun = false;
	svg.setAttribute("width", "100%");
	svg.setAttribute("height", "100%");
	svg.setAttribute("preserveAspectRatio", "xMidYMin meet");
	svg.style.cssText = "position:fixed;inset:0;touch-action:none;cursor:grab";
	function show() { svg.setAttribute("viewBox", view.join(" ")); }
	/* The place of an event in the picture's own measure. */
	function at(event) {
		const point = new DOMPoint(event.clientX, event.clientY);
		return point.matrixTransform(svg.getScreenCTM().inverse());
	}
	function zoom(factor, place) {
		const wide = Math.min(all[2] * 4,
			Math.max(all[2] / 500, view[2] * factor)), by = wide / view[2];
		view = [place.x - (place.x - view[0]) * by,
			place.y - (place.y - view[1]) * by, wide, view[3] * by];
		show();
	}
	/* Large graphs begin at a size that can be read, with the legend in view and the first
	 * functions beside it; on a narrow screen the functions alone. */
	function begin() {
		const most = 1, screen = svg.getBoundingClientRect(),
			legend = document.getElementById("clust1");
		hasBegun = screen.width > 0 && screen.height > 0;
		view = all.slice();
		/* How much of the picture's measure a pixel would show. */
		const scale = Math.max(all[2] / screen.width, all[3] / screen.height);
		if (screen.width > 0 && scale > most) {
			const box = legend ? legend.getBBox() : null, wide = screen.width * most;
			/* Graphviz moves its drawing by a margin of 4. */
			const right = box ? box.x + box.width + 4 : all[2] / 2;
			/* A legend that is wider than the screen gives way to the functions. */
			const middle = !box || box.width <= wide * 0.7 ? right
				: box.width > wide ? right + wide / 2 : right - box.width / 2;
			view[2] = wide;
			view[0] = all[2] < wide ? all[0] - (wide - all[2]) / 2
				: Math.max(all[0],
					Math.min(all[0] + all[2] - wide, middle - wide / 2));
			view[3] = wide * screen.height / screen.width;
		}
		show();
	}
	svg.addEventListener("wheel", event => {
		event.preventDefault();
		zoom(event.deltaY < 0 ? 0.8 : 1.25, at(event));
	}, {passive: false});
	svg.addEventListener("pointerdown",
		event => {
			last = at(event);
			pressed = event.target.closest ? event.target.closest("a") : null;
			svg.setPointerCapture(event.pointerId);
		});
	svg.addEventListener("pointermove", event => {
		if (!last) return;
		const now = at(event);
		if (now.x !== last.x || now.y !== last.y) pressed = null;
		view[0] += last.x - now.x;
		view[1] += last.y - now.y;
		show();
	});
	/* A click on a function, not a drag, tells the page around the picture its name. */
	svg.addEventListener("pointerup", () => {
		const xlink = "http://www.w3.org/1999/xlink";
		const name = pressed && pressed.getAttributeNS(xlink, "title");
		if (name && window.parent !== window)
			window.parent.postMessage({mallow: name.replace(/ \([^()]*\)$/, "")}, "*");
	});
	for (const end of ["pointerup", "pointercancel"])
		svg.addEventListener(end, () => { last = null; });
	svg.addEventListener("dblclick", () => { view = all.slice(); show(); });
	window.addEventListener("keydown", event => {
		const middle = {x: view[0] + view[2] / 2,
			y: view[1] + view[3] / 2}, step = view[2] / 8;
		const moves = {ArrowLeft: [-step, 0], ArrowRight: [step, 0],
			ArrowUp: [0, -step], ArrowDown: [0, step]};
		if (event.key === "+") zoom(0.8, middle);
		else if (event.key === "-") zoom(1.25, middle);
		else if (event.key === "0") { view = all.slice(); show(); }
		else if (moves[event.key])
			{ view[0] += moves[event.key][0]; view[1] += moves[event.key][1]; show(); }
	});
	/* "#dark" and "#light" in the address go before what the system prefers. */
	function shade() {
		const theme = location.hash.slice(1);
		for (const sheet of theme ? document.styleSheets : [])
			for (const rule of sheet.cssRules)
				if (rule.media)
					rule.media.mediaText = theme === "dark" ? "all" : "not all";
	}
	window.addEventListener("hashchange", shade);
	shade();
	/* In a frame there may be no room yet. */
	window.addEventListener("resize", () => { if (!hasBegun) begin(); });
	begin();
})();
