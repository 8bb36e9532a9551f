// @vitest-environment jsdom
import { act } from "react";
import { createRoot } from "react-dom/client";
import { beforeEach, expect, test, vi } from "vitest";
import { useChosen } from "./useChosen";

vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true);
const choose = vi.fn();
let options: ReturnType<typeof useChosen>;

function Probe({ count }: { count: number }) {
  options = useChosen(count, choose);
  return null;
}

const root = createRoot(document.createElement("div"));
const show = (count: number) => act(() => root.render(<Probe count={count} />));
const press = (...keys: string[]) => {
  for (const key of keys) act(() => options.onKeyDown({ key, preventDefault: () => {} } as never));
};

beforeEach(() => {
  choose.mockReset();
  show(3);
  act(() => options.setAt(0));
});

test("arrows go round, and Enter chooses", () => {
  press("ArrowUp", "Enter", "ArrowDown", "ArrowDown", "Enter");
  expect(choose.mock.calls).toEqual([[2], [1]]);
});

test("in a list that has become shorter the last is meant, after an empty one the first", () => {
  press("ArrowUp");
  show(2);
  expect(options.chosen).toBe(1);
  show(0);
  press("ArrowDown", "ArrowUp");
  show(3);
  expect(options.chosen).toBe(0);
});
