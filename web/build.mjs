// SPDX-License-Identifier: MIT
// build.mjs [FOLDER]: makes the files of the page, which are committed: who builds the command
// needs no node.  tests/checks/web.sh makes them again and compares.
import {copyFile, mkdir, readFile, writeFile} from "node:fs/promises";
import {build} from "esbuild";

const folder = process.argv[2] ?? "dist";
await mkdir(folder, {recursive: true});
await build({
  entryPoints: {app: "src/app.jsx"},
  outdir: folder,
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "utf8",
  legalComments: "none",
  logLevel: "warning",
});
await copyFile("index.html", `${folder}/index.html`);

const licences = ["preact", "uplot"].map(async name => {
  const {version} = JSON.parse(await readFile(`node_modules/${name}/package.json`, "utf8"));
  const text = await readFile(`node_modules/${name}/LICENSE`, "utf8");
  return `${name} ${version}\n\n${text.trim()}\n`;
});
await writeFile(`${folder}/LICENSES.txt`, (await Promise.all(licences)).join("\n----\n\n"));
