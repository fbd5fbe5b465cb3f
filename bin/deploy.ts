import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { ArgsDef } from "citty";
import type { Client } from "../lib/client.ts";
import { EndedWith, pathIn, UsageError } from "./arguments.ts";
import { baseOf, type Connection, connectionArgs, connectionOf, withClient } from "./connection.ts";
import { command, flag, type Given, option, optionalWord } from "./define-command.ts";
import { type Commit, commitOf } from "./folder-upload.ts";
import { createGit, type Git } from "./git.ts";
import { note, say } from "./output.ts";
import { findProject, partOf, projectOf } from "./project-name.ts";
import { failOnSignal } from "./signals.ts";

const deployArgs: ArgsDef = {
  folder: optionalWord("The folder to deploy (the current folder)."),
  project: option(
    "The name or id of the project (the name of the folder). A missing project is created if the key may do that.",
    "NAME",
  ),
  environment: option("The environment (production).", "NAME"),
  root: option(
    "The folder of the repository to build, such as apps/web; a dot for all of it. The environment keeps it (what it has).",
    "FOLDER",
  ),
  force: flag("Replace the service's branch even if it has commits that the repository lacks."),
  ...connectionArgs,
};

/** The project's name, and the repository on the service that receives its commits. */
async function targetOf(client: Client, folder: string, given: unknown) {
  const wanted = projectOf(folder, given, "--project");
  const { organization } = await client.me.get();
  const project = wanted.startsWith("proj_") ? (await client.projects.get({ id: wanted })).name : wanted;
  return { project, repo: `${partOf(organization.name)}/${partOf(project)}` };
}

/** Pushes a commit and shows the service's messages. Returns git's result with the deployment's id. */
async function push(
  git: Git,
  { url, apiKey = "" }: Connection,
  { sha, branch, isForced }: Commit,
  { repo, options, show }: { repo: string; options: readonly string[]; show: (line: string) => void },
) {
  const address = `${baseOf(url).replace(/\/v\d+\/?$/, "")}/git/${repo}.git`;
  const authorization = `Authorization: Basic ${Buffer.from(`svc:${apiKey}`).toString("base64")}`;
  let deployment_id: string | undefined;
  const refspec = `${isForced ? "+" : ""}${sha}:refs/heads/${branch}`;
  const words = ["push", "--no-progress", ...options.flatMap((one) => ["-o", one]), "--", address, refspec];
  const result = await git(words, {
    // In the environment, so other users of the machine cannot read it.
    config: { [`http.${new URL(address).origin}/.extraHeader`]: authorization },
    line(text) {
      if (!text.startsWith("remote:")) return;
      const said = text.slice("remote:".length).replace(/^ /, "").trimEnd();
      // Only the first such line counts. Later lines are the log, in which an app may print the same.
      deployment_id ??= /^Deployment (dep_[0-9A-Z]+): /.exec(said)?.[1];
      show(said);
    },
  });
  return { ...result, deployment_id };
}

function refusalOf(said: string, branch: string): string {
  if (/Authentication failed|could not read Username/.test(said))
    return "the service refused the key: it is wrong, revoked, expired, or belongs to another service";
  if (/\[rejected\]/.test(said))
    return `the service's branch ${branch} has commits that this repository lacks; pull them, or deploy with --force`;
  // This line is the same for every failure.
  const lines = said.split("\n").filter((line) => !line.startsWith("error: failed to push some refs"));
  const lost = lines.find((line) => /^(fatal|error): .*(unable to read|missing|bad object|corrupt)/.test(line));
  if (lost !== undefined)
    return `the repository lacks a part of its commits (${lost.replace(/^(fatal|error): /, "")}); check it with git fsck, and fetch what is missing: git fetch --refetch`;
  const line = [/^remote: ./, /^(fatal|error): /].map((form) => lines.findLast((one) => form.test(one))).find(Boolean);
  return `the folder could not be pushed: ${(line ?? said).replace(/^(remote: )?((fatal|error): )?/, "").trim()}`;
}

const madeProject = async (client: Client, name: string): Promise<string> =>
  (await findProject(client, name, () => client.projects.create({ name, region: "local" }))).id;

interface Target {
  readonly project: string;
  readonly environment: string;
  readonly repo: string;
  readonly branch: string;
}

/** Deploys a commit that the service already has. A push would transfer nothing and would not start a deployment. */
async function deployStored(
  client: Client,
  { project, environment, repo, branch }: Target,
  show: (line: string) => void,
) {
  const project_id = await madeProject(client, project);
  const source = { type: "git", repo, branch } as const;
  const { id } = await client.deployments.create({ project_id, environment, source });
  show(`Deployment ${id} of a commit that the service already has, to ${environment} of ${project}`);
  for await (const { message } of client.followLogs(id)) show(message);
  return id;
}

/** Returns the deployment once it has ended. */
async function deployFolder(client: Client, connection: Connection, folder: string, args: Given) {
  const scratch = mkdtempSync(join(tmpdir(), "svc-server-deploy-"));
  process.once("exit", () => rmSync(scratch, { recursive: true, force: true }));
  failOnSignal("deploy was stopped; a deployment that has started continues");
  const git = createGit(scratch);
  const [{ project, repo }, commit] = await Promise.all([
    targetOf(client, folder, args["project"]),
    commitOf(git, { folder, scratch, isForced: args["force"] === true }),
  ]);
  const show = (line: string) => (args["json"] ? void process.stderr.write(`${line}\n`) : say(line));
  if (commit.note !== undefined) note(commit.note);
  const environment = String(args["environment"] ?? "production");
  const root = args["root"];
  if (root !== undefined) {
    const id = await madeProject(client, project);
    await client.environments.update({ id, name: environment, root: root === "." ? null : String(root) });
  }
  const options = [`project=${project}`, `environment=${environment}`];
  const { code, said, ...pushed } = await push(git, connection, commit, { repo, options, show });
  const isStored = code === 0 && pushed.deployment_id === undefined && /^Everything up-to-date$/m.test(said);
  const deployment_id = isStored
    ? await deployStored(client, { project, environment, repo, branch: commit.branch }, show)
    : pushed.deployment_id;
  if (code !== 0 && deployment_id === undefined) throw new Error(refusalOf(said, commit.branch));
  if (deployment_id === undefined) throw new EndedWith(1, "the folder was pushed, but not deployed");
  const deployment = await client.deployments.waitUntilDone(deployment_id);
  if (isStored && deployment.status === "active")
    show(deployment.url ? `Live at ${deployment.url}` : "The deployment is active");
  return deployment;
}

export const deploy = command(
  "deploy",
  "The exit code is 0 once the app is live, or 1 if it failed. In a git repository, the last commit is deployed; in any other folder, the files that .gitignore does not exclude.",
  deployArgs,
  async (args) => {
    const folder = resolve(pathIn(args, "folder") ?? ".");
    if (!existsSync(folder) || !statSync(folder).isDirectory()) throw new UsageError(`${folder} is not a folder`);
    const connection = connectionOf(args);
    const deployment = await withClient(connection, (client) => deployFolder(client, connection, folder, args));
    if (args["json"]) say(JSON.stringify(deployment));
    if (deployment.status !== "active")
      throw new EndedWith(1, `the deployment ${deployment.id} ended as ${deployment.status}`);
  },
);
