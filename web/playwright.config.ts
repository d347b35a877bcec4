// The page in a browser that reaches nobody, opened from disk. CHROMIUM names the browser; Debian's is where it is looked for.
import { defineConfig } from "@playwright/test";

const use = (colorScheme: "light" | "dark") => ({
  colorScheme,
  offline: true,
  viewport: { width: 1280, height: 900 },
  launchOptions: { executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium", args: ["--no-sandbox"] },
});

export default defineConfig({
  testDir: "test/browser",
  testMatch: /.*\.ts$/,
  globalSetup: "./test/build_page.ts",
  workers: 1,
  timeout: 60_000,
  reporter: "line",
  projects: [
    { name: "light", use: use("light") },
    { name: "dark", use: use("dark"), grep: /@both/ },
  ],
});
