import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { runHere } from "../helpers/cli-in-process.ts";
import { temporaryFolder } from "../helpers/program.ts";
import type { Files } from "../helpers/repositories.ts";
import { app, type Running, runtimeWorld } from "../helpers/running-apps.ts";

const host = "production-web.localhost";
const lacks = (program: string, ...args: string[]) =>
  spawnSync(`/usr/bin/${program}`, args).status === 0 ? false : `this machine has no ${program} that works`;
const noPython = lacks("python3", "-c", "import venv, ensurepip, tomllib");
const noGo = lacks("go", "version");

async function deployed(here: Running, project_id: string, files: Files) {
  const { root } = here.repos;
  if (existsSync(`${root}/acme/web/.git`)) here.repos.git("acme/web", "rm", "--quiet", "-r", ".");
  here.repos.commit("acme/web", files);
  const { id, status } = await here.release(project_id);
  return { status, messages: (await here.messages(id)).join("\n") };
}

const pythonServer = (answer: string) => `
import os
from http.server import BaseHTTPRequestHandler, HTTPServer
class Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write((${answer}).encode())
print("Python begins")
HTTPServer((os.environ["HOST"], int(os.environ["PORT"])), Answer).serve_forever()
`;
/** A module that stands in for a framework's server and answers with its arguments. */
const standIn = pythonServer(`" ".join(__import__("sys").argv[1:]).replace(os.environ["PORT"], "PORT")`);

test("A Python app runs in a virtual environment of its release", { skip: noPython }, async (t) => {
  const here = await runtimeWorld(t, { deployments: { buildVariables: { PIP_NO_INDEX: "1" } } });
  const { id } = await here.project("web");
  const plain = {
    "requirements.txt": "# nothing\n",
    "app.py": pythonServer(`__import__("sys").prefix[-5:]`),
    Procfile: "web: python app.py\nrelease: echo unbuffered: $PYTHONUNBUFFERED\n",
  };
  const first = await deployed(here, id, plain);
  assert.equal(first.status, "active", first.messages);
  assert.match(first.messages, /^Found Procfile, requirements.txt$/m);
  assert.match(first.messages, /^unbuffered: 1$/m);
  assert.match(first.messages, /^Python begins$/m, "an app that starts is heard at once");
  assert.equal(await here.ask(host), "200 .venv");

  const project = `[project]\nname = "web"\nversion = "1"\ndependencies = []\n`;
  const second = await deployed(here, id, { "pyproject.toml": project, "main.py": pythonServer(`"main"`) });
  assert.equal(second.status, "active", second.messages);
  assert.equal(await here.ask(host), "200 main");

  // Two folders at the top are no package for setuptools, which cannot be fetched here either.
  const flat = `[build-system]\nrequires = ["setuptools"]\n${project}`;
  const files = { "pyproject.toml": flat, "main.py": pythonServer(`"flat"`), "a/__init__.py": "", "b/__init__.py": "" };
  const folders = await deployed(here, id, files);
  assert.equal(folders.status, "active", folders.messages);
  assert.match(
    folders.messages,
    /^The project itself cannot be installed as a package, so only its dependencies are$/m,
  );
  assert.equal(await here.ask(host), "200 flat");

  const poetry = '[tool.poetry]\nname = "web"\npackage-mode = false\n[tool.poetry.dependencies]\npython = "^3.8"\n';
  const noPackage = { "pyproject.toml": `${poetry}[build-system]\nrequires = ["poetry-core"]\n` };
  const unpacked = await deployed(here, id, { ...noPackage, "main.py": pythonServer(`"poetry"`) });
  assert.equal(unpacked.status, "active", unpacked.messages);
  assert.equal(await here.ask(host), "200 poetry");

  const flask = { "requirements.txt": "# flask\n", "app.py": `app = Flask(__name__)\n`, "flask.py": standIn };
  const third = await deployed(here, id, flask);
  assert.equal(third.status, "active", third.messages);
  assert.equal(await here.ask(host), "200 --app app run --host 127.0.0.1 --port PORT");

  const fastApi = {
    "requirements.txt": "# fastapi, uvicorn\n",
    "main.py": `api: FastAPI = FastAPI(title="x")\n`,
    "uvicorn.py": standIn,
  };
  const fourth = await deployed(here, id, fastApi);
  assert.equal(fourth.status, "active", fourth.messages);
  assert.equal(await here.ask(host), "200 main:api --host 127.0.0.1 --port PORT");

  const older = await deployed(here, id, { ...plain, "runtime.txt": "python-3.6.9\n" });
  assert.equal(older.status, "failed");
  assert.match(older.messages, /^the app asks for Python 3\.6\.9 \(runtime\.txt\), and the machine has 3/m);
  assert.doesNotMatch(older.messages, /Making the virtual environment/);

  const lone = await deployed(here, id, { Procfile: "web: gunicorn app:app\n", "app.py": "" });
  assert.equal(lone.status, "rolled_back");
  assert.match(
    lone.messages,
    /the command gunicorn was not found; nothing was installed: the repository has no package.json, requirements.txt, pyproject.toml or go.mod/,
  );
});

