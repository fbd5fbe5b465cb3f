/** The body of every POST in the bench, without the project. */
export const source = { type: "git", repo: "acme/web", branch: "main" } as const;
