// Builds the page: `node build.mjs FILE` writes one file of HTML with all scripts and styles in it, which names its scripts and styles
// by their hashes, so that nothing else runs in it. `node build.mjs --tests` bundles the unit tests into .tests/.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const shared = {
  bundle: true,
  write: false,
  target: ["es2022"],
  jsx: "automatic",
  jsxImportSource: "preact",
  loader: { ".css": "text" },
  logLevel: "warning",
};

// `import text from "bundle:./file.ts"`: a script as text, which a worker is started from.
const bundledText = {
  name: "bundled text",
  setup(plugins) {
    plugins.onResolve({ filter: /^bundle:/ }, (found) => ({
      path: join(found.resolveDir, found.path.slice("bundle:".length)),
      namespace: "bundle",
    }));
    plugins.onLoad({ filter: /.*/, namespace: "bundle" }, async (found) => ({
      contents: await scriptOf(found.path),
      loader: "text",
      watchFiles: [found.path],
    }));
  },
};

async function scriptOf(entry) {
  const made = await build({ ...shared, entryPoints: [entry], format: "iife", minify: true, plugins: [bundledText] });
  return made.outputFiles[0].text.trim();
}

const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

// The licences of what is bundled: they licences ask that every copy has them.
function licences() {
  const packages = ["preact", "@preact/signals", "@preact/signals-core", "@dagrejs/dagre", "@dagrejs/graphlib", "uplot"];
  const text = (name) => `${name}\n\n${readFileSync(join(here, "node_modules", name, "LICENSE"), "utf8").trim()}`;
  return packages.map(text).join("\n\n\n").replaceAll("--", "- -");
}

async function page(file) {
  const script = await scriptOf(join(here, "src/main.tsx"));
  const styles = [join(here, "node_modules/uplot/dist/uPlot.min.css"), join(here, "src/style.css")];
  const style = styles.map((path) => readFileSync(path, "utf8")).join("\n");
  const policy = [
    "default-src 'none'",
    `script-src ${hash(script)}`,
    `style-src ${hash(style)}`,
    "img-src data:",
    "worker-src blob:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const parts = { policy, style, script, licences: licences() };
  const template = readFileSync(join(here, "src/page.html"), "utf8");
  writeFileSync(file, template.replace(/\{\{(policy|style|script|licences)\}\}/g, (_, name) => parts[name]));
}

async function tests() {
  const folder = join(here, "test/unit");
  await build({
    ...shared,
    entryPoints: readdirSync(folder).map((name) => join(folder, name)),
    write: true,
    outdir: join(here, ".tests"),
    outExtension: { ".js": ".test.mjs" },
    format: "esm",
    platform: "node",
    plugins: [bundledText],
  });
}

const [, , to] = process.argv;
if (!to) throw new Error("usage: node build.mjs FILE | --tests");
await (to === "--tests" ? tests() : page(to));
