// SPDX-License-Identifier: MIT
// heap-map.jsx: the chunks, pages and holes of a heap, and whose blocks keep free memory.
import {useEffect, useRef, useState} from "preact/hooks";
import * as api from "./api.js";
import {Legend, styleOf} from "./chart.jsx";
import {format} from "./format.js";
import {useLoad} from "./hooks.js";
import {cellAt, describe, fillOf, KERNEL_PAGE, layOut, SLICES} from "./slices.js";
import {makeHash} from "./url.js";
import {Rows} from "./views.jsx";
import {notYet} from "./waiting.jsx";

const PERIOD_MS = 5000,
  CHUNKS = 512,
  OWNERS = 8;
/* What a cell may be filled with, with the hue of the overview's parts. */
const COLOURS = {used: 205, free: 130, kept: 55, large: 245, sampled: 345};
const LEGEND = [
  ["used", "blocks in use"],
  ["free", "free beside them"],
  ["large", "large blocks"],
  ["sampled", "sampled blocks"],
  ["kept", "free slices, resident"],
];

function draw(canvas, map, chosenBytes) {
  const ratio = window.devicePixelRatio || 1,
    width = canvas.parentElement.clientWidth,
    {columns, cell, span} = layOut(width),
    rows = Math.ceil(map.chunks.length / columns);
  canvas.width = width * ratio;
  canvas.height = rows * cell * ratio;
  canvas.style.height = rows * cell + "px";
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  const shades = styleOf("--part"),
    line = styleOf("--line"),
    text = styleOf("--text");
  const size = cell - 1;
  map.chunks.forEach((chunk, number) => {
    const left = (number % columns) * span,
      top = Math.floor(number / columns) * cell;
    for (let i = 0; i < SLICES; i++) {
      const x = left + i * cell;
      pen.fillStyle = line;
      pen.fillRect(x, top, size, size);
      let bottom = top + size;
      for (const [what, share] of fillOf(chunk, i, map.slice_bytes)) {
        pen.fillStyle = `hsl(${COLOURS[what]} ${shades})`;
        pen.fillRect(x, bottom - size * share, size, size * share);
        bottom -= size * share;
      }
      if (chosenBytes && chunk.block_bytes[i] === chosenBytes) {
        pen.strokeStyle = text;
        pen.strokeRect(x + 0.5, top + 0.5, size - 1, size - 1);
      }
    }
  });
}

function Picture({map, chosen, onChoose}) {
  const canvas = useRef(null);
  const [tip, setTip] = useState(null);
  useEffect(() => {
    const redraw = () => draw(canvas.current, map, chosen);
    redraw();
    const sizes = new ResizeObserver(redraw);
    sizes.observe(canvas.current.parentElement);
    window.addEventListener("theme", redraw);
    return () => {
      sizes.disconnect();
      window.removeEventListener("theme", redraw);
    };
  }, [map, chosen]);
  const hit = event => {
    const layout = layOut(canvas.current.parentElement.clientWidth);
    return cellAt(event.offsetX, event.offsetY, layout, map.chunks.length);
  };
  const point = event => {
    const cell = hit(event);
    setTip(cell && {cell, x: event.clientX, y: event.clientY});
  };
  const choose = event => {
    const cell = hit(event);
    if (cell) onChoose(map.chunks[cell.chunk].block_bytes[cell.slice] || null);
  };
  return (
    <div class="heap-map">
      <canvas
        ref={canvas}
        role="img"
        aria-label={`${map.chunks.length} chunks of 4 MiB; the table below has their sums`}
        onMouseMove={point}
        onMouseLeave={() => setTip(null)}
        onClick={choose}
      />
      {tip && (
        <div
          class="tip shown"
          style={{
            left: Math.min(tip.x + 14, window.innerWidth - 260) + "px",
            top: tip.y + 18 + "px",
          }}
        >
          {describe(map.chunks[tip.cell.chunk], tip.cell.slice).map((text, i) =>
            i === 0 ? <b key={i}>{text}</b> : <div key={i}>{text}</div>,
          )}
        </div>
      )}
    </div>
  );
}

