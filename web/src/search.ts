// Finds nodes by their names, by the tensors that they make, and by the kernels that compute them.
import type { Network } from "./network";

export interface Hit {
  kind: "node" | "tensor" | "kernel";
  text: string;
  leaf: number;
}

const mostHits = 12;

// Names that begin with the words come before names that hold them.
export function searched(network: Network, query: string): Hit[] {
  const wanted = query.trim().toLowerCase();
  if (wanted === "") return [];
  const hits: { hit: Hit; order: number }[] = [];
  const seen = new Set<string>();
  const offer = (kind: Hit["kind"], text: string, leaf: number) => {
    const at = text.toLowerCase().indexOf(wanted);
    if (at < 0 || seen.has(`${kind} ${text}`)) return;
    seen.add(`${kind} ${text}`);
    hits.push({ hit: { kind, text, leaf }, order: text.length === wanted.length ? 0 : at === 0 ? 1 : 2 });
  };
  for (const { index, data, steps } of network.leaves) {
    for (const name of new Set([data.name, ...(data.from ?? [])])) offer("node", name, index);
    for (const value of data.outputs) if (value) offer("tensor", value, index);
    for (const step of steps) offer("kernel", network.steps[step]!.kernel, index);
  }
  return hits.sort((a, b) => a.order - b.order).slice(0, mostHits).map((each) => each.hit);
}
