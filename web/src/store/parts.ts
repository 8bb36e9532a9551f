// The form of the store's parts: each is made from the same two functions, and is some of the actions.
import type { Store } from "./types";

export type SetState = (change: Partial<Store> | ((state: Store) => Partial<Store>)) => void;
export type GetState = () => Store;
