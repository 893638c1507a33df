// SPDX-License-Identifier: MIT
// memory.jsx: what the resident memory of a process consists of.
import {useRef} from "preact/hooks";
import {Chart, stackedSettings, styleOf} from "./chart.jsx";
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

const settings = stackedSettings(() =>
  PARTS.map(([, label, hue]) => [label, `hsl(${hue} ${styleOf("--part")})`]).reverse(),
);

/* Of a process that has ended, and in a file, these parts are known. */
const LAST_PARTS = [
  ["malloc", "from malloc", 205],
  ["mapped", "mapped by the program", 130],
  ["stacks", "thread stacks", 275],
  ["files", "files", 28],
  ["shared", "shared memory", 55],
  ["profiler", "profiler", 345],
  ["unexplained", "unexplained", 220],
];

function Bar({parts, values, whole}) {
  const shown = parts.filter(([key]) => values[key] > 0);
  return (
    <>
      <div
        class="parts"
        role="img"
        aria-label={shown
          .map(([key, text]) => `${text} ${format(values[key], "bytes")}`)
          .join(", ")}
      >
        {shown.map(([key, , hue]) => (
          <i key={key} style={{flexGrow: values[key], background: `hsl(${hue} var(--part))`}} />
        ))}
      </div>
      <table>
        <thead>
          <tr>
            <th>part</th>
            <th class="number">resident</th>
            <th class="number">share</th>
          </tr>
        </thead>
        <tbody>
          {shown.map(([key, text, hue]) => (
            <tr key={key}>
              <td>
                <i class="mark" style={{background: `hsl(${hue} var(--part))`}} />
                {text}
              </td>
              <td class="number">{format(values[key], "bytes")}</td>
              <td class="number">{percent(values[key], whole)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

/** What resident memory consisted of, as far as an ended process or a file tells. */
export function LastMemory({resident}) {
  return (
    <section class="memory">
      <h2>
        Resident memory{resident.at === "peak" && " at the peak"}: {format(resident.bytes, "bytes")}
      </h2>
      <Bar parts={LAST_PARTS} values={resident.parts} whole={resident.bytes} />
    </section>
  );
}

/** What resident memory consists of: now, as a bar and a table, and since the page was opened. */
export function Memory({status}) {
  const memory = status.memory;
  const history = useHistory(status);
  return (
    <section class="memory">
      <h2>Resident memory: {format(memory.resident, "bytes")}</h2>
      {history.length > 1 && (
        <Chart
          data={stacked(history)}
          settings={settings}
          label="what resident memory consists of, since the page was opened"
        />
      )}
      <Bar parts={PARTS} values={memory} whole={memory.resident} />
    </section>
  );
}
