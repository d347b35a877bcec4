// Layouts by a worker; where the browser gives none, simpler ones.
import workerText from "bundle:./layout_worker.ts";
import { byRanks, type LevelLayout, type Pair, type Size } from "./layout";

interface Request {
  sizes: Size[];
  edges: Pair[];
  resolve: (layout: LevelLayout) => void;
}

const waiting = new Map<number, Request>();
let worker: Worker | null | undefined; // null: there is none
let last = 0;

function started(): Worker | null {
  if (worker !== undefined) return worker;
  try {
    worker = new Worker(URL.createObjectURL(new Blob([workerText], { type: "text/javascript" })));
    worker.onmessage = (message: MessageEvent<{ id: number; layout: LevelLayout }>) => {
      waiting.get(message.data.id)?.resolve(message.data.layout);
      waiting.delete(message.data.id);
    };
    worker.onerror = () => {
      worker = null;
      for (const { sizes, edges, resolve } of waiting.values()) resolve(byRanks(sizes, edges));
      waiting.clear();
    };
  } catch {
    worker = null;
  }
  return worker;
}

export function requestLayout(sizes: Size[], edges: Pair[]): Promise<LevelLayout> {
  const by = started();
  if (by === null) return Promise.resolve(byRanks(sizes, edges));
  return new Promise((resolve) => {
    waiting.set(++last, { sizes, edges, resolve });
    by.postMessage({ id: last, sizes, edges });
  });
}
