// SPDX-License-Identifier: MIT
// views.jsx: the views of a profile: flame graph, tables, pictures.
import {useEffect, useRef, useState} from "preact/hooks";
import * as api from "./api.js";
import {exactly} from "./command.js";
import {mountFlame} from "./flame.js";
import {format, percent} from "./format.js";
import {useLoad} from "./hooks.js";
import {columnByPath, shortName} from "./trees.js";
import {makeHash, shared} from "./url.js";
import {Waiting} from "./waiting.jsx";

const PERIOD_MS = 2000;
export const period = query => (query.live ? PERIOD_MS : 0);
export const keyOf = (view, target, query) => JSON.stringify([view, target, shared(query)]);

/* ---- flame graph ---- */

/* Most frames that are asked for at first; the smaller ones are "n more", which asks for more. */
const FRAMES = 20000,
  MORE = 4;

/* With colours by growth the frames are the present ones, and the difference is asked for, too. */
async function loadFlame(target, query, colours, frames) {
  const {base, since, ...present} = query;
  if (colours !== "growth" || !(base || since))
    return api.view("flame", target, {...query, top: frames, ...(colours === "age" && {ages: 1})});
  const [data, difference] = await Promise.all([
    api.view("flame", target, {...present, top: frames}),
    api.view("flame", target, {...query, type: "inuse_space", top: frames}),
  ]);
  return {...data, growth: columnByPath(data, difference, difference.values[0])};
}

/* The picture keeps its own state; the address has a copy of it. */
export function Flame({target, query, setQuery}) {
  const host = useRef(null),
    picture = useRef(null),
    latest = useRef(query);
  latest.current = query;
  const {type, ...others} = shared(query),
    frames = Number(query.frames) || FRAMES,
    colours = query.colours ?? "";
  const {data, error} = useLoad(
    () => loadFlame(target, others, colours, frames),
    keyOf(`flame ${frames} ${colours}`, target, others),
    period(query),
  );
  useEffect(() => {
    if (!data || !host.current) return undefined;
    const {type: shown, order, flip, fold, find, zoom} = latest.current;
    const onState = (state, isStep) => {
      const chosen = state.colours === "module" ? "" : state.colours;
      const isOther = chosen !== (latest.current.colours ?? "");
      setQuery(
        {
          ...latest.current,
          type: state.type === data.types[0].name ? "" : state.type,
          order: state.view === "down" ? "" : state.view,
          flip: state.flip,
          fold: state.fold ? "" : "no",
          find: state.search,
          zoom: state.path.join("\n"),
          colours: chosen,
        },
        isStep,
      );
      if (isOther) window.dispatchEvent(new Event("hashchange")); // other data
    };
    const onMore = () => {
      location.hash = makeHash({
        target,
        view: "flame",
        query: {...latest.current, frames: frames * MORE},
      });
    };
    const isCompared = latest.current.base || latest.current.since;
    picture.current = mountFlame(host.current, data, {
      state: {
        type: shown,
        view: order,
        flip,
        fold: fold !== "no",
        search: find,
        path: zoom?.split("\n"),
        colours,
      },
      onState,
      onMore,
      colours: ["module"]
        .concat(latest.current.cpu ? [] : "age")
        .concat(isCompared && !latest.current.cpu ? "growth" : []),
    });
    const key = event => picture.current.keydown(event);
    const redraw = () => picture.current.redraw();
    window.addEventListener("keydown", key);
    window.addEventListener("theme", redraw);
    return () => {
      window.removeEventListener("keydown", key);
      window.removeEventListener("theme", redraw);
      picture.current.destroy();
    };
  }, [data]);
  /* "back" returns to the zoom before. */
  useEffect(() => picture.current?.goTo(query.zoom ? query.zoom.split("\n") : []), [query.zoom]);
  return (
    <Waiting error={error} data={data}>
      <div class="picture" ref={host} />
    </Waiting>
  );
}

/* ---- tables ---- */

/* A pattern that is not complete yet matches nothing but itself. */
function patternOf(text = "") {
  try {
    return new RegExp(text, "i");
  } catch {
    return new RegExp(exactly(text), "i");
  }
}

