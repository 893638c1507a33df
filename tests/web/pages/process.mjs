// SPDX-License-Identifier: MIT
// process.mjs: the list of processes, the overview and the map of one.
import assert from "node:assert/strict";
import {execFileSync} from "node:child_process";
import {test} from "node:test";
import {
  url,
  live,
  dead,
  build,
  mallow,
  folder,
  shots,
  begin,
  until,
  hasRedis,
  serve,
  open,
  close,
  isAccessible,
} from "./site.mjs";

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

test("running processes first, with their command lines; empty ended ones are folded", async () => {
  const sleeper = begin("sleep", ["1234"], {
    env: {
      ...process.env,
      LD_PRELOAD: `${build}/lib/libmallow.so`,
      MALLOW_CONF: "prof_state_min:0",
    },
    stdio: "ignore",
  });
  const list = () => JSON.parse(execFileSync(mallow, ["ls", "--json"]));
  await until("a sleeper", () => list().some(one => one.pid === sleeper.pid));
  sleeper.kill("SIGKILL");
  await until("its end", () =>
    list().some(one => one.pid === sleeper.pid && one.state === "killed"),
  );
  const page = await open("#/");
  await page.getByText(/^[0-9]+ that ended with nothing in use$/).waitFor();
  const row = page.locator("tr", {hasText: String(sleeper.pid)});
  assert.equal(await row.count(), 0);
  const states = await page.locator("tbody td:last-child").allInnerTexts();
  assert.ok(states.lastIndexOf("running") < states.indexOf("killed"), states);
  await page.getByRole("button", {name: /nothing in use/}).click();
  assert.match(await row.innerText(), /sleep 1234/);
  await close(page, "folded");
});

test("files: program, date and total of each", async () => {
  const file = `${folder}/early.pb.gz`;
  const at = await serve(["--no-browser", file, `${folder}/empty.heap`]);
  const page = await open("#/", {at});
  const row = page.locator("tr", {hasText: file});
  await row.getByText("work").waitFor();
  assert.match(await row.innerText(), /work\s+20[0-9-]+ [0-9:]+\s+[0-9.]+ MiB\s+inuse_space/);
  await close(page, "files");
});

test("a process: live, two moments chosen, what was allocated between", async () => {
  const page = await open(`#/${live}/overview`);
  await page.locator(".chart canvas").first().waitFor();
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

test("the overview answers: four lists, functions over time, ranges", async () => {
  const page = await open("#/");
  /* The process was recorded for two hours. */
  await page.route("**/api/view/timeline?**", async route => {
    const response = await route.fetch(),
      timeline = await response.json();
    const {time_ns, value} = timeline.moments[0];
    timeline.moments.unshift({time_ns: time_ns - 7200e9, value});
    await route.fulfill({response, json: timeline});
  });
  await page.goto(`${url}#/${live}/overview`);
  const list = title => page.locator(".list", {has: page.getByRole("link", {name: title})});
  for (const [title, what] of [
    ["Holds most", /^[0-9.]+ MiB\s+[0-9.]+ %\s+store_text$/],
    ["Grew most in ten minutes", /^[0-9.]+ MiB\s+p [<=] [0-9.]+ %\s+store_text$/],
    ["Allocates most", /^[0-9.]+ [MG]iB\s+100.0 %\s+store_text$/],
  ]) {
    const row = list(title).locator("tbody tr").first();
    await row.waitFor();
    assert.match(await row.innerText(), what);
  }
  await list("Keeps free memory").waitFor();
  await page.getByLabel("allocation rate over time").waitFor();
  await page.getByLabel("memory in use over time, stacked by function").waitFor();
  await page
    .locator(".legend")
    .getByText(/store_text [0-9.]+ MiB/)
    .waitFor();
  const ranges = page.getByRole("group", {name: "range"}).getByRole("button");
  assert.deepEqual(await ranges.allInnerTexts(), ["1 min", "10 min", "1 h", "all"]);
  await ranges.first().click();
  assert.equal(await ranges.first().getAttribute("aria-pressed"), "true");
  await isAccessible(page);
  await list("Holds most").getByRole("link", {name: "store_text"}).click();
  await page
    .locator(".flame .total")
    .getByText(/MiB in use$/)
    .waitFor();
  await close(page, "answers");
});

test("an ended process has its resident memory divided", async () => {
  const page = await open(`#/${dead}/overview`);
  await page.getByText(/^resident [0-9.]+ MiB at the peak: .* from malloc/).waitFor();
  await page
    .locator(".memory h2")
    .getByText(/^Resident memory at the peak: [0-9.]+ MiB$/)
    .waitFor();
  await page.locator(".memory td").getByText("from malloc").waitFor();
  await isAccessible(page);
  await close(page, "divided");
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

test("dark mode is kept, and no width overflows", async () => {
  const page = await open(`#/${live}/overview`, {dark: true});
  await page.locator(".chart canvas").first().waitFor();
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

test("a file has its resident memory divided", async () => {
  const file = `${folder}/early.pb.gz`;
  const at = await serve(["--no-browser", file]);
  const page = await open(`#/${encodeURIComponent(file)}/overview`, {at});
  await page.getByText(/^resident [0-9.]+ MiB (now|at the peak): .* from malloc/).waitFor();
  await page
    .locator(".memory h2")
    .getByText(/^Resident memory.*: [0-9.]+ MiB$/)
    .waitFor();
  await page.locator(".memory td").getByText("from malloc").waitFor();
  await isAccessible(page);
  await close(page, "file-divided");
});
