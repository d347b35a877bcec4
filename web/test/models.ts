// Payloads of made-up networks.
import { gzipSync } from "node:zlib";
import type { GraphData, NodeData, Payload, Tensor } from "../src/types";

export function tensorOf(value: string, node: string, error: number, output = false): Tensor {
  const verdict = error > 1e-2 ? "fail" : "pass";
  return {
    value, output, verdict, reasons: [], type: "FLOAT", dims: [1, 8], nodes: [node],
    tolerance: { atol: 1e-4, rtol: 1e-3, source: "default" },
    metrics: { elements: 8, mismatching: verdict === "fail" ? 3 : 0, relative_l2: error, max_abs: error, histogram: { exact: 1, not_finite: 0, decades: { "-5": 4, "-3": 3 } } },
  };
}

export class Maker {
  readonly nodes: NodeData[] = [];
  readonly graph: GraphData = { name: "made.onnx", inputs: ["x"], outputs: [], types: [["x", "f32[1, 8]"]], constants: ["w"], regions: [], nodes: this.nodes, steps: [] };

  add(op: string, inputs: string[], name = `${op}_${this.nodes.length}`, more: Partial<NodeData> = {}): string {
    const output = `${name}_output`;
    this.nodes.push({ name, op, inputs, outputs: [output], ...more });
    this.graph.types.push([output, "f32[1, 8]"]);
    return output;
  }

  payload(more: Partial<Payload> = {}): Payload {
    const tensors = this.nodes.map((node, index) => tensorOf(node.outputs[0]!, node.name, 1e-8 * (1 + (index % 997)), index === this.nodes.length - 1));
    return {
      schema: "vernier-page", version: 1, command: "vernier run made.onnx --reference --cpu --layers", verdict: "pass",
      sentence: "cpu and reference agree.",
      report: {
        schema: "vernier-report", version: 1, verdict: "pass", options: { models: "made.onnx" }, environment: { cpu: "made up" }, notes: [],
        comparisons: [{ reference: "reference", actual: "cpu", verdict: "pass", reasons: [], notes: [], tensors }],
      },
      layers: null, runs_ms: {}, graph: this.graph, dropped: [], ...more,
    };
  }
}

export function chain(length: number): Maker {
  const maker = new Maker();
  let last = "x";
  for (let i = 0; i < length; ++i) last = maker.add(i % 2 ? "Relu" : "Conv", [last, "w"]);
  maker.graph.outputs = [last];
  return maker;
}

// Residual blocks, branches, a mask that all layers read, and skips over most of the depth.
export function large(count: number): Maker {
  const maker = new Maker();
  const mask = maker.add("Cast", ["x"]);
  let last = maker.add("Conv", ["x", "w"]);
  const skips: string[] = [];
  for (let block = 0; maker.nodes.length < count - 24; ++block) {
    const before = last;
    const conv = maker.add("Conv", [before, "w"]);
    last = maker.add("Relu", [conv]);
    const branches = [0, 1, 2].map(() => maker.add("Relu", [maker.add("Conv", [last, "w"])]));
    last = maker.add("Concat", branches);
    const scores = maker.add("Softmax", [maker.add("Add", [maker.add("MatMul", [last, "w"]), mask])]);
    last = maker.add("Add", [maker.add("MatMul", [scores, last]), before]);
    if (block < 10) skips.push(last);
  }
  for (const skip of skips) last = maker.add("Concat", [last, skip]);
  while (maker.nodes.length < count) last = maker.add("Relu", [last]);
  maker.graph.outputs = [last];
  return maker;
}

export function pageOf(template: string, payload: Payload): string {
  const packed = gzipSync(JSON.stringify(payload)).toString("base64");
  return template.replace("<!--payload-->", () => `<script type="application/gzip;base64" id="payload">${packed}</script>`);
}
