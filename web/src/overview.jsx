// SPDX-License-Identifier: MIT
// overview.jsx: a process: the heap over time, and what its memory consists of.
import {useEffect, useRef, useState} from "preact/hooks";
import uPlot from "uplot";
import * as api from "./api.js";
import {clock, format, percent} from "./format.js";
import {useLoad} from "./hooks.js";
import {makeHash} from "./url.js";

/* The heap over time is asked for seldom: between two answers the line goes on with what the status
 * says, which is asked for anyway. */
const PERIOD_MS = 1000,
  TIMELINE_MS = 30000,
  HEIGHT = 260;
/* Distances of lines that read well in KiB, MiB and GiB. */
const STEPS = Array.from({length: 50}, (_, i) => 2 ** i);
const SECONDS = [
  1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 21600, 43200, 86400, 172800,
  604800,
];
/* What resident memory consists of, as `mallow status` calls it, with the hue of each part. */
const PARTS = [
  ["live", "blocks in use", 205],
  ["rounding", "rounding up", 175],
  ["free_in_pages", "free in pages", 130],
  ["kept", "kept for later", 55],
  ["metadata", "metadata", 310],
  ["profiler", "profiler", 345],
  ["stacks", "thread stacks", 275],
  ["files", "files", 28],
  ["other", "other", 220],
];

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

function settings(width, onSelect) {
  const style = getComputedStyle(document.documentElement);
  const of = key => style.getPropertyValue(key).trim();
  const axis = {
    stroke: of("--dim"),
    grid: {stroke: of("--line"), width: 1},
    ticks: {stroke: of("--line"), width: 1},
  };
  const bytes = (_, values) => values.map(value => format(value, "bytes"));
  const shown = suffix => (_, value) =>
    value == null ? "\u2013" : format(value, "bytes") + suffix;
  return {
    width,
    height: HEIGHT,
    cursor: {drag: {x: true, y: false, setScale: false}},
    scales: {
      y: {range: (_, low, high) => [0, Math.max(high, 1)]},
      rate: {range: (_, low, high) => [0, Math.max(high, 1)]},
    },
    axes: [
      {
        ...axis,
        values: (_, times) => times.map(time => clock(time * 1e9)),
        space: 90,
        incrs: SECONDS,
      },
      {...axis, values: bytes, size: 74, incrs: STEPS},
      {
        ...axis,
        scale: "rate",
        side: 1,
        size: 84,
        grid: {show: false},
        incrs: STEPS,
        values: (_, values) => values.map(value => format(value, "bytes") + "/s"),
      },
    ],
    series: [
      {value: (_, time) => (time == null ? "\u2013" : clock(time * 1e9))},
      {
        label: "live heap",
        stroke: of("--live"),
        fill: of("--live-area"),
        width: 2,
        value: shown(""),
      },
      {label: "resident memory", stroke: of("--resident"), width: 1.5, value: shown("")},
      {
        label: "allocated",
        stroke: of("--rate"),
        width: 1,
        scale: "rate",
        dash: [4, 3],
        value: shown("/s"),
      },
    ],
    hooks: {
      setSelect: [
        plot => {
          const {left, width: wide} = plot.select;
          if (wide > 2) onSelect([plot.posToVal(left, "x"), plot.posToVal(left + wide, "x")]);
        },
      ],
    },
  };
}

function Chart({data, onSelect}) {
  const host = useRef(null),
    plot = useRef(null);
  const [theme, setTheme] = useState(0);
  useEffect(() => {
    const changed = () => setTheme(old => old + 1);
    window.addEventListener("theme", changed);
    return () => window.removeEventListener("theme", changed);
  }, []);
  useEffect(() => {
    plot.current = new uPlot(settings(host.current.clientWidth, onSelect), data, host.current);
    const sizes = new ResizeObserver(() =>
      plot.current.setSize({width: host.current.clientWidth, height: HEIGHT}),
    );
    sizes.observe(host.current);
    return () => {
      sizes.disconnect();
      plot.current.destroy();
    };
  }, [theme]);
  useEffect(() => {
    plot.current.setData(data);
  }, [data]);
  return (
    <div
      class="chart"
      ref={host}
      role="img"
      aria-label="live heap, resident memory and allocation rate over time"
    />
  );
}

/* The parts of resident memory beside each other. */
function Memory({memory}) {
  const parts = PARTS.filter(([key]) => memory[key] > 0);
  return (
    <section class="memory">
      <h2>Resident memory: {format(memory.resident, "bytes")}</h2>
      <div
        class="parts"
        role="img"
        aria-label={parts
          .map(([key, text]) => `${text} ${format(memory[key], "bytes")}`)
          .join(", ")}
      >
        {parts.map(([key, , hue]) => (
          <i
            key={key}
            style={{
              flexGrow: memory[key],
              background: `hsl(${hue} var(--part))`,
            }}
          />
        ))}
      </div>
      <table>
        <tbody>
          {parts.map(([key, text, hue]) => (
            <tr key={key}>
              <td>
                <i class="mark" style={{background: `hsl(${hue} var(--part))`}} />
                {text}
              </td>
              <td class="number">{format(memory[key], "bytes")}</td>
              <td class="number">{percent(memory[key], memory.resident)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
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

const at = seconds => `@${seconds.toFixed(3)}`;

export function Overview({target}) {
  const isProcess = /^\d+$/.test(target);
  const [chosen, setChosen] = useState(null);
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
  if (timeline.error && !timeline.data)
    return (
      <p class="error" role="alert">
        {timeline.error.message}
      </p>
    );
  if (!timeline.data) return <p class="loading">Loading…</p>;
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
      <Chart data={columns(moments)} onSelect={setChosen} />
      <p class="chosen" role="status">
        {chosen ? (
          <>
            {clock(chosen[0] * 1e9)} to {clock(chosen[1] * 1e9)}:{" "}
            {link("allocated between, still live", {between: chosen.map(at).join(",")})}{" "}
            {link("live at the end", {at: at(chosen[1])})}
            <button onClick={() => setChosen(null)}>clear</button>
          </>
        ) : (
          <span class="dim">Drag across the picture to choose two moments.</span>
        )}
      </p>
      {status.error && <p class="error">{status.error.message}</p>}
      {status.data && <Facts status={status.data} />}
      {status.data?.memory && <Memory memory={status.data.memory} />}
    </section>
  );
}
