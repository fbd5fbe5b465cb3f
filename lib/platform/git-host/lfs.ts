import type { Answer } from "../../http/answer.ts";

/** Whether a path is of the interface of Git LFS, which git calls before it pushes. */
export const isLfs = (path: string) => /^\/git\/[^/]+\/[^/]+\.git\/info\/lfs\//.test(path);

const message =
  "Git LFS is not served here. Put the files themselves into the commits: git lfs migrate export --everything --include='*'. Or push with --no-verify: then the repository and the app have only the pointers of LFS, small text files, in their place";

/** A refusal in the form that Git LFS shows to its user. */
export const lfsRefusal = (request_id: string): Answer => ({
  status: 404,
  headers: { "content-type": "application/vnd.git-lfs+json", "cache-control": "no-store" },
  body: JSON.stringify({ message, request_id }),
  request_id,
});
