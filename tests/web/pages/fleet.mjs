// SPDX-License-Identifier: MIT
// fleet.mjs: services of a store: times, a function, versions, hosts that differ, a range of time.
import assert from "node:assert/strict";
import {execFileSync} from "node:child_process";
import {test} from "node:test";
import {build, mallow, folder, HOSTILE, until, serve, open, close, isAccessible} from "./site.mjs";

const store = `dir://${folder}/store`,
  environment = {...process.env, MALLOW_STORE: store, XDG_STATE_HOME: `${folder}/state`},
  made = new URL("made_proto.py", import.meta.url).pathname,
  now = Math.floor(Date.now() / 1000);

function push(ago, service, host, version, ...stacks) {
  const file = `${folder}/made.pb.gz`;
  execFileSync("python3", [made, file, String(now - ago), ...stacks]);
  execFileSync(
    mallow,
    [
      ...["push", "--quiet", "--service", service, "--host", host],
      ...["--instance", `${host}:${service}`, "--service-version", version, file],
    ],
    {env: environment},
  );
}

test("services of a store", async () => {
  assert.ok(build);
  push(86000, "web", "host1", "1.1", "main;parse=1000000");
  push(43000, "web", "host1", "1.1", "main;parse=3000000");
  for (const host of ["host1", "host2", "host3"])
    push(60, "web", host, "1.1", "main;parse=2000000");
  push(50, "web", "host4", "1.2", "main;parse=1000000", "main;cache=8000000");
  push(40, HOSTILE[0], "host1", "1", "main;cache=64000");
  const url = await serve(["--no-browser", "--store", store], environment);
  const page = await open("", {at: url});
  await page.getByRole("link", {name: "web", exact: true}).waitFor();
  assert.equal(await page.getByRole("link", {name: HOSTILE[0]}).count(), 1);
  await isAccessible(page);
  await page.getByLabel("search a function").fill("^cac");
  await page.keyboard.press("Enter");
  await page.getByRole("cell", {name: "7.63 MiB"}).waitFor();
  await page.getByLabel("search a function").fill("");
  await page.keyboard.press("Enter");
  await page.getByLabel("time").selectOption("a day ago");
  await until("a day ago", async () => !(await page.innerText("main")).includes("14.3 MiB"));
  await page.getByLabel("time").selectOption("now");
  await page.getByRole("cell", {name: "14.3 MiB"}).waitFor();
  await page.getByRole("link", {name: "web", exact: true}).click();
  await page.getByText("1 of 4 differ from the rest").waitFor();
  await page.getByText("4.5 times the median").waitFor();
  await isAccessible(page);
  const plot = await page.locator(".u-over").boundingBox();
  await page.mouse.move(plot.x + 0.4 * plot.width, plot.y + 40);
  await page.mouse.down();
  await page.mouse.move(plot.x + 0.6 * plot.width, plot.y + 40, {steps: 4});
  await page.mouse.up();
  await page.getByRole("link", {name: "mean of a process"}).click();
  await page.getByText("2.86 MiB").first().waitFor();
  await page.goBack();
  await page.getByRole("link", {name: "1.2 compared with 1.1, a process each"}).click();
  await page.getByText("6.68 MiB").first().waitFor();
  await close(page, "services");
});

test("a page of a store shows nothing else", async () => {
  const url = await serve(["--no-browser", "--store", store], environment);
  const page = await open("", {at: url, width: 400, dark: true});
  await page.getByRole("link", {name: "web", exact: true}).waitFor();
  const statuses = await page.evaluate(
    targets =>
      Promise.all(
        targets.map(async one => (await fetch(`api/view/top?p=${encodeURIComponent(one)}`)).status),
      ),
    [`${store}/web`, `${store}/../x`, `${store}2/web`, "/etc/passwd", String(process.pid)],
  );
  assert.deepEqual(statuses, [200, 400, 400, 400, 400]);
  await page.close();
});
