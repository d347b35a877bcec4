// Shows what `evaluate` found: values of runners, and what they differ by on the same rows.
import type { JSX } from "preact";
import { figureText } from "./format";
import { asNumber } from "./network";
import { Table } from "./table";
import type { EvaluatedDifference, Figure, Report } from "./types";

const rangeText = ([low, high]: [Figure, Figure]): string => `${figureText(low)} to ${figureText(high)}`;

export function Evaluation({ report }: { report: Report }): JSX.Element | null {
  const { runners, differences } = report;
  if (!runners || !differences) return null;
  const values = runners.flatMap((runner) => runner.values.map((value) => ({ runner: runner.name, ...value })));
  return (
    <section aria-labelledby="evaluation">
      <h2 id="evaluation">Task metrics</h2>
      <Table
        caption="Runners on the same samples"
        rows={values}
        columns={[
          { head: "runner", text: (row) => row.runner },
          { head: "metric", text: (row) => row.metric },
          { head: "value", text: (row) => figureText(row.value), order: (row) => asNumber(row.value) },
          { head: "95 %", text: (row) => rangeText(row.ci95), order: (row) => asNumber(row.ci95[0]) },
          { head: "rows", text: (row) => String(row.rows), order: (row) => row.rows },
        ]}
      />
      {runners.filter((runner) => runner.failures > 0).map((runner) => (
        <p key={runner.name}>{`${runner.name} failed on ${runner.failures} samples: ${runner.failure}`}</p>
      ))}
      {differences.map((difference, index) => <DifferenceView key={index} difference={difference} />)}
    </section>
  );
}

function DifferenceView({ difference }: { difference: EvaluatedDifference }): JSX.Element {
  const { gate } = difference;
  return (
    <article>
      <h3>
        {gate && <span class={`verdict ${gate.verdict}`}>{gate.verdict.replace("_", " ")}</span>}
        {` ${difference.runner} against ${difference.baseline}: ${difference.metric}`}
      </h3>
      <p>{`${figureText(difference.difference)} (95 %: ${rangeText(difference.ci95)}), p = ${figureText(difference.p)}; ${difference.lost} rows lost, ${difference.gained} gained.`}</p>
      {gate && <p>{`${gate.sentence}.`}</p>}
      {difference.flipped.length > 0 && (
        <Table
          caption="Rows that lost most"
          rows={difference.flipped}
          columns={[
            { head: "sample", text: (row) => String(row.sample), order: (row) => row.sample },
            { head: "row", text: (row) => String(row.row), order: (row) => row.row },
            { head: "from", text: (row) => row.origin },
            { head: "before", text: (row) => figureText(row.baseline), order: (row) => asNumber(row.baseline) },
            { head: "after", text: (row) => figureText(row.runner), order: (row) => asNumber(row.runner) },
            { head: "lost", text: (row) => figureText(row.lost), order: (row) => asNumber(row.lost) },
          ]}
        />
      )}
    </article>
  );
}
