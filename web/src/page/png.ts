// A page inside a PNG: an iTXt chunk before the end, which picture programs keep and ignore.

const SIGNATURE = [137, 80, 78, 71, 13, 10, 26, 10];
export const KEYWORD = "gradbag-page";

const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let bit = 0; bit < 8; bit++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c >>> 0;
});

export function crc32(bytes: Uint8Array): number {
  let c = 0xffffffff;
  for (const byte of bytes) c = (TABLE[(c ^ byte) & 0xff] as number) ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
}

export type Chunk = { type: string; data: Uint8Array };

export function chunks(png: Uint8Array): Chunk[] {
  if (!SIGNATURE.every((byte, place) => png[place] === byte)) throw new Error("This is no PNG picture.");
  const view = new DataView(png.buffer, png.byteOffset, png.byteLength);
  const found: Chunk[] = [];
  for (let at = SIGNATURE.length; at + 12 <= png.length; ) {
    const length = view.getUint32(at);
    if (at + 12 + length > png.length) throw new Error("This PNG picture is cut off.");
    const type = String.fromCharCode(...png.subarray(at + 4, at + 8));
    found.push({ type, data: png.subarray(at + 8, at + 8 + length) });
    at += 12 + length;
  }
  if (found.at(-1)?.type !== "IEND") throw new Error("This PNG picture is cut off.");
  return found;
}

/** The picture with a text in it. */
export function withText(png: Uint8Array, text: string): Uint8Array<ArrayBuffer> {
  const end = chunks(png).reduce((at, chunk) => (chunk.type === "IEND" ? at : at + 12 + chunk.data.length), 8);
  const encoder = new TextEncoder();
  const words = encoder.encode(text);
  // keyword 0, not compressed, method 0, no language 0, no translated keyword 0
  const head = new Uint8Array([...encoder.encode(KEYWORD), 0, 0, 0, 0, 0]);
  const body = new Uint8Array(4 + head.length + words.length);
  body.set(encoder.encode("iTXt"), 0);
  body.set(head, 4);
  body.set(words, 4 + head.length);
  const made = new Uint8Array(png.length + 8 + body.length);
  const view = new DataView(made.buffer);
  made.set(png.subarray(0, end), 0);
  view.setUint32(end, body.length - 4);
  made.set(body, end + 4);
  view.setUint32(end + 4 + body.length, crc32(body));
  made.set(png.subarray(end), end + 8 + body.length);
  return made;
}
