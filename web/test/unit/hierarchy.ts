import assert from "node:assert/strict";
import { test } from "node:test";
import { cutAfter, hierarchyOf, mostBoxes, scopesOf, type Box, type Hierarchy } from "../../src/hierarchy";
import { networkOf } from "../../src/network";
import { chain, large, Maker } from "../models";

function made(maker: Maker, hide = false): Hierarchy {
  return hierarchyOf(networkOf(maker.payload())!, hide);
}

const titles = (box: Box) => box.children.map((child) => child.title);

test("every node has one box, and no level is too large", () => {
  for (const maker of [chain(1), chain(59), chain(500), large(10036)]) {
    const { boxes, ofLeaf, root } = made(maker);
    assert.equal(root.leaves, maker.nodes.length);
    assert.equal(boxes.filter((box) => box.leaf !== null).length, maker.nodes.length);
    assert.ok(ofLeaf.every((box, leaf) => box?.leaf === leaf));
    for (const box of boxes) assert.ok(box.children.length <= mostBoxes, `${box.title}: ${box.children.length}`);
    for (const box of boxes) assert.ok(box.children.length !== 1 || box === root, box.title);
  }
});

test("scopes of names become boxes, and those that hold one scope alone are joined", () => {
  assert.deepEqual(scopesOf("/layer1/layer1.0/conv/Conv"), ["layer1", "layer1.0", "conv"]);
  assert.deepEqual(scopesOf("Conv_12"), []);
  const maker = new Maker();
  let last = "x";
  for (const name of ["/m/stem/Conv", "/m/stem/Relu", "/m/a/b/Conv", "/m/a/b/Relu", "/m/head/Gemm"]) last = maker.add(name.split("/").pop()!, [last], name);
  const { root } = made(maker);
  assert.deepEqual(titles(root), ["stem", "a/b", "Gemm"]);
  assert.deepEqual(titles(root.children[1]!), ["Conv", "Relu"]);
});

test("nodes of one step are one box", () => {
  const maker = chain(4);
  maker.graph.steps = [{ kernel: "conv+relu", reason: "", nodes: ["Conv_0", "Relu_1"], contract: "", device: "cpu" }];
  const { root } = made(maker);
  assert.deepEqual(root.children.map((box) => box.kind), ["step", "node", "node"]);
  assert.deepEqual([...root.links.values()].map((link) => [link.from.title, link.to.title]), [["Conv_0 … Relu_1", "Conv_2"], ["Conv_2", "Relu_3"]]);
});

test("levels are cut where the fewest tensors pass", () => {
  assert.equal(cutAfter([3, 3, 3, 3, 1, 3, 3, 3, 3, 3, 3, 3, 3, 3], 0, 4, 14), 5);
  assert.equal(cutAfter(Array<number>(14).fill(2), 0, 4, 14), 4);
  assert.equal(cutAfter([1, 1, 1, 1, 1], 0, 4, 5), 5);
  // Blocks of 9 nodes, between which one tensor passes: no block is torn apart without need.
  const maker = new Maker();
  let last = "x";
  for (let block = 0; block < 40; ++block) {
    const branches = Array.from({ length: 4 }, () => maker.add("Relu", [maker.add("Conv", [last, "w"])]));
    last = maker.add("Concat", branches);
  }
  const { root } = made(maker);
  assert.ok(root.children.length <= mostBoxes);
  for (const part of root.children) assert.equal(part.outgoing.size <= 1, true, `${part.title} gives ${[...part.outgoing].join(" ")}`);
});

test("tensors link boxes of the level where their ends part", () => {
  const maker = new Maker();
  const a = maker.add("Conv", ["x"], "/a/one/Conv");
  const b = maker.add("Relu", [a], "/a/one/Relu");
  const c = maker.add("Conv", [b], "/a/two/Conv");
  const d = maker.add("Relu", [c], "/a/two/Relu");
  maker.add("Add", [d, a], "/b/Add");
  const { root } = made(maker);
  const [first] = root.children;
  assert.deepEqual(titles(root), ["a", "Add"]);
  assert.deepEqual([...root.links.values()].map((link) => [...link.values]), [[d, a]]);
  assert.deepEqual([...first!.links.values()].map((link) => [...link.values]), [[b]]);
  assert.deepEqual([...first!.children[0]!.outgoing].sort(), [a, b].sort());
  assert.deepEqual([...first!.incoming], ["x"]);
});

test("what is hidden is passed over: quantization keeps the link, shape arithmetic does not", () => {
  const maker = new Maker();
  const conv = maker.add("Conv", ["x"], "conv");
  const quantized = maker.add("DequantizeLinear", [maker.add("QuantizeLinear", [conv, "w"], "q"), "w"], "dq");
  const size = maker.add("Gather", [maker.add("Shape", [conv], "shape"), "w"], "gather");
  maker.add("Reshape", [quantized, size], "reshape");
  const { root } = made(maker, true);
  assert.deepEqual(titles(root), ["conv", "reshape"]);
  assert.deepEqual([...root.links.values()].map((link) => [...link.values]), [[conv]]);
  assert.equal(made(maker).root.leaves, 6);
});

test("bodies are inside the node that has them", () => {
  const maker = new Maker();
  const before = maker.add("Conv", ["x"], "before");
  const loop = maker.add("Loop", [before], "loop");
  maker.graph.regions = [{ owner: 1, name: "body" }];
  const inner = maker.add("Relu", [before], "inner", { region: 0 });
  maker.add("Relu", [inner], "last", { region: 0 });
  maker.graph.outputs = [loop];
  const { root } = made(maker);
  assert.deepEqual(titles(root), ["before", "loop"]);
  assert.deepEqual(titles(root.children[1]!), ["inner", "last"]);
  assert.equal(root.links.size, 1);
});

test("10 036 nodes take little time", () => {
  const payload = large(10036).payload();
  const start = performance.now();
  hierarchyOf(networkOf(payload)!, false);
  assert.ok(performance.now() - start < 1500, `${performance.now() - start} ms`);
});
