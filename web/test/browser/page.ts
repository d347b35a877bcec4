import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import AxeBuilder from "@axe-core/playwright";
import { expect, test, type Page } from "@playwright/test";
import type { Culprit, Payload, TunedPlan } from "../../src/types";
import { chain, large, Maker, pageOf } from "../models";

const folder = mkdtempSync(join(tmpdir(), "vernier-page-"));
let files = 0;

function written(payload: Payload): string {
  const file = join(folder, `${++files}.html`);
  writeFileSync(file, pageOf(readFileSync(".tests/report.html", "utf8"), payload));
  return file;
}

// Opens a page, and fails where it says anything on the console or asks for anything but itself.
async function opened(page: Page, payload: Payload): Promise<void> {
  const complaints: string[] = [];
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => {
    if (!request.url().startsWith("file:") && !request.url().startsWith("blob:") && !request.url().startsWith("data:")) complaints.push(request.url());
  });
  await page.goto(pathToFileURL(written(payload)).href);
  await expect(page.locator("h1")).toBeVisible();
  if (payload.graph) await expect(page.locator("[data-box]").first()).toBeVisible();
  expect(complaints).toEqual([]);
}

const box = (page: Page, name: string) => page.locator("[data-box]").filter({ has: page.locator(`title:text("${name}")`) }).first();

const culprit: Culprit = {
  rank: 1, nodes: ["Conv_2"], values: ["Conv_2_output"], class: "B2", title: "overflow", sentence: "Conv_2 overflows in f16.", confidence: 0.97, share: 1,
  evidence: [{ experiment: "replay", figure: 70000, sentence: "its largest sum is beyond 65504" }],
  rejected: [{ class: "B5", residual: 0.9, why: "it leaves most of the error" }],
  repair: { kind: "plan", sentence: "Conv_2 in f32.", file: "plan.json", verified: { relative_l2_before: "inf", relative_l2_after: 1e-4, cost_percent: 2, passes: true } },
};

const plan = (name: string, latency: number, error: number): TunedPlan => ({
  plan: name, types: `bf16 ${latency}`, latency_ms: latency, error, metric: null, ratio: latency / 4, ratio_ci95: [0.9, 1.1], holds: true,
});

// Something of everything that a page can show.
function full(): Payload {
  const maker = chain(12);
  maker.nodes[2]!.precision = { how: "kernel", kernel: "onednn:jit", compute: "f16", accumulate: "f16", store: "f16", requested: "f16" };
  maker.graph.steps = [{ kernel: "onednn:jit", reason: "", nodes: ["Conv_2", "Relu_3"], contract: "sums in f16", device: "cpu" }];
  const payload = maker.payload({ verdict: "fail", sentence: "Conv_2 overflows.", runs_ms: { cpu: [1, 2, 2, 3], onnxruntime: [2, 3, 3] }, dropped: ["attributes of nodes"] });
  const latency = { p50: 2, p90: 3, p95: 3, p99: 3, mean: 2, min: 1, max: 3, runs: 4 };
  Object.assign(payload.report, {
    culprits: [culprit], experiments: [{ name: "replay", runs: 3, seconds: 0.2 }],
    split: [{ output: "y", ideal_declared: 0, declared_planned: 1e-3, planned_engine: "inf", needs: "inf", bound: 1e-2, sentence: "the engine adds it" }],
    latency_ms: latency, throughput_per_s: 400, memory: { weights: 1e6 }, versus: [{ runner: "onnxruntime", ratio: 1.5, ci95: [1.4, 1.6], latency_ms: latency }],
    profile: { steps: [{ kernel: "onednn:jit", nodes: ["Conv_2", "Relu_3"], ms: 1.5, roofline: { share: 0.5, limit: "memory" } }] },
    front: [plan("a.json", 2, 1e-2), plan("b.json", 3, 1e-4)], dominated: [plan("declared", 4, 1e-7)], baseline: plan("declared", 4, 1e-7),
    chosen: plan("b.json", 3, 1e-4), target: { text: "relative L2 at most 0.001", unit: "relative L2", limit: 1e-3 },
    runners: [{ name: "cpu", values: [{ metric: "top1", value: 0.99, ci95: [0.98, 0.995], rows: 5000 }], failures: 0, failure: "" }],
    differences: [{
      runner: "cpu", baseline: "reference", metric: "top1", difference: -0.001, ci95: [-0.002, 0], p: 0.06, lost: 5, gained: 0,
      gate: { verdict: "mistrusted", sentence: "7000 samples like these would do" },
      flipped: [{ sample: 3, row: 0, origin: "3.png", baseline: 1, runner: 0, lost: 0.4 }],
    }],
    sensitivities: [{ nodes: ["Conv_2"], type: "bf16", gain_ms: 0.5, error: 1e-3 }], notes: ["a note"],
  });
  return payload;
}

