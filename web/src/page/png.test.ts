import { deflateSync, crc32 as theirs } from "node:zlib";
import { expect, test } from "vitest";
import { chunks, crc32, KEYWORD, withText } from "./png";

function chunk(type: string, data: Uint8Array): number[] {
  const body = [...new TextEncoder().encode(type), ...data];
  const sum = crc32(new Uint8Array(body));
  const word = (n: number) => [n >>> 24, (n >>> 16) & 255, (n >>> 8) & 255, n & 255];
  return [...word(data.length), ...body, ...word(sum)];
}

const dot = new Uint8Array([
  137,
  80,
  78,
  71,
  13,
  10,
  26,
  10,
  ...chunk("IHDR", new Uint8Array([0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0])),
  ...chunk("IDAT", deflateSync(new Uint8Array([0, 200]))),
  ...chunk("IEND", new Uint8Array()),
]);

test("the checksum is zlib's", () => {
  const bytes = new TextEncoder().encode("IEND");
  expect(crc32(bytes)).toBe(0xae426082);
  if (theirs) expect(crc32(bytes)).toBe(theirs(bytes));
});

test("a text stands in an iTXt chunk before the end, and nothing else changes", () => {
  const text = '{"format": "gradbag-page/1", "title": "Größe ∂"}';
  const made = chunks(withText(dot, text));
  expect(made.map((one) => one.type)).toEqual(["IHDR", "IDAT", "iTXt", "IEND"]);
  const data = made[2]?.data ?? new Uint8Array();
  expect(new TextDecoder().decode(data.subarray(0, KEYWORD.length))).toBe(KEYWORD);
  expect([...data.subarray(KEYWORD.length, KEYWORD.length + 5)]).toEqual([0, 0, 0, 0, 0]);
  expect(new TextDecoder().decode(data.subarray(KEYWORD.length + 5))).toBe(text);
  expect(made[0]?.data).toEqual(chunks(dot)[0]?.data);
});

test("what is no PNG, or a piece of one, is refused", () => {
  expect(() => withText(new Uint8Array([1, 2, 3]), "x")).toThrow("no PNG");
  expect(() => withText(dot.subarray(0, 40), "x")).toThrow("cut off");
});