function Name({row, target, query, withInline}) {
  const focus = exactly(row.name);
  const where = row.file ? `${row.file}${row.line ? ":" + row.line : ""}` : "";
  return (
    <td class="name">
      <a
        title={row.name}
        href={makeHash({target, view: "flame", query: {...shared(query), focus}})}
      >
        {shortName(row.name)}
      </a>
      {where && <span class="dim"> {where}</span>}
      {row.inline && withInline && <span class="dim"> ({row.inline})</span>}
    </td>
  );
}

/** Functions with what they hold: a value, a share of the whole (or `cell(row)`), and the name. */
export const Rows = ({data, rows, target, query, heads, hidden, cell}) => (
  <table>
    <thead class={hidden && "hidden"}>
      <tr>
        {heads.map(text => (
          <th class="number" key={text}>
            {text}
          </th>
        ))}
        <th>function</th>
      </tr>
    </thead>
    <tbody>
      {rows.map((row, i) => (
        <tr key={i}>
          <td class="number">{format(row.flat, data.unit)}</td>
          <td class="number dim">{cell ? cell(row) : percent(row.flat, data.total)}</td>
          <Name row={row} target={target} query={query} />
        </tr>
      ))}
    </tbody>
  </table>
);

/* Of each column: what it is sorted by, its heading, and what it says. */
const COLUMNS = [
  ["flat", "flat", "what the function holds itself"],
  ["", "flat %", ""],
  ["", "sum %", "the sum of this row and those above it"],
  ["cum", "cum", "what the function and its callees hold"],
  ["", "cum %", ""],
  ["name", "function", ""],
];

