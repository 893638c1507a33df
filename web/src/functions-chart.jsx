// SPDX-License-Identifier: MIT
// functions-chart.jsx: memory in use over time, stacked by the function that allocated it.
import * as api from "./api.js";
import {Chart, Legend, stackedSettings, styleOf} from "./chart.jsx";
import {format} from "./format.js";
import {useLoad} from "./hooks.js";
import {shortName} from "./trees.js";

const ROWS = 6,
  PERIOD_MS = 60000;
const HUES = [205, 28, 130, 275, 345, 55];

const colourOf = (i, shades) => (i < HUES.length ? `hsl(${HUES[i]} ${shades})` : undefined);

/** The columns of the chart, the whole first: what was in use (from the timeline), then what of it
 * still is, others and functions added up from the bottom. */
export function layersOf(data, moments) {
  const {births_from_ns: from, births_until_ns: until, births: all} = data;
  const times = all.map((_, k) => from + ((until - from) * (k + 1)) / all.length);
  const rows = data.rows.filter(row => row.births && row.flat > 0).slice(0, ROWS);
  let k = 0;
  const total = times.map((time, i) => {
    while (k + 1 < moments.length && moments[k + 1].time_ns <= time) k++;
    return Math.max(moments[k]?.value ?? 0, all[i]);
  });
  const layers = [total, all];
  for (let i = rows.length; i > 0; i--)
    layers.push(times.map((_, t) => rows.slice(0, i).reduce((sum, row) => sum + row.births[t], 0)));
  return {times: times.map(time => time / 1e9), layers, rows};
}

const areas = rows => [
  ["freed since", styleOf("--line")],
  ["others", styleOf("--dim")],
  ...rows.map((row, i) => [row.name, colourOf(i, styleOf("--part"))]).reverse(),
];

export function FunctionsChart({target, moments}) {
  const {data} = useLoad(
    () => api.view("top", target, {top: ROWS, births: 1}),
    "births " + target,
    PERIOD_MS,
  );
  if (!data?.births) return null;
  const {times, layers, rows} = layersOf(data, moments);
  const last = column => format(column.at(-1), data.unit);
  const items = [
    ...rows.map((row, i) => [shortName(row.name), colourOf(i, "var(--part)"), last(row.births)]),
    ["others", "var(--dim)", format(data.births.at(-1) - (layers[2]?.at(-1) ?? 0), data.unit)],
    ["freed since", "var(--line)", ""],
  ];
  return (
    <>
      <h2>
        By function <span class="dim">what is in use, by when it was allocated</span>
      </h2>
      <Chart
        key={rows.map(row => row.name).join("\n")}
        data={[times, ...layers]}
        settings={stackedSettings(() => areas(rows))}
        height={200}
        label="memory in use over time, stacked by function"
      />
      <Legend items={items} />
    </>
  );
}
