// SPDX-License-Identifier: MIT
// site.mjs: what the tests of the page share: programs and profiles to show, `mallow web`, and
// Chromium.  A message on the console, a failed request or an exception fails a test.
import assert from "node:assert/strict";
import {execFileSync, spawn} from "node:child_process";
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from "node:fs";
import {after, before} from "node:test";
import {chromium} from "playwright-core";

export const build = process.env.MALLOW_BUILD,
  mallow = `${build}/bin/mallow`,
  folder = mkdtempSync("/tmp/mallow-pages-data."),
  shots = process.env.SHOTS; // a folder for pictures
const started = [];
/* The page of all processes; the number of a process that runs, and of one that was killed. */
export let browser, url, live, dead;
let troubles = [];

/* ---- data ---- */

const heap = (stacks, bytes = () => 100) =>
  "heap_v2/1\n" +
  `  t*: ${stacks.length}: ${stacks.reduce((sum, _, i) => sum + bytes(i), 0)} [0: 0]\n` +
  stacks.map((stack, i) => `@ ${stack.join(" ")}\n  t*: 1: ${bytes(i)} [0: 0]\n`).join("");
const hex = number => "0x" + number.toString(16);
export const HOSTILE = [
  "<img src=x onerror=alert(1)>",
  "</script><script>alert(2)</script>",
  "\"' onmouseover=alert(3) x='",
];

function writeProfiles() {
  const names = HOSTILE.map((name, i) => `${hex(0x1000 + 16 * i)} ${name}\n`).join("");
  writeFileSync(
    `${folder}/hostile.heap`,
    `--- symbol\nbinary=<b>x</b>\n${names}--- heap\n` +
      heap([
        [hex(0x1000), hex(0x1010)],
        [hex(0x1020), hex(0x1010)],
      ]),
  );
  writeFileSync(`${folder}/empty.heap`, heap([]));
  /* Five frames a stack, which no two stacks share: 100,000 nodes, and their names. */
  const at = (i, k) => hex(0x100000 + (i * 5 + k) * 16),
    rows = [];
  for (let i = 0; i < 20000; i++)
    for (let k = 0; k < 5; k++) rows.push(`${at(i, k)} function_${i}_${k}\n`);
  writeFileSync(
    `${folder}/large.heap`,
    `--- symbol\nbinary=large\n0x5000 main\n${rows.join("")}--- heap\n` +
      heap(
        Array.from({length: 20000}, (_, i) => [0, 1, 2, 3, 4].map(k => at(i, k)).concat("0x5000")),
        i => 100 + (i % 100),
      ),
  );
  execFileSync(mallow, ["dump", String(live), "-o", `${folder}/early.pb.gz`], {stdio: "ignore"});
}

export function begin(command, words, options) {
  const child = spawn(command, words, options);
  started.push(child);
  return child;
}

export async function until(what, condition, ms = 60000) {
  for (
    const end = Date.now() + ms;
    Date.now() < end;
    await new Promise(done => setTimeout(done, 50))
  )
    if (await condition()) return;
  assert.fail(`not in time: ${what}`);
}

export function hasRedis() {
  try {
    execFileSync("redis-server", ["--version"], {stdio: "ignore"});
    return true;
  } catch {
    return false;
  }
}

const isKnown = pid =>
  JSON.parse(execFileSync(mallow, ["ls", "--json"])).some(
    one => one.pid === pid && one.samples > 3000,
  );

before(async () => {
  const work = new URL("work", import.meta.url).pathname;
  const environment = {
    ...process.env,
    LD_PRELOAD: `${build}/lib/libmallow.so`,
    MALLOW_CONF: "prof_state_min:0,prof_sample:16384,prof_cost_limit:0",
  };
  const children = [0, 1].map(() => begin(work, [], {env: environment, stdio: "ignore"}));
  [live, dead] = children.map(child => child.pid);
  for (const pid of [live, dead]) await until("the program's samples", () => isKnown(pid));
  children[1].kill("SIGKILL");
  execFileSync(mallow, ["mark", "--label=before", String(live)]);
  writeProfiles();
  url = await serve(["--no-browser"]);
  browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu"],
  });
});

after(async () => {
  await browser?.close();
  for (const child of started) child.kill("SIGKILL");
  rmSync(folder, {recursive: true});
});

export async function serve(words, environment = process.env) {
  const server = begin(mallow, ["web", ...words], {
    stdio: ["ignore", "pipe", "ignore"],
    env: environment,
  });
  const [line] = await Promise.race([
    new Promise(done => server.stdout.once("data", data => done(String(data).split("\n")))),
    new Promise((_, fail) => setTimeout(() => fail(new Error("no address")), 20000)),
  ]);
  return line;
}

/** Opens a page, and watches what it complains about. */
export async function open(hash, {width = 1280, height = 800, at = url, dark = false} = {}) {
  const page = await browser.newPage({
    viewport: {width, height},
    acceptDownloads: true,
    colorScheme: dark ? "dark" : "light",
  });
  troubles = [];
  page.on("console", message => {
    if (message.type() === "error" || message.type() === "warning") troubles.push(message.text());
  });
  page.on("pageerror", error => troubles.push(error.message));
  page.on("dialog", dialog => {
    troubles.push("dialog " + dialog.message());
    dialog.dismiss();
  });
  page.on("request", request => {
    if (!request.url().startsWith(at.split("?")[0]) && !request.url().startsWith("data:"))
      troubles.push("a request outside: " + request.url());
  });
  await page.goto(at + hash);
  /* The page has loaded itself again, without the secret. */
  await page.waitForURL(address => !address.search);
  return page;
}

export async function close(page, name) {
  if (shots) await page.screenshot({path: `${shots}/${name}.png`});
  await page.close();
  assert.deepEqual(troubles, []);
}

/** No serious finding of axe. */
export async function isAccessible(page) {
  const source = readFileSync(new URL("node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
  /* By the debugger's protocol, which the page's policy does not hinder. */
  await page.evaluate(source + "\n0");
  const found = await page.evaluate(() => axe.run(document, {resultTypes: ["violations"]}));
  const serious = found.violations.filter(one => ["serious", "critical"].includes(one.impact));
  assert.deepEqual(
    serious.map(one => `${one.id}: ${one.nodes.map(node => node.html)}`),
    [],
  );
}

/** Forgets messages with this text, which a test has caused. */
export function forgive(text) {
  troubles = troubles.filter(one => !one.includes(text));
}
