// SPDX-License-Identifier: MIT
// app.jsx: the frame of the page: where one is, what is chosen, which view is shown.
import {render} from "preact";
import {useEffect, useErrorBoundary, useRef, useState} from "preact/hooks";
import * as api from "./api.js";
import {commandLine} from "./command.js";
import {useLoad, useTheme} from "./hooks.js";
import {Overview} from "./overview.jsx";
import {Processes} from "./processes.jsx";
import {makeHash, parseHash, shared, VIEWS} from "./url.js";
import {Flame, Framed, Leaks, Tags, Top, Traces, Tree} from "./views.jsx";
import "uplot/dist/uPlot.min.css";
import "./style.css";

const FILTERS = [
  ["focus", "only stacks with"],
  ["ignore", "without"],
  ["hide", "hide frames"],
  ["show", "only frames"],
  ["base", "less the profile"],
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
const EXPORTS = ["pb.gz", "folded", "speedscope.json", "flame.svg", "html", "txt"];
const ORDERS = [
  ["start", "start sampling"],
  ["stop", "stop sampling"],
  ["reset", "reset counters"],
  ["mark", "set a mark"],
  ["start-cpu", "sample CPU time"],
  ["stop-cpu", "stop CPU samples"],
];

function useHash() {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const changed = () => setHash(location.hash);
    window.addEventListener("hashchange", changed);
    return () => window.removeEventListener("hashchange", changed);
  }, []);
  return parseHash(hash);
}

/* Filters take effect when they are complete: each costs the server a look at the profile. */
function Filters({place}) {
  const {query} = place,
    isProcess = /^\d+$/.test(place.target);
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
        <input
          key={key}
          placeholder={text}
          aria-label={text}
          value={query[key] ?? ""}
          onChange={event => set(key, event.target.value)}
        />
      ))}
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
      {(query.between || query.at) && (
        <button
          onClick={() => {
            const {between, at, ...rest} = query;
            location.hash = makeHash({...place, query: rest});
          }}
        >
          {query.between ? "between two moments" : "at a moment"} ✕
        </button>
      )}
    </form>
  );
}

function Menu({title, children}) {
  const box = useRef(null);
  useEffect(() => {
    const close = event => {
      if (
        box.current?.open &&
        (event.key === "Escape" || (event.type === "click" && !box.current.contains(event.target)))
      )
        box.current.open = false;
    };
    window.addEventListener("click", close);
    window.addEventListener("keydown", close);
    return () => {
      window.removeEventListener("click", close);
      window.removeEventListener("keydown", close);
    };
  }, []);
  return (
    <details class="menu" ref={box}>
      <summary>{title}</summary>
      <div>{children}</div>
    </details>
  );
}

function Orders({target}) {
  const [answer, setAnswer] = useState("");
  const send = async name => {
    setAnswer("…");
    try {
      setAnswer((await api.order(name, target)).trim() || "done");
    } catch (error) {
      setAnswer(error.message);
    }
  };
  return (
    <>
      <Menu title="Control">
        {ORDERS.map(([name, text]) => (
          <button key={name} onClick={() => send(name)}>
            {text}
          </button>
        ))}
      </Menu>
      {answer && (
        <pre class="answer" role="status">
          {answer}
        </pre>
      )}
    </>
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
    <button class="copy" title={text} onClick={copy}>
      {isCopied ? "copied" : "copy command"}
    </button>
  );
}

/* A mistake of the page in one view does not take the others with it. */
function View({place, hasControl}) {
  const {target, view, query} = place,
    props = {target, query, view};
  const [mistake] = useErrorBoundary(error => console.error(error));
  if (mistake)
    return (
      <p class="error" role="alert">
        This view failed: {mistake.message}
      </p>
    );
  const setQuery = next => {
    const hash = makeHash({target, view, query: next});
    if (hash !== location.hash) history.replaceState(null, "", hash);
    if (view !== "flame") window.dispatchEvent(new Event("hashchange"));
  };
  switch (view) {
    case "overview":
      return <Overview key={target} {...props} />;
    case "flame":
      return <Flame key={target} {...props} setQuery={setQuery} />;
    case "top":
      return <Top {...props} setQuery={setQuery} />;
    case "tree":
      return <Tree {...props} />;
    case "leaks":
      return <Leaks key={target} target={target} hasControl={hasControl} />;
    case "traces":
      return <Traces {...props} />;
    case "graph":
      return <Framed ending="graph.svg" title="call graph" {...props} />;
    case "weblist":
      return <Framed ending="weblist.html" title="source" {...props} />;
    default:
      return <Tags key={view} {...props} />;
  }
}

function App() {
  const place = useHash(),
    [theme, turnTheme] = useTheme();
  const {data: known} = useLoad(api.targets, "targets");
  const {target, view, query} = place;
  const {data: status} = useLoad(
    () => (/^\d+$/.test(target) ? api.view("status", target) : null),
    "name " + target,
  );
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
      const names = Object.keys(VIEWS),
        at = names.indexOf(view);
      const step = event.key === "]" ? 1 : event.key === "[" ? names.length - 1 : 0;
      if (target && step)
        location.hash = makeHash({
          target,
          view: names[(at + step) % names.length],
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
            {Object.entries(VIEWS).map(([name, text]) => (
              <a
                key={name}
                aria-current={name === view ? "page" : undefined}
                href={makeHash({target, view: name, query: shared(query)})}
              >
                {text}
              </a>
            ))}
          </nav>
        )}
        <span class="space" />
        {target && (
          <Menu title="Save">
            {EXPORTS.map(ending => (
              <a key={ending} download href={api.fileAddress(ending, target, query)}>
                .{ending}
              </a>
            ))}
          </Menu>
        )}
        {target && <Copy place={place} />}
        {target && known?.control && <Orders target={target} />}
        <button onClick={turnTheme} title="d">
          {theme === "dark" ? "light" : "dark"}
        </button>
      </header>
      {target && view !== "overview" && view !== "leaks" && <Filters place={place} />}
      <main tabIndex={0} aria-label={target ? VIEWS[view] : "Processes"}>
        {target ? (
          <View key={target + view} place={place} hasControl={known?.control} />
        ) : (
          <Processes />
        )}
      </main>
    </>
  );
}

render(<App />, document.getElementById("app"));
