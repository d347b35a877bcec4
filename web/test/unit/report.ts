import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { test } from "node:test";
import { histogramBars, latencyBars } from "../../src/charts";
import { paintOf, position, scaleOf } from "../../src/colour";
import { differencesOf } from "../../src/diff";
import { figureText, shortened } from "../../src/format";
import { networkOf } from "../../src/network";
import { unpack, unpackFile } from "../../src/payload";
import { boundsOf, depthOf } from "../../src/depth";
import { searched } from "../../src/search";
import type { Payload } from "../../src/types";
import { chain, pageOf } from "../models";

const packed = (value: unknown) => gzipSync(JSON.stringify(value)).toString("base64");

test("what is packed is unpacked", async () => {
  const payload = chain(3).payload({ sentence: "größer als </script><b>" });
  assert.deepEqual(await unpack(packed(payload)), payload);
  assert.deepEqual(await unpackFile(pageOf("a<!--payload-->b", payload)), payload);
  assert.equal((await unpackFile(JSON.stringify(payload.report))).report.verdict, "pass");
});

test("what is no page is refused", async () => {
  await assert.rejects(unpack(packed({ schema: "other" })), /no page/);
  await assert.rejects(unpack(packed({ schema: "vernier-page", version: 2 })), /version 2/);
  await assert.rejects(unpack("AAAA"));
  await assert.rejects(unpackFile("<html>"));
  await assert.rejects(unpackFile("{}"), /no report/);
});

test("errors, times and findings are at the nodes that they are of", () => {
  const payload = chain(4).payload();
  payload.report.profile = { steps: [{ kernel: "k", nodes: ["Conv_0", "Relu_1"], ms: 3, roofline: null }] };
  payload.graph!.steps = [{ kernel: "k", reason: "", nodes: ["Conv_0", "Relu_1"], contract: "c", device: "cpu" }];
  payload.report.comparisons![0]!.tensors[2]!.metrics.relative_l2 = "inf";
  const { leaves } = networkOf(payload)!;
  assert.deepEqual(leaves.map((leaf) => leaf.ms), [1.5, 1.5, null, null]);
  assert.deepEqual(leaves.map((leaf) => leaf.steps), [[0], [0], [], []]);
  assert.deepEqual(leaves.map((leaf) => leaf.errors[0]), [1e-8, 2e-8, Infinity, 4e-8]);
});

test("search finds nodes, tensors and kernels, exact names first", () => {
  const payload = chain(30).payload();
  payload.graph!.steps = [{ kernel: "onednn:jit", reason: "", nodes: ["Conv_2"], contract: "", device: "cpu" }];
  const network = networkOf(payload)!;
  assert.deepEqual(searched(network, "conv_2")[0], { kind: "node", text: "Conv_2", leaf: 2 });
  assert.deepEqual(searched(network, "JIT"), [{ kind: "kernel", text: "onednn:jit", leaf: 2 }]);
  assert.equal(searched(network, "relu_3_out")[0]?.kind, "tensor");
  assert.deepEqual(searched(network, " "), []);
});

test("differences: what changed most comes first, what is the same not at all", () => {
  const here = chain(3).payload();
  const there = structuredClone(here) as Payload;
  assert.deepEqual(differencesOf(here, there), []);
  there.report.comparisons![0]!.tensors[1]!.metrics.relative_l2 = 2e-5;
  there.report.comparisons![0]!.tensors[0]!.metrics.relative_l2 = 2e-8;
  there.verdict = "fail";
  const found = differencesOf(here, there);
  assert.deepEqual(found.map((each) => each.figure), ["verdict", "relative L2", "relative L2"]);
  assert.ok(Math.abs(found[1]!.ratio - 1000) < 1e-6);
});

test("scales are logarithmic and leave out what has no logarithm", () => {
  const scale = scaleOf([null, 0, 1e-8, 1e-4, Infinity, NaN])!;
  assert.deepEqual(scale, { least: 1e-8, largest: 1e-4 });
  assert.ok(Math.abs(position(scale, 1e-6) - 0.5) < 1e-12);
  assert.equal(position(scale, Infinity), 1);
  assert.equal(scaleOf([0, null]), null);
  assert.notEqual(paintOf(scale, 1e-8).text, paintOf(scale, 1e-4).text);
});

test("bars count everything once", () => {
  const runs = Array.from({ length: 1000 }, (_, i) => 1 + (i % 100) / 100).concat([500]);
  assert.equal(latencyBars(runs).reduce((sum, bar) => sum + bar.count, 0), 1001);
  assert.equal(latencyBars([2, 2, 2]).reduce((sum, bar) => sum + bar.count, 0), 3);
  assert.deepEqual(histogramBars({ exact: 2, not_finite: 1, decades: { "-5": 4, "-3": 3 } }).map((bar) => [bar.label, bar.count]), [["0", 2], ["1e-5", 4], ["1e-4", 0], ["1e-3", 3], ["NaN, Inf", 1]]);
});

test("numbers and names as text", () => {
  assert.deepEqual([0, 1.23456e-7, 0.5, 1234.5, "nan", "-inf", null].map((figure) => figureText(figure as number)), ["0", "1.2e-7", "0.5", "1230", "NaN", "-Inf", "–"]);
  assert.equal(shortened("abcdefghij", 5), "ab…ij");
});

test("errors against depth: exact ones below, infinite ones above all others", () => {
  const payload = chain(5).payload();
  const tensors = payload.report.comparisons![0]!.tensors;
  tensors[1]!.metrics.relative_l2 = 0;
  tensors[2]!.metrics.relative_l2 = "nan";
  delete tensors[3]!.metrics.relative_l2;
  const depth = depthOf(payload)!;
  assert.deepEqual(depth.names, [0, 1, 2, 4].map((i) => tensors[i]!.value));
  assert.deepEqual(depth.series[0]!.figures, [1e-8, 0, Infinity, 5e-8]);
  const [least, largest] = boundsOf(depth.series);
  assert.ok(least < 1e-8 && largest > 5e-8 && Number.isFinite(largest));
  payload.report.comparisons = [];
  assert.equal(depthOf(payload), null);
});
