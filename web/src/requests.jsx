// SPDX-License-Identifier: MIT
// requests.jsx: what a page of `mallow web --control` changes in a process.
import {useState} from "preact/hooks";
import * as api from "./api.js";
import {Menu} from "./menu.jsx";

const REQUESTS = [
  ["start", "start sampling"],
  ["stop", "stop sampling"],
  ["reset", "reset counters"],
  ["mark", "set a mark"],
  ["dump", "write a dump"],
  ["start-cpu", "sample CPU time"],
  ["stop-cpu", "stop CPU samples"],
];

export function Requests({target}) {
  const [answer, setAnswer] = useState("");
  const send = async (name, value) => {
    setAnswer("…");
    try {
      setAnswer((await api.request(name, target, value)).trim() || "done");
    } catch (error) {
      setAnswer(error.message);
    }
  };
  return (
    <>
      <Menu title="Control">
        {REQUESTS.map(([name, text]) => (
          <button key={name} onClick={() => send(name)}>
            {text}
          </button>
        ))}
        <form
          onSubmit={event => {
            event.preventDefault();
            send("rate", event.target.elements.rate.value);
          }}
        >
          <input name="rate" size="6" aria-label="bytes between samples" placeholder="512K" />
          <button>set the rate</button>
        </form>
      </Menu>
      {answer && (
        <pre class="answer" role="status">
          {answer}
        </pre>
      )}
    </>
  );
}
