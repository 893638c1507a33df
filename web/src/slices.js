// SPDX-License-Identifier: MIT
// slices.js: what the cells of a heap's map mean; the letters are those of `mallow map --json`.
import {format} from "./format.js";

export const SLICES = 63;
const KERNEL_BYTES = 4096;
export const KERNEL_PAGE = format(KERNEL_BYTES, "bytes");

const TEXTS = {
  f: "free, given back to the kernel",
  d: "free, resident",
  m: "free; the kernel may take it",
  s: "sampled blocks",
  l: "large block",
  r: "the slice before goes on",
  u: "not mapped",
};

const CELL = 11,
  CELL_MIN = 4,
  GAP = 24; // between columns of chunks

/** How many columns of chunks fit into a width, and how wide cells and columns are. */
export function layOut(width) {
  const cell = Math.max(CELL_MIN, Math.min(CELL, Math.floor(width / SLICES))),
    span = SLICES * cell + GAP;
  return {columns: Math.max(1, Math.floor((width + GAP) / span)), cell, span};
}

/** The chunk and slice at a place of the picture; null: none. */
export function cellAt(x, y, {columns, cell, span}, count) {
  const column = Math.floor(x / span),
    slice = Math.floor((x - column * span) / cell),
    chunk = Math.floor(y / cell) * columns + column;
  return column < columns && slice >= 0 && slice < SLICES && chunk < count ? {chunk, slice} : null;
}

/* A slice that another one goes on in has the kind of that one. */
function kindOf(chunk, i) {
  let k = i;
  while (k > 0 && chunk.kinds[k] === "r") k--;
  return chunk.kinds[k];
}

/** From the bottom of a cell up: pairs of a key and its share of the slice. */
export function fillOf(chunk, i, sliceBytes) {
  const kind = chunk.kinds[i];
  if (kind === "p") {
    const share = blocks => Math.min(1, (blocks * chunk.block_bytes[i]) / sliceBytes);
    const used = share(chunk.used[i]),
      touched = Math.max(used, share(chunk.touched[i]));
    return [
      ["used", used],
      ["free", touched - used],
    ];
  }
  if (kind === "d" || kind === "m") return [["kept", 1]];
  if (kind === "s") return [["sampled", 1]];
  if (kind === "l") return [["large", 1]];
  if (kind === "r") return [[kindOf(chunk, i) === "s" ? "sampled" : "large", 1]];
  return [];
}

/** Lines for a tooltip. */
export function describe(chunk, i) {
  const kind = chunk.kinds[i],
    address = "0x" + (BigInt(chunk.start) + BigInt(i + 1) * 65536n).toString(16);
  if (kind !== "p") {
    const lines = [TEXTS[kind] ?? kind, address];
    if (kind === "l") lines.push(format(chunk.touched[i] * KERNEL_BYTES, "bytes"));
    if (kind === "s") lines.push(`${chunk.used[i]} in use`);
    return lines;
  }
  const bytes = chunk.block_bytes[i],
    free = Math.max(0, chunk.touched[i] - chunk.used[i]);
  const lines = [
    `blocks of ${format(bytes, "bytes")}`,
    address,
    `${chunk.used[i]} in use, ${format(chunk.used[i] * bytes, "bytes")}`,
    `${free} free and resident, ${format(free * bytes, "bytes")}`,
  ];
  if (chunk.holes[i] > 0) lines.push(`${chunk.holes[i]} kernel pages given back`);
  return lines.concat("click: who keeps the free memory");
}
