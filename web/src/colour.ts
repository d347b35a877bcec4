// Colours that people see alike whether or not they tell red from green, and letters beside them.

const cividis = ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838"];

export interface Scale {
  least: number;
  largest: number;
}

// Takes positive numbers; null where there are none.
export function scaleOf(values: Iterable<number | null>): Scale | null {
  let least = Infinity;
  let largest = 0;
  for (const value of values) {
    if (value === null || !(value > 0) || value === Infinity) continue;
    least = Math.min(least, value);
    largest = Math.max(largest, value);
  }
  return largest > 0 ? { least, largest } : null;
}

// From 0 to 1, by logarithms.
export function position(scale: Scale, value: number): number {
  if (value <= scale.least) return 0;
  if (value >= scale.largest) return 1;
  return Math.log(value / scale.least) / Math.log(scale.largest / scale.least);
}

export interface Paint {
  fill: string;
  text: string;
}

export function paintOf(scale: Scale, value: number): Paint {
  const at = Math.round(position(scale, value) * (cividis.length - 1));
  return { fill: cividis[at]!, text: at < 5 ? "#ffffff" : "#000000" };
}

export const rampStops = cividis;

export interface TypeMark {
  letter: string;
  name: string;
  colour: string; // by Okabe and Ito
}

const int8: TypeMark = { letter: "8", name: "int8", colour: "#d889b8" };
const marks: Record<string, TypeMark> = {
  f64: { letter: "D", name: "double", colour: "#56b4e9" },
  f32: { letter: "F", name: "float32", colour: "#9fd0f0" },
  tf32: { letter: "T", name: "tf32", colour: "#56d4c9" },
  f16: { letter: "H", name: "float16", colour: "#e69f00" },
  bf16: { letter: "B", name: "bfloat16", colour: "#f0e442" },
  i8: int8,
  u8: int8,
  i4: { letter: "4", name: "int4", colour: "#e87b4c" },
};

const otherFloat8: TypeMark = { letter: "E", name: "float8", colour: "#e87b4c" };
const integers: TypeMark = { letter: "i", name: "integers", colour: "#c8c8c8" };

export function markOf(type: string): TypeMark | null {
  const known = marks[type];
  if (known) return known;
  if (/^(f8|e4m3|e5m2)/.test(type)) return otherFloat8;
  return /^[iu]\d+$/.test(type) || type === "bool" ? integers : null;
}

export const allMarks: readonly TypeMark[] = [...new Set([...Object.values(marks), otherFloat8, integers])];
