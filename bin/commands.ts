import { defineCommand } from "citty";
import { version } from "../lib/kernel/version.ts";

/** Every command; each is loaded when it is asked for. */
export const main = defineCommand({
  meta: {
    name: "svc-server",
    version: version(),
    description:
      "A deployment-and-generation service in one process. Bare svc-server, with any of its flags, is svc-server start.",
  },
  subCommands: {
    dev: async () => (await import("./serve.ts")).dev,
    start: async () => (await import("./serve.ts")).start,
    call: async () => (await import("./call.ts")).call,
    users: async () => (await import("./call.ts")).users,
    deployments: async () => (await import("./call.ts")).deployments,
    openapi: async () => (await import("./openapi.ts")).openapi,
    login: async () => (await import("./login.ts")).login,
    keys: async () => (await import("./keys.ts")).keys,
    listen: async () => (await import("./listen.ts")).listen,
    seed: async () => (await import("./seed.ts")).seed,
    backup: async () => (await import("./backup.ts")).backup,
    restore: async () => (await import("./backup.ts")).restore,
    doctor: async () => (await import("./doctor.ts")).doctor,
    completion: async () => (await import("./completion.ts")).completion,
    mail: async () => (await import("./mail.ts")).mail,
  },
});
