// Boxes within boxes: what an engine computes in one step, then the scopes that names tell, then parts between which few tensors
// pass, so that no level has too many boxes to look at.
import { markOf, type TypeMark } from "./colour";
import { typeOf, type Leaf, type Network } from "./network";

export type BoxKind = "node" | "step" | "scope" | "part" | "body";

export interface Box {
  id: number;
  kind: BoxKind;
  title: string;
  parent: Box | null;
  depth: number;
  children: Box[]; // in the order of execution; none: a node
  leaf: number | null; // of a node, and of one whose bodies are inside
  first: number; // the first of its leaves
  leaves: number; // how many nodes there are inside
  incoming: Set<string>; // values from outside that are read inside
  outgoing: Set<string>; // values made inside that are read outside
  links: Map<string, Link>; // between children
  marks: TypeMark[]; // of the types inside, the most frequent first
  rank: number | null; // of the first culprit inside
}

export interface Link {
  from: Box;
  to: Box;
  values: Set<string>;
}

export const mostBoxes = 60; // on a level, before it is cut
const partsWanted = 24;

export interface Hierarchy {
  root: Box;
  boxes: Box[]; // by id
  ofLeaf: (Box | null)[]; // by leaf; null: hidden
}

export function hierarchyOf(network: Network, hide: boolean): Hierarchy {
  const maker = new Maker(network, hide);
  const root = maker.root();
  const ofLeaf: (Box | null)[] = network.leaves.map(() => null);
  const boxes: Box[] = [];
  const number = (box: Box, parent: Box | null) => {
    box.id = boxes.length;
    box.parent = parent;
    box.depth = parent ? parent.depth + 1 : 0;
    boxes.push(box);
    if (box.leaf !== null) ofLeaf[box.leaf] = box;
    for (const child of box.children) number(child, box);
  };
  number(root, null);
  connect(network, root, ofLeaf);
  addBadges(network, root);
  return { root, boxes, ofLeaf };
}

function boxOf(kind: BoxKind, title: string, children: Box[], leaf: number | null = null): Box {
  return {
    id: -1, kind, title, parent: null, depth: 0, children, leaf,
    first: leaf ?? Math.min(...children.map((child) => child.first)),
    leaves: (leaf === null ? 0 : 1) + children.reduce((sum, child) => sum + child.leaves, 0),
    incoming: new Set(), outgoing: new Set(), links: new Map(), marks: [], rank: null,
  };
}

export function shortName(leaf: Leaf): string {
  const name = leaf.data.name;
  return name.slice(name.lastIndexOf("/", name.length - 2) + 1) || leaf.data.op;
}

// The scopes of a name like those of PyTorch and TensorFlow: "/layer1/conv/Conv" is in "layer1", "conv".
export function scopesOf(name: string): string[] {
  return name.split("/").filter((part) => part !== "").slice(0, -1);
}

interface Unit {
  box: Box;
  scopes: string[];
}

class Maker {
  private readonly bodies = new Map<number, Map<number, Leaf[]>>(); // by owner, then by region

  constructor(private readonly network: Network, private readonly hide: boolean) {
    for (const leaf of network.leaves) {
      const region = leaf.data.region;
      if (region === undefined) continue;
      const owner = network.data.regions[region]!.owner;
      const regions = this.bodies.get(owner) ?? new Map<number, Leaf[]>();
      const inside = regions.get(region);
      if (inside) inside.push(leaf);
      else regions.set(region, [leaf]);
      this.bodies.set(owner, regions);
    }
  }

  root(): Box {
    const level = this.level(this.network.leaves.filter((leaf) => leaf.data.region === undefined));
    return boxOf("scope", this.network.data.name, level);
  }

  private level(leaves: Leaf[]): Box[] {
    return this.limited(this.scoped(this.units(leaves), 0));
  }

