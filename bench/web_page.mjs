// SPDX-License-Identifier: MIT
// web_page.mjs: measures the page of `mallow web`; web_page.sh starts it.  Times are medians.
import {execFileSync, spawn} from "node:child_process";
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from "node:fs";
import {chromium} from "playwright-core";

const build = process.env.MALLOW_BUILD,
  mallow = `${build}/bin/mallow`,
  folder = mkdtempSync("/tmp/mallow-web-page-data."),
  started = [];
const TURNS = 7,
  WATCHED_SECONDS = 20;
const median = values => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const sum = values => values.reduce((a, b) => a + b);
const sleep = ms => new Promise(done => setTimeout(done, ms));
const hex = number => "0x" + number.toString(16);

/* Writes a profile with names: `stacks` are lists of functions' numbers, the innermost first. */
function writeProfile(name, stacks, functionCount) {
  const names = Array.from(
    {length: functionCount},
    (_, i) => `${hex(0x100000 + 16 * i)} function_${i}\n`,
  );
  const bytes = i => 1000 + ((i * 7919) % 9000);
  const total = sum(stacks.map((_, i) => bytes(i)));
  const rows = stacks.map(
    (stack, i) =>
      `@ ${stack.map(one => hex(0x100000 + 16 * one)).join(" ")}\n  t*: 1: ${bytes(i)} [0: 0]\n`,
  );
  writeFileSync(
    `${folder}/${name}`,
    `--- symbol\nbinary=made\n${names.join("")}--- heap\nheap_v2/1\n` +
      `  t*: ${stacks.length}: ${total} [0: 0]\n${rows.join("")}`,
  );
}

/* 20,000 stacks of 10 to 24 frames of 3,000 functions: a tree that branches at each frame. */
function writeStacks() {
  let seed = 4711;
  const random = most => (seed = (seed * 48271) % 2147483647) % most;
  const stacks = Array.from({length: 20000}, () => {
    const stack = [0];
    for (let depth = 10 + random(15); stack.length < depth; )
      stack.unshift((stack[0] * 31 + random(3) * 17 + stack.length) % 3000);
    return stack;
  });
  writeProfile("stacks.heap", stacks, 3000);
  return stacks.reduce((all, stack) => all + stack.length, 0);
}

/* 100,000 nodes: five frames a stack, which no two stacks share. */
function writeNodes() {
  const stacks = Array.from({length: 20000}, (_, i) =>
    [4, 3, 2, 1, 0].map(k => i * 5 + k + 1).concat(0),
  );
  writeProfile("nodes.heap", stacks, 100001);
}

function begin(command, words, options) {
  const child = spawn(command, words, options);
  started.push(child);
  return child;
}

