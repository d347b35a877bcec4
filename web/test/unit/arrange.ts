import assert from "node:assert/strict";
import { test } from "node:test";
import { arrange, placeOf, type Arrangement } from "../../src/arrange";
import { hierarchyOf, type Box } from "../../src/hierarchy";
import { networkOf } from "../../src/network";
import { Maker } from "../models";

function rootOf(maker: Maker): Box {
  return hierarchyOf(networkOf(maker.payload())!, false).root;
}

const placed = (arrangement: Arrangement, title: string) => arrangement.children.find((child) => child.box.title === title)!;

test("a tensor that crosses many ranks, or that many read, is a stub on both sides", async () => {
  const maker = new Maker();
  const skip = maker.add("Conv", ["x"], "first");
  let last = skip;
  for (let i = 0; i < 12; ++i) last = maker.add("Relu", [last], `relu${i}`);
  maker.add("Add", [last, skip], "add");
  const mask = maker.add("Cast", ["x"], "mask");
  for (let i = 0; i < 6; ++i) maker.add("Mul", [mask], `mul${i}`);
  const made = await arrange(rootOf(maker), new Set());
  const drawn = made.links.map((link) => `${link.from.title} ${link.to.title}`);
  assert.ok(drawn.includes("relu11 add") && !drawn.includes("first add") && !drawn.includes("mask mul0"));
  assert.deepEqual(placed(made, "add").incoming, [skip]);
  assert.deepEqual(placed(made, "first").outgoing, [skip]);
  assert.deepEqual(placed(made, "first").incoming, ["x"]);
  assert.deepEqual(placed(made, "mul5").incoming, [mask]);
});

test("what is open holds all that is inside, and its places are inside it", async () => {
  const maker = new Maker();
  let last = "x";
  for (const name of ["/a/one/Conv", "/a/one/Relu", "/a/two/Conv", "/a/two/Relu", "/b/Conv", "/b/Relu"]) last = maker.add(name.split("/").pop()!, [last], name);
  const root = rootOf(maker);
  const [a] = root.children;
  const [one] = a!.children;
  const closed = await arrange(root, new Set());
  assert.equal(placeOf(closed, one!), null);
  const open = await arrange(root, new Set([a!, one!]));
  const outer = placeOf(open, a!)!;
  for (const box of [...a!.children, ...one!.children]) {
    const place = placeOf(open, box)!;
    assert.ok(place.x >= outer.x && place.y > outer.y, box.title);
    assert.ok(place.x + place.width <= outer.x + outer.width && place.y + place.height <= outer.y + outer.height, box.title);
  }
  assert.ok(placeOf(open, root.children[1]!)!.y >= outer.y + outer.height);
  assert.equal(await arrange(root, new Set([a!, one!])), open, "what stays as it is, is not laid out again");
});