/* Which functions hold blocks of a size, and how much free memory they keep by that. */
function Owners({target, bytes}) {
  const query = {type: "pinned_space", tagfocus: `bytes=${bytes}b`};
  const {data, error} = useLoad(
    () => api.view("top", target, {...query, top: OWNERS}),
    `owners ${target} ${bytes}`,
  );
  const waiting = notYet({error, data});
  if (waiting) return waiting;
  const rows = data.rows.filter(row => row.flat > 0);
  return (
    <div class="owners" role="status">
      <h2>
        Who keeps the free memory beside blocks of {format(bytes, "bytes")}{" "}
        <a class="button" href={makeHash({target, view: "flame", query})}>
          flame graph
        </a>
      </h2>
      {rows.length === 0 && <p class="dim">No sampled block of this size keeps free memory.</p>}
      <Rows {...{data, rows, target, query}} heads={["keeps free", "share"]} />
    </div>
  );
}

function Sizes({map, chosen, onChoose}) {
  const cells = one =>
    [one.used_bytes, one.free_bytes, one.hole_bytes].map((value, i) => (
      <td key={i} class="number">
        {format(value, "bytes")}
      </td>
    ));
  return (
    <div class="scroll">
      <table class="sizes">
        <thead>
          <tr>
            <th class="number">blocks of</th>
            <th class="number">pages</th>
            <th class="number">in use</th>
            <th class="number">free</th>
            <th class="number">holes</th>
            <th class="number">sparse pages</th>
          </tr>
        </thead>
        <tbody>
          {map.sizes.map(one => (
            <tr key={one.block_bytes}>
              <td class="number">
                <button
                  class="link"
                  aria-pressed={chosen === one.block_bytes}
                  title="who keeps the free memory"
                  onClick={() => onChoose(chosen === one.block_bytes ? null : one.block_bytes)}
                >
                  {format(one.block_bytes, "bytes")}
                </button>
              </td>
              <td class="number">{one.pages}</td>
              {cells(one)}
              <td class="number">{one.sparse || ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function HeapMap({target, query, setQuery}) {
  const chunks = Number(query.chunks) || CHUNKS,
    chosen = Number(query.size) || null;
  const {data: map, error} = useLoad(
    () => api.view("map", target, {top: chunks}),
    `map ${target} ${chunks}`,
    /^\d+$/.test(target) ? PERIOD_MS : 0,
  );
  const waiting = notYet({error, data: map});
  if (waiting) return waiting;
  const choose = bytes => setQuery({...query, size: bytes ?? ""});
  const left = map.chunks_in_all - map.free_chunks - map.chunks.length;
  return (
    <section class="fragmentation">
      <h2>
        {map.chunks_in_all} chunks of 4 MiB{" "}
        <span class="dim">
          {format(map.used_bytes, "bytes")} in small blocks, {format(map.free_bytes, "bytes")} free
          beside them, {format(map.hole_bytes, "bytes")} in holes of {KERNEL_PAGE} given back,{" "}
          {format(map.large_bytes, "bytes")} in large blocks, {format(map.kept_bytes, "bytes")} in
          free slices that are resident
          {map.free_chunks > 0 && `; ${map.free_chunks} chunks, not drawn, wholly given back`}
        </span>
      </h2>
      <div class="columns">
        <Picture map={map} chosen={chosen} onChoose={choose} />
        <div class="beside">
          {chosen && <Owners target={target} bytes={chosen} />}
          <Sizes map={map} chosen={chosen} onChoose={choose} />
        </div>
      </div>
      <Legend
        items={[
          ...LEGEND.map(([key, text]) => [text, `hsl(${COLOURS[key]} var(--part))`]),
          ["not resident", "var(--line)"],
        ]}
      >
        <span>a row is a chunk, a cell a slice of 64 KiB</span>
      </Legend>
      {left > 0 && (
        <p>
          These are the chunks with most free memory.{" "}
          <button onClick={() => setQuery({...query, chunks: chunks * 4})}>{left} more</button>
        </p>
      )}
    </section>
  );
}
