// What an op says of an input.
import type { InputInfo, OpInfo } from "../api/types";
import { has } from "./links";

/** The dtypes that an input may have. */
export function dtypesOf(op: OpInfo | undefined, input: InputInfo): string[] {
  return (op && has(op.types, input.dtype) && op.types[input.dtype]) || [input.dtype];
}

/** The dtype of an input that can have no other, or "". */
export function onlyDtype(op: OpInfo | undefined, input: InputInfo | undefined): string {
  const all = input ? dtypesOf(op, input) : [];
  return all.length === 1 ? (all[0] as string) : "";
}

/** What an input is, in words, and its dims. */
export function hintOf(input: InputInfo | undefined): string {
  return [input?.text, input?.dims && `[${input.dims}]`].filter(Boolean).join(" ");
}
