// Finds what differs between two reports.
import { asNumber, comparisonsOf, networkOf, typeOf } from "./network";
import type { Payload } from "./types";

export interface Difference {
  what: string; // "value logits", "node conv1"
  figure: string; // "relative L2", "ms", "kernel", …
  here: string | number;
  there: string | number;
  ratio: number; // of the other one to this one; NaN for what are no numbers
}

type Facts = Map<string, string | number>;

const separator = "\u0000";

// Everything that can be held against another report, by what it is of.
function factsOf(payload: Payload): Facts {
  const facts: Facts = new Map();
  const add = (what: string, figure: string, value: string | number | undefined | null) => {
    if (value !== undefined && value !== null && value !== "") facts.set(what + separator + figure, value);
  };
  const { report } = payload;
  add("report", "verdict", payload.verdict || report.verdict);
  for (const comparison of comparisonsOf(payload)) {
    const pair = `${comparison.actual} against ${comparison.reference}`;
    add(pair, "verdict", comparison.verdict);
    for (const tensor of comparison.tensors) {
      if (tensor.metrics.relative_l2 === undefined) continue;
      add(`${pair}: ${tensor.value}`, "relative L2", asNumber(tensor.metrics.relative_l2));
      if (tensor.output) add(`${pair}: ${tensor.value}`, "verdict", tensor.verdict);
    }
  }
  for (const [name, value] of Object.entries(report.latency_ms ?? {})) add("latency", `${name}${name === "runs" ? "" : ", ms"}`, value);
  for (const other of report.versus ?? []) add(other.runner, "ratio", other.ratio);
  const network = networkOf(payload);
  for (const leaf of network?.leaves ?? []) {
    add(leaf.data.name, "type", typeOf(network!, leaf));
    add(leaf.data.name, "kernel", leaf.data.precision?.kernel);
    add(leaf.data.name, "ms", leaf.ms);
  }
  for (const culprit of report.culprits ?? []) add(`culprit ${culprit.nodes.join(", ") || culprit.values.join(", ")}`, "class", culprit.class);
  for (const [name, value] of Object.entries(report.options ?? {})) add(`option ${name}`, "given", value);
  for (const [name, value] of Object.entries(report.environment ?? {})) add(`environment ${name}`, "is", value);
  return facts;
}

// The largest changes of figures first, behind all else that differs.
export function differencesOf(here: Payload, there: Payload): Difference[] {
  const ours = factsOf(here);
  const theirs = factsOf(there);
  const found: Difference[] = [];
  for (const key of new Set([...ours.keys(), ...theirs.keys()])) {
    const [one, other] = [ours.get(key) ?? "–", theirs.get(key) ?? "–"];
    if (Object.is(one, other)) continue;
    const [what = "", figure = ""] = key.split(separator);
    const ratio = typeof one === "number" && typeof other === "number" ? other / one : NaN;
    found.push({ what, figure, here: one, there: other, ratio });
  }
  const size = (each: Difference) => (Number.isNaN(each.ratio) ? Infinity : Math.abs(Math.log(each.ratio)));
  return found.sort((a, b) => (size(a) === size(b) ? 0 : size(b) > size(a) ? 1 : -1));
}
