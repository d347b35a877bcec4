// Holds what the page shows now.
import { batch, computed, signal } from "@preact/signals";
import { scaleOf, type Scale } from "./colour";
import { hierarchyOf, type Box, type Hierarchy } from "./hierarchy";
import { networkOf, type Leaf, type Network } from "./network";
import type { Payload } from "./types";

export type Heat = "none" | "error" | "time" | "gain";

const mostVisible = 400; // boxes, before others are closed

export class State {
  readonly network: Network | null;
  readonly hide = signal(false);
  readonly heat = signal<Heat>("none");
  readonly comparison = signal(0);
  readonly open = signal<ReadonlySet<Box>>(new Set());
  readonly selected = signal<Box | null>(null);
  readonly shown = signal<Box | null>(null); // to be brought into sight

  readonly hierarchy = computed<Hierarchy | null>(() => (this.network ? hierarchyOf(this.network, this.hide.value) : null));
  readonly figures = computed<(number | null)[]>(() => (this.network?.leaves ?? []).map((leaf) => this.figureOf(leaf)));
  readonly ofBoxes = computed<Map<Box, number>>(() => figuresOfBoxes(this.hierarchy.value, this.figures.value, this.heat.value));
  // Boxes that add up leave the range of single nodes.
  readonly scale = computed<Scale | null>(() => scaleOf(this.ofBoxes.value.values()));

  constructor(readonly payload: Payload) {
    this.network = networkOf(payload);
    const heats = this.heats();
    this.heat.value = heats[0] ?? "none";
    this.comparison.value = Math.max(0, (this.network?.comparisons.length ?? 0) - 1);
    const failing = this.network?.comparisons.findIndex((comparison) => comparison.verdict === "fail") ?? -1;
    if (failing >= 0) this.comparison.value = failing;
  }

  // Lists the measures that there are figures for.
  heats(): Heat[] {
    const leaves = this.network?.leaves ?? [];
    const some: Heat[] = [];
    if (leaves.some((leaf) => leaf.errors.some((error) => error !== null))) some.push("error");
    if (leaves.some((leaf) => leaf.ms !== null)) some.push("time");
    if (leaves.some((leaf) => leaf.gain !== null)) some.push("gain");
    return some;
  }

  figureOf(leaf: Leaf): number | null {
    switch (this.heat.value) {
      case "error": return leaf.errors[this.comparison.value] ?? null;
      case "time": return leaf.ms;
      case "gain": return leaf.gain;
      default: return null;
    }
  }

  toggle(box: Box): void {
    const open = new Set(this.open.value);
    if (open.has(box)) open.delete(box);
    else this.openIn(open, box);
    this.open.value = open;
  }

  // Other boxes close where too many would be drawn.
  private openIn(open: Set<Box>, box: Box): void {
    open.add(box);
    const around = new Set<Box>();
    for (let outer: Box | null = box; outer; outer = outer.parent) around.add(outer);
    const visible = () => [...open].reduce((sum, each) => sum + each.children.length, 0);
    for (const each of [...open]) {
      if (visible() <= mostVisible) break;
      if (!around.has(each)) open.delete(each);
    }
  }

  // Opens all around it, selects it and brings it into sight.
  jump(leaf: number): void {
    const hierarchy = this.hierarchy.value;
    if (!hierarchy) return;
    if (!hierarchy.ofLeaf[leaf]) this.hide.value = false;
    const box = this.hierarchy.value?.ofLeaf[leaf];
    if (box) this.reveal(box);
  }

  reveal(box: Box): void {
    const open = new Set(this.open.value);
    for (let outer = box.parent; outer?.parent; outer = outer.parent) this.openIn(open, outer);
    batch(() => {
      this.open.value = open;
      this.selected.value = box;
      this.shown.value = box;
    });
  }

  jumpToValue(value: string): void {
    const leaf = this.network?.byValue.get(value);
    if (leaf !== undefined) this.jump(leaf);
  }

  jumpToNode(name: string): void {
    const leaf = this.network?.byName.get(name);
    if (leaf !== undefined) this.jump(leaf);
  }

  setHide(hide: boolean): void {
    const leaf = this.selected.value?.leaf ?? null;
    batch(() => {
      this.hide.value = hide;
      this.open.value = new Set();
      this.selected.value = leaf === null ? null : (this.hierarchy.value?.ofLeaf[leaf] ?? null);
    });
  }
}

// Errors: the largest inside; times: all together.
function figuresOfBoxes(hierarchy: Hierarchy | null, figures: (number | null)[], heat: Heat): Map<Box, number> {
  const found = new Map<Box, number>();
  const visit = (box: Box): number | null => {
    const own = box.leaf === null ? null : (figures[box.leaf] ?? null);
    const all = [own, ...box.children.map(visit)].filter((value) => value !== null);
    if (all.length === 0) return null;
    const figure = heat === "error" ? Math.max(...all) : all.reduce((sum, value) => sum + value, 0);
    if (box.parent) found.set(box, figure);
    return figure;
  };
  if (hierarchy) visit(hierarchy.root);
  return found;
}
