// SPDX-License-Identifier: MIT
// files.jsx: the profiles of the command line: of which program, when, how much.
import {useEffect, useState} from "preact/hooks";
import * as api from "./api.js";
import {format} from "./format.js";
import {makeHash} from "./url.js";

/* Files that are read for the list, one after the other: a large profile takes a while. */
const READ = 100;

export function Files({files}) {
  const [known, setKnown] = useState({});
  const key = files.join("\n");
  useEffect(() => {
    let isOver = false;
    (async () => {
      for (const file of files.slice(0, READ)) {
        if (isOver) return;
        const head = await api.view("top", file, {top: 1}).catch(error => ({error}));
        if (!isOver) setKnown(old => ({...old, [file]: head}));
      }
    })();
    return () => {
      isOver = true;
    };
  }, [key]);
  const cells = head =>
    head.error ? (
      <td colSpan={4} class="dim">
        no profile
      </td>
    ) : (
      <>
        <td>{head.program}</td>
        <td>{head.time_ns > 0 ? new Date(head.time_ns / 1e6).toLocaleString("sv-SE") : ""}</td>
        <td class="number">{head.total == null ? "" : format(head.total, head.unit)}</td>
        <td class="dim">{head.type}</td>
      </>
    );
  return (
    <>
      <h2>Profiles</h2>
      <div class="scroll">
        <table class="files">
          <thead>
            <tr>
              <th>file</th>
              <th>program</th>
              <th>date</th>
              <th class="number">total</th>
              <th>of</th>
            </tr>
          </thead>
          <tbody>
            {files.map(one => (
              <tr key={one}>
                <td>
                  <a href={makeHash({target: one, view: "flame"})}>{one}</a>
                </td>
                {cells(known[one] ?? {})}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
