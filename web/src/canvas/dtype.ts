// The colour of a port: one per family of dtypes.
import { shapeText } from "../values/cells";
import { type Kind, kindOf } from "../values/dtypes";

export type Family = Exclude<Kind, ""> | "unknown";

export function familyOf(dtype: string | null | undefined): Family {
  return kindOf(dtype) || "unknown";
}

/** dtype and shape in a few characters: "float32 [3, ?]". */
export function slotText(
  dtype: string | null | undefined,
  shape: readonly (number | null)[] | null | undefined,
): string {
  return [dtype ?? "dtype not known", shape ? shapeText(shape) : ""].filter(Boolean).join(" ");
}

/** Seconds as a person says them. */
export function timeText(seconds: number): string {
  if (seconds < 1e-3) return `${Math.max(1, Math.round(seconds * 1e6))} µs`;
  if (seconds < 1) return `${(seconds * 1e3).toPrecision(seconds < 0.1 ? 2 : 3)} ms`;
  return seconds < 60 ? `${seconds.toFixed(1)} s` : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}
