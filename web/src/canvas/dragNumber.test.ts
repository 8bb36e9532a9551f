// @vitest-environment jsdom
import { expect, test } from "vitest";
import { stepFor, withNumber } from "./dragNumber";

test("one number of a nested list is replaced, and the rest stays the same object", () => {
  const value = [
    [1, 2],
    [3, 4],
  ];
  const changed = withNumber(value, [1, 0], (number) => number + 0.5) as number[][];
  expect(changed).toEqual([
    [1, 2],
    [3.5, 4],
  ]);
  expect(changed[0]).toBe(value[0]);
  expect(withNumber(7, [], () => 8)).toBe(8);
  expect(withNumber([1], [0, 0], () => 8)).toBeNull();
  expect(withNumber(["nan"], [0], () => 8)).toBeNull();
});

test("a step fits the number", () => {
  expect(stepFor(5, true, true)).toBe(1);
  expect(stepFor(5, false, false)).toBeCloseTo(0.1);
  expect(stepFor(50, false, true)).toBeCloseTo(0.1);
});
