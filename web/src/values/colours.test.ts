import { describe, expect, it } from "vitest";
import { colourTable, heatPixels, rangeOf, stepOf } from "./colours";
import { bytesText, chosenRows, shownTable } from "./rows";

function lightness([red, green, blue]: readonly number[]): number {
  const [r, g, b] = [red, green, blue].map((part) => {
    const x = (part as number) / 255;
    return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return Math.cbrt(0.2126 * r + 0.7152 * g + 0.0722 * b);
}

describe("colour maps", () => {
  it("begin and end where viridis does", () => {
    const table = colourTable(false, false);
    for (const [at, wanted] of [
      [0, [68, 1, 84]],
      [128, [33, 145, 140]],
      [255, [253, 231, 37]],
    ] as const) {
      for (const [part, want] of wanted.entries())
        expect(Math.abs((table[at]?.[part] as number) - want)).toBeLessThan(5);
    }
  });

  it.each([
    [false, false],
    [true, false],
    [true, true],
  ])("grow steadily in lightness (diverging %s, dark %s)", (diverging, dark) => {
    const light = colourTable(diverging, dark).map(lightness);
    const half = diverging ? light.slice(128) : light;
    const steps = half.slice(1).map((one, at) => one - (half[at] as number));
    const direction = Math.sign((half.at(-1) as number) - (half[0] as number));
    for (const step of steps) expect(step * direction).toBeGreaterThan(-0.006);
    expect(Math.max(...steps.map(Math.abs))).toBeLessThan(0.03);
  });

  it("put 0 in the middle where values have both signs", () => {
    expect(rangeOf([-1, 4, null])).toEqual({ least: -4, most: 4, diverging: true });
    expect(rangeOf([1, 4])).toEqual({ least: 1, most: 4, diverging: false });
    expect(rangeOf([null, Number.NaN])).toBeNull();
    expect(stepOf(0, { least: -4, most: 4, diverging: true })).toBe(128);
    expect(stepOf(1e308, { least: -1.7e308, most: 1.7e308, diverging: true })).toBeGreaterThan(128);
    expect(stepOf(2, { least: 2, most: 2, diverging: false })).toBe(128);
  });

  it("hatch what is no number in grey", () => {
    const pixels = heatPixels({ rows: 1, columns: 2, values: [null, 1] }, 8, 2, false);
    expect(new Set([pixels[0], pixels[1], pixels[2]]).size).toBe(1);
    expect(new Set([pixels[16], pixels[17], pixels[18]]).size).toBeGreaterThan(1);
    expect(pixels[3]).toBe(255);
  });
});

describe("rows that are shown", () => {
  it("are the first ones, and the lit ones further down", () => {
    expect(chosenRows(3, 8, null)).toEqual([0, 1, 2]);
    expect(chosenRows(20, 4, null)).toEqual([0, 1, 2, 3]);
    expect(chosenRows(20, 4, [17, 3])).toEqual([0, 1, 3, 17]);
    expect(chosenRows(20, 2, [5, 6, 7])).toEqual([5, 6]);
  });

  it("have their gaps counted", () => {
    const table = Array.from({ length: 6 }, (_, row) => [row, row * 2, row * 3]);
    const shown = shownTable(table, "int32", [6, 3], { rows: 3, columns: 2 }, [4]);
    expect(shown?.rows).toEqual([
      { row: 0, texts: ["0"] },
      { row: 4, texts: ["4"] },
    ]);
    expect(shown?.gaps).toEqual([0, 3, 1]);
    expect(shown?.hiddenColumns).toBe(2);
  });

  it("are refused where table and shape disagree", () => {
    expect(shownTable([1, 2], "int32", [3], { rows: 2, columns: 2 }, null)).toBeNull();
  });

  it("say their size", () => {
    expect([0, 999, 1000, 123456, 4e9].map(bytesText)).toEqual(["0 B", "999 B", "1.00 kB", "123 kB", "4.00 GB"]);
  });
});
