// A page is given this: the payload of docs/page.md. Names in it come from a model and may be anything.

export type Verdict = "pass" | "mistrusted" | "not_compared" | "fail" | "";
// Numbers that JSON does not have are spelled out.
export type Figure = number | "nan" | "inf" | "-inf";

export interface Payload {
  schema: "vernier-page";
  version: number;
  command: string; // as it was typed
  verdict: Verdict;
  sentence: string;
  report: Report; // as `--json` writes it
  layers: Report | null; // inner values, compared beside the report
  runs_ms: Record<string, number[]>; // by runner
  graph: GraphData | null;
  dropped: string[]; // what was left out so that the file stays small
}

export interface GraphData {
  name: string;
  inputs: string[];
  outputs: string[];
  types: [value: string, type: string][]; // "f32[1, 3, 224, 224]"
  constants: string[]; // values
  regions: { owner: number; name: string }[]; // bodies of nodes
  nodes: NodeData[]; // in the order of execution; those of a body behind those around them
  steps: StepData[];
}

export interface NodeData {
  name: string;
  op: string;
  inputs: string[]; // "": left out
  outputs: string[];
  region?: number;
  from?: string[]; // nodes of ONNX, where they are not the node itself
  attributes?: Record<string, string>;
  precision?: Precision;
}

export interface Precision {
  how: "kernel" | "reference" | "view" | "folded" | "region";
  kernel: string;
  compute: string; // "f32"; "" where bits are moved
  accumulate: string;
  store: string;
  requested?: string;
  difference?: string;
}

export interface StepData {
  kernel: string; // "" for the reference
  reason: string; // why there is no kernel
  nodes: string[];
  contract: string;
  device: string;
}

export interface Metrics {
  elements: number;
  mismatching: number;
  max_abs?: Figure;
  relative_l2?: Figure;
  histogram?: { exact: number; not_finite: number; decades: Record<string, number> };
  [metric: string]: unknown;
}

export interface Tensor {
  value: string;
  output: boolean;
  verdict: Verdict;
  reasons: string[];
  type: string;
  dims: number[];
  nodes: string[];
  tolerance: { atol: number; rtol: number; source: string };
  metrics: Metrics;
  worst?: { sample: number; part: string; index: number[]; expected: unknown; actual: unknown };
  decisions?: Record<string, unknown>[];
}

export interface Comparison {
  reference: string;
  actual: string;
  verdict: Verdict;
  reasons: string[];
  notes: string[];
  first_difference?: { value: string; nodes: string[] };
  tensors: Tensor[];
}

export interface Culprit {
  rank: number;
  nodes: string[];
  values: string[];
  class: string;
  title: string;
  sentence: string;
  confidence: Figure;
  share: Figure;
  evidence: { experiment: string; figure: Figure; sentence: string }[];
  rejected: { class: string; residual: Figure; why: string }[];
  repair: {
    kind: string;
    sentence: string;
    file: string | null;
    verified: { relative_l2_before: Figure; relative_l2_after: Figure; cost_percent: Figure | null; passes: boolean } | null;
  };
}

export interface Latency {
  p50: number;
  p90: number;
  p95: number;
  p99: number;
  mean: number;
  min: number;
  max: number;
  runs: number;
}

export interface TunedPlan {
  plan: string;
  types: string;
  latency_ms: number;
  error: Figure;
  metric: number | null;
  ratio: number;
  ratio_ci95: [number, number];
  holds: boolean;
  failure?: string;
}

export interface EvaluatedDifference {
  runner: string;
  baseline: string;
  metric: string;
  difference: Figure;
  ci95: [Figure, Figure];
  p: Figure;
  lost: number;
  gained: number;
  gate: { verdict: Verdict; sentence: string } | null;
  flipped: { sample: number; row: number; origin: string; baseline: Figure; runner: Figure; lost: Figure }[];
}

// Every verb writes this; keys that a verb does not write are missing.
export interface Report {
  schema: string;
  version: number;
  verdict?: Verdict;
  options?: Record<string, string>;
  environment?: Record<string, string>;
  notes?: string[];
  // run
  comparisons?: Comparison[];
  failures?: string[];
  accuracies?: { runner: string; right: number; rows: number }[];
  // diagnose
  culprits?: Culprit[];
  split?: Record<string, Figure | string>[];
  experiments?: { name: string; runs: number; seconds: Figure }[];
  // build
  passes?: { name: string; class: string; rewrites: number }[];
  plans?: { sizes: string; steps: (StepData & { ms: number | null })[] }[];
  accuracy?: { verdict: Verdict; outputs: Record<string, unknown>[]; reasons?: string[] } | null;
  // bench
  latency_ms?: Latency;
  throughput_per_s?: number;
  memory?: Record<string, number>;
  versus?: { runner: string; ratio?: number; ci95?: [number, number]; latency_ms?: Latency; failure?: string }[];
  profile?: { steps: { kernel: string; nodes: string[]; ms: number; roofline: { share: Figure; limit: string } | null }[] };
  // tune
  front?: TunedPlan[];
  dominated?: TunedPlan[];
  baseline?: TunedPlan;
  chosen?: TunedPlan | null;
  target?: { text: string; unit: string; limit: number };
  sensitivities?: { nodes: string[]; type: string; gain_ms: number; error: Figure }[];
  // evaluate
  runners?: { name: string; values: { metric: string; value: Figure; ci95: [Figure, Figure]; rows: number }[]; failures: number; failure: string }[];
  differences?: EvaluatedDifference[];
}
