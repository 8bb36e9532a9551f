import { useStudio } from "../store";
import type { GridTarget } from "../store/types";
import { IconButton } from "../toolbar/Icon";

/** Opens the grid editor; `what` names the value for readers who cannot see where the button is. */
export function GridButton({ className, what, target }: { className: string; what: string; target: GridTarget }) {
  return (
    <IconButton
      className={className}
      icon="grid"
      label={`Edit ${what} as a grid`}
      title="Edit as a grid"
      onClick={() => useStudio.getState().openDialog({ kind: "grid", target })}
    />
  );
}
