// Error, or time, in the order of execution.
import { scaleOf } from "./colour";
import { comparisonsOf, errorOf } from "./network";
import type { Payload } from "./types";

export interface Depth {
  names: string[]; // values, or nodes of a step, in the order of execution
  series: { label: string; figures: (number | null)[] }[];
  kind: "value" | "step";
  unit: string;
}

export function depthOf(payload: Payload): Depth | null {
  const comparisons = comparisonsOf(payload);
  const judged = new Set(comparisons.flatMap((each) => each.tensors.filter((tensor) => errorOf(tensor) !== null).map((tensor) => tensor.value)));
  if (judged.size > 2) {
    const longest = comparisons.reduce((a, b) => (a.tensors.length >= b.tensors.length ? a : b));
    const names = longest.tensors.map((tensor) => tensor.value).filter((value) => judged.has(value));
    const series = comparisons.map((comparison) => {
      const errors = new Map(comparison.tensors.map((tensor) => [tensor.value, errorOf(tensor)]));
      return { label: `${comparison.actual} against ${comparison.reference}`, figures: names.map((name) => errors.get(name) ?? null) };
    });
    return { names, series, kind: "value", unit: "relative L2" };
  }
  const steps = (payload.report.profile?.steps ?? []).filter((step) => step.nodes.length > 0);
  if (steps.length < 3) return null;
  return { names: steps.map((step) => step.nodes[0]!), series: [{ label: "time", figures: steps.map((step) => step.ms) }], kind: "step", unit: "ms" };
}

// A log scale has no place for 0 and for what is not finite: these lie a decade below and above all else.
export function boundsOf(series: readonly { figures: (number | null)[] }[]): [least: number, largest: number] {
  const { least, largest } = scaleOf(series.flatMap((each) => each.figures)) ?? { least: 1e-8, largest: 1e-8 };
  return [10 ** (Math.floor(Math.log10(least)) - 1), 10 ** (Math.ceil(Math.log10(largest)) + 1)];
}
