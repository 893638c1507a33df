// SPDX-License-Identifier: MIT
// save.jsx: the menu that saves what is shown: files that the command makes, the picture on the
// screen, and the rows of a table.
import * as api from "./api.js";
import {csv, hasCsv} from "./csv.js";
import {Menu} from "./menu.jsx";

/* The files that the command makes, and what reads each. */
const ENDINGS = [
  ["pb.gz", "pprof, Pyroscope, mallow"],
  ["folded", "flamegraph.pl, inferno"],
  ["speedscope.json", "speedscope.app"],
  ["flame.svg", "any browser: a picture"],
  ["html", "any browser: a flame graph to zoom"],
  ["txt", "people: the table"],
];
const OF_VIEW = {
  graph: [
    ["graph.svg", "any browser: to zoom"],
    ["graph.png", "any viewer"],
  ],
  weblist: [["weblist.html", "any browser"]],
};

/* Views of a process, whatever is chosen, and what they ask for. */
const OF_PROCESS = {overview: "timeline", map: "map"};
const CANVASES = {flame: ".frames", overview: ".chart canvas", map: ".heap-map canvas"};

function download(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

/* A canvas is transparent where nothing is drawn: the picture gets the page's ground. */
function savePicture(canvas) {
  const copy = document.createElement("canvas"),
    pen = copy.getContext("2d");
  copy.width = canvas.width;
  copy.height = canvas.height;
  pen.fillStyle = getComputedStyle(document.body).backgroundColor;
  pen.fillRect(0, 0, copy.width, copy.height);
  pen.drawImage(canvas, 0, 0);
  copy.toBlob(blob => download(blob, "mallow.png"));
}

export function Save({target, view, query}) {
  const saveRows = async () => {
    const data = await (OF_PROCESS[view]
      ? api.view(OF_PROCESS[view], target)
      : api.view(view, target, query));
    download(new Blob([csv(view, data)], {type: "text/csv"}), "mallow.csv");
  };
  return (
    <Menu title="Save">
      {ENDINGS.concat(OF_VIEW[view] ?? []).map(([ending, reader]) => (
        <a key={ending} download href={api.fileAddress(ending, target, query)}>
          <b>.{ending}</b> <span class="dim">{reader}</span>
        </a>
      ))}
      {CANVASES[view] && (
        <button onClick={() => savePicture(document.querySelector("main " + CANVASES[view]))}>
          <b>.png</b> <span class="dim">this picture</span>
        </button>
      )}
      {hasCsv(view) && (
        <button onClick={saveRows}>
          <b>.csv</b> <span class="dim">spreadsheets: exact numbers</span>
        </button>
      )}
    </Menu>
  );
}
