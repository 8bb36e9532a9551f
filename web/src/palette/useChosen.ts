import { type KeyboardEvent, useEffect, useRef, useState } from "react";

/** The option of a list that its search field means: arrows go round, Enter chooses; it is kept in view. */
export function useChosen(count: number, choose: (place: number) => void) {
  const [at, setAt] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const chosen = Math.min(at, count - 1);
  useEffect(() => {
    list.current?.children[chosen]?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter") choose(chosen);
    else if (event.key === "ArrowDown") setAt(chosen + 1 < count ? chosen + 1 : 0);
    else if (event.key === "ArrowUp") setAt(chosen > 0 ? chosen - 1 : Math.max(0, count - 1));
    else return;
    event.preventDefault();
  };
  return { chosen, setAt, list, onKeyDown };
}