async function serve(words) {
  const server = begin(mallow, ["web", "--no-browser", ...words], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const line = await new Promise(done => server.stdout.once("data", done));
  return [String(line).split("\n")[0], server.pid];
}

/* Gives the page the server's cookie; returns the address without the secret. */
async function enter(page, url) {
  const [address, hash] = url.split("#"),
    [place] = address.split("?");
  await page.goto(address);
  await page.waitForURL(new RegExp(`^${place}(#|$)`));
  await page.goto("about:blank");
  return `${place}#${hash}`;
}

/* From the navigation to the first frames on the canvas. */
async function firstPaint(browser, url) {
  const page = await browser.newPage({viewport: {width: 1280, height: 800}});
  await page.addInitScript(() => {
    const watch = () => {
      if (document.querySelector(".flame .frames")?.width > 300)
        requestAnimationFrame(() => (window.painted = performance.now()));
      else requestAnimationFrame(watch);
    };
    watch();
  });
  await page.goto(await enter(page, url));
  let ms;
  while (!(ms = await page.evaluate(() => window.painted))) await sleep(20);
  await page.close();
  return ms;
}

/* From the change of a field to the end of the server's answer, as the page sees both. */
async function filters(browser, url) {
  const page = await browser.newPage({viewport: {width: 1280, height: 800}});
  await page.addInitScript(() => {
    addEventListener("change", () => (window.changed = performance.now()), true);
  });
  await page.goto(url);
  await page.locator(".flame .frames").waitFor();
  await sleep(1000);
  const times = [];
  for (let i = 0; i < TURNS; i++) {
    const answer = page.waitForResponse(one => one.url().includes("api/view/flame"));
    await page.getByLabel("only stacks with").fill(`function_${i + 1}`);
    await page.keyboard.press("Enter");
    await (await answer).finished();
    await sleep(500);
    times.push(
      await page.evaluate(
        () => performance.getEntriesByType("resource").at(-1).responseEnd - window.changed,
      ),
    );
  }
  await page.close();
  return times;
}

/* Draws anew in each frame of the screen; where the mouse is changes, too. */
async function frames(browser, url) {
  const page = await browser.newPage({viewport: {width: 1280, height: 800}});
  await page.goto(url);
  await page.locator(".flame .frames").waitFor({timeout: 60000});
  const result = await page.evaluate(async () => {
    const canvas = document.querySelector(".flame .frames"),
      box = canvas.getBoundingClientRect();
    const frame = () => new Promise(done => requestAnimationFrame(done));
    const times = [];
    for (let i = 0; i < 30; i++) await frame();
    for (let i = 0, last = await frame(); i < 180; i++) {
      canvas.dispatchEvent(
        new MouseEvent("mousemove", {
          clientX: box.x + 200 + 4 * i,
          clientY: box.y + 20 + (i % 5) * 18,
          bubbles: true,
        }),
      );
      dispatchEvent(new Event("theme"));
      const now = await frame();
      times.push(now - last);
      last = now;
    }
    return times;
  });
  await page.close();
  return result;
}

/* Processor time of the server and of what it runs, in seconds. */
function processorSeconds(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return fields.slice(11, 15).reduce((sum, one) => sum + Number(one), 0) / 100;
}

async function watching(browser) {
  const work = begin("./work", [], {
    env: {
      ...process.env,
      LD_PRELOAD: `${build}/lib/libmallow.so`,
      MALLOW_CONF: "prof_state_min:0",
    },
    stdio: "ignore",
  });
  await sleep(3000);
  const [url, pid] = await serve([String(work.pid)]);
  const page = await browser.newPage({viewport: {width: 1280, height: 800}});
  await page.goto(`${url}#/${work.pid}/overview`);
  await page.locator(".chart canvas").first().waitFor();
  await sleep(2000);
  const before = processorSeconds(pid);
  await sleep(WATCHED_SECONDS * 1000);
  const share = (processorSeconds(pid) - before) / WATCHED_SECONDS;
  await page.close();
  return share;
}

try {
  const frameCount = writeStacks();
  writeNodes();
  const browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu"],
  });
  const [base] = await serve([`${folder}/stacks.heap`, `${folder}/nodes.heap`]);
  const at = (file, more = "") =>
    `${base}#/${encodeURIComponent(`${folder}/${file}`)}/flame${more}`;
  const paints = [];
  for (let i = 0; i <= TURNS; i++) paints.push(await firstPaint(browser, at("stacks.heap")));
  console.log(
    `20,000 stacks, ${frameCount} frames: drawn ${median(paints.slice(1)).toFixed(0)} ms after ` +
      `navigation (${paints[0].toFixed(0)} ms before the server had read the profile)`,
  );
  const times = await filters(browser, at("stacks.heap"));
  console.log(
    `a filter: ${Math.min(...times).toFixed(0)} to ${Math.max(...times).toFixed(0)} ms, median ` +
      `${median(times).toFixed(0)} ms`,
  );
  const intervals = await frames(browser, at("nodes.heap", "?frames=100001"));
  console.log(
    `100,000 nodes: ${((1000 * intervals.length) / sum(intervals)).toFixed(1)} ` +
      `frames a second, the longest ${Math.max(...intervals).toFixed(1)} ms`,
  );
  console.log(
    `a watched process: ${(100 * (await watching(browser))).toFixed(2)} % of a processor`,
  );
  await browser.close();
} finally {
  for (const child of started) child.kill("SIGKILL");
  rmSync(folder, {recursive: true});
}
