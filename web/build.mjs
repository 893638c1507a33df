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
  /* h() makes the bundle 450 bytes smaller than the functions of preact/jsx-runtime. */
  jsx: "transform",
  jsxFactory: "h",
  jsxFragment: "Fragment",
  inject: ["src/h.js"],
  charset: "utf8",
  legalComments: "none",
  logLevel: "warning",
});
await copyFile("index.html", `${folder}/index.html`);

/* The page of `mallow flame` is one file. */
const parts = await build({
  entryPoints: ["src/flame-page.js"],
  bundle: true,
  minify: true,
  write: false,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
});
const script = parts.outputFiles[0].text.trim().replaceAll("</script", "<\\/script");
const style = (await readFile(`${folder}/app.css`, "utf8")).trim();
const page = (await readFile("flame.html", "utf8"))
  .replace("/*STYLE*/", () => style)
  .replace("/*SCRIPT*/", () => script);
await writeFile(`${folder}/flame.html`, page);

const licences = ["preact", "uplot"].map(async name => {
  const {version} = JSON.parse(await readFile(`node_modules/${name}/package.json`, "utf8"));
  const text = await readFile(`node_modules/${name}/LICENSE`, "utf8");
  return `${name} ${version}\n\n${text.trim()}\n`;
});
await writeFile(`${folder}/LICENSES.txt`, (await Promise.all(licences)).join("\n----\n\n"));
