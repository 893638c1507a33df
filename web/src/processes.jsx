// SPDX-License-Identifier: MIT
// processes.jsx: the first page: all processes, or the targets of the command line.
import {useRef, useState} from "preact/hooks";
import * as api from "./api.js";
import {Files} from "./files.jsx";
import {ago, format} from "./format.js";
import {useLoad} from "./hooks.js";
import {makeHash} from "./url.js";
import {notYet} from "./waiting.jsx";

const PERIOD_MS = 2000,
  HISTORY = 60,
  LEAST_POINTS = 3,
  LINES_RECALLED = 40,
  READINGS = 15; // over so many the rates are taken
const COLUMNS = [
  ["program", "program"],
  ["pid", "pid"],
  ["live_bytes", "live heap"],
  ["resident_bytes", "resident"],
  ["rate", "allocates"],
  ["change", "change"],
  ["samples", "samples"],
  ["age", "since"],
  ["state", "state"],
];
const TEXTS = ["program", "state"],
  BEFORE_LINE = 6;

/** Adds the present values to those of each process, from which the page draws its line. */
function remember(history, list) {
  for (const one of list) {
    const key = one.state_file,
      values = history.get(key) ?? [];
    values.push({at: one.updated_ns, value: one.live_bytes, allocated: one.alloc_bytes});
    if (values.length > 2 * HISTORY) values.splice(0, values.length - 2 * HISTORY);
    history.set(key, values);
    const recent = values.filter(reading => !reading.isOld).slice(-READINGS);
    const first = recent[0],
      last = recent.at(-1),
      seconds = (last.at - first.at) / 1e9;
    one.change = seconds > 0 ? (last.value - first.value) / seconds : 0;
    one.rate = seconds > 0 ? (last.allocated - first.allocated) / seconds : 0;
    one.age = Date.now() / 1e3 - one.started_ns / 1e9;
  }
  return list;
}

/** Puts what a process recorded before the page was opened in front of its values. */
async function recall(history, list) {
  for (const one of list) {
    const values = history.get(one.state_file);
    if (!values || values.isRecalled) continue;
    values.isRecalled = true;
    const timeline = await api.view("timeline", String(one.pid)).catch(() => null);
    const moments = (timeline?.moments ?? []).filter(moment => moment.time_ns < values[0].at);
    const step = Math.max(1, Math.ceil(moments.length / HISTORY));
    values.unshift(
      ...moments
        .filter((_, i) => (moments.length - 1 - i) % step === 0)
        .map(moment => ({at: moment.time_ns, value: moment.value, isOld: true})),
    );
  }
}

function Line({values}) {
  if (values.length < LEAST_POINTS) return <svg class="line" aria-hidden="true" />;
  const numbers = values.map(one => one.value),
    most = Math.max(...numbers, 1),
    begin = values[0].at,
    span = Math.max(values.at(-1).at - begin, 1);
  const points = values.map(
    ({at, value}) =>
      `${((80 * (at - begin)) / span).toFixed(1)},${(18 - (16 * value) / most).toFixed(1)}`,
  );
  return (
    <svg
      class="line"
      viewBox="0 0 80 20"
      role="img"
      aria-label={"live heap since the start of the process"}
    >
      <polyline points={points.join(" ")} />
    </svg>
  );
}

/* The command line behind its first word, which is the program. */
const withoutProgram = ({arguments: text = ""}) => text.replace(/^\S+\s*/, "");

const isRunning = one => ["running", "stopped", "elsewhere"].includes(one.state);

