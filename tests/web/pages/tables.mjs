// SPDX-License-Identifier: MIT
// tables.mjs: tables, the graph, source, and what is saved.
import assert from "node:assert/strict";
import {execFileSync} from "node:child_process";
import {readFileSync, writeFileSync} from "node:fs";
import {test} from "node:test";
import {
  url,
  live,
  dead,
  mallow,
  folder,
  shots,
  HOSTILE,
  until,
  serve,
  open,
  close,
  isAccessible,
  forgive,
} from "./site.mjs";

test("filters are the command's", async () => {
  const page = await open(`#/${dead}/overview`);
  /* The list of processes comes late, and the fields are drawn anew with it. */
  let letGo;
  const isHeld = new Promise(done => (letGo = done));
  await page.route("**/api/processes", route => isHeld.then(() => route.continue()));
  await page.goto(`${url}#/${dead}/top`);
  await page.getByLabel("only stacks with").fill("make_page");
  letGo();
  await page.locator(`#profiles option[value="${live}"]`).waitFor({state: "attached"});
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
  forgive("500");
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
    ["sizes", "5.00 KiB"],
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
  /* One box for the functions with a single caller each; one thread is no news; letters of 12. */
  const texts = await frame.locator("text").allTextContents();
  assert.ok(texts.includes("_start »"), texts);
  assert.ok(!texts.some(text => text.includes("thread:")), texts);
  const sizes = await frame
    .locator("text")
    .evaluateAll(all => all.map(one => Number(one.getAttribute("font-size"))));
  assert.ok(Math.min(...sizes) >= 12, sizes);
  const scale = await frame.locator("svg").evaluate(svg => svg.getScreenCTM().a);
  assert.ok(scale >= 1, scale);
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

test("on a narrow screen the graph begins at its functions", async () => {
  const page = await open(`#/${dead}/graph`, {width: 400});
  const node = page.frameLocator("iframe").locator("a", {hasText: "store_text"}).first();
  await node.waitFor();
  await until("store_text is in view", async () => {
    const box = await node.boundingBox();
    return box && box.x >= 0 && box.x + box.width <= 400;
  }, 10000);
  await close(page, "graph-narrow");
});

test("sizes and lifetimes: in order, with counts, and each bar leads to its stacks", async () => {
  const page = await open(`#/${dead}/sizes`);
  await page.locator("tbody tr").first().waitFor();
  for (const heading of ["size of a block", "in use", "share", "objects"])
    await page.locator("th").getByText(heading, {exact: true}).waitFor();
  const bytes = [];
  for (const text of await page.locator("tbody td:first-child").allInnerTexts()) {
    const [, number, unit] = /^([0-9.]+) (B|KiB)$/.exec(text);
    bytes.push(Number(number) * (unit === "B" ? 1 : 1024));
  }
  assert.deepEqual(
    bytes,
    [...bytes].sort((a, b) => a - b),
  );
  const row = page.locator("tbody tr", {hasText: "5.00 KiB"});
  assert.match(await row.locator("td:nth-child(4)").innerText(), /^[0-9.]+k?$/);
  await page.getByLabel("stacks of 5.00 KiB").click();
  await page.locator(".flame .frames").waitFor();
  await page.getByRole("button", {name: /only bytes=5120b/}).waitFor();
  await page.goto(`${url}#/${dead}/lifetimes`);
  await page.locator("th").getByText("objects freed").waitFor();
  const total = await page.locator("tbody tr").first().locator("td:nth-child(2)").innerText();
  await page.locator("tbody tr").first().getByRole("link").click();
  await page.locator(".flame .total").getByText(`${total} objects freed`, {exact: true}).waitFor();
  await close(page, "bars");
});

test("views that cannot answer are not offered", async () => {
  const offered = page => page.getByRole("navigation", {name: "views"}).getByRole("link");
  const has = async (page, name, isOffered) =>
    assert.equal(
      await offered(page).getByText(name, {exact: true}).count(),
      isOffered ? 1 : 0,
      name,
    );
  const page = await open(`#/${live}/top`);
  await offered(page).getByText("Leaks").waitFor();
  await page.goto(`${url}#/${live}/top?cpu=1`);
  await until("no sizes", async () => (await offered(page).getByText("Sizes").count()) === 0);
  await has(page, "Map", false);
  await page
    .locator(".error")
    .getByText(/CPU time was never sampled/)
    .waitFor();
  forgive("500");
  await page.goto(`${url}#/${dead}/top`);
  await page.getByText(`work ${dead}`).waitFor();
  await has(page, "Sizes", true);
  await has(page, "Leaks", false);
  const file = `${folder}/empty.heap`;
  const at = await serve(["--no-browser", file]);
  await page.goto("about:blank");
  const isAnswered = page.waitForResponse(answer => answer.url().includes("view/tags"));
  await page.goto(`${at}#/${encodeURIComponent(file)}/traces`);
  await isAnswered;
  for (const name of ["Sizes", "Lifetimes", "Threads", "Map", "Leaks"])
    await has(page, name, false);
  await has(page, "Flame", true);
  forgive("a request outside");
  await close(page, "offered");
});

test("source opens on the program's own code", async () => {
  const page = await open(`#/${dead}/weblist`);
  await page.locator("tr.hot", {hasText: "malloc(bytes)"}).waitFor();
  const first = page.locator('.functions button[aria-pressed="true"]');
  assert.match(await first.innerText(), /store_text/);
  assert.equal(
    await page.locator(".functions button").first().innerText(),
    await first.innerText(),
  );
  await page.locator(".functions button.dim").last().click();
  await page.locator(".empty").getByText("debug information is missing").waitFor();
  await close(page, "own");
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
