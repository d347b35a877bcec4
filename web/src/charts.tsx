// Small plots as SVG, which have names and can be reached by keys; their tables stand beside them.
import type { JSX } from "preact";
import { figureText, shortened } from "./format";
import type { TunedPlan } from "./types";
import { asNumber } from "./network";

export interface Bar {
  label: string;
  count: number;
}

export function Bars(props: { title: string; bars: Bar[]; logarithmic?: boolean }): JSX.Element {
  const width = 340;
  const height = 110;
  const of = (count: number) => (props.logarithmic ? Math.log10(1 + count) : count);
  const largest = Math.max(...props.bars.map((bar) => of(bar.count)), 1e-9);
  const step = width / Math.max(props.bars.length, 1);
  const every = Math.ceil(props.bars.length / 8);
  return (
    <svg class="chart" viewBox={`0 0 ${width} ${height + 18}`} role="img" aria-label={props.title}>
      {props.bars.map((bar, index) => {
        const tall = (of(bar.count) / largest) * height;
        return (
          <g key={bar.label}>
            <rect class="bar" x={index * step + 1} y={height - tall} width={Math.max(step - 2, 1)} height={tall}>
              <title>{`${bar.label}: ${bar.count}`}</title>
            </rect>
            {index % every === 0 && <text x={index * step + step / 2} y={height + 14} class="tick">{bar.label}</text>}
          </g>
        );
      })}
    </svg>
  );
}

export function histogramBars(histogram: { exact: number; not_finite: number; decades: Record<string, number> }): Bar[] {
  const decades = Object.keys(histogram.decades).map(Number).sort((a, b) => a - b);
  const bars: Bar[] = [];
  if (histogram.exact > 0) bars.push({ label: "0", count: histogram.exact });
  for (let decade = decades[0] ?? 0; decades.length > 0 && decade <= decades[decades.length - 1]!; ++decade)
    bars.push({ label: `1e${decade}`, count: histogram.decades[String(decade)] ?? 0 });
  if (histogram.not_finite > 0) bars.push({ label: "NaN, Inf", count: histogram.not_finite });
  return bars;
}

// Between the least and the 99.5th percentile; what is slower counts to the last bar.
export function latencyBars(runs: readonly number[], count = 40): Bar[] {
  const sorted = [...runs].sort((a, b) => a - b);
  const least = sorted[0] ?? 0;
  const most = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.995))] ?? 0;
  const width = (most - least) / count || 1e-9;
  const bars = Array.from({ length: count }, (_, i) => ({ label: `${figureText(least + i * width)} ms`, count: 0 }));
  for (const run of sorted) bars[Math.min(count - 1, Math.floor((run - least) / width))]!.count += 1;
  return bars;
}

interface Axis {
  at: (value: number) => number;
  ticks: number[];
}

function axis(values: number[], from: number, to: number): Axis {
  const positive = values.filter((value) => value > 0 && Number.isFinite(value)).map(Math.log10);
  const least = positive.length > 0 ? Math.min(...positive) : 0;
  const span = Math.max(Math.max(...positive, least) - least, 1e-3);
  const at = (value: number) => from + ((Math.log10(Math.max(value, 10 ** least)) - least) / span) * (to - from);
  return { at, ticks: [0, 0.5, 1].map((share) => 10 ** (least + share * span)) };
}

export interface FrontPoint {
  plan: TunedPlan;
  role: "front" | "chosen" | "baseline" | "dominated";
}

export function ParetoFront(props: { points: FrontPoint[]; unit: string; choose: (point: FrontPoint) => void }): JSX.Element {
  const points = props.points.filter((point) => !point.plan.failure);
  const x = axis(points.map((point) => point.plan.latency_ms), 64, 610);
  const y = axis(points.map((point) => asNumber(point.plan.error)), 236, 20);
  const onFront = points.filter((point) => point.role !== "dominated").sort((a, b) => a.plan.latency_ms - b.plan.latency_ms);
  const frontLine = onFront.map(({ plan }, index) => `${index ? "L" : "M"}${x.at(plan.latency_ms)} ${y.at(asNumber(plan.error))}`).join("");
  const place = (plan: TunedPlan) => `translate(${x.at(plan.latency_ms)} ${y.at(asNumber(plan.error))})`;
  return (
    <svg class="chart front" viewBox="0 0 640 280" role="group" aria-label="Plans by latency and error, both on log scales">
      {x.ticks.map((tick) => <text key={tick} x={x.at(tick)} y={256} class="tick">{figureText(tick)}</text>)}
      {y.ticks.map((tick) => <text key={tick} x={58} y={y.at(tick) + 4} class="tick end">{figureText(tick)}</text>)}
      <path class="axis" d="M64 20V240H614" />
      <path class="front-line" d={frontLine} />
      <text x={340} y={274} class="tick">latency, ms</text>
      <text x={64} y={12} class="tick">error, relative L2</text>
      {points.map((point) => (
        <g
          key={`${point.role} ${point.plan.plan} ${point.plan.types}`}
          transform={place(point.plan)}
          class={`point ${point.role}`}
          role="button"
          tabindex={0}
          aria-label={`${point.role}: ${point.plan.plan}, ${point.plan.types}, ${figureText(point.plan.latency_ms)} ms, error ${figureText(point.plan.error)}`}
          onClick={() => props.choose(point)}
          onKeyDown={(event) => {
            if (event.key === "Enter" || event.key === " ") props.choose(point);
          }}
        >
          <title>{`${point.plan.plan}: ${point.plan.types}`}</title>
          {point.role === "dominated" ? <path d="M-5-5 5 5M-5 5 5-5" /> : <circle r={point.role === "chosen" ? 9 : 6} />}
          {point.role !== "dominated" && <text x={x.at(point.plan.latency_ms) > 500 ? -12 : 12} y={-8} class={`label${x.at(point.plan.latency_ms) > 500 ? " end" : ""}`}>{shortened(point.plan.plan, 24)}</text>}
        </g>
      ))}
    </svg>
  );
}
