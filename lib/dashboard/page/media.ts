import type { Generation } from "../../client/generated/records.ts";
import { serviceTime } from "./live.ts";

/**
 * The source of each picture as first shown. Every read returns a new link, and using it would load the picture again.
 */
const shown = new Map<string, { readonly source: string; readonly expires_s: number }>();

/** The URL from which the page loads the file of a generation: its link, under the dashboard's prefix. */
export function sourceOf({ id, output }: Pick<Generation, "id" | "output">): string | undefined {
  if (!output) return undefined;
  const { pathname, search, searchParams } = new URL(output.url);
  const known = shown.get(id);
  if (known && known.expires_s * 1000 > (serviceTime.value?.now ?? 0)) return known.source;
  const source = pathname.replace("/assets/", "/dashboard/media/") + search;
  shown.set(id, { source, expires_s: Number(searchParams.get("expires")) });
  return source;
}
