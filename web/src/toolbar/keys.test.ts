// @vitest-environment jsdom
import { describe, expect, test } from "vitest";
import { KEYS, keyFor, matches, type Pressed, printed } from "./keys";

const pressed = (key: string, more: Partial<Pressed> = {}): Pressed => ({
  key,
  ctrlKey: false,
  metaKey: false,
  shiftKey: false,
  altKey: false,
  ...more,
});

/** The event that a person makes who presses a combination of the table. */
function asTyped(combination: string): Pressed {
  const parts = combination.split(/\+(?=.)/);
  const key = parts.at(-1) as string;
  return pressed(key === "Space" ? " " : parts.includes("Shift") ? key : key.length === 1 ? key.toLowerCase() : key, {
    ctrlKey: parts.includes("Mod"),
    shiftKey: parts.includes("Shift"),
    altKey: parts.includes("Alt"),
  });
}

describe("the table", () => {
  const all = KEYS.flatMap((key) => key.keys.map((combination) => ({ combination, key })));
  test.each(all)("$combination means one thing", ({ combination, key }) => {
    const found = KEYS.filter((other) => other.keys.some((one) => matches(one, asTyped(combination))));
    expect(found).toEqual([key]);
  });
  test("every key does something, or leaves it to the browser", () => {
    for (const key of KEYS) expect(Boolean(key.run) !== Boolean(key.native)).toBe(true);
  });
  test("labels are told apart", () => {
    expect(new Set(KEYS.map((key) => key.label)).size).toBe(KEYS.length);
  });
});

describe("matching", () => {
  test("a sign that needs Shift on some keyboards matches with and without", () => {
    expect(matches("?", pressed("?", { shiftKey: true }))).toBe(true);
    expect(matches("+", pressed("+", { shiftKey: true }))).toBe(true);
    expect(matches("/", pressed("/"))).toBe(true);
  });
  test("a letter with a modifier is another key", () => {
    expect(matches("S", pressed("s", { ctrlKey: true }))).toBe(false);
    expect(matches("Mod+S", pressed("s", { metaKey: true }))).toBe(true);
    expect(matches("F", pressed("F", { shiftKey: true }))).toBe(false);
  });
  test("while typing, only what is meant for fields", () => {
    const field = document.createElement("input");
    document.body.append(field);
    const type = (event: KeyboardEventInit) => {
      let found: ReturnType<typeof keyFor> = null;
      const listen = (pressedKey: KeyboardEvent) => {
        found = keyFor(pressedKey);
      };
      window.addEventListener("keydown", listen, { once: true });
      field.dispatchEvent(new KeyboardEvent("keydown", { bubbles: true, ...event }));
      return found as ReturnType<typeof keyFor>;
    };
    expect(type({ key: "s" })).toBeNull();
    expect(type({ key: "z", ctrlKey: true })).toBeNull();
    expect(type({ key: "s", ctrlKey: true })?.label).toBe("Save");
  });
  test("printed as on the keys", () => {
    expect(printed("Mod+Shift+ArrowLeft").slice(1)).toEqual(["Shift", "←"]);
    expect(printed("+")).toEqual(["+"]);
  });
});
