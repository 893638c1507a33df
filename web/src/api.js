// SPDX-License-Identifier: MIT
// api.js: asks the server.  Addresses are relative to the page's.  A cookie has the secret.
import {SHARED} from "./url.js";

async function get(path, options) {
  const response = await fetch(path, options);
  if (!response.ok) throw new Error((await response.text()).trim() || response.statusText);
  return response;
}

export const targets = async () => (await get("api/targets")).json();
export const processes = async () => (await get("api/processes")).json();

/** Services of the store, and services with a function: {at, within, service, by}. */
const question = keys =>
  new URLSearchParams(Object.entries(keys).filter(([, value]) => value != null && value !== ""));
export const services = async (keys = {}) =>
  (await get(`api/services?${question(keys)}`)).json();
export const search = async (name, keys = {}) =>
  (await get(`api/search?${question({...keys, function: name})}`)).json();

/** The options of the query that the server knows. */
function options(target, query) {
  const pairs = SHARED.concat("top", "ages", "births", "functions", "lines")
    .filter(key => query[key])
    .map(key => [key, query[key]]);
  return new URLSearchParams([["p", target], ...pairs]);
}

/** The JSON of a view, as `mallow VIEW --json` writes it. */
export async function view(name, target, query = {}) {
  return (await get(`api/view/${name}?${options(target, query)}`)).json();
}

/** The address of a file that a view makes. */
export const fileAddress = (ending, target, query = {}) =>
  `api/file/${ending}?${options(target, query)}`;

/** Orders something of a process, on a page with --control. */
export async function request(name, target, value = "") {
  const words = new URLSearchParams({p: target, ...(value && {value})});
  return (await get(`api/order/${name}?${words}`, {method: "POST"})).text();
}
