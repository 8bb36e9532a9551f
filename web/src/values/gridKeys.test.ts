import { describe, expect, test } from "vitest";
import { movedTo, nextCell } from "./gridKeys";

const SIZE = { rows: 3, columns: 4 };
const at = (row: number, column: number) => ({ row, column });

describe("keys move the cursor", () => {
  test.each([
    ["ArrowUp", false, at(0, 2)],
    ["ArrowDown", false, at(2, 2)],
    ["ArrowLeft", false, at(1, 1)],
    ["ArrowRight", false, at(1, 3)],
    ["Home", false, at(1, 0)],
    ["End", false, at(1, 3)],
    ["PageUp", false, at(0, 2)],
    ["PageDown", false, at(2, 2)],
    ["ArrowRight", true, at(1, 3)],
    ["Home", true, at(0, 0)],
    ["End", true, at(2, 3)],
    ["Enter", false, null],
  ])("%s, with Ctrl: %s", (key, ctrlKey, to) => {
    expect(movedTo({ key, ctrlKey }, at(1, 2), SIZE)).toEqual(to);
  });
  test("and never out of the sheet, not even of an empty one", () => {
    expect(movedTo({ key: "ArrowDown" }, at(2, 3), SIZE)).toEqual(at(2, 3));
    expect(movedTo({ key: "End", metaKey: true }, at(0, 0), { rows: 0, columns: 0 })).toEqual(at(0, 0));
  });
});

test("Tab goes row by row and ends at the corners", () => {
  expect(nextCell(at(0, 3), SIZE, false)).toEqual(at(1, 0));
  expect(nextCell(at(1, 0), SIZE, true)).toEqual(at(0, 3));
  expect(nextCell(at(2, 3), SIZE, false)).toBeNull();
  expect(nextCell(at(0, 0), SIZE, true)).toBeNull();
});
