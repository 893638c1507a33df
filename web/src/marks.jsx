// SPDX-License-Identifier: MIT
// marks.jsx: what happened to a process while it was recorded, drawn on its timeline and listed
// below it: dumps, limits, requests, marks, the peak.
import {styleOf} from "./chart.jsx";
import {clock, format} from "./format.js";
import {makeHash} from "./url.js";

const LABEL_HEIGHT = 14,
  LABEL_ROWS = 3;
/* `mallow` takes a mark for a time that is no farther away than this. */
const NEAR_SECONDS = 2,
  NEAR_SHARE = 0.1;

export const at = seconds => `@${seconds.toFixed(3)}`;

/** The marks of a timeline, and of its moments that with most bytes in use. */
export function marksOf(timeline, moments) {
  const peak = moments.reduce((best, one) => (one.value > (best?.value ?? 0) ? one : best), null);
  const marks = timeline.marks.map(mark => ({...mark, isPeak: false}));
  if (peak)
    marks.push({
      time_ns: peak.time_ns,
      text: `peak, ${format(peak.value, timeline.unit)}`,
      isPeak: true,
      stored: false,
    });
  return marks.sort((a, b) => a.time_ns - b.time_ns);
}

/** The stored mark that `mallow` would take for this moment; undefined: there is none. */
export function storedNear(marks, seconds, now = Date.now() / 1000) {
  const reach = NEAR_SECONDS + NEAR_SHARE * Math.max(0, now - seconds);
  const distance = mark => Math.abs(mark.time_ns / 1e9 - seconds);
  return marks
    .filter(mark => mark.stored && distance(mark) <= reach)
    .sort((a, b) => distance(a) - distance(b))[0];
}

/** Draws a line for each mark, and its text where there is room. */
export function drawMarks(plot, marks) {
  const {ctx: pen, bbox: box} = plot,
    ratio = window.devicePixelRatio || 1;
  const ends = Array(LABEL_ROWS).fill(-Infinity); // where the last label of each row ends
  pen.save();
  pen.font = `${11 * ratio}px system-ui, "DejaVu Sans", sans-serif`;
  pen.textBaseline = "top";
  pen.lineWidth = 1;
  pen.setLineDash([2 * ratio, 3 * ratio]);
  for (const mark of marks) {
    const x = Math.round(plot.valToPos(mark.time_ns / 1e9, "x", true)) + 0.5;
    if (x < box.left || x > box.left + box.width) continue;
    pen.strokeStyle = pen.fillStyle = styleOf(mark.isPeak ? "--bad" : "--found");
    pen.beginPath();
    pen.moveTo(x, box.top);
    pen.lineTo(x, box.top + box.height);
    pen.stroke();
    const width = pen.measureText(mark.text).width,
      left = Math.min(x + 4 * ratio, box.left + box.width - width);
    const row = ends.findIndex(end => end < left);
    if (row < 0) continue;
    pen.fillText(mark.text, left, box.top + row * LABEL_HEIGHT * ratio);
    ends[row] = left + width + 6 * ratio;
  }
  pen.restore();
}

/** The marks as a list.  A peak and a stored mark have a profile of their own. */
export function Marks({target, marks}) {
  if (marks.length === 0) return null;
  const link = (text, query) => <a href={makeHash({target, view: "flame", query})}>{text}</a>;
  return (
    <details class="marks" open={marks.length <= 6}>
      <summary>
        {marks.length} {marks.length === 1 ? "mark" : "marks"} on the timeline
      </summary>
      <ul>
        {marks.map((mark, i) => (
          <li key={i}>
            {clock(mark.time_ns)} {mark.text}{" "}
            {mark.isPeak && link("live at the peak", {type: "peak_space"})}
            {mark.stored && (
              <>
                {link("live then", {at: at(mark.time_ns / 1e9)})}{" "}
                {link("what changed since", {since: at(mark.time_ns / 1e9)})}
              </>
            )}
          </li>
        ))}
      </ul>
    </details>
  );
}
