import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import type { Value } from "../api/types";
import { Preview } from "./Preview";

const SUMMARY = { min: 0, max: 1, mean: 0.5, zeros: 1, nans: 0, infs: 0, histogram: null, heat: null };

function value(dtype: string, shape: number[], table: unknown, summary: Partial<typeof SUMMARY> | null = null): Value {
  const whole = summary === null ? null : ({ ...SUMMARY, ...summary } as Value["summary"]);
  return { name: "output", hash: `${dtype}${shape}`, dtype, shape, bytes: 8, table, summary: whole };
}

function drawn(shown: Value, lensRows: number[] | null = null): string {
  return renderToStaticMarkup(<Preview value={shown} lensRows={lensRows} onRow={() => {}} compact />);
}

describe("a value in its block", () => {
  it("says what is empty", () => {
    expect(drawn(value("float32", [0, 3], []))).toContain("empty [0, 3]");
  });

  it("shows a scalar", () => {
    expect(drawn(value("int64", [], "9007199254740993"))).toContain(">9007199254740993</button>");
    expect(drawn(value("bool", [], false))).toContain(">False</button>");
  });

  it("shows rows, and which of them are lit", () => {
    const html = drawn(
      value(
        "float64",
        [2, 2],
        [
          [1, 2],
          [3, 0.5],
        ],
      ),
      [1],
    );
    expect(html).toMatch(/<tr data-row="0">/);
    expect(html).toMatch(/<tr data-row="1" data-lit="true">/);
    expect(html).toContain("0.5");
  });

  it("shows a lit row that is further down than there is room", () => {
    const rows = Array.from({ length: 30 }, (_, row) => [row, row]);
    const html = drawn(value("int32", [30, 2], rows), [27]);
    expect(html).toContain('data-row="27"');
    expect(html).toContain("24 rows");
  });

  it("keeps text as text", () => {
    const html = drawn(value("string", [2], ["<img src=x onerror=alert(1)>", ""]));
    expect(html).not.toContain("<img");
    expect(html).toContain("&lt;img");
  });

  it("shows pictures of what is too large, and counts the rest", () => {
    const heat = { rows: 1, columns: 2, values: [0, null] };
    expect(drawn(value("float32", [100, 2], null, { heat } as never))).toContain("<canvas");
    const histogram = { edges: [0, 1, 2], counts: [3, 4] };
    expect(drawn(value("float32", [100], null, { histogram } as never))).toContain("Histogram from 0 to 2");
    expect(drawn(value("string", [1000], null))).toContain("1,000 values");
  });

  it("says how many are no numbers", () => {
    expect(drawn(value("float32", [2], ["nan", 1], { nans: 1 }))).toContain("1 nan");
  });
});
