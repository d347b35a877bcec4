// Shows what is known of the box that is selected.
import type { JSX } from "preact";
import { Bars, histogramBars } from "./charts";
import { countText, figureText, percentText } from "./format";
import type { Box } from "./hierarchy";
import { asNumber, typeOf, type Leaf, type Network } from "./network";
import type { State } from "./state";
import { Details, Pairs, Table } from "./table";
import type { Tensor } from "./types";

export function Panel({ state }: { state: State }): JSX.Element {
  const box = state.selected.value;
  return (
    <aside class="panel" aria-label="What is selected">
      {box === null || !state.network ? (
        <p class="hint">Select a box of the network, a point of the strip or a row of a table.</p>
      ) : (
        <>
          <h2>{box.title}</h2>
          {box.leaf !== null && <LeafView state={state} leaf={state.network.leaves[box.leaf]!} />}
          {box.children.length > 0 && <GroupView state={state} network={state.network} box={box} />}
        </>
      )}
    </aside>
  );
}

function leavesOf(network: Network, box: Box): Leaf[] {
  const own = box.leaf === null ? [] : [network.leaves[box.leaf]!];
  return [...own, ...box.children.flatMap((child) => leavesOf(network, child))];
}

function GroupView({ state, network, box }: { state: State; network: Network; box: Box }): JSX.Element {
  const leaves = leavesOf(network, box);
  const step = box.kind === "step" ? leaves[0]?.steps[0] : undefined;
  return (
    <>
      <p>{`${countText(leaves.length, "node")}${box.kind === "step" ? " that the engine computes in one step" : ""}`}</p>
      {step !== undefined && <StepView network={network} step={step} />}
      <Nodes state={state} leaves={leaves} caption="Nodes inside" />
    </>
  );
}

export function Nodes({ state, leaves, caption }: { state: State; leaves: Leaf[]; caption: string }): JSX.Element {
  return (
    <Table
      caption={caption}
      rows={leaves}
      columns={[
        { head: "node", text: (leaf) => leaf.data.name, show: (leaf) => <Jump state={state} leaf={leaf} /> },
        { head: "operator", text: (leaf) => leaf.data.op },
        { head: "type", text: (leaf) => typeOf(state.network!, leaf) },
        {
          head: state.heat.value === "none" ? "figure" : state.heat.value,
          text: (leaf) => figureText(state.figures.value[leaf.index]),
          order: (leaf) => state.figures.value[leaf.index] ?? NaN,
        },
      ]}
    />
  );
}

function Jump({ state, leaf }: { state: State; leaf: Leaf }): JSX.Element {
  return <button type="button" class="jump" onClick={() => state.jump(leaf.index)}>{leaf.data.name}</button>;
}

function StepView({ network, step }: { network: Network; step: number }): JSX.Element {
  const { kernel, reason, contract, device } = network.steps[step]!;
  return (
    <Pairs
      pairs={[
        ["kernel", kernel || `none, the reference computes it: ${reason}`],
        ["contract", contract || "–"],
        ["device", device],
      ]}
    />
  );
}

function LeafView({ state, leaf }: { state: State; leaf: Leaf }): JSX.Element {
  const network = state.network!;
  const { data } = leaf;
  const precision = data.precision;
  const given: [string, string][] = [["node", data.name], ["operator", data.op]];
  if (data.from) given.push(["from the ONNX nodes", data.from.join(", ")]);
  if (precision) {
    given.push(["computed by", precision.kernel || precision.how]);
    const types = [precision.compute, precision.accumulate, precision.store].map((type) => type || "–");
    given.push(["computes, accumulates, stores", types.join(", ")]);
    if (precision.requested) given.push(["asked for", precision.requested]);
    if (precision.difference) given.push(["differs", precision.difference]);
  }
  if (leaf.ms !== null) given.push(["time", `${figureText(leaf.ms)} ms`]);
  if (leaf.gain !== null) given.push(["narrower alone saves", `${figureText(leaf.gain)} ms, for an error of ${figureText(leaf.alone)}`]);
  if (leaf.hidden) given.push(["kind", leaf.hidden]);
  return (
    <>
      {leaf.culprits.map((culprit) => (
        <div class="finding" key={culprit.rank}>
          <strong>{`Culprit ${culprit.rank}: ${culprit.title} (${culprit.class}, confidence ${percentText(culprit.confidence)})`}</strong>
          <p>{culprit.sentence}</p>
        </div>
      ))}
      <Pairs pairs={given} />
      {leaf.steps.map((step) => <StepView key={step} network={network} step={step} />)}
      <Values state={state} leaf={leaf} />
      {data.attributes && (
        <Details title="Attributes"><Pairs pairs={Object.entries(data.attributes)} /></Details>
      )}
      {network.comparisons.map((comparison, index) =>
        leaf.tensors[index]!.map((tensor) => (
          <TensorView key={`${index} ${tensor.value}`} title={`${tensor.value}: ${comparison.actual} against ${comparison.reference}`} tensor={tensor} />
        )),
      )}
      <Experiments state={state} leaf={leaf} />
    </>
  );
}

