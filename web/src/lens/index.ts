export { LensBar } from "./LensBar";
export { isWireLit, lensText, litRows } from "./words";
