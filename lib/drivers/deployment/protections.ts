/** The protections that form the box. The first four keep organizations apart. */
const meanings = {
  users: "each organization has its own user id",
  limits: "memory, processes and processor time of each app are limited together",
  network: "each app has its own network, which reaches public addresses",
  disk: "everything that a build writes is limited, unlinked files too",
  "system calls": "system calls that no app needs are refused",
} as const;
export type ProtectionName = keyof typeof meanings;

/** A protection of the box: present on this machine, or missing with the reason and the command that adds it. */
export interface Protection {
  readonly name: ProtectionName;
  readonly missing?: string;
  readonly command?: string;
}

/** Without these, an organization can read, stop or starve the apps of another one. */
const separating: readonly ProtectionName[] = ["users", "limits", "network", "disk"];

export const separationLacks = (protections: readonly Protection[]): Protection[] =>
  protections.filter(({ name, missing }) => missing !== undefined && separating.includes(name));

/** The line that describes a protection. */
export const describeProtection = ({ name, missing, command }: Protection): string =>
  missing === undefined
    ? `${name}: ${meanings[name]}`
    : `${name}: missing (${missing})${command === undefined ? "" : `; to add it: ${command}`}`;
