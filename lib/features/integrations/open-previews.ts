import type { Clock } from "../../kernel/clock.ts";
import type { EnvironmentRange } from "../../kernel/page.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Store } from "../../store/store.ts";
import type { Row } from "../../store/tables.ts";
import type { Preview } from "../environments/schema.ts";
import { previewsRepository } from "./repository.ts";

type PreviewRow = Row<"previews">;

/** The previews as the feature `environments` needs them. */
export function createOpenPreviews({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
  const previews = store.using(previewsRepository);
  return {
    async ofRange(range: EnvironmentRange, tx?: Tx): Promise<ReadonlyMap<string, Preview>> {
      const rows = await previews(tx).openOfRange(range);
      return new Map(rows.map((row) => [row.environment, viewOf(row)]));
    },
    environmentRemoved: (tx: Tx, { project_id, environment }: Pick<PreviewRow, "project_id" | "environment">) =>
      previews(tx).end({ project_id, environment, at: clock.iso() }),
    projectRemoved: (tx: Tx, project_id: string) => previews(tx).removeOfProject({ project_id }),
  };
}

const viewOf = ({ integration_id, number, url, fork, commit_id, source_repo, source_branch }: PreviewRow): Preview => ({
  ...{ integration_id, number, url, fork: fork === 1, commit: commit_id },
  source: { type: "git", repo: source_repo, branch: source_branch },
});
