// SPDX-License-Identifier: MIT
// memory.jsx: what the resident memory of a process consists of.
import {useRef} from "preact/hooks";
import {bytesAxis, Chart, FROM_ZERO, styleOf, timeAxis, TIME_SERIES} from "./chart.jsx";
import {format, percent} from "./format.js";

const READINGS = 3600;
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

/* The readings since the page was opened, an hour of them at most. */
function useHistory(status) {
  const readings = useRef([]);
  if (status.updated_ns > (readings.current.at(-1)?.time_ns ?? 0)) {
    readings.current.push({time_ns: status.updated_ns, memory: status.memory});
    if (readings.current.length > READINGS) readings.current.shift();
  }
  return readings.current;
}

/* One column for each part, with the parts below it added: the areas are painted one over the
 * other, the whole first. */
function stacked(history) {
  const columns = [history.map(one => one.time_ns / 1e9)];
  for (let i = PARTS.length; i > 0; i--)
    columns.push(
      history.map(one => PARTS.slice(0, i).reduce((sum, [key]) => sum + (one.memory[key] ?? 0), 0)),
    );
  return columns;
}

function settings() {
  const shades = styleOf("--part");
  return {
    cursor: {drag: {x: false, y: false}},
    scales: {y: {range: FROM_ZERO}},
    axes: [timeAxis(), bytesAxis()],
    legend: {show: false},
    series: [
      TIME_SERIES,
      ...[...PARTS].reverse().map(([, label, hue]) => ({
        label,
        fill: `hsl(${hue} ${shades})`,
        width: 0,
        points: {show: false},
      })),
    ],
  };
}

/** What resident memory consists of: now, as a bar and a table, and since the page was opened. */
export function Memory({status}) {
  const memory = status.memory;
  const parts = PARTS.filter(([key]) => memory[key] > 0);
  const history = useHistory(status);
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
      {history.length > 1 && (
        <Chart
          data={stacked(history)}
          settings={settings}
          label="what resident memory consists of, since the page was opened"
        />
      )}
      <table>
        <thead>
          <tr>
            <th>part</th>
            <th class="number">resident</th>
            <th class="number">share</th>
          </tr>
        </thead>
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
