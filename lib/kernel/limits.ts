/*
 * The limits that operators and users meet, and that no option changes. The limits of options are in `config/options`,
 * all others beside their use.
 */

/** The levels of objects and lists in JSON: a function that calls itself for each level runs out of stack. */
export const maxLevels = 32;

/** The webhooks, and the integrations, of an organization: each event is stored for, and sent to, every one. */
export const maxEndpoints = 100;

/** The API keys of a user: each has a rate-limit window of its own, so more keys would be more requests. */
export const maxKeys = 100;

/** The variables of an environment: all are stored with each deployment that runs, and given to each process. */
export const maxVariables = 200;

/** The characters of a prompt for a built-in model (schema/README.md#models). */
export const maxPrompt = 4_000;

/** The entries and bytes of a deployment's log; the last entry says that it is full. Build output has no end by itself. */
export const deploymentLog = { entries: 10_000, bytes: 8 * 1024 * 1024 } as const;

/** The lines of an environment's log. Older ones are dropped, because apps print for ever. */
export const maxAppLines = 10_000;

/** The processes of a build or of an app: the rest of the machine needs some too. */
export const maxProcesses = 1024;

/** The workers in a `Procfile`: each is a process that stays, with a box of its own. */
export const maxWorkers = 20;

/** The branches of one push that are deployed: a push is one request, so the rate limit does not count them. */
export const maxBranches = 20;

/** The bytes of what a code host sends to `/hooks/code-host`: a push lists the files of all of its commits. */
export const maxHookBody = 5 * 1024 * 1024;
