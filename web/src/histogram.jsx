// SPDX-License-Identifier: MIT
// histogram.jsx: sizes, lifetimes and threads: a bar for each, which leads to its stacks.
import * as api from "./api.js";
import {exactly} from "./command.js";
import {format, percent} from "./format.js";
import {useLoad} from "./hooks.js";
import {placeOf} from "./order.js";
import {makeHash, shared} from "./url.js";
import {keyOf, period} from "./views.jsx";
import {Waiting} from "./waiting.jsx";

/* Of each view: the heading of its bars; what selects a bar's stacks. */
const KINDS = {
  sizes: {
    title: "size of a block",
    select: one => ({tagfocus: `bytes=${one.tag}b`}),
  },
  lifetimes: {
    title: "lived for",
    select: one => ({tagfocus: `lifetime=${exactly(one.tag)}`}),
  },
  threads: {title: "thread", select: one => ({thread: String(one.tag)})},
};
const HEADINGS = {
  inuse_space: "in use",
  inuse_objects: "objects in use",
  freed_objects: "objects freed",
  alloc_space: "allocated",
  alloc_objects: "objects allocated",
};

const textOf = one =>
  one.name
    ? `${one.name} (${one.tag})`
    : typeof one.tag === "number"
      ? format(one.tag, one.unit)
      : one.tag;

/* Sizes in use have both bytes and counts. */
async function load(view, target, query) {
  const isBoth = view === "sizes" && !query.type && !query.cpu;
  const [data, counts] = await Promise.all([
    api.view(view, target, query),
    isBoth ? api.view(view, target, {...query, type: "inuse_objects"}) : null,
  ]);
  return {...data, counts: counts && new Map(counts.tags.map(one => [one.tag, one.value]))};
}

export function Histogram({view, target, query}) {
  const {title, select} = KINDS[view];
  const {data, error} = useLoad(
    () => load(view, target, shared(query)),
    keyOf(view, target, query),
    period(query),
  );
  if (!data) return <Waiting error={error} data={data} />;
  const rows = [...data.tags].sort((a, b) => placeOf(a) - placeOf(b));
  const most = Math.max(1, ...rows.map(one => Math.abs(one.value)));
  if (rows.length === 0)
    return <p class="empty">No sample tells {view === "sizes" ? "its size" : `its ${title}`}.</p>;
  const link = one =>
    makeHash({
      target,
      view: "flame",
      query: {...shared(query), type: data.type, ...select(one)},
    });
  return (
    <div class="scroll">
      <table class="bars">
        <thead>
          <tr>
            <th class="number">{title}</th>
            <th class="number">{HEADINGS[data.type] ?? data.type}</th>
            <th class="number">share</th>
            {data.counts && <th class="number">objects</th>}
            <th>a click shows the stacks</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(one => (
            <tr key={one.tag}>
              <td class="number">{textOf(one)}</td>
              <td class="number">{format(one.value, data.unit)}</td>
              <td class="number dim">{percent(one.value, data.total)}</td>
              {data.counts && (
                <td class="number">{format(data.counts.get(one.tag) ?? 0, "count")}</td>
              )}
              <td class="wide">
                <a href={link(one)} aria-label={`stacks of ${textOf(one)}`}>
                  <i
                    class="amount"
                    style={{width: ((100 * Math.abs(one.value)) / most).toFixed(2) + "%"}}
                  />
                </a>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
