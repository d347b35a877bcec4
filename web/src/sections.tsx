// Shows what each verb has to tell beside the network.
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { Bars, latencyBars, ParetoFront, type FrontPoint } from "./charts";
import { figureText, percentText } from "./format";
import { asNumber } from "./network";
import type { State } from "./state";
import { Details, Pairs, Table } from "./table";
import { TensorView } from "./panel";
import type { Comparison, Culprit, Figure, Latency, Report } from "./types";

export function Culprits({ state }: { state: State }): JSX.Element | null {
  const culprits = state.payload.report.culprits ?? [];
  if (culprits.length === 0) return null;
  return (
    <section aria-labelledby="culprits">
      <h2 id="culprits">Culprits</h2>
      {culprits.map((culprit) => <CulpritView key={culprit.rank} state={state} culprit={culprit} />)}
    </section>
  );
}

function CulpritView({ state, culprit }: { state: State; culprit: Culprit }): JSX.Element {
  const { repair } = culprit;
  const cure = repair.verified;
  return (
    <article class="finding">
      <h3>{`${culprit.rank}. ${culprit.title} (${culprit.class})`}</h3>
      <p>{culprit.sentence}</p>
      <p>
        {`Confidence ${percentText(culprit.confidence)}, ${percentText(culprit.share)} of the error of the outputs. `}
        {culprit.nodes.map((name) => (
          <button key={name} type="button" class="jump" onClick={() => state.jumpToNode(name)}>{name}</button>
        ))}
        {culprit.nodes.length === 0 && culprit.values.join(", ")}
      </p>
      <Table
        caption="Evidence"
        rows={culprit.evidence}
        columns={[
          { head: "experiment", text: (row) => row.experiment },
          { head: "figure", text: (row) => figureText(row.figure), order: (row) => asNumber(row.figure) },
          { head: "what it shows", text: (row) => row.sentence },
        ]}
      />
      <p>
        <strong>Cure: </strong>
        {repair.sentence || "none is known"}
        {repair.file && ` (${repair.file})`}
        {cure && ` Relative L2 ${figureText(cure.relative_l2_before)} before, ${figureText(cure.relative_l2_after)} after${costText(cure.cost_percent)}; ${cure.passes ? "passes" : "does not pass"}.`}
      </p>
      {culprit.rejected.length > 0 && (
        <Details title={`Causes that were ruled out (${culprit.rejected.length})`}>
          <Table
            caption="Ruled out"
            rows={culprit.rejected}
            columns={[
              { head: "class", text: (row) => row.class },
              { head: "left unexplained", text: (row) => percentText(row.residual), order: (row) => asNumber(row.residual) },
              { head: "why", text: (row) => row.why },
            ]}
          />
        </Details>
      )}
    </article>
  );
}

function costText(percent: Figure | null): string {
  if (percent === null) return "";
  const cost = asNumber(percent);
  return cost < 0 ? `, in ${figureText(-cost)} % less time` : `, at ${figureText(cost)} % more time`;
}

export function Split({ report }: { report: Report }): JSX.Element | null {
  const rows = report.split ?? [];
  if (rows.length === 0) return null;
  const figure = (key: string) => ({
    head: key.replaceAll("_", " to "),
    text: (row: Record<string, unknown>) => figureText(row[key] as number),
    order: (row: Record<string, unknown>) => asNumber(row[key] as number),
  });
  return (
    <section aria-labelledby="split">
      <h2 id="split">Where the error comes from</h2>
      <Table
        caption="Relative L2, by output"
        rows={rows}
        columns={[
          { head: "output", text: (row) => String(row.output) },
          ...["ideal_declared", "declared_planned", "planned_engine", "needs", "bound"].map(figure),
          { head: "what it means", text: (row) => String(row.sentence) },
        ]}
      />
    </section>
  );
}

export function Comparisons({ state, comparisons }: { state: State; comparisons: Comparison[] }): JSX.Element | null {
  if (comparisons.length === 0) return null;
  return (
    <section aria-labelledby="comparisons">
      <h2 id="comparisons">Comparisons</h2>
      {comparisons.map((comparison, index) => <ComparisonView key={index} state={state} comparison={comparison} />)}
    </section>
  );
}

