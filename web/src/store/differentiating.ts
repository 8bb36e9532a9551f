// Gradients: new ones, those that were written out once, and what they are made of.
import { api, reason } from "../api/client";
import type { Differentiated } from "../api/types";
import { allWires } from "../page/links";
import { counted } from "./editing";
import type { GetState, SetState } from "./parts";
import type { Actions } from "./types";

export function differentiating(set: SetState, get: GetState) {
  /** One edit, with what is new selected and in view; nothing where the page has changed meanwhile. */
  const take = async (label: string, ask: () => Promise<Differentiated>): Promise<Differentiated | null> => {
    const { document } = get();
    try {
      const made = await ask();
      if (get().document !== document) return null;
      get().edit(label, () => made.page);
      get().select({ nodes: made.added });
      const read = allWires(made.page).filter((wire) => made.added.includes(wire.node));
      get().bringIntoView([...made.added, ...read.map((wire) => wire.sourceNode)]);
      return made;
    } catch (problem) {
      get().toast("danger", reason(problem));
      return null;
    }
  };

  return {
    async differentiate(output, inputs, ports) {
      const { document: page, file } = get();
      const ask = () => api.differentiate({ page, path: file.path, output, inputs, ports });
      const made = await take(`differentiate ${output}`, ask);
      if (made) get().say(`${counted(made.added.length, "block")} added: the gradient of ${output}`);
      return made !== null;
    },
    async restate() {
      const { document: page, file } = get();
      const made = await take("replace gradients", () => api.restate({ page, path: file.path }));
      if (made) get().say(`${counted(made.added.length, "gradient")} will follow the page from now on`);
    },
    openParts(node, open) {
      const others = get().opened.filter((one) => one !== node);
      set({ opened: open ? [...others, node] : others });
      get().say(`${node} is ${open ? "open" : "folded"}`);
      // What has run is told of its parts too: all of it comes from the cache.
      if (open && get().results[node]?.outputs.length) void get().runTo([node]);
    },
  } satisfies Partial<Actions>;
}
