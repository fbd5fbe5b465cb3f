import assert from "node:assert/strict";
import { test } from "node:test";
import { listeningWorld } from "../helpers/raw-sockets.ts";

test("The page's list of requests cuts long paths and queries, and hides secrets before and after a search", async (t) => {
  const { send, call } = await listeningWorld(t);
  const key = `sk_live_${"k".repeat(30)}`;
  await call("owner", "GET", `/v1/projects?search=${"q".repeat(2_000)}&token=${key}`);
  await call("owner", "GET", `/v1/projects/${"p".repeat(3_000)}`);
  await call("owner", "GET", `/v1/projects?search=short&token=${key}`);
  const list = async (query: string) =>
    (await send("GET", `/dashboard/session/requests${query}`, { headers: {} })).body.data.map(
      ({ path }: { path: string }) => path,
    );
  const paths = [
    "/v1/projects?search=short&token=%5Bredacted%5D",
    `/v1/projects/${"p".repeat(1_000 - "/v1/projects/".length)}`,
    "/v1/projects?…",
  ];
  assert.deepEqual(await list(""), paths);
  assert.deepEqual(await list("?search=search%3Dshort"), paths.slice(0, 1));
  assert.deepEqual(await list(`?search=${key}`), [], "a secret cannot be searched for");
});
