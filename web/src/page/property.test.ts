// Any sequence of edits can be undone and redone to the same bytes, leaves no wire in the air, and can be saved.
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Document } from "../api/types";
import { fragmentOf, pasted, readFragment } from "./clipboard";
import * as edits from "./edits";
import { NO_HISTORY, recorded, redone, undone } from "./history";
import { allWires, cycleOf, has } from "./links";

type Change = (document: Document) => Document;

const name = fc.constantFrom("a", "b", "c", "d", "e.f", "g/h", "sum_2", "constructor");
const port = fc.constantFrom("x", "y", "list[0]", "list[1]", "list[5]", "toString");
const literal = fc.oneof(
  fc.integer(),
  fc.constantFrom("nan", "9007199254740993", "text"),
  fc.array(fc.integer(), { maxLength: 4 }),
);
const place = fc.tuple(fc.integer({ min: -500, max: 500 }), fc.integer({ min: -500, max: 500 }));

/** A wire is drawn only where the studio would allow it: from a block that is there, and closing no cycle. */
const wire =
  (from: string, to: string, at: string): Change =>
  (document) =>
    has(document.nodes, from) && has(document.nodes, to) && !cycleOf(document, from, to)
      ? edits.connect(to, at, from)(document)
      : document;

const added = fc.tuple(name, place).map(
  ([n, at]) =>
    (d: Document) =>
      has(d.nodes, n) ? d : edits.addNode(n, { op: "Op" }, at)(d),
);
const wired = fc.tuple(name, name, port).map(([a, b, p]) => wire(a, b, p));

// Blocks and wires come more often than what removes them, so that the other edits meet pages with wires.
const change: fc.Arbitrary<Change> = fc.oneof(
  { arbitrary: added, weight: 3 },
  { arbitrary: wired, weight: 6 },
  fc.tuple(name, port, literal).map(([n, p, v]) => edits.setLiteral(n, p, v)),
  fc.tuple(name, port).map(([n, p]) => edits.disconnect(n, p)),
  fc.tuple(name, port, literal).map(([n, p, v]) => edits.setAttr(n, p, v)),
  fc.array(name, { minLength: 1, maxLength: 3 }).map((ns) => edits.removeNodes(ns)),
  fc.tuple(name, name).map(([a, b]) => edits.renameNode(a, b)),
  fc.tuple(name, place).map(([n, at]) => edits.moveNodes({ [n]: at })),
  fc.tuple(name, fc.array(name, { minLength: 1, maxLength: 3 })).map(([n, ns]) => (d: Document) => {
    const there = [...new Set(ns)].filter((one) => has(d.nodes, one));
    return there.length ? edits.groupNodes(n, "G", there, 1)(d) : d;
  }),
  fc.tuple(name, fc.string(), place).map(([n, text, at]) => edits.setNote(n, { text, at, size: [100, 50] })),
  name.map((n) => edits.setNote(n, undefined)),
  name.map((n) => edits.setGroup(n, undefined)),
  fc.string().map((text) => edits.setTitle(text)),
  fc.tuple(fc.array(name, { maxLength: 3 }), fc.boolean()).map(([ns, home]) => (d: Document) => {
    const fragment = readFragment(fragmentOf(d, { nodes: ns, notes: ns }, "p"));
    return fragment ? pasted(d, fragment, [8, 8], home ? "p" : "q").document : d;
  }),
);

const START = ["a", "b", "c", "e.f"].reduce((d, n, k) => edits.addNode(n, { op: "Op" }, [0, 90 * k])(d), edits.EMPTY);

function mentioned(document: Document): string[] {
  return [
    ...allWires(document).map((one) => one.sourceNode),
    ...Object.values(document.nodes).flatMap((entry) => entry.after ?? []),
    ...Object.keys(document.layout ?? {}),
    ...Object.values(document.groups ?? {}).flatMap((group) => group.nodes),
  ];
}

test("1,000 random sequences of edits", () => {
  let edited = 0;
  let removedWires = 0;
  let addedWires = 0;
  fc.assert(
    fc.property(fc.array(change, { minLength: 10, maxLength: 40, size: "max" }), (changes) => {
      let document: Document = START;
      let history = NO_HISTORY;
      const texts = [JSON.stringify(document)];
      for (const one of changes) {
        const before = document;
        document = one(before);
        expect(JSON.stringify(before)).toBe(texts.at(-1)); // an edit leaves what it was given alone
        if (document === before) continue;
        edited += 1;
        history = recorded(history, before, "edit");
        if (allWires(document).length < allWires(before).length) removedWires += 1;
        if (allWires(document).length > allWires(before).length) addedWires += 1;
        const text = JSON.stringify(document);
        texts.push(text);
        expect(JSON.stringify(JSON.parse(text))).toBe(text);
        for (const node of mentioned(document)) expect(has(document.nodes, node)).toBe(true);
      }
      for (let n = texts.length - 2; n >= 0; n--) {
        const turned = undone(history, document);
        if (!turned) throw new Error("a step is missing");
        ({ document, history } = turned);
        expect(JSON.stringify(document)).toBe(texts[n]);
      }
      expect(undone(history, document)).toBeNull();
      for (let n = 1; n < texts.length; n++) {
        const turned = redone(history, document);
        if (!turned) throw new Error("a step is missing");
        ({ document, history } = turned);
        expect(JSON.stringify(document)).toBe(texts[n]);
      }
      expect(redone(history, document)).toBeNull();
    }),
    { numRuns: 1000 },
  );
  // The sequences do something.
  expect(edited).toBeGreaterThan(5000);
  expect(addedWires).toBeGreaterThan(700);
  expect(removedWires).toBeGreaterThan(100);
}, 60_000);
