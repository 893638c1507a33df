// SPDX-License-Identifier: MIT
// app.jsx: the frame of the page: where one is, what is chosen, which view is shown.
import {render} from "preact";
import {useEffect, useErrorBoundary, useState} from "preact/hooks";
import * as api from "./api.js";
import {Asked} from "./asked.jsx";
import {commandLine} from "./command.js";
import {HeapMap} from "./heap-map.jsx";
import {Histogram} from "./histogram.jsx";
import {useLoad, useTheme} from "./hooks.js";
import {useOffers} from "./offers.js";
import {Requests} from "./requests.jsx";
import {Service} from "./service.jsx";
import {Services} from "./services.jsx";
import {isStored} from "./stored.js";
import {Overview} from "./overview.jsx";
import {Processes} from "./processes.jsx";
import {Save} from "./save.jsx";
import {Source} from "./source.jsx";
import {makeHash, parseHash, shared, VIEWS} from "./url.js";
import {Flame, Framed, Top, Traces, Tree} from "./views.jsx";
import "uplot/dist/uPlot.min.css";
import "./style.css";

const FILTERS = [
  ["focus", "only stacks with"],
  ["ignore", "without"],
  ["hide", "hide frames"],
  ["show", "only frames"],
  ["from", "begin at frames"],
  ["base", "compare with"],
];
const TYPES = [
  "inuse_space",
  "inuse_objects",
  "alloc_space",
  "alloc_objects",
  "peak_space",
  "freed_objects",
  "temporary_objects",
  "lifetime",
];
const WITHOUT_FILTERS = ["overview", "leaks", "locks", "map"];

function useHash() {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const changed = () => setHash(location.hash);
    window.addEventListener("hashchange", changed);
    return () => window.removeEventListener("hashchange", changed);
  }, []);
  return parseHash(hash);
}

function momentText({between, since, at}) {
  if (between) return "between two moments";
  if (since) return at ? "difference of two moments" : "since a moment";
  return "at a moment";
}

/* What is being typed stays when the page draws its fields anew. */
function Field({text, list, value, onSet}) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  return (
    <input
      placeholder={text}
      aria-label={text}
      list={list}
      value={typed}
      onInput={event => setTyped(event.target.value)}
      onChange={event => onSet(event.target.value)}
    />
  );
}

/* Filters take effect when they are complete: each costs the server a look at the profile. */
function Filters({place, known}) {
  const {query} = place,
    isProcess = /^\d+$/.test(place.target);
  const {data: processes} = useLoad(
    () => (known?.all ? api.processes() : []),
    `processes ${known?.all}`,
  );
  const bases = [
    ...(known?.targets ?? []).map(one => [one, ""]),
    ...(processes ?? []).map(one => [String(one.pid), one.program]),
  ].filter(([one]) => one !== place.target);
  const set = (key, value) => {
    location.hash = makeHash({...place, query: {...query, [key]: value}});
  };
  return (
    <form class="filters" onSubmit={event => event.preventDefault()}>
      <select
        aria-label="what is shown"
        value={query.cpu ? "1" : ""}
        onChange={event => set("cpu", event.target.value)}
      >
        <option value="">memory</option>
        <option value="1">CPU time</option>
      </select>
      {place.view !== "flame" && !query.cpu && (
        <select
          aria-label="sample type"
          value={query.type ?? ""}
          onChange={event => set("type", event.target.value)}
        >
          <option value="">sample type</option>
          {TYPES.map(type => (
            <option key={type} value={type}>
              {type}
            </option>
          ))}
        </select>
      )}
      {FILTERS.map(([key, text]) => (
        <Field
          key={key}
          text={text}
          list={key === "base" ? "profiles" : undefined}
          value={query[key] ?? ""}
          onSet={value => set(key, value)}
        />
      ))}
      {FILTERS.some(([key]) => query[key]) && (
        <button
          type="button"
          onClick={() => {
            const rest = {...query};
            for (const [key] of FILTERS) delete rest[key];
            location.hash = makeHash({...place, query: rest});
          }}
        >
          clear
        </button>
      )}
      <datalist id="profiles">
        {bases.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </datalist>
      {isProcess && (
        <label class="check">
          <input
            type="checkbox"
            checked={Boolean(query.live)}
            onChange={event => set("live", event.target.checked)}
          />{" "}
          live
        </label>
      )}
      {["tagfocus", "thread"].map(
        key =>
          query[key] && (
            <button key={key} type="button" onClick={() => set(key, "")}>
              only {key === "thread" ? "thread " : ""}
              {query[key].replace(/\^|\$/g, "")} ✕
            </button>
          ),
      )}
      {(query.between || query.since || query.at) && (
        <button
          type="button"
          onClick={() => {
            const {between, since, at, ...rest} = query;
            location.hash = makeHash({...place, query: rest});
          }}
        >
          {momentText(query)} ✕
        </button>
      )}
    </form>
  );
}

function Copy({place}) {
  const [isCopied, setCopied] = useState(false),
    text = commandLine(place);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      setTimeout(() => setCopied(false), 1500);
    } catch {
      prompt("The command line of this view:", text);
    }
  };
  return (
    <button class="copy" title={text} aria-label="copy command" onClick={copy}>
      {isCopied ? "copied" : "copy"}
      <span class="long">{isCopied ? "" : " command"}</span>
    </button>
  );
}

