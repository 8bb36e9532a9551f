// Parts that load when they are first shown.
import { type ComponentType, lazy } from "react";

type Modules = Record<string, () => Promise<unknown>>;

function late<Props>(modules: Modules, name: string): ComponentType<Props> {
  return lazy(async () => {
    const load = Object.values(modules)[0];
    const found = load ? ((await load()) as Record<string, ComponentType<Props>>) : {};
    return { default: found[name] ?? (() => null) };
  }) as unknown as ComponentType<Props>;
}

export const Inspector = late<{ node: string | null }>(import.meta.glob("../inspector/Inspector.tsx"), "Inspector");
export const HelpPanel = late<{ op: string; onClose(): void; onTry(): void }>(
  import.meta.glob("../help/HelpPanel.tsx"),
  "HelpPanel",
);
export const LensBar = late<object>(import.meta.glob("../lens/LensBar.tsx"), "LensBar");
