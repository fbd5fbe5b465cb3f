/** What every POST of the bench sends, beside the project. */
export const source = { type: "git", repo: "acme/web", branch: "main" } as const;