/* A mistake of the page in one view does not take the others with it. */
function View({place, hasControl, store}) {
  const {target, view, query} = place,
    props = {target, query, view};
  const [mistake] = useErrorBoundary(error => console.error(error));
  if (mistake)
    return (
      <p class="error" role="alert">
        This view failed: {mistake.message}
      </p>
    );
  /* `isStep`: "back" returns to the state before. */
  const setQuery = (next, isStep = false) => {
    const hash = makeHash({target, view, query: next});
    if (isStep) location.hash = hash;
    else if (hash !== location.hash) history.replaceState(null, "", hash);
    if (view !== "flame") window.dispatchEvent(new Event("hashchange"));
  };
  switch (view) {
    case "overview":
      return isStored(store, target) ? (
        <Service key={target} store={store} {...props} />
      ) : (
        <Overview key={target} {...props} />
      );
    case "flame":
      return <Flame key={target} {...props} setQuery={setQuery} />;
    case "top":
      return <Top {...props} setQuery={setQuery} />;
    case "tree":
      return <Tree {...props} setQuery={setQuery} />;
    case "leaks":
    case "locks":
      return <Asked key={target + view} {...props} hasControl={hasControl} />;
    case "map":
      return <HeapMap key={target} {...props} setQuery={setQuery} />;
    case "traces":
      return <Traces {...props} />;
    case "graph":
      return <Framed ending="graph.svg" title="call graph" {...props} />;
    case "weblist":
      return <Source key={target} {...props} setQuery={setQuery} />;
    default:
      return <Histogram key={view} {...props} />;
  }
}

function App() {
  const place = useHash(),
    [theme, turnTheme] = useTheme();
  const {target, view, query} = place;
  const {data: known} = useLoad(api.targets, "targets " + target);
  const {data: status} = useLoad(
    () => (/^\d+$/.test(target) ? api.view("status", target) : null),
    "name " + target,
  );
  const offers = useOffers(place, status);
  const name = status ? `${status.program} ${target}` : target.split("/").at(-1);
  useEffect(() => {
    document.title = target ? `${name}: ${VIEWS[view]} – mallow` : "mallow";
  }, [name, view]);
  useEffect(() => {
    const key = event => {
      if (
        event.target.matches?.("input, select, textarea") ||
        event.ctrlKey ||
        event.metaKey ||
        event.altKey
      )
        return;
      if (event.key === "d") turnTheme();
      if (event.key === "p") location.hash = makeHash({});
      const at = offers.indexOf(view),
        step = event.key === "]" ? 1 : event.key === "[" ? offers.length - 1 : 0;
      if (target && step)
        location.hash = makeHash({
          target,
          view: offers[(at + step) % offers.length],
          query: shared(query),
        });
    };
    window.addEventListener("keydown", key);
    return () => window.removeEventListener("keydown", key);
  });
  return (
    <>
      <header>
        <a class="home" href={makeHash({})}>
          mallow
        </a>
        {target && (
          <span class="target" title={target}>
            {name}
          </span>
        )}
        {target && (
          <nav aria-label="views">
            {offers.map(name => (
              <a
                key={name}
                aria-current={name === view ? "page" : undefined}
                href={makeHash({target, view: name, query: shared(query)})}
              >
                {VIEWS[name]}
              </a>
            ))}
          </nav>
        )}
        <span class="space" />
        {target && <Save target={target} view={view} query={query} />}
        {target && <Copy place={place} />}
        {target && known?.control && <Requests target={target} />}
        <button
          onClick={turnTheme}
          title="d"
          aria-label={theme === "dark" ? "light design" : "dark design"}
        >
          ◐
        </button>
      </header>
      {target && !WITHOUT_FILTERS.includes(view) && <Filters place={place} known={known} />}
      <main
        tabIndex={0}
        aria-label={target ? VIEWS[view] : known?.store ? "Services" : "Processes"}
      >
        {target ? (
          known && (
            <View
              key={target + view}
              place={place}
              hasControl={known.control}
              store={known.store}
            />
          )
        ) : known?.store ? (
          <Services store={known.store} />
        ) : (
          <Processes />
        )}
      </main>
    </>
  );
}

/* `mallow web 4711` shows that process at once; "#/" lists the processes. */
async function openOnly() {
  if (location.hash) return;
  const known = await api.targets();
  if (!known.all && known.targets.length === 1)
    history.replaceState(null, "", makeHash({target: known.targets[0]}));
}

/* The secret is in a cookie now, and leaves the address and the history.  The page is loaded again:
 * by its own wish, because browsers send the cookie neither for a page that a file has led to, nor
 * when such a page is reloaded. */
if (location.search) location.replace(location.pathname + location.hash);
else openOnly().finally(() => render(<App />, document.getElementById("app")));
