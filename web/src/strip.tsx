// Error, or time, against depth: the overview of the network, and the way into it.
import { useSignalEffect, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { figureText } from "./format";
import { boundsOf, type Depth } from "./depth";
import type { State } from "./state";
import { Details, Table } from "./table";

const dark = matchMedia("(prefers-color-scheme: dark)");
const colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00"];
const coloursOfDark = ["#56b4e9", "#f0a35e", "#4cd6ae", "#e6a6cc", "#f0e442"];

export function Strip({ state, depth }: { state: State; depth: Depth }): JSX.Element {
  const holder = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const isDark = useSignal(dark.matches);
  const jump = (index: number) => {
    const name = depth.names[index];
    if (name === undefined) return;
    if (depth.kind === "value") state.jumpToValue(name);
    else state.jumpToNode(name);
  };

  useEffect(() => {
    const change = () => (isDark.value = dark.matches);
    dark.addEventListener("change", change);
    return () => dark.removeEventListener("change", change);
  }, []);
  useSignalEffect(() => {
    const element = holder.current!;
    const palette = isDark.value ? coloursOfDark : colours;
    const ink = isDark.value ? "#c9d1d9" : "#30363d";
    const grid = { stroke: isDark.value ? "#30363d" : "#e3e6ea", width: 1 };
    const [least, largest] = boundsOf(depth.series);
    const figure = (value: number) => (value <= least ? "exact" : value >= largest ? "not finite" : `${figureText(value)} ${depth.unit}`);
    const made = new uPlot(
      {
        width: element.clientWidth || 800,
        height: 170,
        scales: { x: { time: false }, y: { distr: 3 } },
        axes: [
          { stroke: ink, grid, values: (_, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? String(tick) : "")) },
          { stroke: ink, grid, size: 64, values: (_, ticks) => ticks.map((tick) => (!tick ? "" : tick >= largest ? "Inf" : tick <= least ? "0" : figureText(tick))) },
        ],
        series: [
          { label: "depth", value: (_, at) => (at === null ? "–" : `${at}: ${depth.names[at] ?? ""}`) },
          ...depth.series.map((series, index) => ({
            label: series.label,
            stroke: palette[index % palette.length]!,
            width: 1.5,
            points: { show: depth.names.length < 200 },
            value: (_: uPlot, value: number | null) => (value === null ? "–" : figure(value)),
          })),
        ],
        cursor: { drag: { x: true, y: false } },
      },
      [depth.names.map((_, index) => index), ...depth.series.map((series) => series.figures.map((value) => (value === null ? null : Math.min(Math.max(value, least), largest))))],
      element,
    );
    plot.current = made;
    const resized = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: 170 }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      made.destroy();
    };
  });
  return (
    <section aria-labelledby="depth">
      <h2 id="depth">{depth.unit === "ms" ? "Time against depth" : "Error against depth"}</h2>
      <p class="hint">In the order of execution. A click goes to the node; a drag enlarges, a double click shows all again.</p>
      <div
        ref={holder}
        class="strip"
        role="img"
        aria-label={`${depth.unit} of ${depth.names.length} ${depth.kind}s in the order of execution; the table below has the same figures`}
        onClick={() => {
          const at = plot.current?.cursor.idx;
          if (at !== null && at !== undefined) jump(at);
        }}
      />
      <Details title="The same as a table">
        <Table
          caption={depth.unit}
          rows={depth.names.map((name, index) => ({ name, index }))}
          columns={[
            { head: "depth", text: (row) => String(row.index), order: (row) => row.index },
            {
              head: depth.kind,
              text: (row) => row.name,
              show: (row) => <button type="button" class="jump" onClick={() => jump(row.index)}>{row.name}</button>,
            },
            ...depth.series.map((series) => ({
              head: series.label,
              text: (row: { index: number }) => figureText(series.figures[row.index]),
              order: (row: { index: number }) => series.figures[row.index] ?? NaN,
            })),
          ]}
        />
      </Details>
    </section>
  );
}
