// SPDX-License-Identifier: MIT
// pages.mjs: each page of `mallow web` in Chromium.  A message on the console, a failed request or
// an exception fails the test.
import assert from "node:assert/strict";
import {execFileSync, spawn} from "node:child_process";
import {existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from "node:fs";
import {after, before, test} from "node:test";
import {chromium} from "playwright-core";

const build = process.env.MALLOW_BUILD,
  mallow = `${build}/bin/mallow`;
const folder = mkdtempSync("/tmp/mallow-pages-data."),
  started = [],
  shots = process.env.SHOTS;
let browser,
  url,
  live,
  dead,
  troubles = [];

/* ---- data ---- */

const heap = (stacks, bytes = () => 100) =>
  "heap_v2/1\n" +
  `  t*: ${stacks.length}: ${stacks.reduce((sum, _, i) => sum + bytes(i), 0)} [0: 0]\n` +
  stacks.map((stack, i) => `@ ${stack.join(" ")}\n  t*: 1: ${bytes(i)} [0: 0]\n`).join("");
const hex = number => "0x" + number.toString(16);
const HOSTILE = [
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

function begin(command, words, options) {
  const child = spawn(command, words, options);
  started.push(child);
  return child;
}

async function until(what, condition, ms = 60000) {
  for (
    const end = Date.now() + ms;
    Date.now() < end;
    await new Promise(done => setTimeout(done, 50))
  )
    if (await condition()) return;
  assert.fail(`not in time: ${what}`);
}

function hasRedis() {
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

async function serve(words, environment = process.env) {
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
async function open(hash, {width = 1280, height = 800, at = url, dark = false} = {}) {
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

async function close(page, name) {
  if (shots) await page.screenshot({path: `${shots}/${name}.png`});
  await page.close();
  assert.deepEqual(troubles, []);
}

/** No serious finding of axe. */
async function isAccessible(page) {
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

/* ---- tests ---- */

test("processes: sorted, filtered, opened", async () => {
  const page = await open("#/");
  await page.locator("tbody tr").first().waitFor();
  const row = page.locator("tr", {hasText: String(live)});
  assert.match(await row.innerText(), /work[\s\S]*MiB[\s\S]*running/);
  assert.match(await page.locator("tr", {hasText: String(dead)}).innerText(), /killed/);
  await isAccessible(page);
  await page.getByLabel("filter processes").fill(String(live));
  assert.equal(await page.locator("tbody tr").count(), 1);
  await page.getByRole("button", {name: "pid"}).click();
  assert.equal(await page.locator("th", {hasText: "pid"}).getAttribute("aria-sort"), "descending");
  await page.locator("tbody tr svg polyline").first().waitFor({timeout: 30000});
  await page.getByRole("link", {name: "work"}).click();
  await page.getByText("Heap over time").waitFor();
  await close(page, "processes");
});

test("a process: live, two moments chosen, what was allocated between", async () => {
  const page = await open(`#/${live}/overview`);
  await page.locator(".chart canvas").waitFor();
  await page.getByText("blocks in use").waitFor();
  await page.getByLabel("what resident memory consists of, since the page was opened").waitFor();
  await isAccessible(page);
  const read = () => page.locator("dd").nth(2).innerText();
  const first = await read();
  await until("a new reading", async () => (await read()) !== first);
  const box = await page.locator(".u-over").first().boundingBox();
  await page.mouse.move(box.x + box.width * 0.3, box.y + 50);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.9, box.y + 60, {steps: 5});
  await page.mouse.up();
  if (shots) await page.screenshot({path: `${shots}/selected.png`});
  await page.getByRole("link", {name: "allocated between, still live"}).click();
  await page.locator(".flame .frames").waitFor();
  assert.match(page.url(), /between=%40[0-9.]+%2C%40[0-9.]+/);
  await page.getByRole("button", {name: /between two moments/}).click();
  assert.doesNotMatch(page.url(), /between/);
  await close(page, "overview");
});

test("redis-server under load, its CPU time", {skip: !hasRedis()}, async () => {
  const socket = `${folder}/redis`;
  const redis = begin("redis-server", ["--port", "0", "--unixsocket", socket, "--save", ""], {
    env: {
      ...process.env,
      LD_PRELOAD: `${build}/lib/libmallow.so`,
      MALLOW_CONF: "prof_state_min:0,prof_sample:65536,prof_cost_limit:0",
    },
    stdio: "ignore",
  });
  await until("redis-server", () =>
    JSON.parse(execFileSync(mallow, ["ls", "--json"])).some(one => one.pid === redis.pid),
  );
  const load = begin(
    "redis-benchmark",
    ["-s", socket, "-l", "-q", "-r", "100000", "-t", "set,lpush,hset", "-d", "300"],
    {stdio: "ignore"},
  );
  const at = await serve(["--no-browser", "--control", String(redis.pid)]);
  const page = await open(`#/${redis.pid}/overview`, {at});
  await page.getByText("Control").click();
  await page.getByRole("button", {name: "sample CPU time"}).click();
  await page.locator(".answer").getByText(/CPU/).waitFor();
  const live = () => page.locator("dd").first().innerText();
  const first = await live();
  await until("a live heap that changes", async () => (await live()) !== first);
  await page.getByRole("link", {name: "Flame"}).click();
  await page.locator(".flame .frames").waitFor();
  await page.getByLabel("live").check();
  await page.getByLabel("what is shown").selectOption("1");
  await until("CPU time", async () => {
    const types = await page.getByLabel("sample type").locator("option").allInnerTexts();
    return types.includes("cpu");
  });
  await page.goto(`${at}#/${redis.pid}/top?cpu=1`);
  await until("a function of the server", async () => {
    const names = await page.locator("td.name").allInnerTexts();
    return names.some(name => /redis-server|Command|dict|epoll|read|write/.test(name));
  });
  await page.goto(`${at}#/${redis.pid}/map`);
  await page.getByText(/chunks of 4 MiB/).waitFor();
  load.kill("SIGKILL");
  redis.kill("SIGKILL");
  await close(page, "redis");
});

test("marks on the timeline: listed, and the difference to one", async () => {
  const page = await open(`#/${live}/overview`);
  const mark = page.locator(".marks li", {hasText: "before"});
  await mark.waitFor();
  await page.locator(".marks li", {hasText: /peak, [0-9.]+ MiB/}).waitFor();
  const box = await page.locator(".u-over").first().boundingBox();
  const inColour = () =>
    page.evaluate(() => {
      const canvas = document.querySelector(".chart canvas"),
        pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      let found = 0;
      for (let i = 0; i < pixels.length; i += 4)
        found += pixels[i] === 0x7a && pixels[i + 1] === 0x3f && pixels[i + 2] === 0xf2;
      return found;
    });
  await until("the mark is drawn in its colour", async () => (await inColour()) > 50);
  await page.mouse.move(box.x + 2, box.y + 50);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width - 2, box.y + 60, {steps: 5});
  await page.mouse.up();
  await page.getByRole("link", {name: "difference"}).click();
  await page.locator(".legend").getByText("grew").waitFor();
  assert.match(page.url(), /since=%40[0-9.]+/);
  await page.getByRole("button", {name: /since a moment/}).waitFor();
  await page.getByLabel("only stacks with").fill("make_page");
  await page.keyboard.press("Enter"); // which is no click on the button
  await until("both", () => /since=.*focus=|focus=.*since=/.test(page.url()));
  await page.goBack();
  await page.goBack();
  await mark.getByRole("link", {name: "live then"}).click();
  await page.locator(".flame .frames").waitFor();
  await close(page, "marks");
});

const flameState = page => page.evaluate(() => location.hash);

test("the flame graph: search, zoom, views, keys, and its address", async () => {
  const page = await open(`#/${live}/flame`);
  await page.locator(".flame .frames").waitFor();
  await isAccessible(page);
  await page.keyboard.press("/");
  await page.keyboard.type("store_text");
  await page.keyboard.press("Enter");
  assert.match(await page.locator(".found").innerText(), /2 frames, [0-9.]+ MiB \(100\.0 %\)/);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.match(await page.locator(".flame .status").innerText(), /make_page|read_record/);
  assert.match(decodeURIComponent(await flameState(page)), /find=store_text[^]*zoom=[^]*main/);
  const address = page.url();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await until("a deeper zoom", () => /zoom=[^]*store_text/.test(decodeURIComponent(page.url())));
  await page.goBack();
  await until("the zoom before", async () => page.url() === address);
  assert.match(await page.locator(".flame .status").innerText(), /store_text/);
  await page.goForward();
  await until("the deeper zoom", () => /zoom=[^]*store_text/.test(decodeURIComponent(page.url())));
  await page.goBack();
  await until("the zoom before", async () => page.url() === address);
  await page.keyboard.press("Escape");
  await page.keyboard.press("2");
  assert.match(await flameState(page), /order=up/);
  await page.keyboard.press("3");
  assert.match(await page.locator(".flame .status").innerText(), /^store_text — /);
  await page.keyboard.press("1");
  await page.keyboard.press("t");
  assert.match(await flameState(page), /type=alloc_objects/);
  await page.goto("about:blank");
  await page.goto(address);
  await page.locator(".flame .frames").waitFor();
  assert.equal(await page.locator(".flame .search").inputValue(), "store_text");
  assert.equal(page.url(), address);
  await page.setViewportSize({width: 400, height: 700});
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 400);
  await close(page, "flame");
});

test("a tooltip has all sample types of a frame", async () => {
  const page = await open(`#/${live}/flame`);
  const box = await page.locator(".flame .frames").boundingBox();
  await page.mouse.move(box.x + 20, box.y + 45);
  await page.locator(".tip").waitFor();
  const text = await page.locator(".tip").innerText();
  for (const part of ["make_page", "inuse_objects:", "alloc_space:", "itself:"])
    assert.ok(text.includes(part), `${part} in ${text}`);
  await close(page, "tip");
});

test("colours by age, and by growth since a mark", async () => {
  const page = await open(`#/${live}/flame`);
  await page.getByLabel("colours").selectOption("age");
  await page.locator(".legend").getByText("over 1000 s").waitFor();
  assert.match(page.url(), /colours=age/);
  const box = await page.locator(".flame .frames").boundingBox();
  const tip = async name => {
    await until(name, async () => {
      await page.mouse.move(box.x + 20 + Math.random(), box.y + 45);
      return (await page.locator(".tip").innerText()).includes(name);
    });
  };
  await tip("mean age about ");
  await page.keyboard.press("2");
  await tip("inuse_objects: ");
  await tip("mean age about ");
  assert.equal(await page.getByLabel("colours").locator("option").count(), 2);
  await page.goto(`${url}#/${live}/flame?since=before&colours=growth`);
  await page.locator(".legend").getByText("unchanged").waitFor();
  await tip("since then: ");
  await isAccessible(page);
  await page.keyboard.press("c");
  await page.locator(".legend").getByText("grew", {exact: true}).waitFor();
  await close(page, "colours");
});

test("filters are the command's", async () => {
  const page = await open(`#/${dead}/top`);
  await page.getByLabel("only stacks with").fill("make_page");
  await page.keyboard.press("Enter");
  await until("the filter", () => page.url().includes("focus=make_page"));
  await page.locator("tbody tr").first().waitFor();
  const report = JSON.parse(
    execFileSync(mallow, ["top", "--json", "--focus=make_page", String(dead)], {
      stdio: ["ignore", "pipe", "ignore"],
    }),
  );
  await until(
    "the rows",
    async () => (await page.locator("tbody tr").count()) === report.rows.length,
  );
  const names = await page.locator("td.name a").allInnerTexts();
  assert.deepEqual(names.sort(), report.rows.map(row => row.name).sort());
  assert.equal(
    await page.getByRole("button", {name: "copy command"}).getAttribute("title"),
    `mallow top --focus=make_page ${dead}`,
  );
  await page.getByLabel("only stacks with").fill("(");
  await page.keyboard.press("Enter");
  await page.locator(".error").waitFor();
  assert.match(await page.locator(".error").innerText(), /focus/);
  troubles = troubles.filter(text => !text.includes("500"));
  await close(page, "filters");
});

test("stacks begin at a frame, less another process", async () => {
  const page = await open(`#/${dead}/tree`);
  /* The view and the list of profiles are there: the page draws its fields anew with them. */
  await page.locator(".tree").getByText("make_page").first().waitFor();
  await page.locator(`#profiles option[value="${live}"]`).waitFor({state: "attached"});
  await page.getByLabel("begin at frames").fill("make_page");
  await page.keyboard.press("Enter");
  const line = `mallow tree --show-from=make_page ${dead}`;
  await page.locator(`button.copy[title="${line}"]`).waitFor();
  await until("no main", async () => (await page.locator(".tree").getByText("main").count()) === 0);
  await page.locator(".tree").getByText("make_page").first().waitFor();
  await page.locator(`#profiles option[value="${live}"]`).waitFor({state: "attached"});
  await page.getByLabel("compare with").fill(String(live));
  await page.keyboard.press("Enter");
  await page.locator(`button.copy[title*="--base=${live}"]`).waitFor();
  await page.getByRole("button", {name: "clear"}).click();
  await page.locator(`button.copy[title="mallow tree ${dead}"]`).waitFor();
  await page.locator(".tree").getByText("make_page").first().waitFor();
  await close(page, "from");
});

test("callers and callees of functions that match; rows sum up", async () => {
  const page = await open(`#/${dead}/tree`);
  await page.getByLabel("find functions").fill("read_|make_");
  await until("two", async () => (await page.locator(".tree tr.self").count()) === 2);
  await page.locator("tr.callee", {hasText: "store_text"}).first().getByRole("button").click();
  await until("one", async () => (await page.locator(".tree tr.self").count()) === 1);
  assert.match(await page.locator("tr.self").innerText(), /store_text/);
  assert.equal(await page.locator("tr.caller").count(), 2);
  await isAccessible(page);
  await page.goto(`${url}#/${dead}/top`);
  await page.locator("tbody tr").first().waitFor();
  const sums = await page.locator("tbody tr td:nth-child(3)").allInnerTexts();
  assert.equal(sums.at(-1), "100.0 %");
  await close(page, "callers");
});

test("each other view of a process that was killed", async () => {
  for (const [view, text] of [
    ["top", "store_text"],
    ["tree", "make_page"],
    ["sizes", "5 KiB"],
    ["lifetimes", / s to /],
    ["threads", "work"],
    ["traces", "store_text"],
  ]) {
    const page = await open(`#/${dead}/${view}`);
    await page.locator("main").getByText(text).first().waitFor();
    await isAccessible(page);
    await close(page, view);
  }
  const page = await open(`#/${dead}/graph`);
  const frame = page.frameLocator("iframe");
  await frame.getByText("store_text").first().waitFor();
  const back = () => frame.locator("svg").evaluate(svg => getComputedStyle(svg).backgroundColor);
  const first = await back();
  await page.keyboard.press("d");
  await until("another background", async () => (await back()) !== first);
  await frame.locator("a", {hasText: "make_page"}).click();
  await until("the function is selected", () => page.url().includes("focus=%5Emake_page%24"));
  await page.goBack();
  await frame.getByText("read_record").first().waitFor();
  const width = () => frame.locator("svg").evaluate(svg => svg.viewBox.baseVal.width);
  const whole = await width();
  await page.mouse.move(640, 400);
  await page.mouse.wheel(0, -300);
  await until("zoomed", async () => (await width()) < whole);
  await close(page, "graph");
});

test("the map of the heap: cells, sizes, who keeps free memory", async () => {
  const page = await open(`#/${live}/map`);
  await page.getByText(/chunks of 4 MiB/).waitFor();
  await isAccessible(page);
  const box = await page.locator(".heap-map canvas").boundingBox();
  await page.mouse.move(box.x + 14, box.y + box.height - 4);
  await page.locator(".tip").waitFor();
  assert.match(await page.locator(".tip").innerText(), /0x[0-9a-f]{8,}0000/);
  await page.getByRole("button", {name: "5.00 KiB"}).click();
  await page.locator(".owners td.name", {hasText: "store_text"}).waitFor();
  assert.match(page.url(), /size=5120/);
  const map = JSON.parse(execFileSync(mallow, ["map", "--json", String(live)]));
  const button = page.getByRole("button", {name: "5.00 KiB"});
  const row = await page.locator(".sizes tr", {has: button}).innerText();
  const pages = map.sizes.find(one => one.block_bytes === 5120).pages;
  assert.ok(Math.abs(Number(row.split(/\s+/)[2]) - pages) < 20, `${row}: ${pages} pages`);
  await page.setViewportSize({width: 400, height: 700});
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 400);
  await page.setViewportSize({width: 1280, height: 800});
  await page.locator(".owners").getByRole("link", {name: "flame graph"}).click();
  await page.locator(".flame .frames").waitFor();
  await page.getByRole("button", {name: /only bytes=5120b/}).click();
  assert.doesNotMatch(page.url(), /tagfocus/);
  await close(page, "map");
});

test("the source of a function, and the instructions of a line", async () => {
  const page = await open(`#/${dead}/weblist`);
  await page.locator(".functions").getByText("make_page").click();
  await page.locator(".lines h2", {hasText: "make_page"}).waitFor();
  const line = page.locator("tr.hot", {hasText: "return store_text(5000);"});
  await line.waitFor();
  assert.match(await line.innerText(), /MiB/);
  await isAccessible(page);
  await line.getByRole("button").click();
  await page.locator("tr.instruction.hot", {hasText: "call"}).waitFor();
  assert.match(page.url(), /fn=make_page/);
  assert.equal(
    await page.getByRole("button", {name: "copy command"}).getAttribute("title"),
    `mallow weblist '^make_page$' ${dead}`,
  );
  await page.setViewportSize({width: 400, height: 700});
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 400);
  await close(page, "source");
});

test("a page that only reads says how leaks are found", async () => {
  const page = await open(`#/${live}/leaks`);
  await page.getByText("mallow web --control").waitFor();
  await close(page, "leaks");
});

test("a difference of two moments, red and green", async () => {
  const at = await serve(["--no-browser", String(live), `${folder}/early.pb.gz`]);
  const base = encodeURIComponent(`${folder}/early.pb.gz`);
  const page = await open(`#/${live}/flame?base=${base}&type=alloc_space`, {at});
  await page.locator(".legend").getByText("grew").waitFor();
  await page.goto(at + "#/");
  await page.getByRole("link", {name: `${folder}/early.pb.gz`}).waitFor();
  await close(page, "difference");
});

test("100,000 nodes are drawn, zoomed and searched", async () => {
  const at = await serve(["--no-browser", `${folder}/large.heap`]);
  const page = await open(`#/${encodeURIComponent(`${folder}/large.heap`)}/flame`, {at});
  await page.locator(".flame .frames").waitFor({timeout: 30000});
  const times = await page.evaluate(async () => {
    const frame = () => new Promise(done => requestAnimationFrame(done));
    await frame();
    const times = [];
    for (let i = 0; i < 20; i++) {
      const begin = performance.now();
      dispatchEvent(new Event("theme"));
      await frame();
      await frame();
      times.push(performance.now() - begin);
    }
    return times.sort((a, b) => a - b);
  });
  console.log(`large profile: two frames of the screen in ${times[10].toFixed(1)} ms (median)`);
  await page.locator(".flame .search").fill("function_1[0-9]*_0");
  assert.match(await page.locator(".found").innerText(), /frames/);
  await page.locator(".flame .search").fill("");
  /* Frames too narrow to be seen are one box, which opens; what the server left out is another. */
  const box = await page.locator(".flame .frames").boundingBox();
  if (shots) await page.screenshot({path: `${shots}/large-first.png`});
  const tip = () => page.locator(".flame .tip").innerText();
  const point = async (x, name) => {
    await until(`a tooltip with ${name}`, async () => {
      await page.mouse.move(box.x + x + Math.random(), box.y + 45);
      return name.test(await tip());
    }).catch(async error => {
      throw new Error(`${error.message}: ${await tip()}`);
    });
  };
  const click = x => page.mouse.click(box.x + x, box.y + 45);
  await point(box.width - 50, /too narrow/);
  await click(box.width - 50);
  await point(box.width / 2, /^function_\d+_4/);
  await point(box.width - 5, /too narrow/);
  await page.keyboard.press("Escape");
  await point(100, /^80000 more/);
  await click(100);
  await until("more frames in the address", () => /frames=80000/.test(page.url()));
  await point(90, /^[12][0-9]+ more/);
  /* Of the stacks the largest come first. */
  await page.goto(`${at}#/${encodeURIComponent(`${folder}/large.heap`)}/traces`);
  await page.getByRole("button", {name: "19800 more"}).click();
  await page.getByRole("button", {name: "19200 more"}).waitFor();
  assert.equal(await page.locator(".stack").count(), 800);
  await close(page, "large");
});

test("names are text, whatever they are", async () => {
  const at = await serve(["--no-browser", `${folder}/hostile.heap`, `${folder}/empty.heap`]);
  const target = encodeURIComponent(`${folder}/hostile.heap`);
  for (const view of ["flame", "top", "tree", "traces", "graph", "overview"]) {
    const page = await open(`#/${target}/${view}`, {at});
    if (view === "top") await page.getByText(HOSTILE[0]).first().waitFor();
    await page.waitForTimeout(400);
    assert.equal(await page.locator("main img, main script").count(), 0);
    await close(page, "hostile-" + view);
  }
  const page = await open(`#/${encodeURIComponent(`${folder}/empty.heap`)}/flame`, {at});
  await page.locator(".flame .empty").getByText("empty").waitFor();
  await close(page, "empty");
});

test("dark mode is kept, and no width overflows", async () => {
  const page = await open(`#/${live}/overview`, {dark: true});
  await page.locator(".chart canvas").waitFor();
  const isDark = () => page.evaluate(() => document.documentElement.classList.contains("dark"));
  await until("the dark design", isDark);
  await isAccessible(page);
  for (const width of [400, 800, 2560]) {
    await page.setViewportSize({width, height: 900});
    const wide = () => page.evaluate(() => document.documentElement.scrollWidth);
    await until(`a page of ${width} pixels`, async () => (await wide()) <= width);
    if (shots) await page.screenshot({path: `${shots}/dark-${width}.png`});
  }
  await page.keyboard.press("d");
  await until("the light design", async () => !(await isDark()));
  await page.keyboard.press("]");
  await page.locator(".flame .frames").waitFor();
  await close(page, "dark");
});

test("what is saved is the command's output", async () => {
  const page = await open(`#/${dead}/flame`);
  await page.getByText("Save").click();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", {name: ".folded"}).click(),
  ]);
  const saved = readFileSync(await download.path(), "utf8");
  const printed = execFileSync(mallow, ["collapsed", String(dead)], {
    stdio: ["ignore", "pipe", "ignore"],
  }).toString();
  assert.equal(saved, printed);
  assert.equal(download.suggestedFilename(), "mallow.folded");
  await close(page, "saved");
});

