// Where the boxes of one level stand, with edges that go around boxes. Dagre is recursive, and slow on large levels: those get ranks.
import dagre from "@dagrejs/dagre";
import { byRanks, extent, gapAcross, gapAlong, type LevelLayout, type Pair, type Point, type Size } from "./layout";

const mostForDagre = 120;

export function routedLayout(sizes: readonly Size[], edges: readonly Pair[]): LevelLayout {
  if (sizes.length <= mostForDagre) {
    try {
      return byDagre(sizes, edges);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error; // the stack was too small
    }
  }
  return byRanks(sizes, edges);
}

function byDagre(sizes: readonly Size[], edges: readonly Pair[]): LevelLayout {
  const graph = new dagre.graphlib.Graph({ multigraph: false, compound: false });
  graph.setGraph({ rankdir: "TB", nodesep: gapAcross, ranksep: gapAlong, marginx: 12, marginy: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  sizes.forEach((size, index) => graph.setNode(String(index), { ...size }));
  for (const [from, to] of edges) graph.setEdge(String(from), String(to));
  dagre.layout(graph);
  const places = sizes.map((size, index) => {
    const { x, y } = graph.node(String(index)) as Point;
    return { x: x - size.width / 2, y: y - size.height / 2 };
  });
  const routes = edges.map(([from, to]) => (graph.edge(String(from), String(to)) as { points: Point[] }).points);
  return { places, routes, ...extent(sizes, places) };
}
