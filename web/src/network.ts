// The network as the page knows it: nodes with what is known of each, and the tensors between them.
import type { Comparison, Culprit, Figure, GraphData, NodeData, Payload, Precision, Report, StepData, Tensor } from "./types";

export interface Leaf {
  index: number;
  data: NodeData;
  steps: number[]; // of the engine, which it is in
  tensors: Tensor[][]; // of its outputs, by comparison
  errors: (number | null)[]; // relative L2, by comparison
  ms: number | null; // its part of the step's time
  gain: number | null; // milliseconds that a narrower type saves
  alone: number | null; // error of the outputs where this part alone is narrower
  culprits: Culprit[];
  hidden: Hidden | null;
}

export type Hidden = "q/dq" | "constant" | "shape arithmetic";

// From a maker to a reader.
export interface Edge {
  value: string;
  from: number; // a leaf; -1: from outside of the graph
  to: number; // a leaf; -1: to outside of the graph
}

export interface Network {
  data: GraphData;
  leaves: Leaf[];
  edges: Edge[];
  types: Map<string, string>;
  steps: StepData[];
  comparisons: Comparison[];
  byName: Map<string, number>; // nodes of the ONNX model
  byValue: Map<string, number>; // the leaf that makes it
}

export function asNumber(figure: Figure | null | undefined): number {
  if (figure === "inf") return Infinity;
  if (figure === "-inf") return -Infinity;
  return typeof figure === "number" ? figure : NaN;
}

// Relative L2; not finite where only one side is. null: nothing was compared.
export function errorOf(tensor: Tensor): number | null {
  if (tensor.metrics.relative_l2 === undefined) return null;
  const error = asNumber(tensor.metrics.relative_l2);
  return Number.isNaN(error) ? Infinity : error;
}

export function comparisonsOf(payload: Payload): Comparison[] {
  return payload.report.comparisons ?? payload.layers?.comparisons ?? [];
}

export function networkOf(payload: Payload): Network | null {
  const data = payload.graph;
  if (data === null) return null;
  const comparisons = comparisonsOf(payload);
  const leaves = data.nodes.map((node, index) => leafOf(node, index, comparisons.length));
  const network: Network = {
    data, leaves, comparisons,
    edges: edgesOf(data),
    types: new Map(data.types),
    steps: data.steps,
    byName: new Map(),
    byValue: new Map(),
  };
  for (const leaf of leaves) {
    for (const name of leaf.data.from ?? [leaf.data.name]) network.byName.set(name, leaf.index);
    for (const value of leaf.data.outputs) if (value) network.byValue.set(value, leaf.index);
  }
  markHidden(network);
  addSteps(network);
  addErrors(network);
  addReport(network, payload.report);
  return network;
}

function leafOf(data: NodeData, index: number, comparisons: number): Leaf {
  return {
    index, data, steps: [],
    tensors: Array.from({ length: comparisons }, () => []),
    errors: Array<number | null>(comparisons).fill(null),
    ms: null, gain: null, alone: null, culprits: [], hidden: null,
  };
}

// A name may be that of a value in each of two bodies: a node sees those of its own body, and of what is around it.
function edgesOf(data: GraphData): Edge[] {
  const makers = new Map<string, number>();
  const key = (region: number | undefined, value: string) => `${region ?? -1} ${value}`;
  data.nodes.forEach((node, index) => {
    for (const value of node.outputs) if (value) makers.set(key(node.region, value), index);
  });
  const makerOf = (region: number | undefined, value: string): number | undefined => {
    for (;;) {
      const maker = makers.get(key(region, value));
      if (maker !== undefined || region === undefined) return maker;
      region = data.nodes[data.regions[region]!.owner]!.region;
    }
  };
  const given = new Set(data.inputs);
  const edges: Edge[] = [];
  data.nodes.forEach((node, to) => {
    for (const value of new Set(node.inputs)) {
      if (!value) continue;
      const from = makerOf(node.region, value);
      if (from !== undefined) edges.push({ value, from, to });
      else if (given.has(value)) edges.push({ value, from: -1, to });
    }
  });
  for (const value of data.outputs) {
    const from = makerOf(undefined, value);
    if (from !== undefined) edges.push({ value, from, to: -1 });
  }
  return edges;
}

