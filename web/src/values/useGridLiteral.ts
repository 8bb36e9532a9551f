import { useEffect, useState } from "react";
import { reason } from "../api/client";
import type { Literal } from "../api/types";
import type { Tensor } from "./cells";
import { modelOf } from "./gridModel";
import { literalDtype, literalTensor, tensorLiteral } from "./literals";
import { useGrid } from "./useGrid";

export type Edited = {
  literal: Literal;
  /** The dtype that the value has as it stands. */
  dtype: string;
  /** Those that may be chosen. */
  dtypes: string[];
  /** Fetches the values of a literal that only names its data file. */
  load?: (() => Promise<Tensor>) | undefined;
  onDone: (literal: Literal) => void;
  onCancel: () => void;
};

/** A literal as a grid, and the grid as a literal again. */
export function useGridLiteral({ literal, dtype, dtypes, load, onDone, onCancel }: Edited) {
  const named = literalDtype(literal);
  const asModel = (tensor: Tensor) => modelOf(tensor, named ?? dtype);
  const [start] = useState(() => {
    const tensor = literalTensor(literal, dtype);
    return {
      model: asModel(tensor ?? { shape: [0], cells: [] }),
      elsewhere: tensor === null && literal !== undefined,
    };
  });
  const grid = useGrid(start.model, dtypes);

  const [loading, setLoading] = useState(start.elsewhere && load !== undefined);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the dialog opens
  useEffect(() => {
    if (!loading || !load) return;
    let wanted = true;
    load()
      .then((tensor) => wanted && grid.restart(asModel(tensor)))
      .catch((problem: unknown) => wanted && grid.setMessage(reason(problem), true))
      .finally(() => wanted && setLoading(false));
    return () => {
      wanted = false;
    };
  }, []);

  const note = loading
    ? "The values are being fetched."
    : start.elsewhere && !grid.loaded && !grid.canUndo
      ? "These values are not in the page but in a data file. What you enter takes their place."
      : "";

  /** Hands the literal over, or goes to the first cell that keeps it from being one. */
  const finish = () => {
    const { model, problems } = grid;
    // Values that nobody has seen are not to be replaced by nothing.
    if (start.elsewhere && !grid.canUndo) return onCancel();
    if (problems.size > 0) return grid.toProblem();
    const says = named !== null || (model.dtype !== dtype && model.dtype !== "");
    onDone(tensorLiteral(grid.tensor, says ? model.dtype : undefined));
  };
  return { grid, note, finish };
}
