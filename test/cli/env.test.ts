import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { runHere } from "../helpers/cli-in-process.ts";
import { temporaryFolder } from "../helpers/program.ts";
import { expect, keyOf, world } from "../helpers/test-service.ts";

/** A service with the project `shop`, and the command `env` with the key of a developer. */
async function desk(t: TestContext) {
  const here = await world(t);
  const { id } = await here.project("shop");
  const { url } = await here.service.listen({ port: 0 });
  const home = temporaryFolder(t);
  const outside = { SVC_URL: url, SVC_API_KEY: keyOf("developer"), XDG_CONFIG_HOME: home, APPDATA: home };
  const env = (...words: string[]) => runHere(["env", ...words], home, outside);
  const shop = async (...words: string[]) => {
    const { status, stdout, stderr } = await env(...words, "--project", "shop");
    return status === 0 ? stdout : `${status}: ${stderr}`;
  };
  const path = `/v1/projects/${id}/environments`;
  const stored = async () => expect(await here.call("owner", "GET", path), 200).data;
  const file = (name: string, content: string | Buffer) => writeFileSync(join(home, name), content);
  return { here, id, home, outside, env, shop, path, stored, file };
}

test("svc-server env says what is wrong with a word, a file, a project and a variable", async (t) => {
  const { env, shop, stored, file } = await desk(t);
  file("empty.env", "# nothing\n");
  file("utf16.env", Buffer.from("\ufeffA=1", "utf16le"));
  file("wrong.env", "A-B=1\n");
  const cases: [string[], RegExp][] = [
    [["set"], /^2: svc-server: name what to set: NAME=VALUE, or NAME@=VALUE for a secret\n/],
    [["set", "PORT"], /^2: svc-server: "PORT" must be NAME=VALUE, or NAME@=VALUE for a secret\n/],
    [["set", "=x"], /^2: svc-server: "=…" must be NAME=VALUE/],
    [["set", "A-B=x"], /^1: svc-server: variables\.A-B must be named/],
    [["set", "A=1", "--enviroment", "x"], /^2: .*unknown option --enviroment; did you mean --environment\?/],
    [["set", "A=1", "--environment", "a b"], /^1: svc-server: name must be 1 to 64/],
    [["unset"], /^2: svc-server: name the variables to remove\n/],
    [["unset", "PORT=1"], /^2: svc-server: "PORT=…" must be the name of a variable, without a value\n/],
    [["unset", "PORT"], /^1: svc-server: production of shop has no variable PORT\n/],
    [["import"], /^2: svc-server: env import needs the argument FILE\n/],
    [["import", "gone.env"], /^1: svc-server: gone\.env cannot be read: there is no such file\n/],
    [["import", "."], /^1: svc-server: \. cannot be read: it is a folder\n/],
    [["import", "empty.env"], /^1: svc-server: empty\.env has no line NAME=VALUE\n/],
    [["import", "utf16.env"], /^1: svc-server: utf16\.env is not UTF-8 text\n/],
    [["import", "wrong.env"], /^1: svc-server: variables\.A-B must be named/],
    [["list", "PORT"], /^2: svc-server: unexpected word "PORT"\n/],
  ];
  for (const [words, refusal] of cases) assert.match(await shop(...words), refusal, words.join(" "));
  assert.deepEqual(await stored(), []);
  const unknown = await env("set", "A=1", "--project", "shpo");
  assert.match(unknown.stderr, /there is no project shpo; did you mean shop\?\n/);
  assert.equal(unknown.status, 1);
  // A value on the command line may be a secret.
  assert.ok(!(await shop("set", "=hush-hush")).includes("hush"));
  assert.ok(!(await shop("unset", "A@=hush-hush")).includes("hush"));
});

test("svc-server env sets, imports, removes and lists variables, and never prints a secret", async (t) => {
  const { here, id, env, shop, path, stored, file } = await desk(t);
  const next = "The next deployment and the next restart use the change.\n";
  // The environment does not exist yet.
  assert.equal(await shop("list"), "production of shop has no variables\n");
  assert.equal(
    await shop("set", "PORT=8080", "TOKEN@=hush=hush", "EMPTY="),
    `Set PORT, TOKEN (secret) and EMPTY in production of shop. ${next}`,
  );
  assert.deepEqual((await stored())[0].variables, { PORT: "8080", TOKEN: { secret: true }, EMPTY: "" });
  assert.equal(await shop("list"), "EMPTY=\nPORT=8080\nTOKEN=(secret)\n");
  // A secret stays one, unless it is removed first.
  assert.equal(await shop("set", "TOKEN=hush-again"), `Set TOKEN (secret) in production of shop. ${next}`);
  file(
    ".env",
    "\ufeff# copied\r\nexport A=\"two\nlines\"\r\nTOKEN=hush-more\r\nKEY@='hush # key' # why\r\nB=x y # z\r\n",
  );
  assert.equal(
    await shop("import", ".env"),
    `Set A, B, KEY (secret) and TOKEN (secret) in production of shop. ${next}`,
  );
  const { variables } = (await stored())[0];
  assert.deepEqual(variables, {
    ...{ PORT: "8080", TOKEN: { secret: true }, EMPTY: "", A: "two\nlines", KEY: { secret: true }, B: "x y" },
  });
  assert.equal(await shop("list"), 'A="two\\nlines"\nB="x y"\nEMPTY=\nKEY=(secret)\nPORT=8080\nTOKEN=(secret)\n');
  assert.equal(await shop("unset", "EMPTY", "A"), `Removed EMPTY and A from production of shop. ${next}`);
  assert.match(await shop("unset", "PORT", "TOKNE"), /has no variable TOKNE; did you mean TOKEN\?/);
  const json = JSON.parse(await shop("list", "--json"));
  assert.deepEqual(json, { PORT: "8080", TOKEN: { secret: true }, KEY: { secret: true }, B: "x y" });
  assert.deepEqual(JSON.parse(await shop("unset", "PORT", "B", "--json")), { TOKEN: json.TOKEN, KEY: json.KEY });
  file("all.env", "X=1\nY=2\n");
  const staging = ["--environment", "staging", "--project", id];
  assert.match(
    (await env("import", "all.env", "--secret", ...staging)).stdout,
    /^Set X \(secret\) and Y \(secret\) in staging/,
  );
  const { data } = expect(await here.call("viewer", "GET", path), 200);
  assert.deepEqual(data[1].variables, { X: { secret: true }, Y: { secret: true } });
});

test("svc-server env takes the name of the folder for the project, as deploy does", async (t) => {
  const { here, home, outside, stored } = await desk(t);
  const named = await runHere(["env", "set", "A=1"], home, outside);
  assert.match(named.stderr, /there is no project svc-/);
  const refused = await runHere(["env", "set", "A=1", "--project", "shop"], home, {
    ...outside,
    SVC_API_KEY: keyOf("viewer"),
  });
  assert.match(refused.stderr, /insufficient_role/);
  assert.deepEqual(await stored(), []);
  await here.service.close();
});
