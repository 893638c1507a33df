// SPDX-License-Identifier: MIT
// source.jsx: the source of a function with the value of each line, and the instructions of a line.
import {useState} from "preact/hooks";
import * as api from "./api.js";
import {exactly} from "./command.js";
import {format} from "./format.js";
import {useLoad} from "./hooks.js";
import {filesOf, ownFirst} from "./order.js";
import {shortName} from "./trees.js";
import {shared} from "./url.js";
import {keyOf, period} from "./views.jsx";
import {Waiting} from "./waiting.jsx";

const FUNCTIONS = 200;

const value = (number, unit) => (number ? format(number, unit) : "");

function Instruction({one, unit}) {
  const inlined = one.inline ? `${one.name} ${one.file}:${one.line}` : "";
  return (
    <tr class={one.flat || one.cum ? "instruction hot" : "instruction"}>
      <td class="number">{one.address}</td>
      <td class="number">{value(one.flat, unit)}</td>
      <td class="number">{value(one.cum, unit)}</td>
      <td>
        <code>{one.text}</code> <span class="dim">{inlined}</span>
      </td>
    </tr>
  );
}

/* A line opens to its instructions. */
function Line({one, unit}) {
  const [isOpen, setOpen] = useState(false);
  const instructions = one.instructions ?? [],
    isHot = Boolean(one.flat || one.cum);
  return (
    <>
      <tr class={isHot ? "hot" : ""}>
        <td class="number">
          {instructions.length > 0 ? (
            <button
              class="line"
              title={`${instructions.length} instructions`}
              aria-expanded={isOpen}
              onClick={() => setOpen(!isOpen)}
            >
              {isOpen ? "▾" : "▸"} {one.line}
            </button>
          ) : (
            <span class="dim">{one.line}</span>
          )}
        </td>
        <td class="number">{value(one.flat, unit)}</td>
        <td class="number">{value(one.cum, unit)}</td>
        <td>
          <code>{one.text ?? ""}</code>
        </td>
      </tr>
      {isOpen && instructions.map((each, i) => <Instruction key={i} one={each} unit={unit} />)}
    </>
  );
}

const NoLines = ({name}) => (
  <p class="empty">
    No line of {name} is known: its debug information is missing. On Debian it is in a package whose
    name ends in -dbgsym.
  </p>
);

async function loadFunctions(target, query) {
  const asked = {...query, top: FUNCTIONS};
  const [data, lines] = await Promise.all([
    api.view("top", target, asked),
    api.view("top", target, {...asked, lines: 1}),
  ]);
  const files = filesOf(lines.rows);
  return {...data, files, rows: ownFirst(data.rows, files)};
}

function Lines({target, query, name}) {
  const {data, error} = useLoad(
    () => api.view("weblist", target, {...shared(query), functions: exactly(name)}),
    keyOf("weblist " + name, target, query),
    period(query),
  );
  return (
    <Waiting error={error} data={data}>
      {data?.note && <p class="dim">{data.note}</p>}
      {data?.functions.length === 0 && <NoLines name={name} />}
      {data?.functions.map((one, i) => (
        <section key={i}>
          <h2>
            {one.name} <span class="dim">{one.file}</span>
          </h2>
          <p class="dim">
            flat {format(one.flat, data.unit)}, cum {format(one.cum, data.unit)}
            {one.lines.every(line => line.text === undefined) &&
              "; the source file is not on this machine"}
          </p>
          <table class="code">
            <thead>
              <tr>
                <th class="number">line</th>
                <th class="number">flat</th>
                <th class="number">cum</th>
                <th>source</th>
              </tr>
            </thead>
            <tbody>
              {one.lines.map(line => (
                <Line key={line.line} one={line} unit={data.unit} />
              ))}
            </tbody>
          </table>
        </section>
      ))}
    </Waiting>
  );
}

export function Source({target, query, setQuery}) {
  const {data, error} = useLoad(
    () => loadFunctions(target, shared(query)),
    keyOf("functions", target, query),
    period(query),
  );
  const rows = data?.rows ?? [],
    name = query.fn ?? rows[0]?.name;
  return (
    <Waiting error={error} data={data}>
      <div class="source">
        <nav class="functions" aria-label="functions">
          {rows.map((row, i) => (
            <button
              key={i}
              aria-pressed={row.name === name}
              class={data.files.has(row.name) ? "" : "dim"}
              title={data.files.has(row.name) ? row.name : `${row.name}: no line is known`}
              onClick={() => setQuery({...query, fn: row.name})}
            >
              <span class="number">{format(row.flat || row.cum, data.unit)}</span>
              <span>{shortName(row.name)}</span>
            </button>
          ))}
        </nav>
        <div class="lines" tabIndex={0} role="region" aria-label="source">
          {name && data && !data.files.has(name) ? (
            <NoLines name={name} />
          ) : name ? (
            <Lines key={name} target={target} query={query} name={name} />
          ) : (
            <p class="empty">Nothing was sampled.</p>
          )}
        </div>
      </div>
    </Waiting>
  );
}
