// The page from top to bottom.
import { useComputed, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { allMarks, rampStops } from "./colour";
import { depthOf } from "./depth";
import { differencesOf, type Difference } from "./diff";
import { Evaluation } from "./evaluation";
import { figureText } from "./format";
import { GraphView } from "./graph";
import { asNumber } from "./network";
import { Nodes, Panel } from "./panel";
import { unpackFile } from "./payload";
import { searched, type Hit } from "./search";
import { Built, Comparisons, Culprits, Front, Latencies, Split, Steps } from "./sections";
import type { Heat, State } from "./state";
import { Strip } from "./strip";
import { Details, Pairs, Table } from "./table";

const verdictWords: Record<string, string> = { pass: "Pass", fail: "Fail", mistrusted: "Mistrusted", not_compared: "Not compared", "": "Measured" };
const heatWords: Record<Heat, string> = { none: "nothing", error: "error", time: "time", gain: "what a narrower type saves" };

export function App({ state }: { state: State }): JSX.Element {
  const { payload } = state;
  const { report } = payload;
  const depth = depthOf(payload);
  const notes = [...(report.notes ?? []), ...(report.failures ?? [])];
  return (
    <>
      <header>
        <h1>
          <span class={`verdict ${payload.verdict}`}>{verdictWords[payload.verdict]}</span>
          {` ${payload.sentence}`}
        </h1>
        <p><code class="command">{payload.command}</code></p>
        {payload.dropped.length > 0 && <p class="hint">{`Not on this page: ${payload.dropped.join("; ")}.`}</p>}
      </header>
      <main>
        <Culprits state={state} />
        {depth && <Strip state={state} depth={depth} />}
        {state.network && (
          <section aria-labelledby="network">
            <h2 id="network">{`The network: ${payload.graph?.name ?? ""}`}</h2>
            <Controls state={state} />
            <Legend state={state} />
            <div class="network">
              <GraphView state={state} />
              <Panel state={state} />
            </div>
            <Details title="All nodes as a table"><Nodes state={state} leaves={state.network.leaves} caption="Nodes, in the order of execution" /></Details>
          </section>
        )}
        <Evaluation report={report} />
        <Front state={state} />
        <Latencies state={state} />
        <Built report={report} />
        <Split report={report} />
        <Comparisons state={state} comparisons={report.comparisons ?? []} />
        <Steps state={state} />
        {notes.length > 0 && (
          <section aria-labelledby="notes">
            <h2 id="notes">Notes</h2>
            <ul>{notes.map((note, index) => <li key={index}>{note}</li>)}</ul>
          </section>
        )}
        <Diff state={state} />
        <section aria-labelledby="made">
          <h2 id="made">How it was made</h2>
          <Details title="Options"><Pairs pairs={Object.entries(report.options ?? {})} /></Details>
          <Details title="Environment"><Pairs pairs={Object.entries(report.environment ?? {})} /></Details>
          {report.experiments && (
            <Details title="Experiments">
              <Table
                caption="Experiments"
                rows={report.experiments}
                columns={[
                  { head: "experiment", text: (row) => row.name },
                  { head: "runs", text: (row) => String(row.runs), order: (row) => row.runs },
                  { head: "seconds", text: (row) => figureText(row.seconds), order: (row) => asNumber(row.seconds) },
                ]}
              />
            </Details>
          )}
        </section>
      </main>
    </>
  );
}

function Controls({ state }: { state: State }): JSX.Element {
  const heats = state.heats();
  const comparisons = state.network?.comparisons ?? [];
  return (
    <div class="controls">
      <Search state={state} />
      {heats.length > 0 && (
        <label>
          {"Colour by "}
          <select value={state.heat.value} onChange={(event) => (state.heat.value = event.currentTarget.value as Heat)}>
            {[...heats, "none" as const].map((heat) => <option key={heat} value={heat}>{heatWords[heat]}</option>)}
          </select>
        </label>
      )}
      {state.heat.value === "error" && comparisons.length > 1 && (
        <label>
          {"of "}
          <select value={String(state.comparison.value)} onChange={(event) => (state.comparison.value = Number(event.currentTarget.value))}>
            {comparisons.map((comparison, index) => (
              <option key={index} value={String(index)}>{`${comparison.actual} against ${comparison.reference}`}</option>
            ))}
          </select>
        </label>
      )}
      <label>
        <input type="checkbox" checked={state.hide.value} onChange={(event) => state.setHide(event.currentTarget.checked)} />
        {" Hide Q/DQ, constants, shape arithmetic"}
      </label>
    </div>
  );
}

function Search({ state }: { state: State }): JSX.Element {
  const query = useSignal("");
  const hits = useComputed(() => searched(state.network!, query.value));
  const choose = (hit: Hit | undefined) => {
    if (!hit) return;
    query.value = "";
    state.jump(hit.leaf);
  };
  return (
    <search>
      <label>
        {"Search "}
        <input
          type="search"
          placeholder="node, tensor or kernel"
          value={query.value}
          onInput={(event) => (query.value = event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter") choose(hits.value[0]);
            if (event.key === "Escape") query.value = "";
          }}
        />
      </label>
      {query.value && (
        <ul class="hits" aria-label="Found">
          {hits.value.map((hit) => (
            <li key={`${hit.kind} ${hit.text} ${hit.leaf}`}>
              <button type="button" onClick={() => choose(hit)}>
                {hit.text}
                <span class="type">{` ${hit.kind}`}</span>
              </button>
            </li>
          ))}
          {hits.value.length === 0 && <li>nothing</li>}
        </ul>
      )}
    </search>
  );
}

function Legend({ state }: { state: State }): JSX.Element {
  const scale = state.scale.value;
  const root = state.hierarchy.value?.root;
  return (
    <div class="legend">
      {scale && (
        <span>
          {`${figureText(scale.least)} `}
          <svg viewBox="0 0 100 10" width="100" height="10" aria-hidden="true">
            {rampStops.map((stop, index) => (
              <rect key={stop} x={(index * 100) / rampStops.length} width={100 / rampStops.length + 0.5} height="10" style={{ fill: stop }} />
            ))}
          </svg>
          {` ${figureText(scale.largest)} ${state.heat.value === "error" ? "relative L2" : "ms"}, log scale`}
        </span>
      )}
      {allMarks.filter((mark) => root?.marks.includes(mark)).map((mark) => (
        <span key={mark.letter}>
          <b class="swatch" style={{ background: mark.colour }}>{mark.letter}</b>
          {` ${mark.name}`}
        </span>
      ))}
    </div>
  );
}

function Diff({ state }: { state: State }): JSX.Element {
  const found = useSignal<{ name: string; differences: Difference[] } | null>(null);
  const problem = useSignal("");
  const read = async (file: File | undefined) => {
    if (!file) return;
    try {
      found.value = { name: file.name, differences: differencesOf(state.payload, await unpackFile(await file.text())) };
      problem.value = "";
    } catch (error) {
      found.value = null;
      problem.value = `${file.name} cannot be read: ${error instanceof Error ? error.message : String(error)}`;
    }
  };
  const text = (value: string | number) => (typeof value === "number" ? figureText(value) : value);
  return (
    <section aria-labelledby="diff">
      <h2 id="diff">Against another report</h2>
      <label>
        {"A page, or the JSON of a report: "}
        <input type="file" accept=".html,.json" onChange={(event) => void read(event.currentTarget.files?.[0])} />
      </label>
      <p aria-live="polite">{problem.value}</p>
      {found.value && (
        <Table
          caption={found.value.differences.length > 0 ? `What differs in ${found.value.name}` : `${found.value.name} says the same`}
          rows={found.value.differences}
          columns={[
            { head: "of", text: (row) => row.what },
            { head: "figure", text: (row) => row.figure },
            { head: "here", text: (row) => text(row.here) },
            { head: "there", text: (row) => text(row.there) },
            { head: "there to here", text: (row) => (Number.isNaN(row.ratio) ? "–" : figureText(row.ratio)), order: (row) => row.ratio },
          ]}
        />
      )}
    </section>
  );
}
