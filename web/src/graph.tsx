// The network as boxes that open where they stand.
import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { arrange, innerOffset, placeOf, type Arrangement, type DrawnLink, type Placed } from "./arrange";
import { paintOf, type TypeMark } from "./colour";
import { countText, figureText, shortened } from "./format";
import type { Box } from "./hierarchy";
import type { Point } from "./layout";
import type { Network } from "./network";
import type { State } from "./state";

interface View {
  x: number;
  y: number;
  scale: number;
}

function subtitle(network: Network, box: Box): string {
  if (box.leaf !== null) return network.leaves[box.leaf]!.data.op;
  return `${countText(box.leaves, "node")}${box.kind === "step" ? ", one step" : ""}`;
}

function labelOf(state: State, box: Box, marks: TypeMark[], rank: number | null): string {
  const network = state.network!;
  const figure = state.ofBoxes.value.get(box);
  const parts = [box.title, subtitle(network, box)];
  if (marks.length > 0) parts.push(marks.map((mark) => mark.name).join(" and "));
  if (figure !== undefined) parts.push(`${state.heat.value} ${figureText(figure)}${state.heat.value === "error" ? "" : " ms"}`);
  if (rank !== null) parts.push(`culprit ${rank}`);
  return parts.join(", ");
}

function BoxView({ state, placed }: { state: State; placed: Placed }): JSX.Element {
  const network = state.network!;
  const { box, inside, width, height } = placed;
  const figure = state.ofBoxes.value.get(box);
  const scale = state.scale.value;
  const paint = figure !== undefined && scale ? paintOf(scale, figure) : null;
  const { marks, rank } = box;
  const selected = useComputed(() => state.selected.value === box).value;
  // A level that stays as it is, is not compared with itself.
  const innerView = useMemo(() => inside && <LevelView state={state} arrangement={inside} />, [inside]);
  const opens = box.children.length > 0;
  const choose = () => {
    state.selected.value = box;
    if (opens) state.toggle(box);
  };
  const letters = marks.slice(0, 3);
  const style = paint ? { color: paint.text } : {};
  return (
    <g transform={`translate(${placed.x} ${placed.y})`}>
      {inside && <rect class="frame" width={width} height={height} rx={8} />}
      <Stubs state={state} values={placed.incoming} incoming width={width} y={-7} />
      <Stubs state={state} values={placed.outgoing} incoming={false} width={width} y={height + 14} />
      <g
        class={`box ${box.kind}${selected ? " selected" : ""}${rank === null ? "" : " culprit"}`}
        role="button"
        tabindex={selected ? 0 : -1}
        data-box={box.id}
        {...(opens ? { "aria-expanded": inside !== null } : {})}
        onClick={choose}
        onKeyDown={(event) => {
          if (event.key !== "Enter" && event.key !== " ") return;
          event.preventDefault();
          choose();
        }}
      >
        <title>{labelOf(state, box, marks, rank)}</title>
        <rect class="body" width={width} height={inside ? 28 : height} rx={6} style={paint ? { fill: paint.fill } : {}} />
        <text x={10} y={18} class="title" style={style} aria-hidden="true">
          {`${opens ? (inside ? "▾ " : "▸ ") : ""}${shortened(box.title, Math.floor((width - 16 - 18 * letters.length) / 7.8) - (opens ? 2 : 0))}`}
        </text>
        {!inside && (
          <text x={10} y={36} class="subtitle" style={style} aria-hidden="true">
            {shortened(figure === undefined ? subtitle(network, box) : `${subtitle(network, box)} · ${figureText(figure)}`, 24)}
          </text>
        )}
        {letters.map((mark, index) => (
          <g key={mark.letter} aria-hidden="true" transform={`translate(${width - 18 * (letters.length - index) - 2} 4)`}>
            <rect class="mark" width={16} height={16} rx={3} style={{ fill: mark.colour }} />
            <text x={8} y={12.5} class="letter">{mark.letter}</text>
          </g>
        ))}
        {rank !== null && <text x={width} y={-5} class="rank" aria-hidden="true">{`⚠ ${rank}`}</text>}
      </g>
      {inside && (
        <g transform={`translate(${innerOffset.x} ${innerOffset.y})`}>
          {innerView}
        </g>
      )}
    </g>
  );
}

