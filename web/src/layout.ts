// Where the boxes of one level stand, by ranks and barycentres: quick at any size, with straight edges.

export interface Size {
  width: number;
  height: number;
}

export interface Point {
  x: number;
  y: number;
}

export interface LevelLayout {
  places: Point[]; // upper left corners
  routes: Point[][]; // of edges, in their order
  width: number;
  height: number;
}

export type Pair = [from: number, to: number];

export const gapAcross = 24;
export const gapAlong = 40;
export const longestEdge = 8; // in ranks; longer ones are drawn as stubs

// The longest path to each box; edges against the order of execution count for nothing.
export function ranksOf(count: number, edges: readonly Pair[]): number[] {
  const ranks = Array<number>(count).fill(0);
  const incoming: number[][] = Array.from({ length: count }, () => []);
  for (const [from, to] of edges) if (from < to) incoming[to]!.push(from);
  for (let box = 0; box < count; ++box) for (const from of incoming[box]!) ranks[box] = Math.max(ranks[box]!, ranks[from]! + 1);
  return ranks;
}

// Edges that would cross much of a level, or lead back.
export function isLong(ranks: readonly number[], [from, to]: Pair): boolean {
  return to <= from || ranks[to]! - ranks[from]! > longestEdge;
}

export function byRanks(sizes: readonly Size[], edges: readonly Pair[]): LevelLayout {
  const ranks = ranksOf(sizes.length, edges);
  const rows: number[][] = [];
  ranks.forEach((rank, box) => (rows[rank] ??= []).push(box));
  const above: number[][] = sizes.map(() => []);
  for (const [from, to] of edges) if (from < to) above[to]!.push(from);
  const centre = Array<number>(sizes.length).fill(0);
  const places: Point[] = sizes.map(() => ({ x: 0, y: 0 }));
  let y = gapAlong / 2;
  for (const row of rows) {
    const wish = new Map(row.map((box) => [box, mean(above[box]!.map((from) => centre[from]!))]));
    row.sort((a, b) => wish.get(a)! - wish.get(b)!);
    const width = row.reduce((sum, box) => sum + sizes[box]!.width + gapAcross, -gapAcross);
    let x = mean(row.map((box) => wish.get(box)!)) - width / 2;
    for (const box of row) {
      centre[box] = x + sizes[box]!.width / 2;
      places[box] = { x, y };
      x += sizes[box]!.width + gapAcross;
    }
    y += Math.max(...row.map((box) => sizes[box]!.height)) + gapAlong;
  }
  const least = places.reduce((smallest, place) => Math.min(smallest, place.x), Infinity) - 12;
  for (const place of places) place.x -= least;
  return { places, routes: edges.map((edge) => straight(sizes, places, edge)), ...extent(sizes, places) };
}

function straight(sizes: readonly Size[], places: readonly Point[], [from, to]: Pair): Point[] {
  return [
    { x: places[from]!.x + sizes[from]!.width / 2, y: places[from]!.y + sizes[from]!.height },
    { x: places[to]!.x + sizes[to]!.width / 2, y: places[to]!.y },
  ];
}

function mean(values: number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

export function extent(sizes: readonly Size[], places: readonly Point[]): Size {
  let width = 0;
  let height = 0;
  places.forEach((place, index) => {
    width = Math.max(width, place.x + sizes[index]!.width + 12);
    height = Math.max(height, place.y + sizes[index]!.height + 12);
  });
  return { width, height };
}
