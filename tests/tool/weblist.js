/* SPDX-License-Identifier: MIT
 * weblist.js -- disasm.sh puts this at the end of a page: clicks, searches, keys.  The results
 * stand in the attribute data-log of the body. */
"use strict";
window.addEventListener("error",
	event => document.body.setAttribute("data-log", "FAILED " + event.message));
const log = [], check = (what, good) => log.push((good ? "ok " : "FAILED ") + what);
const press = key => window.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
const codes = () => document.querySelectorAll(".row.code").length;
for (const section of sections) fill(section);
check("the largest comes first", sections.length > 1 && sections[0].of.cum >= sections[1].of.cum);
check("source is shown", document.body.textContent.includes("malloc(1000)"));
const line = sections.flatMap(section => section.lines).find(shown => shown.line.flat > 0);
line.row.click();
check("a click shows instructions", codes() === line.line.instructions.length && codes() > 0);
check("a call has a name",
	document.querySelector(".row.code").parentNode.textContent.includes("<malloc@plt>"));
line.row.click();
check("another takes them away", codes() === 0);
line.row.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter"}));
check("Enter shows them", codes() > 0);
press("e");
const all = codes();
press("e");
check("e shows all, and none", all > line.line.instructions.length && codes() === 0);
$("search").value = "malloc\\(1000";
$("search").dispatchEvent(new Event("input", {bubbles: true}));
const marked = document.querySelectorAll(".row.found").length;
check("search finds", marked > 0 && $("count").textContent.startsWith(marked + " match"));
$("search").value = "(";
$("search").dispatchEvent(new Event("input", {bubbles: true}));
check("a bad pattern is told", $("count").textContent === "no regular expression");
const dark = document.documentElement.classList.contains("dark");
press("d");
check("d switches the colours", document.documentElement.classList.contains("dark") !== dark);
document.body.setAttribute("data-log", log.join("; "));
