// SPDX-License-Identifier: MIT
// offers.js: which views can answer for a target; the others are not offered.
import * as api from "./api.js";
import {useLoad} from "./hooks.js";
import {VIEWS} from "./url.js";

/* Views of labels, each with a label that memory in use has in profiles with labels: those of other
 * tools, and dumps without --labels, have none. */
const LABELS = {sizes: "bytes", lifetimes: "age", threads: "thread"};
/* What CPU time does not have, and what only processes that run have. */
const MEMORY = ["sizes", "lifetimes", "map", "leaks"],
  RUNNING = ["leaks", "locks"];

const LATER_MS = 500;

const isProcess = target => /^\d+$/.test(target);

/* A profile that is a file is asked whether it has the labels. */
async function labelsOf(target) {
  if (!target || isProcess(target)) return Object.keys(LABELS);
  await new Promise(done => setTimeout(done, LATER_MS)); // the view that is shown comes first
  const {tags} = await api.view("tags", target);
  return Object.keys(LABELS).filter(view => tags.some(one => one.key === LABELS[view]));
}

/** The names of the views; `status`: of a process, null until it is known. */
export function useOffers({target, view, query}, status) {
  const {data: labels} = useLoad(() => labelsOf(target), "labels " + target);
  const can = name =>
    name === view ||
    (LABELS[name]
      ? labels?.includes(name)
      : name === "map"
        ? isProcess(target)
        : !RUNNING.includes(name) || status?.state === "running");
  const isOther = name => (query.cpu ? MEMORY.includes(name) : name === "locks" && name !== view);
  return Object.keys(VIEWS).filter(name => can(name) && !isOther(name));
}
