// SPDX-License-Identifier: MIT
// offers.js: which views can answer for a target; the others are not offered.
import * as api from "./api.js";
import {useLoad} from "./hooks.js";
import {VIEWS} from "./url.js";

/* Views of labels, which profiles of other tools and small ones do not have. */
const LABELS = ["sizes", "lifetimes", "threads"];
/* What CPU time does not have. */
const MEMORY = ["sizes", "lifetimes", "map", "leaks"];

const LATER_MS = 500;

const isProcess = target => /^\d+$/.test(target);

/* A profile that is a file is asked whether it has the labels. */
async function labelsOf(target) {
  if (!target || isProcess(target)) return LABELS;
  await new Promise(done => setTimeout(done, LATER_MS)); // the view that is shown comes first
  const answers = await Promise.all(
    LABELS.map(view => api.view(view, target).catch(() => ({tags: []}))),
  );
  return LABELS.filter((_, i) => answers[i].tags.length > 0);
}

/** The names of the views; `status`: of a process, null until it is known. */
export function useOffers({target, view, query}, status) {
  const {data: labels} = useLoad(() => labelsOf(target), "labels " + target);
  const can = name =>
    name === view ||
    (LABELS.includes(name)
      ? labels?.includes(name)
      : name === "map"
        ? isProcess(target)
        : name !== "leaks" || status?.state === "running");
  return Object.keys(VIEWS).filter(name => can(name) && !(query.cpu && MEMORY.includes(name)));
}
