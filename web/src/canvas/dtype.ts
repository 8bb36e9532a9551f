// The colour of a port: one per family of dtypes.
export type Family = "float" | "integer" | "bool" | "string" | "complex" | "unknown";

export function familyOf(dtype: string | null | undefined): Family {
  if (!dtype) return "unknown";
  if (dtype === "bool" || dtype === "string") return dtype;
  if (/^complex/.test(dtype)) return "complex";
  if (/^(b?float|half|double)/.test(dtype)) return "float";
  return /^q?u?int/.test(dtype) ? "integer" : "unknown";
}

/** dtype and shape in a few characters: "float32 [3, ?]". */
export function slotText(
  dtype: string | null | undefined,
  shape: readonly (number | null)[] | null | undefined,
): string {
  const dims = shape ? `[${shape.map((n) => n ?? "?").join(", ")}]` : "";
  return [dtype ?? "dtype not known", dims].filter(Boolean).join(" ");
}

/** Seconds as a person says them. */
export function timeText(seconds: number): string {
  if (seconds < 1e-3) return `${Math.max(1, Math.round(seconds * 1e6))} µs`;
  if (seconds < 1) return `${(seconds * 1e3).toPrecision(seconds < 0.1 ? 2 : 3)} ms`;
  return seconds < 60 ? `${seconds.toFixed(1)} s` : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}
