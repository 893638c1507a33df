// SPDX-License-Identifier: MIT
// overview.jsx: a process: the heap over time, and what its memory consists of.
import {useRef, useState} from "preact/hooks";
import * as api from "./api.js";
import {bytesAxis, Chart, FROM_ZERO, styleOf, timeAxis, TIME_SERIES} from "./chart.jsx";
import {clock, format} from "./format.js";
import {FunctionsChart} from "./functions-chart.jsx";
import {useLoad} from "./hooks.js";
import {Findings, Lists} from "./lists.jsx";
import {at, drawMarks, Marks, marksOf, storedNear} from "./marks.jsx";
import {LastMemory, Memory} from "./memory.jsx";
import {makeHash} from "./url.js";
import {notYet, Trouble} from "./waiting.jsx";

/* The heap over time is asked for seldom: between two answers the line goes on with what the status
 * says, which is asked for anyway. */
const PERIOD_MS = 1000,
  TIMELINE_MS = 30000,
  RATE_NS = 1e9;
/* So that both charts begin and end at the same place. */
const PADDING = [8, 24, 8, 0];

/* The rate of a moment is that of the second before it, or longer.  The status counts otherwise
 * than the timeline: between both there is no rate. */
function ratesOf(moments) {
  let from = 0;
  return moments.map((one, i) => {
    while (from + 1 < i && moments[from + 1].time_ns <= one.time_ns - RATE_NS) from++;
    const last = moments[from],
      isSame = i > 0 && last.isTold === one.isTold;
    return isSame && one.allocated_bytes != null
      ? (1e9 * Math.max(0, one.allocated_bytes - (last.allocated_bytes ?? 0))) /
          (one.time_ns - last.time_ns)
      : null;
  });
}

function columns(moments) {
  const times = moments.map(one => one.time_ns / 1e9);
  return {
    memory: [times, moments.map(one => one.value), moments.map(one => one.resident_bytes ?? null)],
    rate: [times, ratesOf(moments)],
  };
}

const bytesText = suffix => (_, value) =>
  value == null ? "\u2013" : format(value, "bytes") + suffix;

/* The rate of allocation in a strip of its own. */
const rateSettings = () => ({
  cursor: {drag: {x: false, y: false}, sync: {key: "overview"}},
  scales: {y: {range: FROM_ZERO}},
  padding: PADDING,
  axes: [
    {...timeAxis(), show: false},
    {...bytesAxis("/s"), space: 16},
  ],
  series: [
    TIME_SERIES,
    {
      label: "allocated",
      stroke: styleOf("--rate"),
      fill: styleOf("--rate-area"),
      width: 1,
      value: bytesText("/s"),
    },
  ],
});

/* `marks`: a function, because marks come while the chart stays. */
function settings(onSelect, marks) {
  return {
    cursor: {drag: {x: true, y: false, setScale: false}, sync: {key: "overview"}},
    scales: {y: {range: FROM_ZERO}},
    padding: PADDING,
    axes: [timeAxis(), bytesAxis()],
    series: [
      TIME_SERIES,
      {
        label: "live heap",
        stroke: styleOf("--live"),
        fill: styleOf("--live-area"),
        width: 2,
        value: bytesText(""),
      },
      {label: "resident memory", stroke: styleOf("--resident"), width: 1.5, value: bytesText("")},
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
      isTold: true,
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

/* Of the ranges those that are shorter than what was recorded. */
const RANGES = [
  [60, "1 min"],
  [600, "10 min"],
  [3600, "1 h"],
  [86400, "1 day"],
  [Infinity, "all"],
];

function Ranges({span, chosen, onChoose}) {
  const shown = RANGES.filter(([seconds]) => seconds < span || seconds === Infinity);
  return shown.length < 2 ? null : (
    <span class="group" role="group" aria-label="range">
      {shown.map(([seconds, text]) => (
        <button key={text} aria-pressed={seconds === chosen} onClick={() => onChoose(seconds)}>
          {text}
        </button>
      ))}
    </span>
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
  const {data: report} = useLoad(
    () => (isProcess ? null : api.view("report", target, {top: 1})),
    "report " + target,
  );
  const resident = status.data ? status.data.resident : report?.resident;
  const [range, setRange] = useState(Infinity);
  const all = useMoments(timeline.data, status.data),
    end = (all.at(-1)?.time_ns ?? 0) / 1e9,
    inRange = all.filter(one => one.time_ns / 1e9 >= end - range),
    moments = inRange.length > 1 ? inRange : all;
  const waiting = notYet(timeline);
  if (waiting) return waiting;
  marks.current = marksOf(timeline.data, moments);
  const {memory, rate} = columns(moments),
    begin = all[0].time_ns / 1e9;
  const link = (text, query) => (
    <a class="button" href={makeHash({target, view: "flame", query})}>
      {text}
    </a>
  );
  return (
    <section class="overview">
      <Trouble error={status.error} />
      {status.data && <Facts status={status.data} />}
      {resident?.text && <p class="dim">{resident.text}</p>}
      {status.data?.state === "running" && <Findings target={target} />}
      <div class="bar">
        <h2>
          Heap over time <span class="dim">{timeline.data.trend ?? ""}</span>
        </h2>
        <Ranges span={end - begin} chosen={range} onChoose={setRange} />
      </div>
      <Chart
        data={memory}
        settings={() => settings(setChosen, () => marks.current)}
        label="live heap and resident memory over time"
      />
      {rate[1].some(one => one > 0) && (
        <Chart data={rate} settings={rateSettings} height={70} label="allocation rate over time" />
      )}
      <p class="chosen" role="status">
        <Chosen
          chosen={chosen}
          marks={marks.current}
          end={end}
          link={link}
          onClear={() => setChosen(null)}
        />
      </p>
      {status.data && (
        <Lists
          target={target}
          started={begin}
          marks={marks.current}
          isRunning={status.data.state === "running"}
        />
      )}
      {isProcess && <FunctionsChart target={target} moments={all} />}
      <Marks target={target} marks={marks.current} />
      {status.data?.memory && <Memory status={status.data} />}
      {!status.data?.memory && resident?.bytes > 0 && <LastMemory resident={resident} />}
    </section>
  );
}
