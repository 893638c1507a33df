// SPDX-License-Identifier: MIT
// stored.js: targets of a store: "STORE/SERVICE?at=-1h&version=1.2" (doc/user/fleet.md).

/** True if the target is a service of the store. */
export const isStored = (store, target) => Boolean(store) && target.startsWith(store + "/");

/** The text of a target.  Empty values are left out. */
export function stored(store, {service, ...keys}) {
  const pairs = Object.entries(keys)
    .filter(([, value]) => value !== "" && value != null)
    .map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}`);
  return `${store}/${encodeURIComponent(service)}${pairs.length ? "?" + pairs.join("&") : ""}`;
}

/** The parts of such a text: {service, at, version, ...}. */
export function storedParts(store, target) {
  const [service, question = ""] = target.slice(store.length + 1).split("?", 2);
  const pairs = question
    .split("&")
    .filter(Boolean)
    .map(pair => {
      const at = pair.indexOf("=");
      return [pair.slice(0, at), pair.slice(at + 1)].map(decodeURIComponent);
    });
  return {...Object.fromEntries(pairs), service: decodeURIComponent(service)};
}

/** Rows whose memory of one process differs from the median by more than half. */
export function outliers(rows) {
  const each = rows
    .filter(one => one.processes > 0)
    .map(one => one.live_bytes / one.processes)
    .sort((a, b) => a - b);
  const median = each[Math.floor((each.length - 1) / 2)] ?? 0;
  return new Map(
    rows
      .filter(one => one.processes > 0 && each.length > 2 && median > 0)
      .map(one => [one.name, one.live_bytes / one.processes / median])
      .filter(([, times]) => times > 1.5 || times < 0.5),
  );
}
