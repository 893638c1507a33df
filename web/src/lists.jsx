// SPDX-License-Identifier: MIT
// lists.jsx: the short answers of the overview: who holds most, who grew, who allocates, who keeps
// free memory.
import * as api from "./api.js";
import {useLoad} from "./hooks.js";
import {at, storedNear} from "./marks.jsx";
import {makeHash} from "./url.js";
import {Rows} from "./views.jsx";

const ROWS = 5,
  PERIOD_MS = 60000,
  GROWTH_SECONDS = 600;

const largest = (target, type) => api.view("top", target, {type, top: ROWS});

/* Of a process that is younger than the time, everything grew from nothing. */
const growthBegin = started => Math.max(started, Date.now() / 1000 - GROWTH_SECONDS);

async function growth(target, started) {
  const since = at(growthBegin(started));
  const data = await api.view("diff", target, {since, top: 4 * ROWS});
  return {...data, rows: data.rows.filter(row => row.flat > 0)};
}

const chanceText = chance =>
  chance == null ? "" : chance < 0.001 ? "p < 0.1 %" : `p = ${(100 * chance).toFixed(1)} %`;

function List({title, note, data, target, query, cell, empty}) {
  const rows = (data?.rows ?? []).filter(row => row.flat > 0).slice(0, ROWS);
  return (
    <section class="list">
      <h2>
        <a href={makeHash({target, view: "top", query})}>{title}</a>{" "}
        <span class="dim">{data && note}</span>
      </h2>
      {data && rows.length === 0 && <p class="dim">{empty}</p>}
      <Rows {...{data, rows, target, query, cell}} heads={["value", "share or p-value"]} hidden />
    </section>
  );
}

/** What `mallow advise` finds, once: it looks at the pages of the process. */
export function Findings({target}) {
  const {data} = useLoad(() => api.view("advise", target), "advise " + target);
  if (!data?.findings.length) return null;
  return (
    <section class="findings">
      <h2>Findings</h2>
      <ul>
        {data.findings.slice(0, ROWS).map((one, i) => (
          <li key={i} title={one.command}>
            <b>{one.title}</b>: {one.text}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** `started`: seconds since 1970; `isRunning`: else nothing grows; `marks`: with profiles, to
 * compare with. */
export function Lists({target, started, marks, isRunning}) {
  const since = growthBegin(started),
    isYoung = since === started,
    mark = isYoung ? null : storedNear(marks, since);
  const load = (name, ask) => useLoad(ask, `${name} ${target}`, PERIOD_MS).data;
  const holds = load("holds", () => largest(target, "inuse_space")),
    grew = load("grew", () => (isRunning ? growth(target, started) : null)),
    allocates = load("allocates", () => largest(target, "alloc_space")),
    keeps = load("keeps", () => largest(target, "pinned_space"));
  const more = {target};
  return (
    <div class="lists">
      <List {...more} title="Holds most" data={holds} query={{}} empty="nothing is in use" />
      {isRunning && (
        <List
          {...more}
          title={isYoung ? "Grew most since the start" : "Grew most in ten minutes"}
          note={isYoung || mark ? "" : "allocated since then, still in use"}
          data={grew}
          query={{since: at(since)}}
          cell={row => chanceText(row.chance)}
          empty="nothing grew"
        />
      )}
      <List
        {...more}
        title="Allocates most"
        data={allocates}
        query={{type: "alloc_space"}}
        empty="nothing was allocated"
      />
      <List
        {...more}
        title="Keeps free memory"
        note="free blocks beside those in use"
        data={keeps}
        query={{type: "pinned_space"}}
        empty="no sampled block keeps free memory"
      />
    </div>
  );
}