function Stubs(props: { state: State; values: string[]; incoming: boolean; width: number; y: number }): JSX.Element | null {
  const [first] = props.values;
  if (first === undefined) return null;
  const more = props.values.length > 1 ? ` +${props.values.length - 1}` : "";
  return (
    <text class="stub" x={props.width / 2} y={props.y} onClick={() => props.state.jumpToValue(first)}>
      <title>{`${props.incoming ? "reads" : "is read far from here as"} ${props.values.slice(0, 20).join(", ")}`}</title>
      {`${props.incoming ? "↧" : "↦"} ${shortened(first, 22 - more.length)}${more}`}
    </text>
  );
}

function curve(route: Point[]): string {
  const [start, ...others] = route;
  if (!start) return "";
  let path = `M${start.x} ${start.y}`;
  let last = start;
  for (const point of others) {
    const middle = (last.y + point.y) / 2;
    path += `C${last.x} ${middle} ${point.x} ${middle} ${point.x} ${point.y}`;
    last = point;
  }
  return path;
}

function LinkView({ link }: { link: DrawnLink }): JSX.Element {
  return (
    <path class="link" d={curve(link.route)} marker-end="url(#arrow)">
      <title>{link.values.slice(0, 20).join(", ")}</title>
    </path>
  );
}

function LevelView({ state, arrangement }: { state: State; arrangement: Arrangement }): JSX.Element {
  return (
    <>
      {arrangement.links.map((link) => <LinkView key={`${link.from.id} ${link.to.id}`} link={link} />)}
      {arrangement.children.map((placed) => <BoxView key={placed.box.id} state={state} placed={placed} />)}
    </>
  );
}

// Boxes as they are drawn, outer before inner.
function drawn(arrangement: Arrangement): Box[] {
  return arrangement.children.flatMap((placed) => [placed.box, ...(placed.inside ? drawn(placed.inside) : [])]);
}

function neighbour(state: State, arrangement: Arrangement, key: string): Box | null {
  const all = drawn(arrangement);
  const selected = state.selected.value;
  const at = selected ? all.indexOf(selected) : -1;
  switch (key) {
    case "ArrowDown": return all[Math.min(at + 1, all.length - 1)] ?? null;
    case "ArrowUp": return all[Math.max(at - 1, 0)] ?? null;
    case "Home": return all[0] ?? null;
    case "End": return all[all.length - 1] ?? null;
    case "ArrowLeft":
      if (selected && state.open.value.has(selected)) state.toggle(selected);
      else if (selected?.parent?.parent) return selected.parent;
      return selected;
    case "ArrowRight":
      if (selected && selected.children.length > 0 && !state.open.value.has(selected)) state.toggle(selected);
      return selected;
    default: return null;
  }
}