  private node(leaf: Leaf): Box {
    const regions = [...(this.bodies.get(leaf.index) ?? [])];
    if (regions.length === 0) return boxOf("node", shortName(leaf), [], leaf.index);
    const bodies = regions.map(([region, leaves]) => boxOf("scope", this.network.data.regions[region]!.name, this.level(leaves)));
    return boxOf("body", shortName(leaf), bodies.length === 1 ? bodies[0]!.children : bodies, leaf.index);
  }

  // Nodes of one step are one box; those of several, as where a step rounds what another made, belong to the first.
  private units(leaves: Leaf[]): Unit[] {
    const units: Unit[] = [];
    const steps = new Map<number, Leaf[]>();
    for (const leaf of leaves) {
      if (this.hide && leaf.hidden !== null) continue;
      const [step] = leaf.steps;
      if (step === undefined) units.push({ box: this.node(leaf), scopes: scopesOf(leaf.data.name) });
      else if (steps.has(step)) steps.get(step)!.push(leaf);
      else steps.set(step, [leaf]);
    }
    for (const together of steps.values()) {
      const scopes = commonStart(together.map((leaf) => scopesOf(leaf.data.name)));
      const nodes = together.map((leaf) => this.node(leaf));
      if (nodes.length === 1) units.push({ box: nodes[0]!, scopes });
      else units.push({ box: boxOf("step", `${nodes[0]!.title} … ${nodes[nodes.length - 1]!.title}`, this.limited(nodes)), scopes });
    }
    return units.sort((a, b) => a.box.first - b.box.first);
  }

  private scoped(units: Unit[], depth: number): Box[] {
    const inside = new Map<string, Unit[]>();
    const level: Box[] = [];
    for (const unit of units) {
      const scope = unit.scopes[depth];
      if (scope === undefined) level.push(unit.box);
      else if (inside.has(scope)) inside.get(scope)!.push(unit);
      else inside.set(scope, [unit]);
    }
    if (level.length === 0 && inside.size === 1) return this.scoped(units, depth + 1);
    for (const [scope, members] of inside) {
      if (members.length === 1) {
        level.push(members[0]!.box);
        continue;
      }
      // Scopes that hold one scope and nothing else are one.
      const shared = commonStart(members.map((unit) => unit.scopes));
      level.push(boxOf("scope", [scope, ...shared.slice(depth + 1)].join("/"), this.limited(this.scoped(members, shared.length))));
    }
    return level.sort((a, b) => a.first - b.first);
  }

  // Cuts where the fewest tensors pass, near where parts of one size would end.
  private limited(boxes: Box[]): Box[] {
    if (boxes.length <= mostBoxes) return boxes;
    const crossing = this.crossings(boxes);
    const size = Math.max(Math.ceil(boxes.length / partsWanted), 4);
    const parts: Box[] = [];
    for (let start = 0; start < boxes.length; ) {
      const end = cutAfter(crossing, start, size, boxes.length);
      const members = boxes.slice(start, end);
      parts.push(members.length === 1 ? members[0]! : boxOf("part", partTitle(members), this.limited(members)));
      start = end;
    }
    return this.limited(parts);
  }

  // How many tensors pass from the first i + 1 boxes to the others, by i.
  private crossings(boxes: Box[]): number[] {
    const place = new Map<number, number>(); // by leaf
    const visit = (box: Box, at: number) => {
      if (box.leaf !== null) place.set(box.leaf, at);
      for (const child of box.children) visit(child, at);
    };
    boxes.forEach(visit);
    const reach = new Map<string, [number, number]>(); // of each value: where it is made, and read last
    for (const edge of this.network.edges) {
      const from = place.get(edge.from);
      const to = place.get(edge.to);
      if (from === undefined || to === undefined || to <= from) continue;
      const key = `${edge.from} ${edge.value}`;
      const known = reach.get(key);
      reach.set(key, [from, Math.max(to, known?.[1] ?? to)]);
    }
    const change = Array<number>(boxes.length + 1).fill(0);
    for (const [from, to] of reach.values()) {
      change[from]! += 1;
      change[to]! -= 1;
    }
    let sum = 0;
    return boxes.map((_, i) => (sum += change[i]!));
  }
}

