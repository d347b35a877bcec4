// Before tests in a browser: the page as the program carries it.
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";

export default function buildPage(): void {
  mkdirSync(".tests", { recursive: true });
  execFileSync("node", ["build.mjs", ".tests/report.html"]);
}
