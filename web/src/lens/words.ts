/** What the row lens lights up, in words. */
import type { Lens } from "../api/types";
import type { LensState, Store } from "../store/types";
import { shapeText } from "../values/cells";

const MOST_NAMED = 3;

type Name = (port: string) => string;
const whole: Name = (port) => port;

/** The node's name alone where the port is its only output. */
export function shortName(results: Store["results"], port: string): string {
  const dot = port.lastIndexOf(".");
  const outputs = dot > 0 ? results[port.slice(0, dot)]?.outputs : undefined;
  return outputs?.length === 1 && outputs[0]?.name === port.slice(dot + 1) ? port.slice(0, dot) : port;
}

/** "row 3", "rows 0, 2 and 5", "12 rows", "the whole value". */
export function rowsText(rows: readonly number[]): string {
  if (rows.length === 0) return "nothing";
  if (rows.includes(-1)) return "the value";
  if (rows.length === 1) return `row ${rows[0]}`;
  if (rows.length > 4) return `${rows.length} rows`;
  return `rows ${rows.slice(0, -1).join(", ")} and ${rows.at(-1)}`;
}

/** The ports of a side with what of them is lit: "rows 0 and 2 of grad.output, …". */
export function sideText(
  ports: readonly string[],
  marks: Lens["marks"],
  called: Name = whole,
  most = MOST_NAMED,
): string {
  const lit = ports.filter((port) => Object.hasOwn(marks, port) && (marks[port] as number[]).length > 0);
  const named = lit.slice(0, most).map((port) => `${rowsText(marks[port] as number[])} of ${called(port)}`);
  const more = lit.length - named.length;
  if (more > 0) named.push(`${more} more`);
  return named.join(", ");
}

/** One sentence for the bar and the live region; `called` gives a port the name that people know it by. */
export function lensText(state: LensState, called: Name = whole, most = MOST_NAMED): string {
  const what = `${placeText(state.index)} of ${called(`${state.node}.${state.port}`)}`;
  if (state.error) return `${what}: ${state.error}`;
  if (state.lens === null) return `${what}: looking along the wires`;
  const { feeds, fed, marks, partial, wires } = state.lens;
  const own = `${state.node}.${state.port}`;
  // At the end of a wire stands what stands at its beginning: once is enough.
  const told = (ports: readonly string[]) =>
    sideText(
      ports.filter((port) => port !== own && !wires.includes(port)),
      marks,
      called,
      most,
    );
  const [above, below] = [told(feeds), told(fed)];
  const parts = [above && `fed by ${above}`, below && `feeds ${below}`].filter(Boolean);
  return `${what}: ${parts.join("; ") || "nothing feeds it, and it feeds nothing"}${partial ? ` (${partial})` : ""}`;
}

function placeText(index: readonly number[]): string {
  if (index.length === 0) return "The value";
  return index.length === 1 ? `Row ${index[0]}` : `Entry ${shapeText(index)}`;
}

/** How many rows there are where the lens looks, or null where that is not known. */
export function rowCount(state: Pick<Store, "results" | "check">, node: string, port: string): number | null {
  const value = state.results[node]?.outputs.find((output) => output.name === port);
  if (value) return value.shape[0] ?? null;
  const slot = state.check?.nodes[node]?.inputs[port];
  return slot?.shape?.[0] ?? null;
}

/** The row that is `step` further down; null at the end. */
export function nextRow(index: readonly number[], step: number, count: number | null): number[] | null {
  const [row, ...rest] = index;
  if (row === undefined) return null;
  const to = row + step;
  return to < 0 || (count !== null && to >= count) ? null : [to, ...rest];
}

/** The rows of a port that are lit, or null without a lens; for previews and tables. */
export function litRows(lens: LensState | null, node: string, port: string): number[] | null {
  const marks = lens?.lens?.marks;
  const name = `${node}.${port}`;
  return marks && Object.hasOwn(marks, name) ? (marks[name] as number[]) : null;
}

/** Whether the wire into an input is lit. */
export function isWireLit(lens: LensState | null, node: string, port: string): boolean {
  return lens?.lens?.wires.includes(`${node}.${port}`) ?? false;
}

const FRACTIONS: readonly [number, string][] = [
  [1 / 2, "½"],
  [1 / 3, "⅓"],
  [2 / 3, "⅔"],
  [1 / 4, "¼"],
  [3 / 4, "¾"],
  [1 / 5, "⅕"],
  [1 / 6, "⅙"],
  [1 / 8, "⅛"],
  [Math.SQRT1_2, "1/√2"],
  [1 / Math.sqrt(3), "1/√3"],
];

/** A coefficient as one writes it: ½ where it is a half. */
export function fraction(number: number | null): string {
  if (number === null) return "nan";
  const known = FRACTIONS.find(([value]) => Math.abs(Math.abs(number) - value) < 1e-6);
  const text = known ? known[1] : String(Number(Math.abs(number).toPrecision(4)));
  return number < 0 ? `(−${text})` : text;
}

/** What a term comes from: "table[2, 1]". */
export function termName({ source, index }: { source: string; index: readonly number[] }): string {
  const name = source.replace(/\.output$/, "");
  return index.length ? `${name}[${index.join(", ")}]` : name;
}
