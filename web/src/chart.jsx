// SPDX-License-Identifier: MIT
// chart.jsx: a chart over time, by uPlot, in the colours of the page.
import {useEffect, useRef, useState} from "preact/hooks";
import uPlot from "uplot";
import {clock, format} from "./format.js";

const HEIGHT = 210;
/* Distances of lines that read well in KiB, MiB and GiB, and in time. */
const STEPS = Array.from({length: 50}, (_, i) => 2 ** i);
const SECONDS = [
  1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 21600, 43200, 86400, 172800,
  604800,
];

export const styleOf = key =>
  getComputedStyle(document.documentElement).getPropertyValue(key).trim();
export const FROM_ZERO = (_, low, high) => [0, Math.max(high, 1)];
export const TIME_SERIES = {
  label: "time",
  value: (_, time) => (time == null ? "\u2013" : clock(time * 1e9)),
};

const axis = () => ({
  stroke: styleOf("--dim"),
  grid: {stroke: styleOf("--line"), width: 1},
  ticks: {stroke: styleOf("--line"), width: 1},
});

export const timeAxis = () => ({
  ...axis(),
  values: (_, times) => times.map(time => clock(time * 1e9)),
  space: 90,
  size: 32,
  incrs: SECONDS,
});

export const bytesAxis = (suffix = "") => ({
  ...axis(),
  values: (_, values) => values.map(value => format(value, "bytes") + suffix),
  size: 84,
  incrs: STEPS,
});

/** Settings of areas that are painted one over the other, each with its label and colour; the
 * first one is the whole.  `areas()` is called again when the theme changes. */
export const stackedSettings = areas => () => ({
  cursor: {drag: {x: false, y: false}},
  scales: {y: {range: FROM_ZERO}},
  axes: [timeAxis(), bytesAxis()],
  legend: {show: false},
  series: [
    TIME_SERIES,
    ...areas().map(([label, fill]) => ({label, fill, width: 0, points: {show: false}})),
  ],
});

/** What the areas are, each with its colour; the third is a text behind it. */
export const Legend = ({items, children}) => (
  <div class="legend">
    {items.map(([text, back, value]) => (
      <span key={text}>
        <i style={{background: back}} />
        {text} {value}
      </span>
    ))}
    {children}
  </div>
);

/** `data`: columns, the first of them seconds since 1970.  `settings()`: uPlot's options without a
 * size; called again when the theme changes. `height`: without the legend, in pixels. */
export function Chart({data, settings, label, height = HEIGHT}) {
  const host = useRef(null),
    plot = useRef(null);
  const [theme, setTheme] = useState(0);
  useEffect(() => {
    const changed = () => setTheme(old => old + 1);
    window.addEventListener("theme", changed);
    return () => window.removeEventListener("theme", changed);
  }, []);
  useEffect(() => {
    const size = () => ({width: host.current.clientWidth, height});
    plot.current = new uPlot({...size(), ...settings()}, data, host.current);
    const sizes = new ResizeObserver(() => plot.current.setSize(size()));
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
      style={{minHeight: `${height}px`}}
      ref={host}
      role="img"
      aria-label={label}
    />
  );
}