function ComparisonView({ state, comparison }: { state: State; comparison: Comparison }): JSX.Element {
  const first = comparison.first_difference;
  const outputs = comparison.tensors.filter((tensor) => tensor.output);
  const failing = outputs.filter((tensor) => tensor.verdict !== "pass");
  return (
    <article>
      <h3>
        <span class={`verdict ${comparison.verdict}`}>{comparison.verdict.replace("_", " ")}</span>
        {` ${comparison.actual} against ${comparison.reference}`}
      </h3>
      {[...comparison.reasons, ...comparison.notes].map((line, index) => <p key={index}>{line}</p>)}
      {first && (
        <p>
          {"First difference: "}
          <button type="button" class="jump" onClick={() => state.jumpToValue(first.value)}>{first.value}</button>
          {first.nodes.length > 0 && `, made by ${first.nodes.join(", ")}`}
        </p>
      )}
      <Table
        caption="Values"
        rows={[...outputs, ...comparison.tensors.filter((tensor) => !tensor.output)]}
        columns={[
          {
            head: "value",
            text: (row) => row.value,
            show: (row) => <button type="button" class="jump" onClick={() => state.jumpToValue(row.value)}>{row.value}</button>,
          },
          { head: "verdict", text: (row) => row.verdict.replace("_", " ") },
          { head: "kind", text: (row) => (row.output ? "output" : "inner") },
          { head: "type", text: (row) => row.type },
          { head: "relative L2", text: (row) => figureText(row.metrics.relative_l2), order: (row) => asNumber(row.metrics.relative_l2) },
          { head: "max abs", text: (row) => figureText(row.metrics.max_abs), order: (row) => asNumber(row.metrics.max_abs) },
          {
            head: "outside",
            text: (row) => `${row.metrics.mismatching} of ${row.metrics.elements}`,
            order: (row) => row.metrics.mismatching,
          },
        ]}
      />
      {failing.slice(0, 3).map((tensor) => <TensorView key={tensor.value} title={tensor.value} tensor={tensor} />)}
    </article>
  );
}

export function Latencies({ state }: { state: State }): JSX.Element | null {
  const { report, runs_ms: runs } = state.payload;
  if (!report.latency_ms) return null;
  type Row = { name: string; latency: Latency; ratio: string };
  const rows: Row[] = [{ name: "this engine", latency: report.latency_ms, ratio: "1" }];
  for (const other of report.versus ?? []) {
    const [low, high] = other.ci95 ?? [0, 0];
    if (other.latency_ms) rows.push({ name: other.runner, latency: other.latency_ms, ratio: `${figureText(other.ratio)} [${figureText(low)}, ${figureText(high)}]` });
  }
  const figure = (key: keyof Latency) => ({ head: key, text: (row: Row) => figureText(row.latency[key]), order: (row: Row) => row.latency[key] });
  return (
    <section aria-labelledby="latency">
      <h2 id="latency">Latency</h2>
      <Table
        caption="Milliseconds of a run"
        rows={rows}
        columns={[
          { head: "runner", text: (row) => row.name },
          ...(["p50", "p90", "p95", "p99", "mean", "min", "max", "runs"] as const).map(figure),
          { head: "times as long, 95 %", text: (row) => row.ratio },
        ]}
      />
      <div class="charts">
        {Object.entries(runs).map(([runner, all]) => (
          <figure key={runner}>
            <figcaption>{`${runner}: ${all.length} runs`}</figcaption>
            <Bars title={`How long runs of ${runner} took; the table below has the same figures`} bars={latencyBars(all)} />
            <Details title="The same as a table">
              <Table
                caption={`Runs of ${runner} by how long they took, from`}
                rows={latencyBars(all).filter((bar) => bar.count > 0)}
                columns={[
                  { head: "time", text: (bar) => bar.label },
                  { head: "runs", text: (bar) => String(bar.count), order: (bar) => bar.count },
                ]}
              />
            </Details>
          </figure>
        ))}
      </div>
      <Pairs
        pairs={[
          ["throughput", `${figureText(report.throughput_per_s)} a second`],
          ...Object.entries(report.memory ?? {}).map(([name, bytes]): [string, string] => [name.replaceAll("_", " "), `${figureText(bytes / 1e6)} MB`]),
        ]}
      />
    </section>
  );
}

export function Steps({ state }: { state: State }): JSX.Element | null {
  const { report } = state.payload;
  const profiled = report.profile?.steps;
  const steps = profiled ?? report.plans?.[0]?.steps ?? [];
  if (steps.length === 0) return null;
  const shareOf = (row: unknown) => asNumber((row as { roofline?: { share: number } | null }).roofline?.share);
  return (
    <Details title={`Steps of the engine (${steps.length})`}>
      <Table
        caption="Steps, in the order of execution"
        rows={steps.map((step, index) => ({ ...step, index }))}
        columns={[
          { head: "step", text: (row) => String(row.index), order: (row) => row.index },
          { head: "kernel", text: (row) => row.kernel || "reference" },
          {
            head: "nodes",
            text: (row) => row.nodes.join(", "),
            show: (row) => row.nodes.map((name) => (
              <button key={name} type="button" class="jump" onClick={() => state.jumpToNode(name)}>{name}</button>
            )),
          },
          { head: "ms", text: (row) => figureText(row.ms), order: (row) => row.ms ?? NaN },
          ...(profiled ? [{ head: "of roofline", text: (row: unknown) => (Number.isNaN(shareOf(row)) ? "–" : percentText(shareOf(row))), order: shareOf }] : []),
        ]}
      />
    </Details>
  );
}

