// @vitest-environment jsdom
import { describe, expect, test } from "vitest";
import { viewOf } from "./useIntoView";

const room = { width: 1000, height: 600 };

describe("the view", () => {
  test("is never nearer than life size, and is centred", () => {
    const { x, zoom } = viewOf({ x: 100, y: 0, width: 200, height: 100 }, room, true);
    expect(zoom).toBe(1);
    expect(x).toBe(500 - 200);
  });
  test("holds all of a large page, or its beginning where that is to be read", () => {
    const wide = { x: 40, y: 40, width: 8000, height: 400 };
    expect(viewOf(wide, room, false).zoom).toBeLessThan(0.2);
    expect(viewOf(wide, room, true)).toEqual({ x: 32 - 30, y: (600 - 300) / 2 - 30, zoom: 0.75 });
  });
  test("begins at the top of what is too tall as well", () => {
    expect(viewOf({ x: 0, y: 0, width: 400, height: 9000 }, room, true)).toEqual({ x: 32, y: 32, zoom: 0.75 });
  });
});
