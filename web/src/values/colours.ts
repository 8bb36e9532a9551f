/** Colour maps for numbers: equal steps of a value look like equal steps of colour. */
export type Colour = readonly [number, number, number];
export type Range = { least: number; most: number; diverging: boolean };

const STEPS = 256;

// Viridis as a polynomial of degree six; good to one step of 255 against matplotlib's table.
const VIRIDIS: readonly Colour[] = [
  [0.2777273272234177, 0.005407344544966578, 0.3340998053353061],
  [0.1050930431085774, 1.404613529898575, 1.384590162594685],
  [-0.3308618287255563, 0.214847559468213, 0.09509516302823659],
  [-4.634230498983486, -5.799100973351585, -19.33244095627987],
  [6.228269936347081, 14.17993336680509, 56.69055260068105],
  [4.776384997670288, -13.74514537774601, -65.35303263337234],
  [-5.435455855934631, 4.645852612178535, 26.3124352495832],
];

/** From 0 to 1. */
function viridis(at: number): Colour {
  const channel = (which: 0 | 1 | 2) => VIRIDIS.reduceRight((sum, term) => sum * at + term[which], 0);
  return [channel(0), channel(1), channel(2)].map(byte) as unknown as Colour;
}

/** From -1 to 1: blue, the surface's own grey, red; lightness goes straight in OKLab. */
function diverging(at: number, dark: boolean): Colour {
  const size = Math.abs(at);
  const [middle, end] = dark ? [0.3, 0.8] : [0.96, 0.42];
  const hue = ((at < 0 ? 258 : 35) * Math.PI) / 180;
  const strength = 0.14 * size;
  return fromOklab(middle + (end - middle) * size, strength * Math.cos(hue), strength * Math.sin(hue));
}

function fromOklab(light: number, a: number, b: number): Colour {
  const long = (light + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const medium = (light - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const short = (light - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
    -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
    -0.0041960863 * long - 0.7034186147 * medium + 1.707614701 * short,
  ];
  return linear.map((x) => byte(x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055)) as unknown as Colour;
}

function byte(part: number): number {
  return Math.round(255 * Math.min(1, Math.max(0, part || 0)));
}

const tables = new Map<string, Colour[]>();

/** The colours of a map from its least value to its most, as a table. */
export function colourTable(isDiverging: boolean, dark: boolean): Colour[] {
  const name = `${isDiverging} ${isDiverging && dark}`;
  const known = tables.get(name);
  if (known) return known;
  const made = Array.from({ length: STEPS }, (_, step) => {
    const at = step / (STEPS - 1);
    return isDiverging ? diverging(2 * at - 1, dark) : viridis(at);
  });
  tables.set(name, made);
  return made;
}

/** What the colours of these values reach over: 0 is in the middle where values have both signs. */
export function rangeOf(values: readonly (number | null)[]): Range | null {
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  for (const value of values) {
    if (value === null || !Number.isFinite(value)) continue;
    if (value < least) least = value;
    if (value > most) most = value;
  }
  if (least > most) return null;
  if (least < 0 && most > 0) {
    const reach = Math.max(-least, most);
    return { least: -reach, most: reach, diverging: true };
  }
  return { least, most, diverging: false };
}

/** The step of the colour table for a value. */
export function stepOf(value: number, range: Range): number {
  const width = range.most - range.least;
  // Widths beyond the largest double: halves do not overflow.
  const at = Number.isFinite(width)
    ? width > 0
      ? (value - range.least) / width
      : 0.5
    : (value / 2 - range.least / 2) / (range.most / 2 - range.least / 2);
  return Math.round(Math.min(1, Math.max(0, at)) * (STEPS - 1));
}

export type Heat = { rows: number; columns: number; values: readonly (number | null)[] };

/** The picture of a matrix, pixel by pixel (RGBA); what is no number is hatched in grey. */
export function heatPixels(heat: Heat, width: number, height: number, dark: boolean): Uint8ClampedArray<ArrayBuffer> {
  const pixels = new Uint8ClampedArray(width * height * 4);
  const range = rangeOf(heat.values);
  const table = colourTable(range?.diverging ?? false, dark);
  const ink = dark ? 150 : 120;
  const paper = dark ? 60 : 225;
  for (let y = 0; y < height; y += 1) {
    const row = Math.floor((y * heat.rows) / height) * heat.columns;
    for (let x = 0; x < width; x += 1) {
      const value = heat.values[row + Math.floor((x * heat.columns) / width)];
      const at = 4 * (y * width + x);
      const known = range !== null && typeof value === "number" && Number.isFinite(value);
      const colour = known ? (table[stepOf(value, range)] as Colour) : null;
      const grey = (x + y) % 6 < 2 ? ink : paper;
      pixels[at] = colour ? colour[0] : grey;
      pixels[at + 1] = colour ? colour[1] : grey;
      pixels[at + 2] = colour ? colour[2] : grey;
      pixels[at + 3] = 255;
    }
  }
  return pixels;
}
