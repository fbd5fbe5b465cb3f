import type * as v from "valibot";
import { invalid, Problem } from "../../kernel/errors.ts";
import type { Caller } from "../../kernel/operation.ts";
import type { Page } from "../../kernel/page.ts";
import type { Store } from "../../store/store.ts";
import { repoRule } from "../deployments/source.ts";
import type { repository, repositoryChanges } from "./schema.ts";

type Path = { readonly owner: string; readonly name: string };
type Changes = v.InferOutput<typeof repositoryChanges>;

/** A repository's organization, and its name in the form `owner/repo`. */
export interface RepositoryName {
  readonly organization_id: string;
  readonly repo: string;
}

export type StoredRepository = v.InferOutput<typeof repository>;

interface Stored {
  list(organization_id: string): Promise<StoredRepository[]>;
  get(name: RepositoryName): Promise<StoredRepository | undefined>;
  branches(name: RepositoryName): Promise<readonly string[]>;
  /** Returns whether git accepted it. */
  setDefaultBranch(name: RepositoryName, branch: string): Promise<boolean>;
  remove(name: RepositoryName): Promise<void>;
}

interface Ports {
  readonly store: Store;
  /** Undefined if no runtime is on. */
  readonly repositories: Stored | undefined;
  /** A sentence that names another server of the service with a runtime, if there is one. */
  readonly elsewhere: () => string | undefined;
}

/** How many branches a refusal names. */
const maxNamed = 10;
const unknown = () => new Problem("not_found", "no repository of this name was pushed here");

export type RepositoriesService = ReturnType<typeof repositoriesService>;

/** The git repositories that were pushed to this service. They are files, so transactions do not cover them. */
export function repositoriesService({ store, repositories, elsewhere }: Ports) {
  const stored = (): Stored | undefined => {
    const place = repositories ? undefined : elsewhere();
    if (place !== undefined) throw new Problem("misdirected_request", place);
    return repositories;
  };

  const find = async ({ organization_id }: Caller, { owner, name }: Path) => {
    const key = { organization_id, repo: `${owner}/${name}` };
    // A valid name does not lead out of the folder.
    const here = repoRule(key.repo) === undefined ? stored() : undefined;
    if (!here || !(await here.get(key))) throw unknown();
    return { here, key };
  };

  /** Checks the caller's rights again and records the change, before files change. */
  const confirm = (caller: Caller) => store.transaction(caller, async () => undefined);

  return {
    async list({ organization_id }: Caller): Promise<Page<StoredRepository>> {
      const data = (await stored()?.list(organization_id)) ?? [];
      return { data, page: 1, per_page: data.length, next_cursor: null, total: async () => data.length };
    },

    async update(caller: Caller, path: Path, { default_branch }: Changes) {
      const { here, key } = await find(caller, path);
      const refusal = (branches: readonly string[]) => {
        const more = branches.length > maxNamed ? " and others" : "";
        return invalid(
          "default_branch",
          `must be a branch of the repository, which has ${branches.slice(0, maxNamed).join(", ") || "none"}${more}; push it first`,
        );
      };
      const branches = await here.branches(key);
      if (!branches.includes(default_branch)) throw refusal(branches);
      await confirm(caller);
      const isSet = await here.setDefaultBranch(key, default_branch);
      const changed = await here.get(key);
      if (!changed) throw unknown();
      if (!isSet) throw new Error(`git could not make ${default_branch} the default branch of ${key.repo}`);
      // A push may have deleted the branch since it was found.
      if (changed.default_branch === null) throw refusal(await here.branches(key));
      return changed;
    },

    async remove(caller: Caller, path: Path): Promise<void> {
      const { here, key } = await find(caller, path);
      await confirm(caller);
      await here.remove(key);
    },
  };
}
