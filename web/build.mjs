// SPDX-License-Identifier: GPL-2.0-or-later
// The page that `manometer report` fills: TypeScript and style → one HTML file with places for the
// data. Called by CMake; also by hand:
//
//   node web/build.mjs OUT.html        build it (from the cache when nothing changed)
//   node web/build.mjs --check         check the types
//
// Packages are installed from the lock file into the user's cache, never into the source tree, and
// from whichever registry npm is configured for; their digests are in the lock file. What was built
// once is kept there too, by the digest of all that it is made of. Exit code 0: OUT is whole. Else
// the reason is on standard error and OUT isn't touched.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { createRequire } from "node:module";
import * as os from "node:os";
import * as path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const web = path.dirname(fileURLToPath(import.meta.url));
const cache = path.join(process.env.XDG_CACHE_HOME || path.join(os.homedir(), ".cache"),
  "manometer-build");

function digest(names) {
  const hash = createHash("sha256");
  for (const name of names) hash.update(`${name}\0`).update(fs.readFileSync(path.join(web, name)));
  return hash.digest("hex").slice(0, 24);
}

function sources() {
  return fs.readdirSync(path.join(web, "src")).sort().map((name) => path.join("src", name));
}

// The folder with node_modules for this lock file. Two builds at once each make their own; the first
// to finish is kept.
function packages() {
  const wanted = path.join(cache, `npm-${digest(["package.json", "package-lock.json"])}`);
  if (fs.existsSync(path.join(wanted, "node_modules"))) return wanted;
  fs.mkdirSync(cache, { recursive: true });
  const work = fs.mkdtempSync(path.join(cache, "work-"));
  for (const name of ["package.json", "package-lock.json"]) {
    fs.copyFileSync(path.join(web, name), path.join(work, name));
  }
  const done = spawnSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund",
    "--fetch-retries=1", "--loglevel=error"], { cwd: work, encoding: "utf8", timeout: 600_000 });
  if (done.status !== 0) {
    fs.rmSync(work, { recursive: true, force: true });
    throw new Error(`npm ci failed: ${(done.stderr || String(done.error ?? "")).trim()}`);
  }
  try {
    fs.renameSync(work, wanted);
  } catch (error) {
    fs.rmSync(work, { recursive: true, force: true });
    if (!fs.existsSync(path.join(wanted, "node_modules"))) throw error;
  }
  return wanted;
}

async function bundle() {
  const modules = path.join(packages(), "node_modules");
  const require = createRequire(path.join(modules, "x.js"));
  const esbuild = await import(pathToFileURL(require.resolve("esbuild")).href);
  const common = { bundle: true, write: false, minify: true, legalComments: "none",
    logLevel: "warning", nodePaths: [modules] };
  const script = await esbuild.build({ ...common, entryPoints: [path.join(web, "src/main.ts")],
    format: "iife", target: "es2022", charset: "ascii" });
  const style = await esbuild.build({ ...common, entryPoints: [path.join(web, "src/style.css")] });
  return { script: script.outputFiles[0].text.trim(), style: style.outputFiles[0].text.trim() };
}

async function page() {
  const { script, style } = await bundle();
  if (/<\/script|<!--/i.test(script) || /<\//.test(style)) {
    throw new Error("the bundle holds what would end its own element");
  }
  const hash = createHash("sha256").update(script).digest("base64");
  const parts = { SCRIPT_HASH: `sha256-${hash}`, STYLE: style, SCRIPT: script };
  // One pass: what is put in is never looked at again. Other places stay for the program.
  return fs.readFileSync(path.join(web, "src/page.html"), "utf8").replace(/@@(\w+)@@/g,
    (place, name) => (name in parts ? parts[name] : place));
}

function replace(file, text) {
  const half = `${file}.${process.pid}`;
  fs.writeFileSync(half, text);
  fs.renameSync(half, file);
}

async function build(out) {
  const made = path.join(cache,
    `page-${digest(["build.mjs", "package.json", "package-lock.json", ...sources()])}.html`);
  if (!fs.existsSync(made)) replace(made, await page());
  replace(out, fs.readFileSync(made));
}

function check() {
  // Types are looked up from the files upwards: the packages lie beside a copy of the sources.
  const work = packages();
  const copy = fs.mkdtempSync(path.join(work, "check-"));
  try {
    fs.cpSync(path.join(web, "src"), path.join(copy, "src"), { recursive: true });
    fs.copyFileSync(path.join(web, "tsconfig.json"), path.join(copy, "tsconfig.json"));
    const done = spawnSync(process.execPath,
      [path.join(work, "node_modules/typescript/bin/tsc"), "-p", copy],
      { stdio: "inherit", timeout: 300_000 });
    if (done.status !== 0) throw new Error("the types don't fit");
  } finally {
    fs.rmSync(copy, { recursive: true, force: true });
  }
}

try {
  fs.mkdirSync(cache, { recursive: true });
  if (process.argv[2] === "--check") check();
  else if (process.argv.length === 3) await build(process.argv[2]);
  else throw new Error("expected OUT.html or --check");
} catch (error) {
  console.error(`web/build.mjs: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}
