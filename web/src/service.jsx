// SPDX-License-Identifier: MIT
// service.jsx: a service of a store: its memory over time, its versions and hosts.
import {useState} from "preact/hooks";
import * as api from "./api.js";
import {bytesAxis, Chart, FROM_ZERO, styleOf, timeAxis, TIME_SERIES} from "./chart.jsx";
import {clock, format} from "./format.js";
import {useLoad} from "./hooks.js";
import {ServiceTable} from "./services.jsx";
import {outliers, stored, storedParts} from "./stored.js";
import {makeHash} from "./url.js";
import {notYet} from "./waiting.jsx";

const settings = onSelect => () => ({
  cursor: {drag: {x: true, y: false, setScale: false}},
  scales: {y: {range: FROM_ZERO}},
  axes: [timeAxis(), bytesAxis()],
  series: [
    TIME_SERIES,
    {
      label: "live heap",
      stroke: styleOf("--live"),
      fill: styleOf("--live-area"),
      width: 2,
      value: (_, value) => (value == null ? "\u2013" : format(value, "bytes")),
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
});

const seconds = time => "@" + Math.round(time);

/* What the two chosen moments lead to. */
function Chosen({store, parts, chosen, onClear}) {
  if (!chosen) return <span class="dim">Drag across the picture to choose a range of time.</span>;
  const [from, to] = chosen,
    {at, within, ...rest} = parts,
    before = stored(store, {...rest, at: seconds(from)});
  const link = (text, keys, query = {}) => (
    <a
      class="button"
      href={makeHash({target: stored(store, {...rest, ...keys}), view: "flame", query})}
    >
      {text}
    </a>
  );
  return (
    <>
      {clock(from * 1e9)} to {clock(to * 1e9)}:{" "}
      {link("mean of a process", {from: seconds(from), to: seconds(to)})}{" "}
      {link("live at the end", {at: seconds(to)})}{" "}
      {link("difference", {at: seconds(to)}, {base: before})}{" "}
      <button onClick={onClear}>clear</button>
    </>
  );
}

/* The service's memory by the values of a label; a row leads to the flame graph of these alone. */
function By({store, parts, label, title, hasOutliers}) {
  const {data, error} = useLoad(
    () => api.services({service: parts.service, at: parts.at, by: label}),
    `by ${label} ${parts.service} ${parts.at}`,
  );
  const waiting = notYet({data, error});
  if (waiting) return waiting;
  const different = hasOutliers ? outliers(data) : new Map();
  const newest = [...data].sort((a, b) => b.newest_ns - a.newest_ns);
  return (
    <>
      <h2>
        {title}{" "}
        {different.size > 0 && (
          <span class="dim">
            {different.size} of {data.length} differ from the rest
          </span>
        )}
      </h2>
      <ServiceTable
        rows={data}
        first={label}
        link={one => stored(store, {...parts, [label]: one.name})}
        note={one =>
          different.has(one.name) ? `${different.get(one.name).toFixed(1)} times the median` : ""
        }
      />
      {label === "version" && newest.length > 1 && (
        <p>
          <a
            class="button"
            href={makeHash({
              target: stored(store, {...parts, version: newest[0].name, per: "process"}),
              view: "flame",
              query: {
                base: stored(store, {...parts, version: newest[1].name, per: "process"}),
              },
            })}
          >
            {newest[0].name} compared with {newest[1].name}, a process each
          </a>
        </p>
      )}
    </>
  );
}

export function Service({store, target}) {
  const [chosen, setChosen] = useState(null);
  const parts = storedParts(store, target);
  const timeline = useLoad(() => api.view("timeline", target), "timeline " + target);
  const waiting = notYet(timeline);
  if (waiting) return waiting;
  const moments = timeline.data.moments;
  return (
    <section class="overview">
      <h2>Memory of all processes over time</h2>
      {moments.length > 1 ? (
        <Chart
          data={[moments.map(one => one.time_ns / 1e9), moments.map(one => one.value)]}
          settings={settings(setChosen)}
          label="live heap over time"
        />
      ) : (
        <p class="empty">There is one moment so far: {format(moments[0].value, "bytes")}.</p>
      )}
      {moments.length > 1 && (
        <p class="chosen" role="status">
          <Chosen store={store} parts={parts} chosen={chosen} onClear={() => setChosen(null)} />
        </p>
      )}
      <By store={store} parts={parts} label="version" title="Versions" />
      <By store={store} parts={parts} label="host" title="Hosts" hasOutliers />
    </section>
  );
}
