// Pictures and downloads, made in the browser.
import { withText } from "./png";

const LARGEST_SIDE = 8192; // beyond it browsers give an empty picture
const SHARPNESS = 2;

/** The server's SVG as a PNG with the page's text inside. */
export async function pngOf(svg: Blob, text: string): Promise<Blob> {
  const address = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const width = image.naturalWidth || 1200;
    const height = image.naturalHeight || 800;
    const scale = Math.min(SHARPNESS, LARGEST_SIDE / width, LARGEST_SIDE / height);
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(1, Math.round(width * scale));
    canvas.height = Math.max(1, Math.round(height * scale));
    const pen = canvas.getContext("2d");
    if (!pen) throw new Error("This browser gives no canvas to draw on.");
    pen.drawImage(image, 0, 0, canvas.width, canvas.height);
    const png = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
    if (!png) throw new Error("The picture is too large for this browser.");
    return new Blob([withText(new Uint8Array(await png.arrayBuffer()), text)], { type: "image/png" });
  } finally {
    URL.revokeObjectURL(address);
  }
}

export function download(bytes: Blob, name: string): void {
  const address = URL.createObjectURL(bytes);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
