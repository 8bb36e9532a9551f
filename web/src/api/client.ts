// The server's routes as functions. Every refusal becomes a `Refused` whose text a person can act on.
import { answerTo, READ_ONLY, recorded } from "./recorded";
import type {
  Captured,
  Catalogue,
  Check,
  Difference,
  Differentiable,
  Differentiated,
  Document,
  ExportKind,
  FileList,
  Fits,
  Help,
  ImportedFile,
  Journaled,
  Layout,
  Lens,
  OpenedFile,
  Refusal,
  RefusedReply,
  Round,
  Rounds,
  RunStarted,
  SavedFile,
  Session,
  Side,
  Stepped,
  Text,
  ValueRows,
} from "./types";

export class Refused extends Error {
  readonly status: number;
  readonly kind: string;
  readonly node: string;
  readonly port: string;
  readonly body: unknown;

  constructor(status: number, refusal: Refusal, body: unknown = null) {
    super(refusal.text);
    this.status = status;
    this.kind = refusal.kind;
    this.node = refusal.node ?? "";
    this.port = refusal.port ?? "";
    this.body = body;
  }
}

/** What went wrong, as a sentence. */
export function reason(problem: unknown): string {
  return problem instanceof Error ? problem.message : String(problem);
}

type Options = { body?: unknown; bytes?: Blob; signal?: AbortSignal };

async function send(method: string, route: string, options: Options = {}): Promise<Response> {
  if (recorded) throw new Refused(403, { kind: "readonly", text: READ_ONLY });
  const headers: Record<string, string> = {};
  const request: RequestInit = { method, headers, credentials: "same-origin", cache: "no-store" };
  if (options.signal) request.signal = options.signal;
  if (method !== "GET") headers["X-Gradbag"] = "1";
  if (options.bytes) {
    headers["Content-Type"] = "application/octet-stream";
    request.body = options.bytes;
  } else if (method !== "GET") {
    headers["Content-Type"] = "application/json";
    request.body = JSON.stringify(options.body ?? {});
  }
  let response: Response;
  try {
    response = await fetch(route, request);
  } catch (problem) {
    if (problem instanceof DOMException && problem.name === "AbortError") throw problem;
    throw new Refused(0, { kind: "unreachable", text: "The studio's server does not answer: is it still running?" });
  }
  if (response.ok) return response;
  const body: unknown = await response.json().catch(() => null);
  const refusal = (body as Partial<RefusedReply> | null)?.error;
  throw new Refused(
    response.status,
    refusal ?? { kind: "http", text: `The server refused this (${response.status}).` },
    body,
  );
}

async function fromRecord<T>(route: string, body?: unknown): Promise<T> {
  const found = recorded && answerTo(recorded, route, body);
  if (found === undefined) throw new Refused(403, { kind: "readonly", text: READ_ONLY });
  return found as T;
}

async function get<T>(route: string, signal?: AbortSignal): Promise<T> {
  if (recorded) return fromRecord<T>(route);
  return (await send("GET", route, signal ? { signal } : {})).json() as Promise<T>;
}

async function post<T>(route: string, body: unknown, signal?: AbortSignal): Promise<T> {
  if (recorded) return fromRecord<T>(route, body);
  return (await send("POST", route, signal ? { body, signal } : { body })).json() as Promise<T>;
}

/** A path keeps its slashes; everything else in it is escaped. */
function escaped(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}

type Loop = { path: string | null; client: string };
type Asked = { targets: string[] | null; client: string; open: readonly string[] };
type About = { page: Document; path: string | null };
type Writer = { client: string; seen: string }; // seen: the former tab whose unsaved work went on here

export const api = {
  // -------------------------------------------------------------- session
  enter: (token: string) => post<unknown>("/api/session", { token }),
  session: () => get<Session>("/api/session"),
  catalogue: () => get<Catalogue>("/api/catalogue"),
  help: (op: string) => get<Help>(`/api/help/${encodeURIComponent(op)}`),

  // -------------------------------------------------------------- the page as it is edited
  check: (about: About & { open: readonly string[] }, signal?: AbortSignal) => post<Check>("/api/check", about, signal),
  fits: (about: About & { node: string; port: string; side: Side }) => post<Fits>("/api/fits", about),
  layout: (page: Document, nodes: string[] | null) => post<Layout>("/api/layout", { page, nodes }),
  differentiable: (about: About & { output: string }) => post<Differentiable>("/api/differentiable", about),
  differentiate: (about: About & { output: string; inputs: string[]; ports: string[] }) =>
    post<Differentiated>("/api/differentiate", about),
  restate: (about: About) => post<Differentiated>("/api/restate", about),
  lens: (about: About & { node: string; port: string; index: number[]; cell: number[] | null }) =>
    post<Lens>("/api/lens", about),
  difference: (about: About & { node: string; index: number[]; client: string }) =>
    post<Difference>("/api/difference", about),
  text: (page: Document) => post<Text>("/api/text", { page }),

  // -------------------------------------------------------------- runs and values
  run: (about: About & Asked & { run: string | null; steps: number }) => post<RunStarted>("/api/run", about),
  step: (about: About & Asked & { id: string | null }) => post<Stepped>("/api/step", about),
  rounds: (about: Loop) => post<Rounds>("/api/rounds", about),
  round: (about: Loop & { round: number }) => post<Round>("/api/round", about),
  stop: (id: string) => post<unknown>("/api/stop", { id }),
  trust: (path: string | null) => post<unknown>("/api/trust", { path }),
  value: (hash: string, query: Record<string, string | number>) => {
    const text = new URLSearchParams(Object.entries(query).map(([key, value]) => [key, String(value)]));
    return get<ValueRows>(`/api/value/${encodeURIComponent(hash)}?${text}`);
  },
  npyAddress: (hash: string) => `/api/value/${encodeURIComponent(hash)}.npy`,

  captured: (path: string, step: number | null) =>
    get<Captured>(`/api/capture/${escaped(path)}${step === null ? "" : `?step=${step}`}`),

  // -------------------------------------------------------------- files
  files: () => get<FileList>("/api/files"),
  file: (path: string) => get<OpenedFile>(`/api/file/${escaped(path)}`),
  save: async (path: string, page: Document, version: string | null, force: boolean, by: Writer): Promise<SavedFile> =>
    (await send("PUT", `/api/file/${escaped(path)}`, { body: { page, version, force, ...by } })).json(),
  remove: (path: string) => send("DELETE", `/api/file/${escaped(path)}`),
  rename: (path: string, to: string) => post<unknown>("/api/rename", { path, to }),
  journal: (name: string, page: Document, sequence: number, by: Writer) =>
    post<Journaled>(`/api/journal/${escaped(name)}`, { page, sequence, ...by }),
  discard: (name: string) => send("DELETE", `/api/journal/${escaped(name)}`),
  leave: (name: string, client: string) =>
    send("DELETE", `/api/journal/${escaped(name)}?client=${encodeURIComponent(client)}`),
  open: async (name: string, bytes: Blob): Promise<ImportedFile> =>
    (await send("POST", `/api/open?name=${encodeURIComponent(name)}`, { bytes })).json(),
  exported: async (about: About, kind: ExportKind): Promise<{ bytes: Blob; name: string }> => {
    const response = await send("POST", "/api/export", { body: { ...about, kind } });
    const said = /filename="?([^";]+)"?/.exec(response.headers.get("Content-Disposition") ?? "");
    return { bytes: await response.blob(), name: said?.[1] ?? "page" };
  },
};
