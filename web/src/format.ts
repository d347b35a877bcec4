// Numbers and names as people read them.
import { asNumber } from "./network";
import type { Figure } from "./types";

export function figureText(figure: Figure | null | undefined): string {
  if (figure === null || figure === undefined) return "–";
  const value = asNumber(figure);
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "Inf" : "-Inf";
  if (value === 0 || Number.isInteger(value)) return String(value);
  const size = Math.abs(value);
  return size >= 0.01 && size < 1e5 ? String(Number(value.toPrecision(3))) : value.toExponential(1);
}

export function percentText(figure: Figure): string {
  return `${figureText(100 * asNumber(figure))} %`;
}

// Cut in the middle: the ends of names tell most.
export function shortened(text: string, length: number): string {
  if (text.length <= length) return text;
  const front = Math.ceil((length - 1) / 2);
  return `${text.slice(0, front)}…${text.slice(text.length - (length - 1 - front))}`;
}

export function countText(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? "" : "s"}`;
}