export function Front({ state }: { state: State }): JSX.Element | null {
  const { report } = state.payload;
  const picked = useSignal<FrontPoint | null>(null);
  if (!report.front || !report.target) return null;
  const isChosen = (plan: { types: string; latency_ms: number }) => plan.types === report.chosen?.types && plan.latency_ms === report.chosen.latency_ms;
  const isBaseline = (plan: { types: string; latency_ms: number }) => plan.types === report.baseline?.types && plan.latency_ms === report.baseline.latency_ms;
  const roleOf = (plan: FrontPoint["plan"], otherwise: FrontPoint["role"]) => (isChosen(plan) ? "chosen" : isBaseline(plan) ? "baseline" : otherwise);
  const points: FrontPoint[] = [
    ...report.front.map((plan): FrontPoint => ({ plan, role: roleOf(plan, "front") })),
    ...(report.dominated ?? []).map((plan): FrontPoint => ({ plan, role: roleOf(plan, "dominated") })),
  ];
  return (
    <section aria-labelledby="front">
      <h2 id="front">Plans</h2>
      <p>{`Target: ${report.target.text}.`}</p>
      <ParetoFront points={points} unit={report.target.unit} choose={(point) => (picked.value = point)} />
      <p aria-live="polite">
        {picked.value && `${picked.value.plan.plan}: ${picked.value.plan.types}, ${figureText(picked.value.plan.latency_ms)} ms, error ${figureText(picked.value.plan.error)}`}
      </p>
      <Table
        caption="Plans that were raced"
        rows={points}
        columns={[
          { head: "plan", text: (row) => row.plan.plan },
          { head: "role", text: (row) => row.role },
          { head: "types", text: (row) => row.plan.types },
          { head: "ms", text: (row) => figureText(row.plan.latency_ms), order: (row) => row.plan.latency_ms },
          {
            head: "times the baseline, 95 %",
            text: (row) => `${figureText(row.plan.ratio)} [${row.plan.ratio_ci95.map(figureText).join(", ")}]`,
            order: (row) => row.plan.ratio,
          },
          { head: "error", text: (row) => figureText(row.plan.error), order: (row) => asNumber(row.plan.error) },
          { head: "holds", text: (row) => row.plan.failure ?? (row.plan.holds ? "yes" : "no") },
        ]}
      />
      {(report.sensitivities?.length ?? 0) > 0 && (
        <Details title="What lowering a part alone gains and costs">
          <Table
            caption="Parts, the largest gain first"
            rows={report.sensitivities!}
            columns={[
              {
                head: "nodes",
                text: (row) => row.nodes.join(", "),
                show: (row) => row.nodes.map((name) => (
                  <button key={name} type="button" class="jump" onClick={() => state.jumpToNode(name)}>{name}</button>
                )),
              },
              { head: "type", text: (row) => row.type },
              { head: "gain, ms", text: (row) => figureText(row.gain_ms), order: (row) => row.gain_ms },
              { head: "error", text: (row) => figureText(row.error), order: (row) => asNumber(row.error) },
            ]}
          />
        </Details>
      )}
    </section>
  );
}

export function Built({ report }: { report: Report }): JSX.Element | null {
  if (!report.plans) return null;
  const outputs = report.accuracy?.outputs ?? [];
  return (
    <section aria-labelledby="built">
      <h2 id="built">The engine</h2>
      {outputs.length > 0 && (
        <Table
          caption="Relative L2 of the engine, by output"
          rows={outputs}
          columns={Object.keys(outputs[0]!).map((key) => ({
            head: key,
            text: (row: Record<string, unknown>) => (typeof row[key] === "number" ? figureText(row[key]) : String(row[key])),
          }))}
        />
      )}
      <Table
        caption="Passes that changed the model"
        rows={report.passes ?? []}
        columns={[
          { head: "pass", text: (row) => row.name },
          { head: "class", text: (row) => row.class },
          { head: "rewrites", text: (row) => String(row.rewrites), order: (row) => row.rewrites },
        ]}
      />
    </section>
  );
}
