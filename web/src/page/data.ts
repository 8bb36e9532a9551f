// Numbers from elsewhere: files that hold arrays, and tables on the clipboard.
import type { Document, Literal, OpInfo } from "../api/types";
import { literalTensor } from "../values/literals";
import { parseLiteral } from "../values/parse";

export function isData({ name }: { name: string }): boolean {
  return /\.(npy|npz|csv|tsv|parquet)$/i.test(name);
}

/** The op that holds a tensor and reads nothing. */
export function holderOf(ops: Iterable<OpInfo>): OpInfo | undefined {
  const has = (op: OpInfo, kind: string) => op.attrs.some((attr) => attr.kind === kind && attr.required);
  return [...ops].find((op) => !op.inputs.length && has(op, "tensor"));
}

/** The literal that a block of a page of data stands for, with its dtype. */
export function heldLiteral(page: Document, node: string): Literal | null {
  const attrs = page.nodes[node]?.attrs ?? {};
  const typed = Object.values(attrs).find((value) => typeof value === "object" && value !== null && "dtype" in value);
  if (typed !== undefined) return typed as Literal;
  const value = attrs.value;
  return value === undefined ? null : ({ value, dtype: attrs.dtype } as Literal);
}

/** A table of numbers as a literal; null for other text. */
export function tableLiteral(text: string): Literal | null {
  try {
    const found = parseLiteral(text.trim(), "");
    const tensor = literalTensor(found, "");
    return tensor && tensor.shape.length > 0 && tensor.cells.every((cell) => typeof cell === "number")
      ? (found as Literal)
      : null;
  } catch {
    return null;
  }
}
