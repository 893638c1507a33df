// SPDX-License-Identifier: MIT
// overview.jsx: a process: the heap over time, and what its memory consists of.
import {useRef, useState} from "preact/hooks";
import * as api from "./api.js";
import {bytesAxis, Chart, FROM_ZERO, styleOf, timeAxis, TIME_SERIES} from "./chart.jsx";
import {clock, format} from "./format.js";
import {useLoad} from "./hooks.js";
import {at, drawMarks, Marks, marksOf, storedNear} from "./marks.jsx";
import {Memory} from "./memory.jsx";
import {makeHash} from "./url.js";
import {notYet, Trouble} from "./waiting.jsx";

/* The heap over time is asked for seldom: between two answers the line goes on with what the status
 * says, which is asked for anyway. */
const PERIOD_MS = 1000,
  TIMELINE_MS = 30000;
function columns(moments) {
  const times = [],
    live = [],
    resident = [],
    rate = [];
  let last = null;
  for (const one of moments) {
    times.push(one.time_ns / 1e9);
    live.push(one.value);
    resident.push(one.resident_bytes ?? null);
    const seconds = last ? (one.time_ns - last.time_ns) / 1e9 : 0;
    rate.push(
      seconds > 0 && one.allocated_bytes != null
        ? Math.max(0, one.allocated_bytes - (last.allocated_bytes ?? 0)) / seconds
        : null,
    );
    last = one;
  }
  return [times, live, resident, rate];
}

/* `marks`: a function, because marks come while the chart stays. */
function settings(onSelect, marks) {
  const bytes = suffix => (_, value) =>
    value == null ? "\u2013" : format(value, "bytes") + suffix;
  return {
    cursor: {drag: {x: true, y: false, setScale: false}},
    scales: {y: {range: FROM_ZERO}, rate: {range: FROM_ZERO}},
    axes: [
      timeAxis(),
      bytesAxis(),
      {...bytesAxis("/s"), scale: "rate", side: 1, size: 84, grid: {show: false}},
    ],
    series: [
      TIME_SERIES,
      {
        label: "live heap",
        stroke: styleOf("--live"),
        fill: styleOf("--live-area"),
        width: 2,
        value: bytes(""),
      },
      {label: "resident memory", stroke: styleOf("--resident"), width: 1.5, value: bytes("")},
      {
        label: "allocated",
        stroke: styleOf("--rate"),
        width: 1,
        scale: "rate",
        dash: [4, 3],
        value: bytes("/s"),
      },
    ],
    hooks: {
      draw: [plot => drawMarks(plot, marks())],
      setSelect: [
        plot => {
          const {left, width: wide} = plot.select;
          if (wide > 2) onSelect([plot.posToVal(left, "x"), plot.posToVal(left + wide, "x")]);
        },
      ],
    },
  };
}

function Facts({status}) {
  /* A process whose sampling was off for a time has no interval. */
  const interval = status.live_bytes_interval?.map(value => format(value, "bytes"));
  const facts = [
    [
      "live heap",
      format(status.live_bytes, "bytes") +
        (interval ? `, between ${interval.join(" and ")} in 95 of 100 cases` : ""),
    ],
    ["objects", format(status.live_objects, "count")],
    ["allocated", format(status.alloc_bytes, "bytes")],
    ["samples", `${format(status.samples, "count")}, T = ${format(status.mean_bytes, "bytes")}`],
    ["command", status.arguments || status.exe],
    ["state", status.state === "running" && !status.active ? "running, not sampled" : status.state],
  ];
  return (
    <dl class="facts">
      {facts.map(([key, text]) => (
        <div key={key}>
          <dt>{key}</dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}

/** The moments of the timeline, and behind them those that the status has told since. */
function useMoments(timeline, status) {
  const told = useRef([]);
  const moments = timeline?.moments ?? [],
    end = moments.at(-1)?.time_ns ?? 0;
  const last = told.current.at(-1)?.time_ns ?? 0;
  if (status && status.updated_ns > Math.max(last, end))
    told.current.push({
      time_ns: status.updated_ns,
      value: status.live_bytes,
      resident_bytes: status.resident_bytes,
      allocated_bytes: status.alloc_bytes,
    });
  told.current = told.current.filter(one => one.time_ns > end);
  return moments.concat(told.current);
}

/* What the two chosen moments lead to.  A difference needs the profile of both: a mark for the
 * first, and another one or the present for the second. */
function Chosen({chosen, marks, end, link, onClear}) {
  if (!chosen) return <span class="dim">Drag across the picture to choose two moments.</span>;
  const [first, second] = chosen,
    from = storedNear(marks, first),
    isAtEnd = second >= end - Math.max(2, 0.05 * (end - first)),
    until = storedNear(marks, second),
    isNow = isAtEnd && (!until || until === from);
  const isPossible = from && (isNow || (until && until !== from));
  return (
    <>
      {clock(first * 1e9)} to {clock(second * 1e9)}:{" "}
      {link("allocated between, still live", {between: chosen.map(at).join(",")})}{" "}
      {link("live at the end", {at: at(second)})}{" "}
      {isPossible ? (
        link("difference", {
          since: at(from.time_ns / 1e9),
          at: isNow ? "" : at(until.time_ns / 1e9),
        })
      ) : (
        <span class="dim">
          a difference needs marks near {isNow ? "the first moment" : "both moments"} (
          <code>mallow mark</code>){" "}
        </span>
      )}
      <button onClick={onClear}>clear</button>
    </>
  );
}

export function Overview({target}) {
  const isProcess = /^\d+$/.test(target);
  const [chosen, setChosen] = useState(null);
  const marks = useRef([]);
  const timeline = useLoad(
    () => api.view("timeline", target),
    "timeline " + target,
    isProcess ? TIMELINE_MS : 0,
  );
  const status = useLoad(
    () => (isProcess ? api.view("status", target) : null),
    "status " + target,
    isProcess ? PERIOD_MS : 0,
  );
  const moments = useMoments(timeline.data, status.data);
  const waiting = notYet(timeline);
  if (waiting) return waiting;
  marks.current = marksOf(timeline.data, moments);
  const link = (text, query) => (
    <a class="button" href={makeHash({target, view: "flame", query})}>
      {text}
    </a>
  );
  return (
    <section class="overview">
      <h2>
        Heap over time <span class="dim">{timeline.data.trend ?? ""}</span>
      </h2>
      <Chart
        data={columns(moments)}
        settings={() => settings(setChosen, () => marks.current)}
        label="live heap, resident memory and allocation rate over time"
      />
      <p class="chosen" role="status">
        <Chosen
          chosen={chosen}
          marks={marks.current}
          end={moments.at(-1).time_ns / 1e9}
          link={link}
          onClear={() => setChosen(null)}
        />
      </p>
      <Marks target={target} marks={marks.current} />
      <Trouble error={status.error} />
      {status.data && <Facts status={status.data} />}
      {status.data?.memory && <Memory status={status.data} />}
    </section>
  );
}
