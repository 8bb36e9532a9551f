// Seen from afar ports and fields cannot be read, so blocks are drawn as plain boxes and all wires as a few paths: thousands
// stay fluid. From half-way a box still says what it is and what it holds.
import { createContext } from "react";

export type Distance = "near" | "middle" | "far";

export const distanceAt = (zoom: number): Distance => (zoom >= 0.5 ? "near" : zoom >= 0.22 ? "middle" : "far");

export const Far = createContext<Distance>("near");
