import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// While developing, the studio's server answers /api: start it with --port 8765, open this server's address with its #token.
const server = process.env.GRADBAG_STUDIO ?? "http://127.0.0.1:8765";

// `--mode single` makes the page of one script, for files that hold a page and all it shows.
export default defineConfig(({ mode }) => ({
  ...(mode === "single" ? { base: "./", publicDir: false as const } : {}),
  plugins: [react()],
  build: {
    outDir: mode === "single" ? "../src/gradbag/studio/static/single" : "../src/gradbag/studio/static",
    ...(mode === "single" ? { cssCodeSplit: false, rolldownOptions: { output: { codeSplitting: false } } } : {}),
    emptyOutDir: true,
    assetsDir: "assets",
    // A data: URL for a small asset would need a wider content policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
    chunkSizeWarningLimit: 900,
  },
  server: { proxy: { "/api": { target: server, ws: true, changeOrigin: true, headers: { origin: server } } } },
  test: { environment: "node", include: ["src/**/*.test.ts", "src/**/*.test.tsx"] },
}));
