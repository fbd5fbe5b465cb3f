import { foldCase } from "../../kernel/text/case-folding.ts";
import { didYouMean } from "../../kernel/text/did-you-mean.ts";
import { matchesGlob } from "../../kernel/text/glob.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Store } from "../../store/store.ts";
import { organizationsRepository } from "./repository.ts";

interface Ports {
  readonly store: Store;
  readonly codeHost: CodeHost;
}

interface CodeHost {
  readonly url: string;
  readonly repos?: string | undefined;
  /** Option `codeHost.organizations`: globs of repositories by organization name. */
  readonly organizations?: Readonly<Record<string, readonly string[]>> | undefined;
}

export type CodeHostRights = ReturnType<typeof codeHostRights>;

/**
 * Whether the operator's credential and the connected app may be used for a repository on behalf of an organization.
 * The option decides. Without it, they may be used only if the service has a single organization. A folder of
 * repositories needs no credential, so without the option every organization may read it.
 */
export function codeHostRights({ store, codeHost }: Ports) {
  const organizations = store.using(organizationsRepository);
  const named =
    codeHost.organizations &&
    new Map(Object.entries(codeHost.organizations).map(([name, globs]) => [foldCase(name), globs.map(foldCase)]));
  const isFolder = codeHost.repos !== undefined || codeHost.url.startsWith("file:");

  const isOnly = async (organization_id: string, tx?: Tx) =>
    (await organizations(tx).another({ organization_id })) === undefined;

  return {
    isOnly,

    async serve(organization_id: string, repo: string, tx?: Tx): Promise<boolean> {
      if (!named) return isOnly(organization_id, tx);
      const organization = await organizations(tx).find({ id: organization_id });
      const globs = named.get(organization?.name_folded ?? "") ?? [];
      return globs.some((glob) => matchesGlob(glob, foldCase(repo)));
    },

    async mayFetch(organization_id: string, repo: string): Promise<boolean> {
      return (isFolder && !named) || this.serve(organization_id, repo);
    },
  };
}

/** A warning for each name in the option without an organization: it may be misspelt, or created later. */
export async function codeHostWarnings({ store, codeHost: { organizations = {} } }: Ports): Promise<string[]> {
  const rows = store.using(organizationsRepository);
  const warnings: string[] = [];
  for (const name of Object.keys(organizations)) {
    if (await rows().findByName({ name_folded: foldCase(name) })) continue;
    const near = didYouMean(
      name,
      (await rows().all({})).map((one) => one.name),
    );
    warnings.push(
      `the option codeHost.organizations names the organization "${name}", which does not exist; until it does, that entry has no effect${near}`,
    );
  }
  return warnings;
}
