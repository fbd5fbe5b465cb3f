import { test } from "node:test";
import { missingNamespaces, passesInNamespaces } from "../helpers/closed-network.ts";
import { isPostgres } from "../helpers/engine.ts";

test(
  "dev is open to the networks that its operator trusts, and to no other",
  {
    skip: (isPostgres && "a namespace of its own has no way to PostgreSQL") || missingNamespaces(),
  },
  (t) => passesInNamespaces(t, "test/http/trusted-networks.child.js"),
);
