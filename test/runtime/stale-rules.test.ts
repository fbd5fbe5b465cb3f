import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { missingNamespaces, passesInNamespaces } from "../helpers/closed-network.ts";

const noRules = spawnSync("iptables", ["--version"]).error && "iptables not found; install iptables";

test(
  "Rules of containers that are gone take no connection of an app, and no test leaves one",
  {
    skip: missingNamespaces() ?? noRules,
  },
  (t) => passesInNamespaces(t, "test/runtime/stale-rules.child.js"),
);
