import { useState } from "preact/hooks";
import type { Deployment } from "../../../client/generated/records.ts";
import { api } from "../api.ts";
import { Action, Field, FormDialog, Select } from "../controls.tsx";
import { refusal } from "../permissions.ts";
import { go } from "../router.ts";

/** People paste the URL of a repository; the API takes `owner/repo`. */
export const repoOf = (text: string): string =>
  text
    .trim()
    .replace(/^(https?:\/\/[^/]+\/|git@[^:]+:)/, "")
    .replace(/(\.git)?\/?$/, "");

type Kind = "git" | "image";

/** The button and the form for a new deployment of a project. */
export function Deploy({
  project_id,
  environments,
  isArchived,
}: {
  readonly project_id: string;
  readonly environments: readonly string[];
  readonly isArchived: boolean;
}) {
  const [environment, setEnvironment] = useState(environments[0] ?? "production");
  const [kind, setKind] = useState<Kind>("git");
  const [repo, setRepo] = useState("");
  const [branch, setBranch] = useState("");
  const [image, setImage] = useState("");
  const source =
    kind === "image"
      ? { type: "image" as const, image_url: image.trim() }
      : { type: "git" as const, repo: repoOf(repo), ...(branch.trim() && { branch: branch.trim() }) };
  const run = async () => {
    const made = await api.deployments.create({ project_id, environment: environment.trim(), source });
    go(`/deployments/${made.id}`);
  };
  const reason =
    refusal("deployments:write") ?? (isArchived ? "The project is archived. Restore it first." : undefined);
  return (
    <FormDialog label="Deploy" kind="main" reason={reason} run={run}>
      <Field label="Environment" value={environment} onInput={setEnvironment} list={environments} required />
      <Select
        label="Source"
        value={kind}
        options={[
          ["git", "Git repository"],
          ["image", "Container image"],
        ]}
        onChange={(value) => setKind(value === "image" ? "image" : "git")}
      />
      {kind === "git" ? (
        <>
          <Field
            label="Repository"
            name="repo"
            value={repo}
            onInput={setRepo}
            hint="owner/repo, or the repository's URL"
            required
          />
          <Field label="Branch" value={branch} onInput={setBranch} hint="Leave empty for the default branch." />
        </>
      ) : (
        <Field
          label="Image"
          name="image_url"
          value={image}
          onInput={setImage}
          hint="registry/name:tag, or with a digest"
          required
        />
      )}
    </FormDialog>
  );
}

const unfinished = ["queued", "building", "deploying"];
export const isUnfinished = ({ status }: Pick<Deployment, "status">): boolean => unfinished.includes(status);

export function Cancel({ of }: { readonly of: Pick<Deployment, "id" | "status"> }) {
  const isEarly = of.status === "queued" || of.status === "building";
  const late = isEarly
    ? undefined
    : `The deployment is ${of.status.replace("_", " ")}; only a queued or building one can be cancelled.`;
  return (
    <Action reason={refusal("deployments:write") ?? late} run={() => api.deployments.cancel({ id: of.id })}>
      Cancel deployment
    </Action>
  );
}

export function RollBack({ of }: { readonly of: Pick<Deployment, "id" | "status"> }) {
  const run = async () => {
    const made = await api.deployments.rollback({ id: of.id });
    go(`/deployments/${made.id}`);
  };
  return (
    <Action reason={refusal("deployments:write")} run={run}>
      Roll back
    </Action>
  );
}
