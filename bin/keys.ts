import * as v from "valibot";
import { givenKey } from "../lib/composition/encryption-key.ts";
import { keyName } from "../lib/features/keys/schema.ts";
import { createClock, isoOf, parseInstant } from "../lib/kernel/clock.ts";
import { type Role, roles, type Scope, scopes } from "../lib/kernel/roles.ts";
import { describeError } from "../lib/store/database-error.ts";
import { describeDatabase } from "../lib/store/database-url.ts";
import { readKey } from "../lib/store/encryption.ts";
import { rotateEncryption } from "../lib/store/transfer/rotate-encryption.ts";
import { databaseOf, listIn, parseWhole, pathIn, UsageError } from "./arguments.ts";
import { databaseArgs, withAdmin } from "./database-admin.ts";
import { keyFileArg, settingsOf } from "./database-settings.ts";
import { command, type Given, json, listed, option, parent, word } from "./define-command.ts";
import { lostKey, say, sayResult, saySecret, table } from "./output.ts";
import { withProgress } from "./progress.ts";

const organizationOf = ({ organization }: Given) => (organization === undefined ? undefined : String(organization));

const create = command(
  "create",
  "It is shown only once. Stdout has only the key, so a script can take it: KEY=$(svc-server keys create).",
  {
    ...databaseArgs,
    role: option(
      `The role of the key's user: ${roles.join(", ")} (owner). Creates the user if the organization has none.`,
      "ROLE",
    ),
    scopes: option("The scopes of the key, separated by commas (*).", "SCOPE,…"),
    name: option("The name of the key (key).", "TEXT"),
    "expires-at": option("When the key expires, such as 2027-01-01T00:00:00Z.", "INSTANT"),
    "rate-limit": option("The key's requests per window of ten minutes; 0 means no limit.", "N"),
  },
  (args) => {
    const role = String(args.role ?? "owner");
    if (!roles.some((one) => one === role)) throw new UsageError(`option --role must be one of ${roles.join(", ")}`);
    const wanted = listIn(String(args.scopes ?? "*"));
    const wrong = wanted.find((one) => !scopes.some((scope) => scope === one));
    if (wrong !== undefined)
      throw new UsageError(`option --scopes: "${wrong}" is not a scope; the scopes are ${scopes.join(", ")}`);
    const expires = args["expires-at"] === undefined ? undefined : parseInstant(String(args["expires-at"]));
    if (args["expires-at"] !== undefined && expires === undefined)
      throw new UsageError("option --expires-at must be an instant such as 2027-01-01T00:00:00Z");
    if (expires !== undefined && expires <= createClock("real").now())
      throw new UsageError("option --expires-at must be in the future");
    const name = v.safeParse(keyName, args.name ?? "key");
    if (!name.success) throw new UsageError(`option --name ${name.issues[0].message}`);
    const rate_limit = parseWhole("option --rate-limit", args["rate-limit"] as string | undefined, 1_000_000_000);
    return withAdmin(args, "svc-server call keys.create name=ci", async (admin) => {
      const created = await admin.createKey({
        organization: organizationOf(args),
        role: role as Role,
        scopes: wanted as Scope[],
        name: name.output,
        expires_at: expires === undefined ? undefined : isoOf(expires),
        rate_limit,
      });
      await saySecret(args.json ? JSON.stringify(created) : created.key, lostKey(`keys revoke ${created.id}`));
      if (args.json) return;
      process.stderr.write(
        `\nThis is ${created.id}, of a user with the role ${role}. Its scopes are ${wanted.join(", ")}${wanted.includes("*") ? ": everything that the role may do" : ""}. It is shown only once; store it with your secrets.\n`,
      );
    });
  },
);

const list = command("list", "", databaseArgs, (args) =>
  withAdmin(args, "svc-server call keys.list, or svc-server call keys.create name=ci", async (admin) => {
    const keys = await admin.listKeys(organizationOf(args));
    const rows = keys.map(({ id, name, user_name, role, scopes, last_used_at, expires_at }) => [
      id,
      name,
      user_name,
      role,
      scopes.join(","),
      last_used_at ?? "never",
      expires_at ?? "never",
    ]);
    sayResult(args, keys, table([["ID", "NAME", "USER", "ROLE", "SCOPES", "LAST USED", "EXPIRES"], ...rows]));
  }),
);

const revoke = command(
  "revoke",
  "It stops working at once.",
  { ...databaseArgs, id: word("The key's identifier, from keys list.") },
  (args) =>
    withAdmin(args, "svc-server call keys.revoke key_…", async (admin) => {
      await admin.revokeKey(String(args.id), organizationOf(args));
      sayResult(args, { revoked: args.id }, `${args.id} is revoked.`);
    }),
);

const rotate = command(
  "rotate-encryption",
  "It takes one transaction. Stop the servers of the database first. After a kill, either the old key or the new one is valid; run the command again to see which.",
  {
    database: option(
      "The database file (./svc-data), or the URL of a PostgreSQL database. No server may be running on it.",
      "PATH|URL",
    ),
    "key-file": keyFileArg,
    "new-key-file": option(
      "A file with the new key: 32 bytes in base64, as openssl rand -base64 32 makes them.",
      "PATH",
    ),
    ...json,
  },
  async (args) => {
    const database = databaseOf(args);
    if (database === ":memory:")
      throw new UsageError(
        "option --database must be a file or a URL: the key of a database in memory ends with its server",
      );
    const settings = settingsOf(database, args);
    const file = pathIn(args, "new-key-file");
    if (file === undefined)
      throw new UsageError("option --new-key-file must name a file; make it with: openssl rand -base64 32 > FILE");
    const key = newKeyIn(file);
    const { values, earlier, isGiven } = await withProgress((report) =>
      rotateEncryption(database, key, () => givenKey(settings), report),
    );
    const name = describeDatabase(database);
    if (args["json"]) return say(JSON.stringify({ database: name, in_force: "new", values: values ?? 0 }));
    if (earlier !== undefined) say(`Before this, ${earlier}.`);
    say(
      values === undefined
        ? `${name}: the new key is in force already, and nothing was changed.`
        : `${name}: the new key is in force. ${values} secrets were encrypted again.`,
    );
    if (isGiven) say(`Start its servers with --key-file ${file}.`);
  },
);

function newKeyIn(file: string): Buffer {
  try {
    return readKey(file);
  } catch (error) {
    throw new UsageError(`option --new-key-file: ${file}: ${describeError(error)}`);
  }
}

export const keys = parent("keys", "They work on a database, beside its servers or without one.", {
  create: listed("Create an API key, and print it", "keys create --role developer --scopes deployments:write", create),
  list: listed("List the API keys of an organization", "keys list", list),
  revoke: listed("Revoke an API key", "keys revoke ID", revoke),
  "rotate-encryption": listed(
    "Encrypt all secrets again with a new key",
    "keys rotate-encryption --new-key-file new.key",
    rotate,
  ),
});
