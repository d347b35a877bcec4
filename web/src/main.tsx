// The page: unpacks what it carries and shows it.
import { render } from "preact";
import { App } from "./app";
import { unpack } from "./payload";
import { State } from "./state";

const app = document.getElementById("app")!;
const carried = document.getElementById("payload");
unpack(carried?.textContent ?? "").then(
  (payload) => {
    app.textContent = "";
    document.title = `${payload.graph?.name ?? "Vernier"}: ${payload.verdict || "report"}`;
    render(<App state={new State(payload)} />, app);
  },
  (error: unknown) => (app.textContent = `This page cannot be read: ${error instanceof Error ? error.message : String(error)}`),
);
