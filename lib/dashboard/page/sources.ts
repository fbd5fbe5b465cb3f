import type { Deployment } from "../../client/generated/records.ts";
import { request } from "./api.ts";
import { useRead } from "./live.ts";

export type Source = Deployment["source"] & { readonly restores: string | null; readonly is_made_to_fail: boolean };

/** A source never changes, so each is read once. */
const known = new Map<string, Source>();

/** The sources of deployments, which lists leave out. */
export async function readSources(ids: readonly string[], signal?: AbortSignal): Promise<ReadonlyMap<string, Source>> {
  const missing = ids.filter((id) => !known.has(id));
  if (missing.length > 0) {
    const path = `/dashboard/session/sources?ids=${missing.join(",")}`;
    const { data } = (await request("GET", path, undefined, signal)) as { data: Record<string, Source> };
    for (const [id, source] of Object.entries(data)) known.set(id, source);
  }
  return known;
}

export function useSources(ids: readonly string[]): ReadonlyMap<string, Source> {
  useRead(
    `sources ${ids.join()}`,
    (signal) => readSources(ids, signal),
    () => false,
  );
  return known;
}

/** What people call a source: its tag, its branch, or its image without the registry. */
export function refOf({ type, tag, branch, image_url }: Deployment["source"]): string {
  if (type === "image") return image_url?.split("/").at(-1)?.split("@")[0] ?? "";
  return tag ?? branch ?? "default branch";
}

/** A commit or digest in the length that people compare; a tag as it is. */
export const shortVersion = (version: string | null): string =>
  version === null ? "" : /^[\da-f]{40}$/.test(version) ? version.slice(0, 7) : version.slice(0, 19);
