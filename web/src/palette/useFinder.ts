import { useMemo } from "react";
import { useStudio } from "../store";
import { type Finder, finder } from "./search";

const NONE: Finder = () => [];

export function useFinder(): Finder {
  const catalogue = useStudio((s) => s.catalogue);
  return useMemo(() => (catalogue ? finder(catalogue.ops) : NONE), [catalogue]);
}