export function Top({target, query, setQuery}) {
  const {data, error} = useLoad(
    () => api.view("top", target, shared(query)),
    keyOf("top", target, query),
    period(query),
  );
  const [column, isDown] = [query.sort ?? "flat", query.up !== "1"];
  const order = (a, b) =>
    typeof a[column] === "string" ? a[column].localeCompare(b[column]) : a[column] - b[column];
  const rows = [...(data?.rows ?? [])]
    .sort((a, b) => (isDown ? order(b, a) : order(a, b)))
    .filter(row => row.name.toLowerCase().includes((query.find ?? "").toLowerCase()));
  const sort = key =>
    setQuery({...query, sort: key === "flat" ? "" : key, up: column === key && isDown ? "1" : ""});
  const isBySum = column === "flat" && isDown && !query.find;
  let sum = 0;
  const cells = (row, key) => (
    <>
      <td class="number">{format(row[key], data.unit)}</td>
      <td class="number dim">{percent(row[key], data.total)}</td>
    </>
  );
  return (
    <Waiting error={error} data={data}>
      <div class="bar">
        <input
          type="search"
          placeholder="filter"
          aria-label="filter functions"
          value={query.find ?? ""}
          onInput={event => setQuery({...query, find: event.target.value})}
        />
        <span class="dim">
          {rows.length} functions, {data && format(data.total, data.unit)} in all
          {data?.dropped > 0 && `; ${data.dropped} more hold less than 0.5 %`}
        </span>
      </div>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              {COLUMNS.map(([key, text, title]) => (
                <th
                  class={key === "name" ? "" : "number"}
                  key={text}
                  title={title}
                  aria-sort={column !== key ? undefined : isDown ? "descending" : "ascending"}
                >
                  {key ? (
                    <button class="plain" onClick={() => sort(key)}>
                      {text}
                    </button>
                  ) : (
                    text
                  )}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, i) => (
              <tr key={i}>
                {cells(row, "flat")}
                <td class="number dim">{isBySum && percent((sum += row.flat), data.total)}</td>
                {cells(row, "cum")}
                <Name row={row} target={target} query={query} withInline />
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Waiting>
  );
}

/* Each function with its callers above and its callees below, as `mallow tree` prints it; with a
 * pattern those that match, as `mallow peek` does. */
export function Tree({target, query, setQuery}) {
  const {data, error} = useLoad(
    () => api.view("tree", target, shared(query)),
    keyOf("tree", target, query),
    period(query),
  );
  const pattern = patternOf(query.find),
    nodes = (data?.nodes ?? []).filter(node => pattern.test(node.name));
  const find = text => setQuery({...query, find: text});
  const other = (one, kind) => (
    <tr class={kind} key={kind + one.name}>
      <td />
      <td />
      <td class="number">{format(one.value, data.unit)}</td>
      <td class="name">
        <button class="link" title={one.name} onClick={() => find(exactly(one.name))}>
          {shortName(one.name)}
        </button>
      </td>
    </tr>
  );
  return (
    <Waiting error={error} data={data}>
      <div class="bar">
        <input
          type="search"
          placeholder="functions (regular expression)"
          aria-label="find functions"
          value={query.find ?? ""}
          onInput={event => find(event.target.value)}
        />
        <span class="dim">
          {nodes.length} of {data?.nodes.length} functions
        </span>
      </div>
      <div class="scroll">
        <table class="tree">
          <thead>
            <tr>
              <th class="number">flat</th>
              <th class="number">cum</th>
              <th class="number">calls</th>
              <th>function</th>
            </tr>
          </thead>
          {nodes.map((node, i) => (
            <tbody key={i}>
              {(node.callers ?? []).map(one => other(one, "caller"))}
              <tr class="self">
                <td class="number">{format(node.flat, data.unit)}</td>
                <td class="number">{format(node.cum, data.unit)}</td>
                <td />
                <Name row={node} target={target} query={query} withInline />
              </tr>
              {(node.callees ?? []).map(one => other(one, "callee"))}
            </tbody>
          ))}
        </table>
      </div>
    </Waiting>
  );
}

const STACKS_SHOWN = 200;

/* A stack that opens below a line. */
export function Stack({frames, open, children}) {
  return (
    <details class="stack" open={open}>
      <summary>
        {children} {shortName(frames[0]?.name ?? "")}
      </summary>
      <ol>
        {frames.map((frame, k) => (
          <li key={k}>
            {shortName(frame.name)}
            {frame.file && (
              <span class="dim">
                {" "}
                {frame.file}:{frame.line}
              </span>
            )}
          </li>
        ))}
      </ol>
    </details>
  );
}

export function Traces({target, query}) {
  const [count, setCount] = useState(STACKS_SHOWN);
  const {data, error} = useLoad(
    () => api.view("traces", target, {...shared(query), top: count}),
    keyOf(`traces ${count}`, target, query),
    period(query),
  );
  return (
    <Waiting error={error} data={data}>
      {data?.stacks.map((stack, i) => (
        <Stack key={i} frames={stack.frames} open={i < 5}>
          <b>{format(stack.value, data.unit)}</b> {percent(stack.value, data.total)}
        </Stack>
      ))}
      {data?.dropped > 0 && (
        <p>
          <button onClick={() => setCount(count * MORE)}>{data.dropped} more</button>
        </p>
      )}
    </Waiting>
  );
}

/* A picture that the command makes.  It has no origin: it cannot ask the server. */
export function Framed({ending, title, target, query}) {
  const theme = () => (document.documentElement.classList.contains("dark") ? "dark" : "light");
  const [shown, setShown] = useState(theme()),
    frame = useRef(null);
  useEffect(() => {
    const changed = () => setShown(theme());
    /* The picture names the function that was clicked. */
    const clicked = event => {
      if (event.source === frame.current?.contentWindow && typeof event.data?.mallow === "string")
        location.hash = makeHash({
          target,
          view: "graph",
          query: {...query, focus: exactly(event.data.mallow)},
        });
    };
    window.addEventListener("theme", changed);
    window.addEventListener("message", clicked);
    return () => {
      window.removeEventListener("theme", changed);
      window.removeEventListener("message", clicked);
    };
  }, [target, JSON.stringify(query)]);
  return (
    <iframe
      ref={frame}
      class="framed"
      title={title}
      sandbox="allow-scripts"
      src={`${api.fileAddress(ending, target, shared(query))}#${shown}`}
    />
  );
}
