import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { runHere as run } from "../helpers/cli-in-process.ts";
import { client, realIssuer } from "../helpers/issuer.ts";
import { temporaryFolder } from "../helpers/program.ts";

test("doctor asks the issuer for its description, the redirect address and its time", async (t) => {
  const at = await realIssuer(t);
  const folder = temporaryFolder(t);
  const config = join(folder, "config.json");
  const look = async (more: object) => {
    writeFileSync(config, JSON.stringify({ dashboard: { oidc: { issuer: at.issuer, ...client } }, ...more }));
    const words = ["doctor", "--database", join(folder, "svc.db"), "--port", "0", "--json", "--config", config];
    // The issuer also prints notices to stdout.
    const { status, stdout } = await run(words);
    assert.ok(!stdout.includes(client.clientSecret), stdout);
    const findings = JSON.parse(stdout.slice(stdout.search(/^\[/m))) as { check: string; ok: boolean; says: string }[];
    const ours = findings.filter(({ check }) => /issuer|redirect/.test(check));
    return { status, says: ours.map(({ check, ok, says }) => `${check}: ${ok ? "ok" : "wrong"}: ${says}`).join("\n") };
  };
  const publicUrl = "https://svc.example.com";
  at.serve(publicUrl);
  const right = await look({ publicUrl });
  assert.equal(right.status, 0, right.says);
  assert.match(right.says, /^issuer: ok: http:\/\/127\S+ answers/m);
  assert.match(
    right.says,
    /^redirect address: ok: the issuer sends browsers to https:\/\/svc\.example\.com\/dashboard\/oidc\/callback$/m,
  );
  assert.match(right.says, /^clock of the issuer: ok: within \d+ s/m);
  const below = await look({ publicUrl, basePath: "/svc" });
  assert.match(
    below.says,
    /^redirect address: wrong: .* register https:\/\/svc\.example\.com\/svc\/dashboard\/oidc\//m,
  );
  assert.match((await look({})).says, /^redirect address: wrong: it follows the Host of each request; set publicUrl/m);
  const other = await look({ publicUrl: "https://other.example.com" });
  assert.match(other.says, /^redirect address: wrong: the issuer answers 400 to a sign-in; register https:\/\/other/m);

  at.replace((request, response) => {
    response.sendDate = false;
    response.setHeader("date", new Date(Date.now() - 300_000).toUTCString());
    at.pass(request, response);
  });
  assert.match(
    (await look({ publicUrl })).says,
    /clock of the issuer: wrong: this machine's clock is (299|300|301|302) s ahead of the issuer's/,
  );
  at.replace((request) => request.socket.destroy());
  const down = await look({ publicUrl });
  assert.match(down.says, /^issuer: wrong: .* does not answer/m);
});

test("doctor names the package where it is missing, and blames no issuer", () => {
  const script = `
    import { register } from "node:module";
    import { signInChecks } from "./bin/doctor-oidc.ts";
    const hook = \`export function resolve(name, context, next) {
      if (name === "openid-client") throw new Error("Cannot find package");
      return next(name, context);
    }\`;
    register("data:text/javascript," + encodeURIComponent(hook));
    const oidc = { issuer: "http://127.0.0.1:1", clientId: "svc", clientSecret: "secret" };
    for (const [, check] of signInChecks({ publicUrl: "https://svc.example.com", dashboard: { oidc } }).slice(0, 2))
      console.log(await check().catch(({ message }) => message));`;
  const words = ["--import", "tsx", "--input-type=module", "-e", script];
  const missing = 'option dashboard.oidc needs the package openid-client. Run "npm install openid-client".';
  assert.equal(execFileSync(process.execPath, words, { encoding: "utf8" }), `${missing}\n${missing}\n`);
});
