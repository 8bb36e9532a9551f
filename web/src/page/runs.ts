// Changes of a page's runs, feeds and expectations.
import type { Document, Literal, Run } from "../api/types";
import type { Change } from "../store/types";
import { freeName } from "./edits";
import { has } from "./links";

function withRuns(document: Document, runs: Record<string, Run>): Document {
  const { runs: _, ...rest } = document;
  return Object.keys(runs).length ? { ...document, runs } : (rest as Document);
}

export const addRun =
  (fetch: string[]): Change =>
  (document) => {
    const name = freeName("main", (taken) => has(document.runs, taken));
    return withRuns(document, { ...document.runs, [name]: { fetch } });
  };

/** A part that is undefined goes away. */
export const setRun =
  (name: string, change: Partial<Run>): Change =>
  (document) => {
    const run = Object.entries({ ...document.runs?.[name], ...change }).filter(([, value]) => value !== undefined);
    return withRuns(document, { ...document.runs, [name]: Object.fromEntries(run) as Run });
  };

export const removeRun =
  (name: string): Change =>
  (document) =>
    withRuns(document, Object.fromEntries(Object.entries(document.runs ?? {}).filter(([other]) => other !== name)));

/** Runs keep their order, which is the order in which they run. */
export const renameRun =
  (from: string, to: string): Change =>
  (document) => {
    if (!to || from === to || has(document.runs, to)) return document;
    const runs = Object.entries(document.runs ?? {}).map(([name, run]) => [name === from ? to : name, run] as const);
    return withRuns(document, Object.fromEntries(runs));
  };

/** What a block is fed in every run; a page without runs gets one. */
export const feedAll =
  (node: string, value: Literal | undefined, leaves: string[]): Change =>
  (document) => {
    const runs = Object.keys(document.runs ?? {}).length ? (document.runs ?? {}) : { main: { fetch: leaves } };
    const fed = Object.entries(runs).map(([name, run]) => [name, withFeed(run, node, value)] as const);
    return withRuns(document, Object.fromEntries(fed));
  };

export const setFeed =
  (name: string, node: string, value: Literal | undefined): Change =>
  (document) =>
    withRuns(document, { ...document.runs, [name]: withFeed(document.runs?.[name] ?? {}, node, value) });

function withFeed(run: Run, node: string, value: Literal | undefined): Run {
  const { feed, ...rest } = run;
  const left = Object.entries({ ...feed, [node]: value }).filter(([, one]) => one !== undefined);
  return left.length ? { ...rest, feed: Object.fromEntries(left) } : rest;
}

export const setExpected =
  (place: string, value: Literal | undefined): Change =>
  (document) => {
    const left = Object.entries({ ...document.expect, [place]: value }).filter(([, one]) => one !== undefined);
    const { expect: _, ...rest } = document;
    return left.length ? { ...document, expect: Object.fromEntries(left) } : (rest as Document);
  };

/** The blocks that no other reads. */
export function leavesOf(document: Document, read: ReadonlySet<string>): string[] {
  return Object.keys(document.nodes).filter((node) => !read.has(node));
}
