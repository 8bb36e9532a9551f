// @vitest-environment jsdom
// The grid editor by its keys, without a layout: what is seen is not asked here.
import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { GridEditor } from "./GridEditor";

vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true);
HTMLDialogElement.prototype.showModal ??= function (this: HTMLDialogElement) {
  this.open = true;
};
HTMLDialogElement.prototype.close ??= function (this: HTMLDialogElement) {
  this.open = false;
};

let root: Root;
const onDone = vi.fn();
const onCancel = vi.fn();

function open(literal: unknown, dtype = "int32", load?: () => Promise<{ shape: number[]; cells: number[] }>) {
  const props = { literal, dtype, dtypes: ["int32", "float32"], title: "a.x", load, onDone, onCancel };
  return act(async () => root.render(<GridEditor {...props} />));
}

/** Presses keys where the focus is; what a key does by itself in a field is not done here. */
async function press(...keys: string[]) {
  for (const combination of keys) {
    const parts = combination.split("+");
    const key = parts.at(-1) as string;
    const how = { key, ctrlKey: parts.includes("Ctrl"), shiftKey: parts.includes("Shift") };
    const event = new KeyboardEvent("keydown", { ...how, bubbles: true, cancelable: true });
    await act(async () => document.activeElement?.dispatchEvent(event));
  }
}

async function clipboard(type: "copy" | "cut" | "paste", text = ""): Promise<string> {
  let held = text;
  const event = new Event(type, { bubbles: true, cancelable: true });
  const clipboardData = {
    getData: () => held,
    setData: (_: string, said: string) => {
      held = said;
    },
  };
  await act(async () => document.activeElement?.dispatchEvent(Object.assign(event, { clipboardData })));
  return held;
}

const said = () => document.querySelector("output")?.textContent;
const field = () => document.querySelector<HTMLInputElement>(".grid-editor-cell");

beforeEach(() => {
  onDone.mockReset();
  onCancel.mockReset();
  root = createRoot(document.body.appendChild(document.createElement("div")));
});
afterEach(() => {
  act(() => root.unmount());
  document.body.replaceChildren();
});

describe("typing", () => {
  test("a key begins a cell; Enter, Tab and arrows take it and go on", async () => {
    await open([
      [1, 2],
      [3, 4],
    ]);
    await press("5", "Enter", "6", "Tab", "7", "ArrowUp", "8");
    expect(field()?.getAttribute("aria-label")).toBe("element [0, 1]");
    await press("Ctrl+Enter"); // what is still being typed goes in as well
    expect(onDone).toHaveBeenCalledExactlyOnceWith([
      [5, 8],
      [6, 7],
    ]);
  });
  test("F2 edits the text that is there, so arrows stay inside; Esc drops it", async () => {
    await open([10, 20]);
    await press("F2");
    expect(field()?.value).toBe("10");
    await press("ArrowDown");
    expect(field()).not.toBeNull();
    await press("Escape");
    expect(field()).toBeNull();
    await press("9", "Escape", "Ctrl+Enter");
    expect(onDone).toHaveBeenCalledExactlyOnceWith([10, 20]);
  });
  test("Tab leaves the grid at its last cell", async () => {
    await open([1, 2]);
    await press("Tab");
    expect(said()).toBe("element [1]");
    await press("Tab");
    expect(said()).toBe("element [1]");
  });
});

describe("a range", () => {
  test("grows with Shift, is emptied by Delete, and comes back", async () => {
    await open([1, 2, 3]);
    await press("Shift+ArrowDown", "Delete");
    expect(said()).toBe("2 × 1 selected");
    await press("Ctrl+z", "ArrowDown", "ArrowDown", "Backspace", "Ctrl+Enter");
    expect(onDone).toHaveBeenCalledExactlyOnceWith([1, 2, 0]);
  });
  test("is copied, cut and pasted as a spreadsheet does", async () => {
    await open([
      [1, 2],
      [3, 4],
    ]);
    await press("Ctrl+a");
    expect(await clipboard("copy")).toBe("1\t2\n3\t4");
    await press("Home", "Ctrl+Home");
    expect(await clipboard("cut")).toBe("1");
    await press("ArrowDown");
    await clipboard("paste", "7\t8\n9\t10");
    await press("Ctrl+Enter");
    expect(onDone).toHaveBeenCalledExactlyOnceWith([
      [0, 2],
      [7, 8],
      [9, 10],
    ]);
  });
});

describe("the end", () => {
  test("goes to the first cell that is wrong, and says so", async () => {
    await open([1, 2, 3]);
    await press("ArrowDown", "x", "Enter", "y", "Ctrl+Enter");
    expect(onDone).not.toHaveBeenCalled();
    expect(said()).toMatch(/^2 cells are wrong\. The first: .*x/);
    expect(document.activeElement?.getAttribute("aria-activedescendant")).toMatch(/-1-0$/);
  });
  test("values that nobody has seen are not replaced", async () => {
    await open({ file: "x.npy" });
    expect(document.body.textContent).toContain("not in the page but in a data file");
    await press("Ctrl+Enter");
    const button = document.querySelector<HTMLButtonElement>(".grid-editor-done");
    await act(async () => button?.click());
    expect(onDone).not.toHaveBeenCalled();
    expect(onCancel).toHaveBeenCalled();
  });
  test("values of a data file are fetched, and may be changed", async () => {
    await open({ file: "x.npy" }, "int32", async () => ({ shape: [2], cells: [4, 5] }));
    act(() => document.querySelector<HTMLElement>("[role=grid]")?.focus());
    await press("6", "Ctrl+Enter");
    expect(onDone).toHaveBeenCalledExactlyOnceWith([6, 5]);
  });
});
