// Seen from afar nothing can be read, so blocks are drawn as plain boxes and all wires as a few paths: thousands stay fluid.
import { createContext } from "react";

export const FAR = 0.5; // below this zoom

export const Far = createContext(false);
