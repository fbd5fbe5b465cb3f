import { listed, parent } from "./define-command.ts";

/** All commands in the groups of `svc-server --help`, each with its line there and its example. */
export const groups = {
  Run: {
    dev: listed(
      "Run the emulator, in memory and on this machine only",
      "dev --seed demo --clock manual",
      async () => (await import("./serve.ts")).dev,
    ),
    start: listed(
      "Host the service on a database; the default command",
      "start --database ./svc-data",
      async () => (await import("./serve.ts")).start,
    ),
    exec: listed(
      "Run a command, such as your tests, with its own emulator",
      "exec --seed demo -- npm test",
      async () => (await import("./exec.ts")).exec,
    ),
  },
  Use: {
    deploy: listed(
      "Deploy a folder, and print the log until it is live",
      "deploy ./hello --environment staging",
      async () => (await import("./deploy.ts")).deploy,
    ),
    env: listed(
      "List, set and remove the variables of an environment",
      "env set PORT=8080 --project web",
      async () => (await import("./env.ts")).env,
    ),
    call: listed(
      "Call any operation, such as deployments.create",
      "call projects.create name=shop region=eu-west-1 --field id",
      async () => (await import("./call.ts")).call,
    ),
    users: listed(
      "List users, or call another operation on users",
      "users invite email=bob@example.com role=developer",
      async () => (await import("./call.ts")).users,
    ),
    deployments: listed(
      "Print the log of a deployment",
      "deployments logs ID",
      async () => (await import("./logs.ts")).deployments,
    ),
    logs: listed(
      "Print what the app of an environment has printed",
      "logs web --follow",
      async () => (await import("./logs.ts")).logs,
    ),
    listen: listed(
      "Forward events to a receiver on this machine, signed",
      "listen --forward-to localhost:3000/webhooks",
      async () => (await import("./listen.ts")).listen,
    ),
    login: listed(
      "Save an API key in a profile that only you can read",
      "login --url http://127.0.0.1:7400 < key.txt",
      async () => (await import("./login.ts")).login,
    ),
  },
  Emulate: {
    clock: listed(
      "Show the clock of an emulator, or advance it",
      "clock advance 2h",
      async () => (await import("./control.ts")).clock,
    ),
    trigger: listed(
      "Cause an event, such as deployment.failed",
      "trigger deployment.failed",
      async () => (await import("./trigger.ts")).trigger,
    ),
    inbox: listed(
      "Show caught deliveries, and set what the inbox answers",
      "inbox set shop responses=500,500,200",
      async () => (await import("./instruments.ts")).inbox,
    ),
    mail: listed(
      "Show the mails of an emulator or of a database",
      "mail",
      async () => (await import("./mail.ts")).mail,
    ),
    scenarios: listed(
      "Decide how simulated deployments and generations end",
      "scenarios add match.branch=main outcome.result=fail",
      async () => (await import("./instruments.ts")).scenarios,
    ),
    faults: listed(
      "Let calls fail, wait or lose their connection",
      "faults add match.path=/v1/projects respond.status=503 times=2",
      async () => (await import("./instruments.ts")).faults,
    ),
    snapshots: listed(
      "Take, list and restore snapshots of the whole state",
      "snapshots create --name before",
      async () => (await import("./instruments.ts")).snapshots,
    ),
    reset: listed(
      "Go back to the state just after the start",
      "reset",
      async () => (await import("./control.ts")).reset,
    ),
    record: listed(
      "Record a real service as a seed and scenarios",
      "record --upstream https://svc.example.com/v1",
      async () => (await import("./record.ts")).record,
    ),
  },
  Operate: {
    doctor: listed(
      "Check whether svc-server can run here, and how to fix it",
      "doctor --deep",
      async () => (await import("./doctor.ts")).doctor,
    ),
    keys: listed(
      "Create and revoke API keys, or rotate the encryption key",
      "keys create --role developer --scopes deployments:write",
      async () => (await import("./keys.ts")).keys,
    ),
    seed: listed(
      "Check a seed file, or create a database from it",
      "seed seed.json --database new.db",
      async () => (await import("./seed.ts")).seed,
    ),
    backup: listed(
      "Back up a database, its key and its files",
      "backup copy.db",
      async () => (await import("./backup.ts")).backup,
    ),
    restore: listed(
      "Put a backup in the place of a database",
      "restore copy.db --force",
      async () => (await import("./backup.ts")).restore,
    ),
    migrate: listed(
      "Create or update the tables of a database",
      "migrate --database ./svc-data",
      async () => (await import("./migrate.ts")).migrate,
    ),
    copy: listed(
      "Copy a service between a database file and PostgreSQL",
      "copy --from ./svc-data --to postgres://svc@127.0.0.1/svc",
      async () => (await import("./copy.ts")).copy,
    ),
  },
  Tools: {
    verify: listed(
      "Check whether a server behaves as the interface says",
      "verify --url http://127.0.0.1:7400",
      async () => (await import("./verify.ts")).verify,
    ),
    mcp: listed(
      "Offer the operations to editors and agents, over MCP",
      "mcp --url http://127.0.0.1:7400",
      async () => (await import("./mcp.ts")).mcp,
    ),
    openapi: listed(
      "Print the OpenAPI document of the interface",
      "openapi > openapi.json",
      async () => (await import("./openapi.ts")).openapi,
    ),
    completion: listed(
      "Print a completion script for bash, zsh or fish",
      "completion bash > svc-server.bash",
      async () => (await import("./completion.ts")).completion,
    ),
  },
};

/** The program. Each command is loaded on first use. */
export const main = parent("svc-server", "", Object.assign({}, ...Object.values(groups)));
