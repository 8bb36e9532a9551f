import { describe, expect, it } from "vitest";
import { Pages } from "./pages";

const table = (rows: number, columns: number, row: number, column: number) =>
  Array.from({ length: rows }, (_, r) => Array.from({ length: columns }, (_, c) => (row + r) * 1000 + column + c));

function pages(asked: Record<string, string | number>[], fail = false) {
  let told = 0;
  const made = new Pages(
    async (query) => {
      asked.push(query);
      if (fail) throw new Error("The value is gone.");
      const [column, wide] = String(query.columns).split(",").map(Number) as [number, number];
      const start = query.start as number;
      return { shape: [250, 60], start, table: table(Math.min(100, 250 - start), wide, start, column) };
    },
    "int32",
    "0,:",
    60,
    () => {
      told += 1;
    },
  );
  return { made, told: () => told };
}

describe("pages of a value", () => {
  it("are asked for once, and hold every element in its place", async () => {
    const asked: Record<string, string | number>[] = [];
    const { made, told } = pages(asked);
    expect(made.at(120, 55)).toBeUndefined();
    made.want(90, 249, 40, 59);
    made.want(90, 249, 40, 59);
    await new Promise((done) => setTimeout(done));
    expect(asked).toHaveLength(6);
    expect(asked[1]).toEqual({ start: 0, count: 100, columns: "50,10", slice: "0,:" });
    expect(made.at(120, 55)).toBe(120055);
    expect(made.at(249, 49)).toBe(249049);
    expect(told()).toBe(6);
  });

  it("say what went wrong, and may be asked again", async () => {
    const asked: Record<string, string | number>[] = [];
    const { made } = pages(asked, true);
    made.want(0, 1, 0, 1);
    await new Promise((done) => setTimeout(done));
    expect(made.error).toBe("The value is gone.");
    made.want(0, 1, 0, 1);
    expect(asked).toHaveLength(2);
  });
});