// The end of the part that begins at `start`.
export function cutAfter(crossing: number[], start: number, size: number, count: number): number {
  if (count - start <= size * 1.5) return count;
  let best = start + size;
  for (let end = start + Math.ceil(size / 2); end <= start + Math.floor(size * 1.5); ++end) {
    const fewer = crossing[end - 1]! - crossing[best - 1]!;
    if (fewer < 0 || (fewer === 0 && Math.abs(end - start - size) < Math.abs(best - start - size))) best = end;
  }
  return best;
}

function partTitle(members: Box[]): string {
  return `${members[0]!.title.split(" … ")[0]} … ${members[members.length - 1]!.title.split(" … ").pop()}`;
}

function commonStart(lists: string[][]): string[] {
  const [first = [], ...others] = lists;
  let length = first.length;
  for (const other of others) {
    let same = 0;
    while (same < length && same < other.length && other[same] === first[same]) ++same;
    length = same;
  }
  return first.slice(0, length);
}

// Every tensor becomes a link between two boxes of the level where its maker and its reader part, and one end of a stub on each level
// between. Where the maker is hidden, what it read stands for it.
function connect(network: Network, root: Box, ofLeaf: (Box | null)[]): void {
  const readBy = new Map<number, { from: number; value: string }[]>();
  for (const { from, to, value } of network.edges) {
    if (to < 0) continue;
    const list = readBy.get(to);
    if (list) list.push({ from, value });
    else readBy.set(to, [{ from, value }]);
  }
  const sources = (leaf: number, value: string, seen: Set<number>): { from: number; value: string }[] => {
    if (leaf < 0 || ofLeaf[leaf]) return [{ from: leaf, value }];
    if (seen.has(leaf) || network.leaves[leaf]!.hidden !== "q/dq") return [];
    seen.add(leaf);
    return (readBy.get(leaf) ?? []).slice(0, 1).flatMap((read) => sources(read.from, read.value, seen));
  };
  for (const edge of network.edges) {
    const to = edge.to < 0 ? null : ofLeaf[edge.to]!;
    if (edge.to >= 0 && to === null) continue;
    for (const source of sources(edge.from, edge.value, new Set()))
      link(root, source.from < 0 ? null : ofLeaf[source.from]!, to, source.value);
  }
}

function link(root: Box, from: Box | null, to: Box | null, value: string): void {
  let a = from;
  let b = to;
  const leave = () => {
    a!.outgoing.add(value);
    a = a!.parent;
  };
  const enter = () => {
    b!.incoming.add(value);
    b = b!.parent;
  };
  if (a === null || b === null) {
    while (a) leave();
    while (b) enter();
    return;
  }
  while (a.depth > b.depth && a.parent !== b.parent) leave();
  while (b.depth > a.depth && b.parent !== a.parent) enter();
  while (a.parent !== b.parent) {
    leave();
    enter();
  }
  if (a === b || a === root || b === root) return;
  a.outgoing.add(value);
  b.incoming.add(value);
  const level = a.parent!;
  const key = `${a.id} ${b.id}`;
  const known = level.links.get(key);
  if (known) known.values.add(value);
  else level.links.set(key, { from: a, to: b, values: new Set([value]) });
}

function addBadges(network: Network, box: Box): Map<TypeMark, number> {
  const counts = new Map<TypeMark, number>();
  const count = (mark: TypeMark, by: number) => counts.set(mark, (counts.get(mark) ?? 0) + by);
  const leaf = box.leaf === null ? null : network.leaves[box.leaf]!;
  const mark = leaf && markOf(typeOf(network, leaf));
  if (mark) count(mark, 1);
  const ranks = leaf?.culprits.map((culprit) => culprit.rank) ?? [];
  for (const child of box.children) {
    for (const [inner, by] of addBadges(network, child)) count(inner, by);
    if (child.rank !== null) ranks.push(child.rank);
  }
  box.marks = [...counts].sort((a, b) => b[1] - a[1]).map(([each]) => each);
  box.rank = ranks.length > 0 ? Math.min(...ranks) : null;
  return counts;
}
