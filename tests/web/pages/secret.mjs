// SPDX-License-Identifier: MIT
// secret.mjs: who sees the page, and what it may change.
import assert from "node:assert/strict";
import {existsSync, readFileSync, rmSync, writeFileSync} from "node:fs";
import {test} from "node:test";
import {
  begin,
  browser,
  build,
  url,
  live,
  mallow,
  folder,
  until,
  serve,
  open,
  close,
  isAccessible,
  forgive,
} from "./site.mjs";

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

test("a page that only reads says how leaks are found", async () => {
  const page = await open(`#/${live}/leaks`);
  await page.getByText("mallow web --control").waitFor();
  await close(page, "leaks");
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
  forgive("500");
  await page.getByRole("link", {name: "Leaks"}).click();
  await page.getByRole("button", {name: "find leaks"}).click();
  await page
    .getByText(/^No leaks: pointers lead to all [0-9]+ blocks .* The process was stopped for/)
    .waitFor();
  await isAccessible(page);
  await close(page, "control");
});

test("--control: locks that threads wait for, and who holds them", async () => {
  const locks = begin(new URL("locks", import.meta.url).pathname, [], {
    env: {
      ...process.env,
      LD_PRELOAD: `${build}/lib/libmallow.so`,
      MALLOW_CONF: "prof_state_min:0",
    },
    stdio: ["ignore", "pipe", "ignore"],
  });
  await new Promise(done => locks.stdout.once("data", done));
  const at = await serve(["--no-browser", "--control", String(locks.pid)]);
  const page = await open(`#/${locks.pid}/flame`, {at});
  assert.equal(await page.getByRole("link", {name: "Locks"}).count(), 0);
  await page.getByLabel("what is shown").selectOption("CPU time");
  /* The flame graph has no CPU time to show yet. */
  await page.getByRole("alert").waitFor();
  forgive("500");
  await page.getByRole("link", {name: "Locks"}).click();
  await page.getByRole("button", {name: "find locks"}).click();
  await page.getByText(/^Locks that threads waited for in [0-9.]+ s \([0-9]+ looks\)/).waitFor();
  const lock = page.locator("tbody", {hasText: "cache_lock"});
  const text = await lock.innerText();
  assert.match(text, /s\s+reader-1 [0-9]+, in look_up/);
  assert.match(text, /s\s+held by refresher [0-9]+, mostly in refresh_cache/);
  assert.equal(
    await page.getByRole("button", {name: "copy command"}).getAttribute("title"),
    `mallow cpu --locks ${locks.pid}`,
  );
  await isAccessible(page);
  await close(page, "locks");
});
