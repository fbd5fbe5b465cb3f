import type { Environment } from "../../client/generated/records.ts";
import { api } from "./api.ts";
import { Action } from "./controls.tsx";
import { refusal } from "./permissions.ts";
import { go } from "./router.ts";
import { Text } from "./ui.tsx";

interface Part {
  readonly project_id: string;
  readonly of: Environment;
}

/** The pull or merge request that an environment previews; empty for other environments. */
export function PreviewNote({ project_id, of: { name: environment, preview } }: Part) {
  if (!preview) return null;
  const { url, number, fork, source } = preview;
  const name = `Preview of request ${number}`;
  return (
    <span class="row">
      {url && /^https?:/.test(url) ? (
        <a href={url} target="_blank" rel="noreferrer noopener">
          {name}
        </a>
      ) : (
        name
      )}
      {fork && (
        <>
          <span class="hint">
            From a fork, so its pushes wait until a member has read them:{" "}
            <Text of={`${source.repo}, branch ${source.branch}`} />.
          </span>
          <Action
            reason={refusal("deployments:write")}
            run={async () => {
              const { id } = await api.deployments.create({ project_id, environment, source });
              go(`/deployments/${id}`);
            }}
          >
            Deploy this request
          </Action>
        </>
      )}
    </span>
  );
}
