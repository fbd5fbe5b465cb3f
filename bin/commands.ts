import { type Listing, listed, parent } from "./define-command.ts";

const loaders = {
  dev: async () => (await import("./serve.ts")).dev,
  start: async () => (await import("./serve.ts")).start,
  exec: async () => (await import("./exec.ts")).exec,
  deploy: async () => (await import("./deploy.ts")).deploy,
  env: async () => (await import("./env.ts")).env,
  call: async () => (await import("./call.ts")).call,
  users: async () => (await import("./call.ts")).users,
  deployments: async () => (await import("./logs.ts")).deployments,
  logs: async () => (await import("./logs.ts")).logs,
  listen: async () => (await import("./listen.ts")).listen,
  login: async () => (await import("./login.ts")).login,
  clock: async () => (await import("./control.ts")).clock,
  trigger: async () => (await import("./trigger.ts")).trigger,
  inbox: async () => (await import("./instruments.ts")).inbox,
  mail: async () => (await import("./mail.ts")).mail,
  scenarios: async () => (await import("./instruments.ts")).scenarios,
  faults: async () => (await import("./instruments.ts")).faults,
  snapshots: async () => (await import("./instruments.ts")).snapshots,
  reset: async () => (await import("./control.ts")).reset,
  record: async () => (await import("./record.ts")).record,
  doctor: async () => (await import("./doctor.ts")).doctor,
  keys: async () => (await import("./keys.ts")).keys,
  seed: async () => (await import("./seed.ts")).seed,
  backup: async () => (await import("./backup.ts")).backup,
  restore: async () => (await import("./backup.ts")).restore,
  migrate: async () => (await import("./migrate.ts")).migrate,
  copy: async () => (await import("./copy.ts")).copy,
  verify: async () => (await import("./verify.ts")).verify,
  mcp: async () => (await import("./mcp.ts")).mcp,
  openapi: async () => (await import("./openapi.ts")).openapi,
  completion: async () => (await import("./completion.ts")).completion,
};

type Name = keyof typeof loaders;

const group = (entries: { readonly [name in Name]?: readonly [summary: string, example: string] }): Listing =>
  Object.fromEntries(
    Object.entries(entries).map(([name, [summary, example]]) => [
      name,
      listed(summary, example, loaders[name as Name]),
    ]),
  );

/** All commands in the groups of `svc-server --help`, each with its line there and its example. */
export const groups = {
  Run: group({
    dev: ["Run the emulator, in memory and on this machine only", "dev --seed demo --clock manual"],
    start: ["Host the service on a database; the default command", "start --database ./svc-data"],
    exec: ["Run a command, such as your tests, with its own emulator", "exec --seed demo -- npm test"],
  }),
  Use: group({
    deploy: ["Deploy a folder, and print the log until it is live", "deploy ./hello --environment staging"],
    env: ["List, set and remove the variables of an environment", "env set PORT=8080 --project web"],
    call: [
      "Call any operation, such as deployments.create",
      "call projects.create name=shop region=eu-west-1 --field id",
    ],
    users: ["List users, or call another operation on users", "users invite email=bob@example.com role=developer"],
    deployments: ["Print the log of a deployment", "deployments logs ID"],
    logs: ["Print what the app of an environment has printed", "logs web --follow"],
    listen: ["Forward events to a receiver on this machine, signed", "listen --forward-to localhost:3000/webhooks"],
    login: ["Save an API key in a profile that only you can read", "login --url http://127.0.0.1:7400 < key.txt"],
  }),
  Emulate: group({
    clock: ["Show the clock of an emulator, or advance it", "clock advance 2h"],
    trigger: ["Cause an event, such as deployment.failed", "trigger deployment.failed"],
    inbox: ["Show caught deliveries, and set what the inbox answers", "inbox set shop responses=500,500,200"],
    mail: ["Show the mails of an emulator or of a database", "mail"],
    scenarios: [
      "Decide how simulated deployments and generations end",
      "scenarios add match.branch=main outcome.result=fail",
    ],
    faults: [
      "Let calls fail, wait or lose their connection",
      "faults add match.path=/v1/projects respond.status=503 times=2",
    ],
    snapshots: ["Take, list and restore snapshots of the whole state", "snapshots create --name before"],
    reset: ["Go back to the state just after the start", "reset"],
    record: ["Record a real service as a seed and scenarios", "record --upstream https://svc.example.com/v1"],
  }),
  Operate: group({
    doctor: ["Check this machine and the options, and say what to fix", "doctor --deep"],
    keys: [
      "Create and revoke API keys, or rotate the encryption key",
      "keys create --role developer --scopes deployments:write",
    ],
    seed: ["Check a seed file, or create a database from it", "seed seed.json --database new.db"],
    backup: ["Back up a database, its key and its files", "backup copy.db"],
    restore: ["Put a backup in the place of a database", "restore copy.db --force"],
    migrate: ["Create or update the tables of a database", "migrate --database ./svc-data"],
    copy: [
      "Copy a service between a database file and PostgreSQL",
      "copy --from ./svc-data --to postgres://svc@127.0.0.1/svc",
    ],
  }),
  Tools: group({
    verify: ["Check whether a server behaves as the interface says", "verify --url http://127.0.0.1:7400"],
    mcp: ["Offer the operations to editors and agents, over MCP", "mcp --url http://127.0.0.1:7400"],
    openapi: ["Print the OpenAPI document of the interface", "openapi > openapi.json"],
    completion: ["Print a completion script for bash, zsh or fish", "completion bash > svc-server.bash"],
  }),
};

export const main = parent("svc-server", "", Object.assign({}, ...Object.values(groups)));
