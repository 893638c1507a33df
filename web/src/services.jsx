// SPDX-License-Identifier: MIT
// services.jsx: the first page of a store: its services at a time, and who has a function.
import {useState} from "preact/hooks";
import * as api from "./api.js";
import {ago, format} from "./format.js";
import {useLoad} from "./hooks.js";
import {stored} from "./stored.js";
import {makeHash} from "./url.js";
import {notYet} from "./waiting.jsx";

const TIMES = [
  ["", "now"],
  ["-1h", "an hour ago"],
  ["-1d", "a day ago"],
  ["-7d", "a week ago"],
];
const COLUMNS = [
  ["name", "service"],
  ["live_bytes", "live heap"],
  ["growth_bytes_a_day", "growth a day"],
  ["hosts", "hosts"],
  ["processes", "processes"],
  ["versions", "versions"],
  ["newest_ns", "age"],
];

const growth = value =>
  value == null ? "" : `${value > 0 ? "+" : ""}${format(value, "bytes")}`;
const age = newest => ago(Math.max(0, Date.now() / 1e3 - newest / 1e9));

function sorted(rows, [column, isDown]) {
  const order = (a, b) =>
    column === "name" ? a.name.localeCompare(b.name) : (a[column] ?? 0) - (b[column] ?? 0);
  return [...rows].sort((a, b) => (isDown ? order(b, a) : order(a, b)));
}

/** A table of services, or of the hosts or versions of one.  `link`: a row's target. */
export function ServiceTable({rows, first = "service", link, note = () => ""}) {
  const [order, setOrder] = useState(["live_bytes", true]);
  const columns = COLUMNS.filter(([key]) => key !== first + "s");
  return (
    <div class="scroll">
      <table class="services">
        <thead>
          <tr>
            {columns.map(([key, text]) => (
              <th
                key={key}
                class={key === "name" ? "" : "number"}
                aria-sort={order[0] !== key ? "none" : order[1] ? "descending" : "ascending"}
              >
                <button
                  class="plain"
                  onClick={() => setOrder(old => [key, old[0] === key ? !old[1] : true])}
                >
                  {key === "name" ? first : text}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {sorted(rows, order).map(one => (
            <tr key={one.name}>
              <td class="command">
                <a href={makeHash({target: link(one)})}>{one.name || "(none)"}</a>
                {note(one) && <div class="dim">{note(one)}</div>}
              </td>
              <td class="number">{format(one.live_bytes, "bytes")}</td>
              <td class="number">{growth(one.growth_bytes_a_day)}</td>
              {first !== "host" && <td class="number">{format(one.hosts, "count")}</td>}
              <td class="number">{format(one.processes, "count")}</td>
              {first !== "version" && <td class="number">{format(one.versions, "count")}</td>}
              <td class="number">{age(one.newest_ns)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Found({store, at, name}) {
  const {data, error} = useLoad(() => api.search(name, {at}), `search ${at} ${name}`);
  const waiting = notYet({data, error});
  if (waiting) return waiting;
  return (
    <>
      <p class="dim">
        {data.functions.slice(0, 5).join(", ")}
        {data.functions.length > 5 && ` and ${data.functions.length - 5} more functions`}
      </p>
      <div class="scroll">
        <table class="services">
          <thead>
            <tr>
              <th>service</th>
              <th class="number">live in stacks with it</th>
              <th class="number">hosts</th>
              <th class="number">processes</th>
            </tr>
          </thead>
          <tbody>
            {data.services.map(one => (
              <tr key={one.service}>
                <td class="command">
                  <a
                    href={makeHash({
                      target: stored(store, {service: one.service, at}),
                      view: "flame",
                      query: {focus: name},
                    })}
                  >
                    {one.service}
                  </a>
                </td>
                <td class="number">{format(one.inuse_space, "bytes")}</td>
                <td class="number">{format(one.hosts, "count")}</td>
                <td class="number">{format(one.processes, "count")}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

export function Services({store}) {
  const [at, setAt] = useState(""),
    [filter, setFilter] = useState(""),
    [name, setName] = useState("");
  const {data, error} = useLoad(() => api.services({at}), "services " + at);
  const waiting = notYet({data, error});
  const rows = (data ?? []).filter(one =>
    one.name.toLowerCase().includes(filter.toLowerCase()),
  );
  const most = [...rows].sort(
    (a, b) => (b.growth_bytes_a_day ?? 0) - (a.growth_bytes_a_day ?? 0),
  )[0];
  return (
    <section>
      <div class="bar">
        <h1>Services</h1>
        <select aria-label="time" value={at} onChange={event => setAt(event.target.value)}>
          {TIMES.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
        <input
          type="search"
          placeholder="filter"
          aria-label="filter services"
          value={filter}
          onInput={event => setFilter(event.target.value)}
        />
        <input
          type="search"
          placeholder="who has a function"
          aria-label="search a function"
          value={name}
          onChange={event => setName(event.target.value)}
        />
        {most?.growth_bytes_a_day > 0 && (
          <span class="dim">
            {most.name} grows most, {growth(most.growth_bytes_a_day)} a day
          </span>
        )}
      </div>
      {name && <Found store={store} at={at} name={name} />}
      {name && <h2>All</h2>}
      {waiting ?? (
        <ServiceTable rows={rows} link={one => stored(store, {service: one.name, at})} />
      )}
    </section>
  );
}
