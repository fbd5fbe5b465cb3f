import type { Settings } from "../lib/config/parse-options.ts";
import { createOutbound } from "../lib/drivers/outbound/outbound.ts";
import { createCodeHost } from "../lib/platform/code-host/code-host.ts";
import { type OpenPreview, openPreviewsIn } from "../lib/store/transfer/integrity-check.ts";

const nameOf = ({ repo, number }: OpenPreview) => `${repo}#${number}`;

/**
 * Asks the code host whether the pull request of each preview is still open. The webhook that closes a preview may get
 * lost.
 */
export async function checkPreviews(
  database: string,
  { mode, codeHost, outbound: { allow } }: Settings,
): Promise<string> {
  const previews = await openPreviewsIn(database);
  if (previews.length === 0) return "there are none";
  const outbound = createOutbound({ mode, allow });
  const host = createCodeHost(codeHost, outbound);
  if (!host) return `${previews.length}; no code host is configured that knows their requests`;
  const closed: OpenPreview[] = [];
  const unseen: string[] = [];
  try {
    for (const one of previews) {
      const isOpen = await host.isOpen(one.repo, one.number);
      if (isOpen === false) closed.push(one);
      if (isOpen === undefined) unseen.push(nameOf(one));
    }
  } catch (error) {
    unseen.push(`the code host: ${(error as Error).message}`);
  } finally {
    await outbound.close();
  }
  const wrong = closed.map((one) => `${one.environment} of ${one.project_id}, whose request ${nameOf(one)} is closed`);
  if (wrong.length > 0) throw new Error(`delete ${wrong.join("; ")}`);
  const open = `${previews.length} environments of pull requests`;
  return unseen.length === 0 ? `${open}, which are open` : `${open}; cannot be asked: ${unseen.join("; ")}`;
}
