import { calls as operations } from "../../client/generated/calls.ts";

/** A call as a program with a key would make it. */
export interface RecordedCall {
  /** The name of the operation; undefined for the control interface. */
  readonly id: string | undefined;
  readonly method: string;
  /** Includes the query: `/v1/projects?per_page=50`. */
  readonly path: string;
  /** The decoded parameters of the path; `query` has those of the query. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
}

const api = "/dashboard/api/";
const patterns = Object.entries(operations)
  .flatMap(([feature, verbs]) =>
    Object.entries(verbs).map(([verb, text]: [string, string]) => {
      const [method = "", template = ""] = text.split(" ");
      const names = [...template.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
      const path = new RegExp(`^${template.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "([^/]+)")}$`);
      return { id: `${feature}.${verb}`, method, names, path };
    }),
  )
  .sort((a, b) => a.names.length - b.names.length);

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
};

/** The call behind a request of this page; undefined for requests that only the page makes, or that no service reads. */
export function callOf(method: string, path: string, body: unknown): RecordedCall | undefined {
  const [place = "", search = ""] = path.split("?", 2);
  const query = Object.fromEntries(new URLSearchParams(search));
  if (place.startsWith("/_svc/")) return { id: undefined, method, path, params: {}, query, body };
  if (!place.startsWith(api)) return undefined;
  const below = place.slice(api.length - 1);
  for (const { id, names, ...pattern } of patterns) {
    const found = pattern.method === method ? pattern.path.exec(below) : null;
    if (!found) continue;
    const values = found.slice(1).map(decoded);
    if (values.includes(undefined)) return undefined;
    const params = Object.fromEntries(names.map((name, i) => [name, values[i] ?? ""]));
    return { id, method, path: `/v1${below}${search && `?${search}`}`, params, query, body };
  }
  return undefined;
}