test("A Python app that starts by itself needs no Go, and a repository without anything reads what is looked for", {
  skip: noPython,
}, async (t) => {
  const here = await runtimeWorld(t);
  const { id } = await here.project("web");
  const files = {
    "requirements.txt": "# nothing\n",
    "main.py": pythonServer(`"python"`),
    "go.mod": "module acme.test/web\n",
  };
  const { status, messages } = await deployed(here, id, files);
  assert.equal(status, "active", messages);
  assert.equal(await here.ask(host), "200 python");

  const ruby = { Procfile: "web: a-ruby-program\n", Gemfile: "" };
  const { messages: named } = await deployed(here, id, ruby);
  assert.match(
    named,
    /^the command a-ruby-program was not found: the repository is for Ruby \(Gemfile\), which is not/m,
  );

  const none = await deployed(here, id, { "readme.txt": "nothing" });
  assert.equal(none.status, "failed");
  for (const name of [
    "svc.json",
    "Procfile",
    "package.json",
    "requirements.txt",
    "pyproject.toml",
    "go.mod",
    "Dockerfile",
    "index.html",
  ])
    assert.ok(none.messages.includes(name), `${name} in ${none.messages}`);
});

test("A Go module is built, and its binary started", { skip: noGo }, async (t) => {
  const here = await runtimeWorld(t);
  const { id } = await here.project("web");
  const main = (answer: string) => `package main
import ("fmt"; "net/http"; "os")
func main() {
  http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "${answer}") })
  http.ListenAndServe(os.Getenv("HOST") + ":" + os.Getenv("PORT"), nil)
}
`;
  const files = {
    "go.mod": "module acme.test/web\n\ngo 1.18\n",
    "cmd/web/main.go": main("go"),
    "lib.go": "package web\n",
  };
  const first = await deployed(here, id, files);
  assert.equal(first.status, "active", first.messages);
  assert.equal(await here.ask(host), "200 go");
  const second = await deployed(here, id, { ...files, "cmd/api/main.go": main("api"), Procfile: "web: bin/api\n" });
  assert.equal(second.status, "active", second.messages);
  assert.equal(await here.ask(host), "200 api");
});

test("doctor names the languages that builds find, and how to install the others", async (t) => {
  const database = join(temporaryFolder(t), "svc.db");
  const { stdout } = await runHere(["doctor", "--database", database, "--port", "0", "--json"]);
  const findings = JSON.parse(stdout) as { check: string; says: string }[];
  const says = findings.find(({ check }) => check === "runtime")?.says ?? "";
  assert.match(says, /builds find Node \d+\.\d+\.\d+, /);
  assert.match(says, noPython ? /no Python \(apt-get install python3 python3-venv\)/ : /, Python 3\.\d+\.\d+, /);
  for (const manager of ["npm", "yarn", "pnpm", "bun"])
    assert.match(says, new RegExp(`, ${manager} \\d+\\.\\d+|npm fetches [a-z, ]*${manager}|no npm`), says);
  assert.match(says, noGo ? /no Go \(apt-get install golang-go\)/ : /, Go 1\.\d+/);
});

test("The web line of a Procfile comes before the start script", async (t) => {
  const here = await runtimeWorld(t);
  const { id } = await here.project("web");
  const { status } = await deployed(here, id, {
    ...app("script"),
    Procfile: "web: node other.js\n",
    "other.js": `
require("node:http").createServer((_, response) => response.end("Procfile")).listen(process.env.PORT, process.env.HOST);`,
  });
  assert.equal(status, "active");
  assert.equal(await here.ask(host), "200 Procfile");

  // `start` is a development server; production runs the program that the build leaves.
  const nest = { name: "web", scripts: { build: "mkdir -p dist && cp server.js dist/main.js", start: "nest start" } };
  const built = await deployed(here, id, { ...app("built"), "package.json": nest });
  assert.equal(built.status, "active", built.messages);
  assert.match(built.messages, /^Starting: node 'dist\/main.js'$/m);
  assert.equal(await here.ask(host), "200 built");
  const nx = {
    name: "web",
    scripts: { build: "mkdir -p dist/api && cp server.js dist/api/main.js", start: "nx serve" },
  };
  const inside = await deployed(here, id, { ...app("inside"), "package.json": nx });
  assert.equal(inside.status, "active", inside.messages);
  assert.match(inside.messages, /^Starting: node 'dist\/api\/main.js'$/m);
  assert.equal(await here.ask(host), "200 inside");
});

test("A package without start, build and main is started by the program at a usual place", async (t) => {
  const here = await runtimeWorld(t);
  const { id } = await here.project("web");
  const program = app("usual")["server.js"];
  const packages = { name: "web", main: "index.js", scripts: { dev: "nodemon src/index.js" } };
  const first = await deployed(here, id, { "package.json": packages, "src/index.js": program });
  assert.equal(first.status, "active", first.messages);
  assert.match(first.messages, /^Starting: node 'src\/index.js'$/m);
  assert.equal(await here.ask(host), "200 usual");
  // With a page at the top, `app.js` is for browsers.
  const site = { "package.json": { name: "web" }, "index.html": "a page", "app.js": "document.title = 1" };
  const second = await deployed(here, id, site);
  assert.equal(second.status, "active", second.messages);
  assert.equal(await here.ask(host), "200 a page");
});