function Row({one, values}) {
  return (
    <tr class={isRunning(one) ? "" : "ended"}>
      <td class="command" title={one.arguments}>
        <a href={makeHash({target: String(one.pid)})}>{one.title || one.program}</a>{" "}
        <span class="dim">{withoutProgram(one)}</span>
      </td>
      <td class="number">{one.pid}</td>
      <td class="number">{format(one.live_bytes, "bytes")}</td>
      <td class="number">{one.resident_bytes ? format(one.resident_bytes, "bytes") : ""}</td>
      <td class="number">{one.rate ? format(one.rate, "bytes") + "/s" : ""}</td>
      <td class="number">
        {one.change ? `${one.change > 0 ? "+" : ""}${format(one.change, "bytes")}/s` : ""}
      </td>
      <td>
        <Line values={values} />
      </td>
      <td class="number">{format(one.samples, "count")}</td>
      <td class="number">{ago(one.age)}</td>
      <td>{isRunning(one) && !one.active ? "not sampled" : one.state}</td>
    </tr>
  );
}

const isAllowed = (known, one) => known.all || known.targets.includes(String(one.pid));

function sorted(list, [column, isDown]) {
  const order = (a, b) =>
    typeof a[column] === "string" ? a[column].localeCompare(b[column]) : a[column] - b[column];
  return [...list].sort(
    (a, b) => isRunning(b) - isRunning(a) || (isDown ? order(b, a) : order(a, b)),
  );
}

const isEmpty = one => !isRunning(one) && !(one.live_bytes > 0);

export function Processes() {
  const history = useRef(new Map());
  const [filter, setFilter] = useState("");
  const [isUnfolded, setUnfolded] = useState(false);
  const [order, setOrder] = useState(["live_bytes", true]);
  const {data, error} = useLoad(
    async () => {
      const known = await api.targets();
      const processes = remember(history.current, await api.processes());
      const allowed = processes.filter(one => isAllowed(known, one));
      recall(history.current, allowed.slice(0, LINES_RECALLED));
      return {...known, processes};
    },
    "processes",
    PERIOD_MS,
  );
  const waiting = notYet({error, data: error ? null : data});
  if (waiting) return waiting;
  const isShown = one =>
    isAllowed(data, one) &&
    `${one.title} ${one.program} ${one.arguments} ${one.pid}`
      .toLowerCase()
      .includes(filter.toLowerCase());
  const matching = sorted(data.processes.filter(isShown), order);
  const rows = isUnfolded || filter ? matching : matching.filter(one => !isEmpty(one)),
    folded = matching.length - rows.length;
  const files = data.targets.filter(one => !/^\d+$/.test(one));
  const heading = ([key, text]) => (
    <th
      class={TEXTS.includes(key) ? "" : "number"}
      aria-sort={order[0] !== key ? "none" : order[1] ? "descending" : "ascending"}
    >
      <button class="plain" onClick={() => setOrder(old => [key, old[0] === key ? !old[1] : true])}>
        {text}
      </button>
    </th>
  );
  return (
    <section>
      <div class="bar">
        <h1>Processes</h1>
        <input
          type="search"
          placeholder="filter"
          aria-label="filter processes"
          value={filter}
          onInput={event => setFilter(event.target.value)}
        />
        <span class="dim">
          {rows.length} of {data.processes.length}
        </span>
      </div>
      {matching.length === 0 && files.length === 0 && (
        <p class="empty">
          No process of yours runs mallow. Start one with <code>mallow run PROGRAM</code>, or
          <code> LD_PRELOAD=libmallow.so PROGRAM</code>.
        </p>
      )}
      {rows.length > 0 && (
        <div class="scroll">
          <table class="processes">
            <thead>
              <tr>
                {COLUMNS.slice(0, BEFORE_LINE).map(heading)}
                <th>live heap</th>
                {COLUMNS.slice(BEFORE_LINE).map(heading)}
              </tr>
            </thead>
            <tbody>
              {rows.map(one => (
                <Row
                  key={one.state_file}
                  one={one}
                  values={history.current.get(one.state_file) ?? []}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {folded > 0 && (
        <p>
          <button onClick={() => setUnfolded(true)}>{folded} that ended with nothing in use</button>
        </p>
      )}
      {files.length > 0 && <Files files={files} />}
    </section>
  );
}
