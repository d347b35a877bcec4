import assert from "node:assert/strict";
import { test } from "node:test";
import { routedLayout } from "../../src/dagre_layout";
import { byRanks, isLong, ranksOf, type LevelLayout, type Pair, type Size } from "../../src/layout";

const sized = (count: number): Size[] => Array.from({ length: count }, (_, i) => ({ width: 100 + (i % 3) * 40, height: 40 + (i % 5) * 10 }));

function ladder(count: number): Pair[] {
  const edges: Pair[] = [];
  for (let i = 1; i < count; ++i) {
    edges.push([i - 1, i]);
    if (i > 3) edges.push([i - 3, i]);
  }
  return edges;
}

function mustNotOverlap(sizes: Size[], { places, width, height }: LevelLayout): void {
  places.forEach((a, i) => {
    assert.ok(a.x >= 0 && a.y >= 0 && a.x + sizes[i]!.width <= width && a.y + sizes[i]!.height <= height, `box ${i} is outside`);
    places.forEach((b, j) => {
      if (j <= i) return;
      const apart = a.x + sizes[i]!.width <= b.x || b.x + sizes[j]!.width <= a.x || a.y + sizes[i]!.height <= b.y || b.y + sizes[j]!.height <= a.y;
      assert.ok(apart, `boxes ${i} and ${j} overlap`);
    });
  });
}

test("ranks are the longest paths, and edges back count for nothing", () => {
  assert.deepEqual(ranksOf(4, [[0, 1], [1, 2], [0, 2], [2, 0], [2, 3]]), [0, 1, 2, 3]);
});

test("edges over many ranks, and back, are long", () => {
  const ranks = ranksOf(12, ladder(12));
  assert.equal(isLong(ranks, [0, 11]), true);
  assert.equal(isLong(ranks, [0, 8]), false);
  assert.equal(isLong(ranks, [3, 1]), true);
});

for (const [name, layout] of [["dagre", routedLayout], ["ranks", byRanks]] as const) {
  test(`${name}: boxes stand apart, and readers below what they read`, () => {
    const sizes = sized(60);
    const edges = ladder(60);
    const made = layout(sizes, edges);
    mustNotOverlap(sizes, made);
    for (const [from, to] of edges) assert.ok(made.places[from]!.y + sizes[from]!.height <= made.places[to]!.y);
    assert.equal(made.routes.length, edges.length);
    assert.ok(made.routes.every((route) => route.length >= 2));
  });
}

test("a level that is too large for dagre is laid out all the same", () => {
  const sizes = sized(3000);
  const start = performance.now();
  const made = routedLayout(sizes, ladder(3000));
  assert.ok(performance.now() - start < 1000);
  assert.ok(made.places.every((place) => Number.isFinite(place.x) && Number.isFinite(place.y)));
});

test("boxes without edges, and none at all", () => {
  mustNotOverlap(sized(7), routedLayout(sized(7), []));
  assert.deepEqual(routedLayout([], []).places, []);
});