const quantizing = new Set(["QuantizeLinear", "DequantizeLinear", "com.microsoft::QuantizeLinear", "com.microsoft::DequantizeLinear"]);
const ofSizes = new Set(["Shape", "Size"]);
// Exporters compute sizes by these.
const onSizes = new Set([
  "Gather", "Slice", "Concat", "Unsqueeze", "Squeeze", "Cast", "Add", "Sub", "Mul", "Div", "Mod", "Floor", "Ceil", "Neg", "Min", "Max",
  "ReduceProd", "ReduceSum", "ReduceMax", "Equal", "Less", "Greater", "Where", "Identity", "Range", "ConstantOfShape", "Reshape", "Split",
]);

function markHidden(network: Network): void {
  const makers = new Map<number, number[]>(); // of what a leaf reads
  for (const edge of network.edges) {
    if (edge.to < 0) continue;
    makers.set(edge.to, [...(makers.get(edge.to) ?? []), edge.from]);
  }
  for (const leaf of network.leaves) {
    const op = leaf.data.op;
    const read = makers.get(leaf.index) ?? [];
    const all = (...kinds: Hidden[]) => read.every((from) => from >= 0 && kinds.includes(network.leaves[from]!.hidden!));
    if (quantizing.has(op)) leaf.hidden = "q/dq";
    else if (ofSizes.has(op)) leaf.hidden = "shape arithmetic";
    else if (read.length === 0 && (leaf.data.inputs.length === 0 || op === "Constant")) leaf.hidden = "constant";
    else if (read.length > 0 && onSizes.has(op) && all("shape arithmetic", "constant"))
      leaf.hidden = all("constant") ? "constant" : "shape arithmetic";
  }
}

function addSteps(network: Network): void {
  network.steps.forEach((step, index) => {
    for (const name of step.nodes) {
      const leaf = network.byName.get(name);
      if (leaf !== undefined) network.leaves[leaf]!.steps.push(index);
    }
  });
}

function addErrors(network: Network): void {
  network.comparisons.forEach((comparison, which) => {
    for (const tensor of comparison.tensors) {
      const maker = network.byValue.get(tensor.value);
      if (maker === undefined) continue;
      const leaf = network.leaves[maker]!;
      leaf.tensors[which]!.push(tensor);
      const error = errorOf(tensor);
      if (error !== null) leaf.errors[which] = Math.max(leaf.errors[which] ?? 0, error);
    }
  });
}

function addReport(network: Network, report: Report): void {
  const each = (names: string[], visit: (leaf: Leaf, count: number) => void) => {
    const found = names.map((name) => network.byName.get(name)).filter((index) => index !== undefined);
    for (const index of found) visit(network.leaves[index]!, found.length);
  };
  const timed = report.profile?.steps ?? report.plans?.[0]?.steps ?? [];
  for (const step of timed) {
    const { ms } = step;
    if (ms !== null) each(step.nodes, (leaf, count) => (leaf.ms = (leaf.ms ?? 0) + ms / count));
  }
  for (const culprit of report.culprits ?? []) each(culprit.nodes, (leaf) => leaf.culprits.push(culprit));
  for (const part of report.sensitivities ?? []) {
    each(part.nodes, (leaf, count) => {
      leaf.gain = Math.max(leaf.gain ?? 0, part.gain_ms / count);
      leaf.alone = Math.max(leaf.alone ?? 0, asNumber(part.error) || 0);
    });
  }
}

// The type that decides how exact a node is.
export function typeOf(network: Network, leaf: Leaf): string {
  const known: Precision | undefined = leaf.data.precision;
  const type = known?.store || known?.compute;
  if (type) return type;
  const [output] = leaf.data.outputs;
  return (output && network.types.get(output)?.split("[")[0]) || "";
}