test("@both nothing is inaccessible, with everything open", async ({ browser, colorScheme, launchOptions }) => {
  void launchOptions;
  const context = await browser.newContext({ colorScheme: colorScheme ?? "light", offline: true, bypassCSP: false });
  const page = await context.newPage();
  await opened(page, full());
  await page.locator("details").evaluateAll((all) => all.forEach((each) => ((each as HTMLDetailsElement).open = true)));
  await box(page, "Conv_2").click();
  await expect(page.getByRole("complementary")).toContainText("sums in f16");
  const found = await new AxeBuilder({ page }).setLegacyMode(true).analyze();
  expect(found.violations.map((each) => `${each.id}: ${each.nodes.map((node) => node.html.slice(0, 200)).join(" | ")}`)).toEqual([]);
  await context.close();
});

test("@both the sentence comes first, then the command; every plot has its table", async ({ page }) => {
  await opened(page, full());
  await expect(page.locator("h1")).toHaveText("Fail Conv_2 overflows.");
  await expect(page.locator("header code")).toHaveText("vernier run made.onnx --reference --cpu --layers");
  await expect(page.locator("header")).toContainText("Not on this page: attributes of nodes.");
  const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const isDark = await page.evaluate(() => matchMedia("(prefers-color-scheme: dark)").matches);
  expect(background).toBe(isDark ? "rgb(13, 17, 23)" : "rgb(255, 255, 255)");
  for (const name of ["Evidence", "relative L2", "Plans that were raced", "Milliseconds of a run", "Runs of cpu by how long", "Nodes, in the order of execution", "Steps, in the order of execution"])
    await expect(page.locator("caption", { hasText: name }).first()).toBeAttached();
  await expect(page.locator(".finding").first()).toContainText("Conv_2 in f32. (plan.json) Relative L2 Inf before, 1.0e-4 after, at 2 % more time; passes.");
  await expect(page.locator(".front .point")).toHaveCount(3);
});

test("a click goes from the strip, the tables and the culprits to the node", async ({ page }) => {
  await opened(page, full());
  const panel = page.getByRole("complementary");
  await page.locator(".finding .jump").click();
  await expect(panel).toContainText("Culprit 1: overflow");
  await expect(panel).toContainText("its largest sum is beyond 65504");
  await expect(panel).toContainText("onednn:jit");
  const strip = page.locator(".strip .u-over");
  const { width = 0 } = (await strip.boundingBox()) ?? {};
  await strip.click({ position: { x: width - 5, y: 20 } });
  await expect(panel.locator("h2")).toHaveText("Relu_11");
  await expect(panel.locator("svg.chart")).toHaveCount(1);
});

test("keys go from box to box, open and close", async ({ page }) => {
  const maker = new Maker();
  let last = "x";
  for (const name of ["/a/Conv", "/a/Relu", "/b/Conv", "/b/Relu"]) last = maker.add(name.slice(3), [last], name);
  await opened(page, maker.payload());
  await page.locator(".graph > svg").focus();
  await page.keyboard.press("ArrowDown");
  await expect(box(page, "a, 2 nodes")).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.locator("[data-box]")).toHaveCount(4);
  await expect(page.locator("[data-box][aria-expanded=true]")).toHaveCount(1);
  await page.keyboard.press("ArrowDown");
  await expect(page.locator("[data-box].selected title")).toHaveText(/^Conv/);
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  await expect(page.locator("[data-box]")).toHaveCount(2);
});

test("a drag moves the network and selects nothing", async ({ page }) => {
  await opened(page, chain(6).payload());
  const world = page.locator(".world");
  const before = await world.getAttribute("transform");
  const { x = 0, y = 0, width = 0 } = (await box(page, "Conv_2").boundingBox()) ?? {};
  await page.mouse.move(x + width / 2, y + 20);
  await page.mouse.down();
  await page.mouse.move(x + width / 2 + 40, y + 50, { steps: 4 });
  await page.mouse.up();
  expect(await world.getAttribute("transform")).not.toBe(before);
  await expect(page.locator(".selected")).toHaveCount(0);
  await box(page, "Conv_2").click();
  await expect(page.locator(".selected")).toHaveCount(1);
});

test("names are text, whatever they are", async ({ page }) => {
  const hostile = ['<img src=x onerror="document.title=\'owned\'">', "</script><script>document.title='owned'</script>", "{{constructor}}", "javascript:alert(1)", "a\u202egnp.exe", "<!--", "]]>"];
  const maker = new Maker();
  let last = "x";
  for (const name of hostile) last = maker.add(`<b>${name}</b>`, [last], name);
  maker.graph.name = hostile[0]!;
  maker.graph.steps = [{ kernel: hostile[1]!, reason: "", nodes: [hostile[0]!], contract: hostile[0]!, device: hostile[1]! }];
  const payload = maker.payload({ verdict: "fail", sentence: hostile[1]!, command: hostile[0]! });
  payload.report.culprits = [{ ...culprit, nodes: [hostile[0]!], sentence: hostile[0]!, title: hostile[1]! }];
  payload.report.environment = { [hostile[0]!]: hostile[1]! };
  payload.report.notes = hostile;
  await opened(page, payload);
  await page.locator(".finding .jump").click();
  await page.locator("details").evaluateAll((all) => all.forEach((each) => ((each as HTMLDetailsElement).open = true)));
  await page.getByRole("searchbox").fill("<");
  await expect(page.locator(".hits")).toContainText(hostile[0]!);
  await expect(page.locator("h1")).toContainText(hostile[1]!);
  await expect(page.getByRole("complementary")).toContainText(hostile[0]!);
  expect(await page.locator("img, b:not(.swatch), #app script").count()).toBe(0);
  expect(await page.title()).not.toBe("owned");
});

