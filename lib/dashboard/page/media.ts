import type { Generation } from "../../client/records.ts";
import { serviceTime } from "./live.ts";

/** The source of each picture as it was first shown: every reading makes a new link, and a new one would load it again. */
const shown = new Map<string, { readonly source: string; readonly expires_s: number }>();

/** Where the page loads the file of a generation: its link, below the dashboard. */
export function sourceOf({ id, output }: Pick<Generation, "id" | "output">): string | undefined {
  if (!output) return undefined;
  const { pathname, search, searchParams } = new URL(output.url);
  const known = shown.get(id);
  if (known && known.expires_s * 1000 > (serviceTime.value?.now ?? 0)) return known.source;
  const source = pathname.replace("/assets/", "/dashboard/media/") + search;
  shown.set(id, { source, expires_s: Number(searchParams.get("expires")) });
  return source;
}
