// Unpacks what the page carries: base64 of gzip of JSON.
import type { Payload } from "./types";

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  return bytes;
}

export async function unpack(base64: string): Promise<Payload> {
  const packed = new Blob([bytesOf(base64.trim())]).stream();
  const text = await new Response(packed.pipeThrough(new DecompressionStream("gzip"))).text();
  return checked(JSON.parse(text));
}

function checked(value: unknown): Payload {
  const payload = value as Payload;
  if (payload?.schema !== "vernier-page") throw new Error("this is no page of Vernier");
  if (payload.version !== 1) throw new Error(`this page is of version ${payload.version}, which this one does not know`);
  return payload;
}

const block = /<script type="application\/gzip;base64" id="payload">([^<]*)<\/script>/;

// Reads another file: a page, or the JSON of a report.
export async function unpackFile(text: string): Promise<Payload> {
  const found = block.exec(text);
  if (found) return unpack(found[1] ?? "");
  const report = JSON.parse(text) as Payload["report"];
  if (typeof report?.schema !== "string" || !report.schema.startsWith("vernier-")) throw new Error("this is no report of Vernier");
  return {
    schema: "vernier-page", version: 1, command: "", verdict: report.verdict ?? "", sentence: "",
    report, layers: null, runs_ms: {}, graph: null, dropped: [],
  };
}
