import { defineCommand } from "citty";
import { version } from "../lib/kernel/version.ts";

/** All commands. Each is loaded on first use. */
export const main = defineCommand({
  meta: {
    name: "svc-server",
    version: version(),
    description:
      "A deployment-and-generation service in one process. Without a command, svc-server runs svc-server start.",
  },
  subCommands: {
    dev: async () => (await import("./serve.ts")).dev,
    start: async () => (await import("./serve.ts")).start,
    exec: async () => (await import("./exec.ts")).exec,
    deploy: async () => (await import("./deploy.ts")).deploy,
    env: async () => (await import("./env.ts")).env,
    call: async () => (await import("./call.ts")).call,
    users: async () => (await import("./call.ts")).users,
    deployments: async () => (await import("./call.ts")).deployments,
    clock: async () => (await import("./control.ts")).clock,
    trigger: async () => (await import("./trigger.ts")).trigger,
    inbox: async () => (await import("./instruments.ts")).inbox,
    scenarios: async () => (await import("./instruments.ts")).scenarios,
    faults: async () => (await import("./instruments.ts")).faults,
    snapshots: async () => (await import("./instruments.ts")).snapshots,
    reset: async () => (await import("./control.ts")).reset,
    openapi: async () => (await import("./openapi.ts")).openapi,
    login: async () => (await import("./login.ts")).login,
    keys: async () => (await import("./keys.ts")).keys,
    listen: async () => (await import("./listen.ts")).listen,
    record: async () => (await import("./record.ts")).record,
    seed: async () => (await import("./seed.ts")).seed,
    backup: async () => (await import("./backup.ts")).backup,
    restore: async () => (await import("./backup.ts")).restore,
    migrate: async () => (await import("./migrate.ts")).migrate,
    copy: async () => (await import("./copy.ts")).copy,
    doctor: async () => (await import("./doctor.ts")).doctor,
    completion: async () => (await import("./completion.ts")).completion,
    mail: async () => (await import("./mail.ts")).mail,
    mcp: async () => (await import("./mcp.ts")).mcp,
    verify: async () => (await import("./verify.ts")).verify,
  },
});
