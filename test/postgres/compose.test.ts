import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "yaml";
import { file } from "../helpers/behind-nginx.ts";
import { caddy, noCaddy } from "../helpers/caddy.ts";
import { launch, temporaryFolder } from "../helpers/program.ts";
import { emptyDatabase } from "./databases.ts";

const variables: Readonly<Record<string, string>> = {
  SVC_DOMAIN: "svc.example.com",
  POSTGRES_PASSWORD: "demo",
  SVC_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString("base64"),
};
/** The text with its variables filled in, as Compose does. */
const filled = (text: string) =>
  text.replaceAll(/\$\{(\w+)(?::\?[^}]*)?\}/g, (_, name: string) => {
    assert.ok(variables[name], name);
    return variables[name] ?? "";
  });

test("the two servers of compose-servers.yaml answer behind its Caddy, and one alone goes on answering", {
  skip: noCaddy,
}, async (t) => {
  const { services, configs, volumes } = parse(filled(file("compose-servers.yaml")), { merge: true });
  assert.deepEqual(Object.keys(services), ["one", "two", "postgres", "caddy"]);
  for (const { volumes: mounts = [] } of Object.values<{ volumes?: string[] }>(services))
    for (const mount of mounts)
      assert.ok(
        Object.keys(volumes).some((name) => mount.startsWith(`${name}:`)),
        mount,
      );

  const { url } = await emptyDatabase(t);
  const start = ({ command, environment: env }: { command: string; environment: Record<string, string> }) => {
    const words = command.replace("postgres://svc@postgres/svc", url).split(" ");
    // The URL of this test's database has its own password.
    const { PGPASSWORD: _, ...more } = env;
    return launch(t, [...words, "--port", "0"], temporaryFolder(t), { env: more });
  };
  const one = await start(services.one);
  const two = await start(services.two);
  assert.ok(one.api_key !== null && two.api_key === null, "the first start shows the key, and only it");
  const hosts = { "one:7400": new URL(one.url).host, "two:7400": new URL(two.url).host };
  const text = Object.entries(hosts).reduce((before, [from, to]) => before.replaceAll(from, to), configs.caddy.content);
  const { SVC_DOMAIN: domain = "" } = variables;
  const site = await caddy(t, text, [domain]);
  const me = async () => (await site.ask(domain, "/v1/me", { authorization: `Bearer ${one.api_key}` })).status;
  assert.deepEqual([await me(), await me(), await me()], [200, 200, 200]);
  assert.equal((await site.ask(domain, "/metrics")).status, 404);
  assert.equal((await one.stop()).code, 0);
  assert.deepEqual([await me(), await me(), await me()], [200, 200, 200]);
});
