// Lays out levels beside the page, one after the other.
import { routedLayout } from "./dagre_layout";
import type { Pair, Size } from "./layout";

export interface LayoutRequest {
  id: number;
  sizes: Size[];
  edges: Pair[];
}

self.onmessage = (message: MessageEvent<LayoutRequest>) => {
  const { id, sizes, edges } = message.data;
  self.postMessage({ id, layout: routedLayout(sizes, edges) });
};
