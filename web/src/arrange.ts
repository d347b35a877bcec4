// Puts boxes, with those that are open inside them, onto a plane.
import type { Box, Link } from "./hierarchy";
import { isLong, ranksOf, type Pair, type Point, type Size } from "./layout";
import { requestLayout } from "./layout_service";

export const closedSize: Size = { width: 176, height: 46 };
export const headerHeight = 42;
const padding = 14;
const mostReaders = 4; // of a tensor on a level; with more, each has a stub

export interface Placed {
  box: Box;
  x: number; // in the box around it
  y: number;
  width: number;
  height: number;
  inside: Arrangement | null; // of one that is open
  incoming: string[]; // values that come from far away, or from outside of the box around it
  outgoing: string[];
}

export interface DrawnLink {
  from: Box;
  to: Box;
  values: string[];
  route: Point[];
}

export interface Arrangement {
  level: Box;
  children: Placed[];
  links: DrawnLink[];
  width: number;
  height: number;
}

// Keeps the layout of each level with what is open in it, as long as that stays.
const kept = new WeakMap<Box, { key: string; arrangement: Arrangement }>();

function keyOf(level: Box, open: ReadonlySet<Box>): string {
  return level.children.map((child) => (open.has(child) && child.children.length > 0 ? `(${keyOf(child, open)})` : ".")).join("");
}

export async function arrange(level: Box, open: ReadonlySet<Box>): Promise<Arrangement> {
  const key = keyOf(level, open);
  const known = kept.get(level);
  if (known?.key === key) return known.arrangement;
  const inside = await Promise.all(
    level.children.map((child) => (open.has(child) && child.children.length > 0 ? arrange(child, open) : null)),
  );
  const sizes = inside.map((inner) =>
    inner ? { width: Math.max(inner.width + 2 * padding, closedSize.width), height: inner.height + headerHeight + padding } : closedSize,
  );
  const place = new Map(level.children.map((child, index) => [child, index]));
  const links = [...level.links.values()];
  const pairs = links.map(({ from, to }): Pair => [place.get(from)!, place.get(to)!]);
  const ranks = ranksOf(sizes.length, pairs);
  const readers = readersOf(links);
  const isFar = links.map((each, index) => isLong(ranks, pairs[index]!) || [...each.values].every((value) => readers.get(value)! > mostReaders));
  const short = links.filter((_, index) => !isFar[index]);
  const layout = await requestLayout(sizes, pairs.filter((_, index) => !isFar[index]));
  const far = links.filter((_, index) => isFar[index]);
  const arrangement: Arrangement = {
    level,
    width: layout.width,
    height: layout.height,
    links: short.map((each, index) => ({ from: each.from, to: each.to, values: [...each.values], route: layout.routes[index]! })),
    children: level.children.map((box, index) => ({
      box,
      ...layout.places[index]!,
      ...sizes[index]!,
      inside: inside[index] ?? null,
      incoming: stubs(box.incoming, level.incoming, far.filter((each) => each.to === box)),
      outgoing: stubs(box.outgoing, level.outgoing, far.filter((each) => each.from === box)),
    })),
  };
  kept.set(level, { key, arrangement });
  return arrangement;
}

function readersOf(links: readonly Link[]): Map<string, number> {
  const readers = new Map<string, number>();
  for (const { values } of links) for (const value of values) readers.set(value, (readers.get(value) ?? 0) + 1);
  return readers;
}

function stubs(own: ReadonlySet<string>, outside: ReadonlySet<string>, far: { values: Set<string> }[]): string[] {
  const values = new Set([...own].filter((value) => outside.has(value)));
  for (const each of far) for (const value of each.values) values.add(value);
  return [...values];
}

// Where a box stands on the whole plane; null where it is not drawn.
export function placeOf(arrangement: Arrangement, wanted: Box): (Point & Size) | null {
  const path: Box[] = [];
  for (let box: Box | null = wanted; box && box !== arrangement.level; box = box.parent) path.unshift(box);
  let at: Point = { x: 0, y: 0 };
  let level: Arrangement | null = arrangement;
  let placed: Placed | undefined;
  for (const box of path) {
    placed = level?.children.find((child) => child.box === box);
    if (!placed) return null;
    at = { x: at.x + placed.x, y: at.y + placed.y };
    level = placed.inside;
    if (box !== wanted) at = { x: at.x + innerOffset.x, y: at.y + innerOffset.y };
  }
  return placed ? { ...at, width: placed.width, height: placed.height } : null;
}

export const innerOffset: Point = { x: padding, y: headerHeight };