test("the policy lets the page call nobody, and nothing else run in it", async ({ page }) => {
  await opened(page, chain(3).payload());
  const blocked = await page.evaluate(async () => {
    const told: string[] = [];
    document.addEventListener("securitypolicyviolation", (event) => told.push(event.effectiveDirective));
    await fetch("https://example.com/").catch(() => {});
    const script = document.createElement("script");
    script.textContent = "document.title = 'owned'";
    document.body.append(script);
    const image = document.createElement("img");
    image.src = "https://example.com/x.png";
    document.body.append(image);
    await new Promise((resolve) => setTimeout(resolve, 100));
    return { told, title: document.title };
  });
  expect(new Set(blocked.told)).toEqual(new Set(["connect-src", "script-src-elem", "img-src"]));
  expect(blocked.title).not.toBe("owned");
});

test("search, hiding, and the difference of two reports", async ({ page }) => {
  const maker = chain(6);
  maker.add("Shape", ["x"], "size_of_x");
  await opened(page, maker.payload());
  await page.getByRole("searchbox").fill("relu_3");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("complementary").locator("h2")).toHaveText("Relu_3");
  await expect(page.locator("[data-box]")).toHaveCount(7);
  await page.getByLabel("Hide Q/DQ").check();
  await expect(page.locator("[data-box]")).toHaveCount(6);
  const other = chain(6).payload({ verdict: "fail" });
  await page.getByLabel("A page, or the JSON").setInputFiles(written(other));
  await expect(page.locator("section", { hasText: "Against another report" })).toContainText("report");
  await page.getByLabel("A page, or the JSON").setInputFiles({ name: "x.json", mimeType: "application/json", buffer: Buffer.from("{}") });
  await expect(page.locator("section", { hasText: "Against another report" })).toContainText("x.json cannot be read: this is no report");
});

interface Times {
  opening: number; // ms
  boxes: number[]; // ms, of each that was opened
  frames: number; // a second, while the network is moved
}

async function timed(page: Page, file: string): Promise<Times> {
  await page.goto("about:blank");
  await page.goto(file);
  await expect(page.locator("[data-box]").first()).toBeVisible();
  await page.waitForFunction(() => performance.getEntriesByName("vernier: network drawn").length > 0);
  return page.evaluate(async () => {
    const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    const opening = performance.getEntriesByName("vernier: network drawn")[0]!.startTime;
    const boxes: number[] = [];
    for (let count = 0; count < 30; ++count) {
      const closed = [...document.querySelectorAll<SVGGElement>("[data-box][aria-expanded=false]")];
      const box = closed[(count * 7) % closed.length]!;
      const start = performance.now();
      box.dispatchEvent(new MouseEvent("click", { bubbles: true }));
      while (box.getAttribute("aria-expanded") === "false" && performance.now() - start < 2000) await frame();
      boxes.push(performance.now() - start);
    }
    const svg = document.querySelector<SVGSVGElement>(".graph > svg")!;
    const start = performance.now();
    for (let count = 0; count < 30; ++count) {
      svg.dispatchEvent(new WheelEvent("wheel", { deltaX: 3, deltaY: 20, bubbles: true, cancelable: true }));
      await new Promise((resolve) => requestAnimationFrame(resolve));
    }
    return { opening, boxes, frames: 30_000 / (performance.now() - start) };
  });
}

test("a network of 10 036 nodes opens in 2 s, any box in 0.25 s, and it moves at 30 frames a second", async ({ page }) => {
  const file = pathToFileURL(written(large(10036).payload())).href;
  // Other work of the machine makes times longer, never shorter, so the best of a few attempts counts.
  const best: Times = { opening: Infinity, boxes: Array<number>(30).fill(Infinity), frames: 0 };
  const slowest = () => Math.max(...best.boxes);
  for (let attempt = 0; attempt < 5 && !(best.opening < 2000 && slowest() < 250 && best.frames > 30); ++attempt) {
    const { opening, boxes, frames } = await timed(page, file);
    best.opening = Math.min(best.opening, opening);
    best.boxes = best.boxes.map((time, index) => Math.min(time, boxes[index]!));
    best.frames = Math.max(best.frames, frames);
  }
  console.log(`opened in ${Math.round(best.opening)} ms, the slowest box in ${Math.round(slowest())} ms, ${Math.round(best.frames)} frames a second`);
  expect(best.opening).toBeLessThan(2000);
  expect(slowest()).toBeLessThan(250);
  expect(best.frames).toBeGreaterThan(30);
  expect(await page.locator("[data-box]").count()).toBeLessThanOrEqual(500);
});
