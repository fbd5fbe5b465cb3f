import { existsSync } from "node:fs";
import { type ArgsDef, defineCommand } from "citty";
import { type Admin, openAdmin } from "../lib/app/offline-admin.ts";
import { createClock, isoOf, parseInstant } from "../lib/kernel/clock.ts";
import { type Role, roles, type Scope, scopes } from "../lib/kernel/roles.ts";
import { asDatabaseError, DatabaseError } from "../lib/store/database-error.ts";
import { databaseOf, numberOf, Usage } from "./arguments.ts";
import { command, type Given, json, say, table } from "./command.ts";

const inMemory = ":memory:";

const where: ArgsDef = {
  database: {
    type: "string",
    description: "The database file (./svc-data). A server may be running on it.",
    valueHint: "PATH",
  },
  organization: {
    type: "string",
    description: "The organization's name; the first one, where it is not given.",
    valueHint: "NAME",
  },
  ...json,
};

const organizationOf = ({ organization }: Given) =>
  organization === undefined ? {} : { organization: String(organization) };

async function withAdmin(args: Given, work: (admin: Admin) => Promise<void>): Promise<void> {
  const database = databaseOf(args);
  if (database === inMemory)
    throw new Usage("option --database must be a file; a database in memory belongs to its server alone");
  const admin = await openAdmin(database);
  try {
    await work(admin);
  } catch (error) {
    throw asDatabaseError(database, error);
  } finally {
    await admin.close();
  }
}

const create = command(
  "create",
  "Make an API key. It is shown this once.",
  {
    ...where,
    role: {
      type: "string",
      description: `The role of the key's user: ${roles.join(", ")} (owner). The user is made where there is none.`,
      valueHint: "ROLE",
    },
    scopes: {
      type: "string",
      description: "What the key may do, with commas between (*).",
      valueHint: "SCOPE,…",
    },
    name: {
      type: "string",
      description: "What the key is called (key).",
      valueHint: "TEXT",
    },
    "expires-at": {
      type: "string",
      description: "When it ends, such as 2027-01-01T00:00:00Z.",
      valueHint: "INSTANT",
    },
    "rate-limit": {
      type: "string",
      description: "Its requests in a window of ten minutes.",
      valueHint: "N",
    },
  },
  (args) => {
    const role = String(args.role ?? "owner");
    if (!roles.some((one) => one === role)) throw new Usage(`option --role must be ${roles.join(", ")}`);
    const wanted = String(args.scopes ?? "*").split(",");
    const wrong = wanted.find((one) => !scopes.some((scope) => scope === one));
    if (wrong !== undefined) throw new Usage(`option --scopes: "${wrong}" is none of ${scopes.join(", ")}`);
    const expires = args["expires-at"] === undefined ? undefined : parseInstant(String(args["expires-at"]));
    if (args["expires-at"] !== undefined && expires === undefined)
      throw new Usage("option --expires-at must be an instant such as 2027-01-01T00:00:00Z");
    if (expires !== undefined && expires <= createClock("real").now())
      throw new Usage("option --expires-at must be in the future");
    const rate_limit = numberOf("option --rate-limit", args["rate-limit"] as string | undefined, 1_000_000_000, 1);
    return withAdmin(args, async (admin) => {
      const made = await admin.createKey({
        ...organizationOf(args),
        role: role as Role,
        scopes: wanted as Scope[],
        name: String(args.name ?? "key"),
        ...(expires !== undefined && { expires_at: isoOf(expires) }),
        ...(rate_limit !== undefined && { rate_limit }),
      });
      say(
        args.json
          ? JSON.stringify(made)
          : `${made.key}\n\nThis is ${made.id}, of a user with the role ${role}; its scopes are ${wanted.join(", ")}${wanted.includes("*") ? ", so it may all that the role may" : ""}. It is shown this once: keep it where secrets are kept.`,
      );
    });
  },
);

const list = command("list", "List the API keys of an organization.", where, (args) =>
  withAdmin(args, async (admin) => {
    const keys = await admin.listKeys(organizationOf(args).organization);
    if (args.json) return say(JSON.stringify(keys));
    const rows = keys.map(({ id, name, user_name, role, scopes, last_used_at, expires_at }) => [
      id,
      name,
      user_name,
      role,
      scopes.join(","),
      last_used_at ?? "not yet",
      expires_at ?? "never",
    ]);
    say(table([["ID", "NAME", "USER", "ROLE", "SCOPES", "LAST USED", "EXPIRES"], ...rows]));
  }),
);

const revoke = command(
  "revoke",
  "Revoke an API key: it stops at once.",
  {
    ...where,
    id: {
      type: "positional",
      description: "The key's identifier, as keys list shows it.",
    },
  },
  (args) =>
    withAdmin(args, async (admin) => {
      await admin.revokeKey(String(args.id), organizationOf(args).organization);
      say(args.json ? JSON.stringify({ revoked: args.id }) : `${args.id} is revoked.`);
    }),
);

const mail = command(
  "mail",
  "Show the mails that the service would have sent, such as invitations.",
  {
    database: where.database as ArgsDef[string],
    ...json,
  },
  (args) => {
    const database = databaseOf(args);
    if (database !== inMemory && !existsSync(database))
      throw new DatabaseError(
        database,
        "it does not exist; name it with --database, or ask a server of svc-server dev in memory: GET /_svc/mail",
      );
    return withAdmin(args, async (admin) => {
      const mails = await admin.mails();
      if (args.json) return say(JSON.stringify(mails));
      if (mails.length === 0) say("No mails were sent yet.");
      for (const { to, subject, text, sent_at } of mails) say(`${sent_at}  To: ${to}  ${subject}\n\n${text}\n`);
    });
  },
);

const keys = defineCommand({
  meta: {
    name: "keys",
    description: "Make, list and revoke API keys of a database file.",
  },
  subCommands: { create, list, revoke },
});

export { keys, mail };