function Values({ state, leaf }: { state: State; leaf: Leaf }): JSX.Element {
  const network = state.network!;
  const constants = new Set(network.data.constants);
  const line = (value: string): JSX.Element => (
    <li key={value}>
      {network.byValue.has(value) && network.byValue.get(value) !== leaf.index ? (
        <button type="button" class="jump" onClick={() => state.jumpToValue(value)}>{value}</button>
      ) : (
        <span>{value}</span>
      )}
      <span class="type">{` ${network.types.get(value) ?? ""}${constants.has(value) ? " constant" : ""}`}</span>
    </li>
  );
  return (
    <>
      <h3>Reads</h3>
      <ul>{leaf.data.inputs.filter((value) => value).map(line)}</ul>
      <h3>Makes</h3>
      <ul>{leaf.data.outputs.filter((value) => value).map(line)}</ul>
    </>
  );
}

const metricNames: [string, string][] = [
  ["relative_l2", "relative L2"], ["max_abs", "max abs"], ["mean_abs", "mean abs"], ["rmse", "RMSE"], ["cosine", "cosine"],
  ["sqnr_db", "SQNR, dB"], ["max_ulp", "max ulp"], ["required_atol", "required atol"], ["required_rtol", "required rtol"],
  ["nan_mismatches", "NaN mismatches"], ["inf_mismatches", "Inf mismatches"], ["argmax_agreement", "argmax agreement"],
  ["top_k_agreement", "top-k agreement"], ["mismatching", "outside the tolerance"], ["elements", "elements"],
];

export function TensorView({ title, tensor }: { title: string; tensor: Tensor }): JSX.Element {
  const { metrics, worst, tolerance } = tensor;
  const figures = metricNames.filter(([key]) => metrics[key] !== undefined).map(([key, name]): [string, string] => [name, figureText(metrics[key] as number)]);
  const bars = metrics.histogram ? histogramBars(metrics.histogram) : [];
  return (
    <section>
      <h3>{title}</h3>
      <p><span class={`verdict ${tensor.verdict}`}>{tensor.verdict.replace("_", " ")}</span>{` ${tensor.reasons.join("; ")}`}</p>
      <Pairs pairs={[["tolerance", `|a − b| ≤ ${figureText(tolerance.atol)} + ${figureText(tolerance.rtol)} · |ref| (${tolerance.source})`], ...figures]} />
      {worst && (
        <p>{`Worst: sample ${worst.sample}${worst.part} [${worst.index.join(", ")}]: expected ${String(worst.expected)}, got ${String(worst.actual)}`}</p>
      )}
      {bars.length > 0 && (
        <>
          <Bars title={`Elements by absolute error: ${bars.map((bar) => `${bar.label}: ${bar.count}`).join(", ")}`} bars={bars} logarithmic />
          <Details title="Histogram as a table">
            <Table
              caption="elements by absolute error, from"
              rows={bars}
              columns={[
                { head: "error", text: (bar) => bar.label },
                { head: "elements", text: (bar) => String(bar.count), order: (bar) => bar.count },
              ]}
            />
          </Details>
        </>
      )}
      {(tensor.decisions ?? []).map((decision, index) => (
        <p key={index}>{`Rests on a tie: ${Object.entries(decision).map(([key, value]) => `${key} ${String(value)}`).join(", ")}`}</p>
      ))}
    </section>
  );
}

function Experiments({ state, leaf }: { state: State; leaf: Leaf }): JSX.Element | null {
  const evidence = leaf.culprits.flatMap((culprit) => culprit.evidence.map((each) => ({ ...each, rank: culprit.rank })));
  if (evidence.length === 0) return null;
  const runs = new Map((state.payload.report.experiments ?? []).map((each) => [each.name, each]));
  return (
    <Table
      caption="Experiments on this node"
      rows={evidence}
      columns={[
        { head: "experiment", text: (row) => row.experiment },
        { head: "figure", text: (row) => figureText(row.figure), order: (row) => asNumber(row.figure) },
        { head: "what it shows", text: (row) => row.sentence },
        { head: "runs", text: (row) => String(runs.get(row.experiment)?.runs ?? "–"), order: (row) => runs.get(row.experiment)?.runs ?? NaN },
      ]}
    />
  );
}
