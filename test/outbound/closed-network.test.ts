import { test } from "node:test";
import { missingNamespaces, passesInNamespaces } from "../helpers/closed-network.ts";

test(
  "the service in the mode start reaches no address that is not public, in a network where every address answers",
  {
    skip: missingNamespaces(),
  },
  (t) => passesInNamespaces(t, "test/outbound/closed-network.child.js"),
);