/** What a button or link of the menu saves. */
async function saved(page, name) {
  await page.getByText("Save").click();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.locator(".menu").getByText(name, {exact: true}).click(),
  ]);
  return readFileSync(await download.path());
}

test("pictures and rows are saved", async () => {
  const png = "89504e470d0a1a0a";
  for (const [view, name] of [
    ["flame", ".png"],
    ["overview", ".png"],
    ["graph", ".graph.png"],
  ]) {
    const page = await open(`#/${dead}/${view}`);
    await page.locator("main canvas, main iframe").first().waitFor();
    const bytes = await saved(page, name);
    assert.equal(bytes.subarray(0, 8).toString("hex"), png);
    if (shots) writeFileSync(`${shots}/saved-${view}.png`, bytes);
    await close(page, "saved-" + view);
  }
  const rows = JSON.parse(
    execFileSync(mallow, ["top", "--json", String(dead)], {stdio: ["ignore", "pipe", "ignore"]}),
  ).rows;
  const page = await open(`#/${dead}/top`);
  await page.locator("tbody tr").first().waitFor();
  const lines = (await saved(page, ".csv")).toString().trimEnd().split("\r\n");
  assert.equal(lines[0], "flat,cum,function,file,line");
  assert.deepEqual(
    lines.slice(1).map(line => line.split(",").slice(0, 3)),
    rows.map(row => [String(row.flat), String(row.cum), row.name]),
  );
  await close(page, "csv");
});

