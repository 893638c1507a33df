// SPDX-License-Identifier: MIT
// asked.jsx: leaks, and locks that threads wait for.  The user asks for each, because finding them
// disturbs the process.
import {useState} from "preact/hooks";
import * as api from "./api.js";
import {commandLine} from "./command.js";
import {format} from "./format.js";
import {shortName} from "./trees.js";
import {Stack} from "./views.jsx";
import {Trouble} from "./waiting.jsx";

function Leaks({check, stacks}) {
  const {direct, indirect, live} = check;
  const blocks = one => `${format(one.bytes, "bytes")} in ${one.blocks} blocks`;
  return (
    <>
      <p role="status">
        {direct.blocks + indirect.blocks === 0
          ? `No leaks: pointers lead to all ${live.blocks} blocks (${format(live.bytes, "bytes")}).`
          : `No pointer leads to ${blocks(direct)}; from these pointers lead to ` +
            `${blocks(indirect)}.`}{" "}
        The process was stopped for {format(check.pause_ns, "nanoseconds")}, and searched for{" "}
        {format(check.scan_ns, "nanoseconds")}.
      </p>
      {stacks.map((stack, i) => (
        <Stack key={i} frames={stack.frames} open={i < 5}>
          <b>{format(stack.bytes, "bytes")}</b> {stack.direct.blocks + stack.indirect.blocks}
          {" blocks "}
        </Stack>
      ))}
    </>
  );
}

const time = seconds => format(1e9 * seconds, "nanoseconds");

function Locks({locks, seconds, looks}) {
  const row = (one, does, where) => (
    <tr>
      <td class="number">{time(one.seconds)}</td>
      <td>
        {does} {one.thread ?? "thread"} {one.thread_id ?? "that is not known"}
        {one.function && (
          <>
            <span class="dim">{where}</span> {shortName(one.function)}
          </>
        )}
      </td>
    </tr>
  );
  return (
    <>
      <p role="status">
        {locks.length ? "Locks that threads waited for" : "No thread waited for a lock"} in{" "}
        {time(seconds)} ({looks} looks).
      </p>
      {locks.length > 0 && (
        <table class="tree">
          <thead>
            <tr>
              <th class="number">waited</th>
              <th>lock</th>
            </tr>
          </thead>
          {locks.map(lock => (
            <tbody key={lock.address}>
              <tr class="self">
                <td class="number">{time(lock.seconds)}</td>
                <td>
                  {lock.name && shortName(lock.name)} <span class="dim">{lock.address}</span>
                </td>
              </tr>
              {lock.waiters.map(one => row(one, "", ", in"))}
              {lock.holders.map(one => row(one, "held by", ", mostly in"))}
            </tbody>
          ))}
        </table>
      )}
    </>
  );
}

const KINDS = {
  leaks: {
    Result: Leaks,
    running: "searching the copy…",
    text:
      "A check finds blocks that no pointer of the process leads to any more. The process is " +
      "stopped for some milliseconds, while it copies itself as by fork(2); then it goes on, and " +
      "the copy is searched. Until that is over, pages that the process writes take memory twice.",
  },
  locks: {
    Result: Locks,
    running: "looking for ten seconds…",
    text:
      "For ten seconds the threads of the process are looked at a hundred times a second: which " +
      "lock each waits for, and which thread holds it. Samples of wall-clock time, which " +
      "interrupt each thread as often, say where they are. Looking takes the right to trace the " +
      "process.",
  },
};

/** `view`: one of KINDS. */
export function Asked({target, view, hasControl}) {
  const {Result, running, text} = KINDS[view];
  const [{data, error, isRunning}, setState] = useState({});
  const find = async () => {
    setState({isRunning: true});
    try {
      setState({data: JSON.parse(await api.request(view, target))});
    } catch (error) {
      setState({error});
    }
  };
  return (
    <section>
      <p>{text}</p>
      {hasControl ? (
        <div class="bar">
          <button onClick={find} disabled={isRunning}>
            find {view}
          </button>
          <span class="dim">{isRunning ? running : ""}</span>
        </div>
      ) : (
        <p>
          This page only reads. That of <code>mallow web --control</code> can ask for it;{" "}
          <code>{commandLine({target, view})}</code> does so in a terminal.
        </p>
      )}
      <Trouble error={error} />
      {data && <Result {...data} />}
    </section>
  );
}
