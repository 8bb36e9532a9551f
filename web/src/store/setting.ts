// A setting of a block as a field holds it: the default where it is not given, and not written where it is the default.

import type { AttrInfo } from "../api/types";
import { attrText, parseAttr } from "../values/attrs";
import { useStudio } from ".";

export function settingOf(node: string, name: string, info: AttrInfo | undefined, value: unknown, dtype: string) {
  const { setAttr } = useStudio.getState();
  const shown = value === undefined ? info?.default : value;
  const set = (next: unknown) => {
    const isDefault = info && !info.required && JSON.stringify(next) === JSON.stringify(info.default);
    setAttr(node, name, isDefault ? undefined : next);
  };
  return {
    shown,
    text: attrText(info?.kind, shown),
    set,
    reset: () => setAttr(node, name, undefined),
    onText(text: string) {
      if (text.trim() === "" && info?.kind !== "string") setAttr(node, name, undefined);
      else set(parseAttr(info?.kind, text, dtype));
    },
  };
}
