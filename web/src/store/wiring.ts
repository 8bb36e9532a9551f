// Wires: picked up at a port, put down at another that fits, or refused with the reason.
import { api, reason } from "../api/client";
import type { Document, Fits } from "../api/types";
import { connect } from "../page/edits";
import { argumentAt, cycleOf, isLink, outputName, sourceOf, splitPort, splitSource } from "../page/links";
import type { GetState, SetState } from "./parts";
import type { Actions, PortPlace } from "./types";

export function wiring(set: SetState, get: GetState) {
  let asked: { document: Document; place: string; answer: Promise<Fits> } | null = null;

  /** What fits a port, asked once for a document. */
  const fitsOf = (place: PortPlace): Promise<Fits> => {
    const { document, file } = get();
    const key = `${place.side} ${place.node}.${place.port}`;
    if (asked?.document !== document || asked.place !== key) {
      const answer = api.fits({ page: document, path: file.path, ...place });
      answer.catch(() => {
        asked = null;
      });
      asked = { document, place: key, answer };
    }
    return asked.answer;
  };

  return {
    async connect(from, node, port) {
      const { document, ops } = get();
      const [sourceNode, sourcePort] = splitSource(document.nodes, from);
      const op = ops.get(document.nodes[sourceNode]?.op ?? "");
      const refuse = (why: string) => {
        get().toast("danger", why);
        return false;
      };
      const cycle = cycleOf(document, sourceNode, node);
      if (cycle) return refuse(`This wire would make a cycle: ${[...cycle, cycle[0]].join(" → ")}.`);
      try {
        const fits = await fitsOf({ node: sourceNode, port: outputName(op, sourcePort), side: "output" });
        const why = said(fits, node, port);
        if (why) return refuse(`${from} does not fit ${node}.${port}: ${why}`);
      } catch (problem) {
        return refuse(reason(problem));
      }
      if (get().document !== document) return refuse("The page changed meanwhile: draw the wire again.");
      const source = sourceOf(op, sourceNode, sourcePort);
      const now = argumentAt(document.nodes[node], port);
      if (isLink(now) && now.from === source) return true;
      get().edit(`connect ${source} to ${node}.${port}`, connect(node, port, source));
      get().say(`Connected ${source} to ${node}.${port}`);
      return true;
    },

    join(place, other) {
      const [from, to] = place.side === "output" ? [place, other] : [other, place];
      return get().connect(`${from.node}.${from.port}`, to.node, to.port);
    },

    async pickUp(place, way) {
      set({ wiring: { ...place, fits: null, way } });
      const still = () => {
        const now = get().wiring;
        return now?.node === place.node && now.port === place.port && now.side === place.side;
      };
      try {
        const fits = await fitsOf(place);
        if (still()) set({ wiring: { ...place, fits, way } });
      } catch (problem) {
        if (still()) get().toast("danger", reason(problem));
      }
    },

    putDown: () => set({ wiring: null }),

    refusal(place) {
      const { wiring: held } = get();
      if (!held) return "";
      if (held.side === place.side) return place.side === "input" ? "a wire needs an output" : "a wire needs an input";
      return held.fits ? said(held.fits, place.node, place.port) : "";
    },
  } satisfies Partial<Actions>;
}

/** What the server says of a port; an item of a list is judged as the list's port when it is not named itself. */
function said(fits: Fits, node: string, port: string): string {
  const [list] = splitPort(port);
  return fits.ports[`${node}.${port}`] ?? fits.ports[`${node}.${list}`] ?? fits.ports[`${node}.${list}[0]`] ?? "";
}
