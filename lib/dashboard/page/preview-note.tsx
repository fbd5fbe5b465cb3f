import type { Environment } from "../../client/records.ts";
import { Text } from "./ui.tsx";

/** The pull or merge request that an environment previews; nothing for other environments. */
export function PreviewNote({ of: { preview } }: { readonly of: Environment }) {
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
        <span class="hint">
          From a fork, so its pushes wait: deploy <Text of={`${source.repo}, branch ${source.branch}`} /> to this
          environment.
        </span>
      )}
    </span>
  );
}
