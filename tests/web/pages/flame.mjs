// SPDX-License-Identifier: MIT
// flame.mjs: what a flame graph shows, and how it is used.
import assert from "node:assert/strict";
import {test} from "node:test";
import {url, live, folder, shots, until, serve, open, close, isAccessible} from "./site.mjs";

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

test("total, unit, time, interval; a box beside its frame, in the view's unit first", async () => {
  const page = await open(`#/${live}/flame`);
  await page
    .locator(".flame .total")
    .getByText(/^[0-9.]+ MiB in use$/)
    .waitFor();
  const about = await page.locator(".flame .about").innerText();
  assert.match(about, /^20[0-9-]+ [0-9:]+ . T = 16.0 KiB . between .* in 95 of 100 cases$/);
  const frames = await page.locator(".flame .frames").boundingBox();
  for (const [row, x] of [
    [0, 0.5],
    [1, 0.1],
    [2, 0.02],
    [2, 0.98],
  ]) {
    const at = {x: frames.x + x * frames.width, y: frames.y + row * 18 + 9};
    await page.mouse.move(at.x, at.y);
    const tip = await page.locator(".tip").boundingBox();
    const isBeside = tip.x > at.x || tip.x + tip.width < at.x;
    const isApart = tip.y >= at.y + 9 || tip.y + tip.height <= at.y - 9;
    assert.ok(row === 2 ? isBeside || isApart : isApart, JSON.stringify({row, at, tip}));
  }
  const lines = (await page.locator(".tip").innerText()).split("\n");
  const other = lines.findIndex(line => line.startsWith("alloc_space:"));
  assert.ok(other > 0 && other < lines.findIndex(line => line.startsWith("alloc_objects:")), lines);
  await page.keyboard.press("t");
  await page
    .locator(".flame .total")
    .getByText(/objects allocated$/)
    .waitFor();
  await close(page, "beside");
});

test("a click on a row of the table shows what was clicked", async () => {
  const page = await open(`#/${live}/top`);
  await page.getByRole("link", {name: "make_page"}).click();
  await page.locator(".flame .frames").waitFor();
  assert.match(page.url(), /focus=%5Emake_page%24/);
  assert.equal(await page.locator(".flame .fold").isVisible(), false);
  const frames = await page.locator(".flame .frames").boundingBox();
  const names = [];
  for (let row = 1; names.at(-1) !== "store_text"; row++) {
    await page.mouse.move(frames.x + 20, frames.y + row * 18 + 9);
    names.push((await page.locator(".tip").innerText()).split("\n")[0]);
    assert.ok(row < 10, names);
  }
  assert.equal(names[0], "_start");
  assert.deepEqual(names.slice(-3), ["main", "make_page", "store_text"]);
  await close(page, "clicked");
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
