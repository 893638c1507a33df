// SPDX-License-Identifier: MIT
// csv.js: the rows of a view as comma-separated values (RFC 4180), with exact numbers.

const quoted = value => {
  const text = String(value ?? "");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/* Of each view: the names of the columns, and a row for each thing that it shows. */
const VIEWS = {
  overview: data => [
    ["time_ns", data.type, "resident_bytes", "allocated_bytes"],
    ...data.moments.map(one => [one.time_ns, one.value, one.resident_bytes, one.allocated_bytes]),
  ],
  top: data => [
    ["flat", "cum", "function", "file", "line"],
    ...data.rows.map(row => [row.flat, row.cum, row.name, row.file, row.line]),
  ],
  tree: data => [
    ["relation", "value", "flat", "cum", "function", "of"],
    ...data.nodes.flatMap(node => [
      ...(node.callers ?? []).map(one => ["caller", one.value, "", "", one.name, node.name]),
      ["self", "", node.flat, node.cum, node.name, ""],
      ...(node.callees ?? []).map(one => ["callee", one.value, "", "", one.name, node.name]),
    ]),
  ],
  traces: data => [
    ["value", "stack"],
    ...data.stacks.map(one => [one.value, one.frames.map(frame => frame.name).join(";")]),
  ],
  map: data => [
    ["block_bytes", "pages", "sparse_pages", "used_bytes", "free_bytes", "hole_bytes"],
    ...data.sizes.map(one => [
      one.block_bytes,
      one.pages,
      one.sparse,
      one.used_bytes,
      one.free_bytes,
      one.hole_bytes,
    ]),
  ],
};
const tags = data => [
  ["key", "tag", "name", "unit", "value"],
  ...data.tags.map(one => [one.key, one.tag, one.name, one.unit, one.value]),
];
for (const view of ["sizes", "lifetimes", "threads"]) VIEWS[view] = tags;

export const hasCsv = view => Object.hasOwn(VIEWS, view);

export const csv = (view, data) =>
  VIEWS[view](data)
    .map(row => row.map(quoted).join(",") + "\r\n")
    .join("");