/* ---- the secret of the address ---- */

/** Lets `mallow web` open a browser, which is a script that keeps the name of its file. */
async function serveAndOpen(...words) {
  const opened = `${folder}/opened`;
  rmSync(opened, {force: true});
  const script = `#!/bin/sh\nprintf %s "$1" >${opened}.new; mv ${opened}.new ${opened}\n`;
  writeFileSync(`${folder}/xdg-open`, script, {mode: 0o755});
  const address = await serve(words, {
    ...process.env,
    DISPLAY: ":0",
    PATH: `${folder}:${process.env.PATH}`,
  });
  await until("a browser is opened", () => existsSync(opened));
  return [address, readFileSync(opened, "utf8")];
}

test("the secret: from the file into a cookie, out of the address", async () => {
  const [address, file] = await serveAndOpen(String(live));
  const [place, secret] = address.split("?token=");
  assert.doesNotMatch(file, new RegExp(secret));
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`file://${file}`);
  await page.getByText("mallow").first().waitFor();
  await until("the page", () => page.url().startsWith(place));
  /* The only target is shown at once. */
  await until("an address without it", () => page.url() === `${place}#/${live}/overview`);
  await page.getByText("Heap over time").waitFor();
  assert.doesNotMatch(await page.evaluate("document.cookie + location.href"), new RegExp(secret));
  await until("the file is removed", () => !existsSync(file));
  const [cookie] = await context.cookies();
  assert.equal(cookie.name, `mallow-${new URL(place).port}`);
  assert.equal(cookie.value, secret);
  assert.deepEqual([cookie.httpOnly, cookie.sameSite, cookie.expires], [true, "Strict", -1]);
  assert.equal(cookie.path, new URL(place).pathname.slice(0, -1));
  /* Loaded again, opened in another tab, and gone back to. */
  const isShown = async one => {
    await one.goto(`${place}#/${live}/top`);
    await one.locator("tbody tr").first().waitFor();
  };
  await page.reload();
  await page.locator("main *").first().waitFor();
  await isShown(page);
  await page.reload();
  await page.locator("tbody tr").first().waitFor();
  await isShown(await context.newPage());
  /* Who has the address of the bar, and not the cookie, sees nothing. */
  const stranger = await browser.newPage();
  assert.equal((await stranger.goto(`${place}#/${live}/top`)).status(), 403);
  assert.match(await stranger.innerText("body"), /open the address that 'mallow web' printed/);
  await context.close();
  await stranger.close();
});