export function GraphView({ state }: { state: State }): JSX.Element {
  const arrangement = useSignal<Arrangement | null>(null);
  const view = useSignal<View>({ x: 0, y: 16, scale: 1 });
  const frame = useRef<SVGSVGElement>(null);
  const world = useRef<SVGGElement>(null);
  const fitted = useRef<Box | null>(null);
  const drag = useRef<{ x: number; y: number; moved: boolean } | null>(null);

  useSignalEffect(() => {
    const level = state.hierarchy.value!.root;
    const open = state.open.value;
    void arrange(level, open).then((made) => {
      if (state.open.value !== open || state.hierarchy.value?.root !== level) return;
      const anchor = state.selected.value;
      const before = anchor && arrangement.value ? placeOf(arrangement.value, anchor) : null;
      const after = anchor ? placeOf(made, anchor) : null;
      arrangement.value = made;
      if (fitted.current === null) requestAnimationFrame(() => performance.mark("vernier: network drawn"));
      if (fitted.current !== level) fit(level);
      else if (before && after && state.shown.value === null) {
        // The opened box stays where it is, unless it would reach out of sight.
        const { x, y, scale } = view.value;
        const width = frame.current!.getBoundingClientRect().width;
        const stays = x + before.x * scale;
        const outside = stays < 0 || stays + after.width * scale > width;
        const left = outside ? Math.max(8, (width - after.width * scale) / 2) : stays;
        view.value = { x: left - after.x * scale, y: y + (before.y - after.y) * scale, scale };
      }
    });
  });
  useSignalEffect(() => {
    const { x, y, scale } = view.value;
    world.current?.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
  });
  useSignalEffect(() => {
    const wanted = state.shown.value;
    const at = wanted && arrangement.value ? placeOf(arrangement.value, wanted) : null;
    if (!at || !frame.current) return;
    const { width, height } = frame.current.getBoundingClientRect();
    const scale = Math.max(view.peek().scale, 0.8);
    view.value = { x: width / 2 - (at.x + at.width / 2) * scale, y: (height - at.height * scale) / 2 - at.y * scale, scale };
    state.shown.value = null;
  });

  function fit(level: Box): void {
    const made = arrangement.value;
    if (!made || !frame.current) return;
    fitted.current = level;
    const width = frame.current.getBoundingClientRect().width;
    const scale = Math.min(1, Math.max(0.45, width / made.width));
    view.value = { x: Math.max(0, (width - made.width * scale) / 2), y: 16, scale };
  }

  function zoom(by: number, x?: number, y?: number): void {
    const bounds = frame.current!.getBoundingClientRect();
    const at = { x: x ?? bounds.width / 2, y: y ?? bounds.height / 2 };
    const scale = Math.min(3, Math.max(0.05, view.value.scale * by));
    const ratio = scale / view.value.scale;
    view.value = { x: at.x - (at.x - view.value.x) * ratio, y: at.y - (at.y - view.value.y) * ratio, scale };
  }

  useEffect(() => {
    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      const bounds = frame.current!.getBoundingClientRect();
      if (event.ctrlKey || event.metaKey) zoom(Math.exp(-event.deltaY * 0.005), event.clientX - bounds.left, event.clientY - bounds.top);
      else view.value = { ...view.value, x: view.value.x - event.deltaX, y: view.value.y - event.deltaY };
    };
    const svg = frame.current!;
    svg.addEventListener("wheel", wheel, { passive: false });
    return () => svg.removeEventListener("wheel", wheel);
  }, []);

  const keys = (event: KeyboardEvent) => {
    if (event.key === "+" || event.key === "-") return zoom(event.key === "+" ? 1.25 : 0.8);
    if (!arrangement.value) return undefined;
    const box = neighbour(state, arrangement.value, event.key);
    if (!box) return undefined;
    event.preventDefault();
    state.selected.value = box;
    state.shown.value = box;
    requestAnimationFrame(() => frame.current?.querySelector<SVGGElement>(`[data-box="${box.id}"]`)?.focus({ preventScroll: true }));
    return undefined;
  };
  const made = arrangement.value;
  const firstStop = state.selected.value === null || !made || placeOf(made, state.selected.value) === null;
  return (
    <div class="graph">
      <div class="buttons">
        <button type="button" aria-label="Zoom in" onClick={() => zoom(1.25)}>+</button>
        <button type="button" aria-label="Zoom out" onClick={() => zoom(0.8)}>−</button>
        <button type="button" onClick={() => fit(state.hierarchy.value!.root)}>Fit</button>
        <button type="button" onClick={() => (state.open.value = new Set())}>Close all</button>
      </div>
      <svg
        ref={frame}
        role="group"
        aria-label="The network: arrow keys go from box to box, Enter opens"
        tabindex={firstStop ? 0 : -1}
        onKeyDown={keys}
        onPointerDown={(event) => (drag.current = { x: event.clientX, y: event.clientY, moved: false })}
        onPointerMove={(event) => {
          const from = drag.current;
          if (!from || event.buttons === 0) return;
          if (!from.moved && Math.hypot(event.clientX - from.x, event.clientY - from.y) < 4) return;
          if (!from.moved) frame.current!.setPointerCapture(event.pointerId);
          view.value = { ...view.value, x: view.value.x + event.clientX - from.x, y: view.value.y + event.clientY - from.y };
          drag.current = { x: event.clientX, y: event.clientY, moved: true };
        }}
        onPointerUp={() => (drag.current = null)}
      >
        <defs>
          <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
            <path d="M0 0 8 4 0 8z" />
          </marker>
        </defs>
        <g ref={world} class="world">{made && <LevelView state={state} arrangement={made} />}</g>
      </svg>
    </div>
  );
}
