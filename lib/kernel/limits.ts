/*
 * The limits that operators and users meet, and that no option changes. The limits of options are in `config/options`,
 * all others beside their use.
 */

/** The levels of objects and lists in JSON: a function that calls itself for each level runs out of stack. */
export const maxLevels = 32;

/** Webhooks of an organization, and also integrations: each event is stored and sent once for every one. */
export const maxEndpoints = 100;

/** The API keys of a user: each has its own rate-limit window, so each allows more requests. */
export const maxKeys = 100;

/** The variables of an environment: each deployment stores all of them, and each process gets them. */
export const maxVariables = 200;

/** The characters of a prompt for a built-in model (schema/README.md#models). */
export const maxPrompt = 4_000;

/** The entries and bytes of a deployment's log: a build may print without end. The last entry says that it is full. */
export const deploymentLog = { entries: 10_000, bytes: 8 * 1024 * 1024 } as const;

/** The lines of an environment's log. Older ones are dropped, because apps never stop printing. */
export const maxAppLines = 10_000;

/** The processes of a build or of an app: the rest of the machine needs some too. */
export const maxProcesses = 1024;

/** The workers in a `Procfile`: each is a process that always runs, in its own box. */
export const maxWorkers = 20;

/** The branches that one push deploys: the rate limit counts a push as one request. */
export const maxBranches = 20;

/** The bytes of a body at `/hooks/code-host`: a push lists the files of all of its commits. */
export const maxHookBody = 5 * 1024 * 1024;