test("two pages on two ports in one browser", async () => {
  const addresses = [await serve(["--no-browser", String(live)]), url];
  const context = await browser.newContext();
  const pages = [];
  for (const address of addresses) {
    const page = await context.newPage();
    await page.goto(`${address}#/${live}/top`);
    await page.locator("tbody tr").first().waitFor();
    pages.push(page);
  }
  for (const page of pages) {
    await page.reload();
    await page.locator("tbody tr").first().waitFor();
  }
  const cookies = await context.cookies(addresses.map(one => one.split("?")[0]));
  assert.equal(new Set(cookies.map(one => one.name)).size, 2);
  /* Neither page, nor any other of this host, reads what the other shows. */
  const asked = await pages[0].evaluate(async place => {
    const image = new Image();
    return new Promise(done => {
      image.onload = () => done("shown");
      image.onerror = () => done("refused");
      image.src = `${place}api/file/graph.png?p=1`;
    });
  }, addresses[1].split("?")[0]);
  assert.equal(asked, "refused");
  await context.close();
});

test("--control: a mark is set, sampling stops", async () => {
  const at = await serve(["--no-browser", "--control", String(live)]);
  const page = await open(`#/${live}/overview`, {at});
  await page.getByText("Control").click();
  await page.getByRole("button", {name: "stop sampling"}).click();
  await page.locator(".answer").getByText("off").waitFor();
  await page.locator("dd", {hasText: "not sampled"}).waitFor();
  await page.getByRole("button", {name: "start sampling"}).click();
  await page.locator(".answer").getByText("on").waitFor();
  await page.getByLabel("bytes between samples").fill("32K");
  await page.getByRole("button", {name: "set the rate"}).click();
  await page.locator("dd", {hasText: "T = 32.0 KiB"}).waitFor();
  await page.getByLabel("bytes between samples").fill("-1 x");
  await page.getByRole("button", {name: "set the rate"}).click();
  await page.locator(".answer").getByText("rate").waitFor();
  troubles = troubles.filter(text => !text.includes("500"));
  await page.getByRole("link", {name: "Leaks"}).click();
  await page.getByRole("button", {name: "find leaks"}).click();
  await page.getByText(/^No pointer leads to .* The process was stopped for/).waitFor();
  await isAccessible(page);
  await close(page, "control");
});
