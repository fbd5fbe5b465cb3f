import { existsSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { EndedWith, pathIn, UsageError } from "./arguments.ts";
import { baseOf, connectionArgs, connectionOf } from "./connection.ts";
import { command, flag, option } from "./define-command.ts";
import { sayResult, table } from "./output.ts";
import { withProgress } from "./progress.ts";
import { stopSignals } from "./signals.ts";
import { pause } from "./timers.ts";
import { junitOf } from "./verify/junit.ts";
import { requireServer } from "./verify/probe.ts";
import { type Finding, needsWrite, verify as tryAll } from "./verify/trial.ts";

const words = { holds: "holds", differs: "DIFFERS", untried: "not tried" } as const;

const count = (findings: readonly Finding[], result: Finding["result"]) =>
  findings.filter((finding) => finding.result === result).length;

export const verify = command(
  "verify",
  "It only reads, and without an API key it checks only what needs none. With --write it also creates a project, deployments, endpoints and a generation, and removes what can be removed. The exit code is 0 if nothing differs.",
  {
    ...connectionArgs,
    key: option("The API key. Other users of the machine can read arguments; SVC_API_KEY hides it from them.", "KEY"),
    write: flag("Also check the sentences about changes."),
    junit: option("Write a JUnit file for CI.", "FILE"),
  },
  async (args) => {
    const connection = connectionOf(args);
    const key = args["key"] === undefined ? connection.apiKey : String(args["key"]);
    if (args["key"] !== undefined && !/^sk_live_\w+$/.test(String(key)))
      throw new UsageError("option --key must be an API key, which begins with sk_live_");
    const junit = pathIn(args, "junit");
    if (junit !== undefined && !existsSync(dirname(junit)))
      throw new UsageError(
        `option --junit must name a file in a folder that exists; ${dirname(resolve(junit))} does not`,
      );
    if (key === undefined && args["write"])
      throw new UsageError("option --write needs an API key of the server: set SVC_API_KEY, or give it with --key");
    const base = baseOf(connection.url).replace(/\/$/, "");
    const stopping = new AbortController();
    const stop = () => {
      process.stderr.write(
        "\nsvc-server: stopping, after removing everything that the trial made. A second signal leaves it in place\n",
      );
      stopping.abort(new EndedWith(1, "the trial was stopped"));
    };
    for (const signal of stopSignals) process.once(signal, stop);
    await requireServer(base, key);
    const findings = await withProgress((report) =>
      tryAll({ base, key, pause, write: Boolean(args["write"]), stop: stopping.signal, report }),
    );
    if (junit !== undefined) writeFileSync(junit, junitOf(findings, connection.url));
    sayResult(args, findings, asText(findings));
    const differs = count(findings, "differs");
    if (differs > 0) throw new EndedWith(1, `${differs} of ${findings.length} sentences differ`);
    if (count(findings, "holds") === 0)
      throw new EndedWith(1, `no sentence could be tried: ${findings.find(({ reason }) => reason)?.reason}`);
  },
);

/** Formats the findings as a table without those that need `--write`, and adds the totals. */
function asText(findings: readonly Finding[]): string {
  const listed = findings.filter(({ reason }) => reason !== needsWrite);
  const rows = listed.map(({ chapter, sentence, result, reason, request_id }) => [
    words[result],
    request_id ?? "-",
    `${chapter}: ${sentence}`,
    reason ?? "",
  ]);
  const hidden = findings.length - listed.length;
  const counts = [
    `${count(findings, "holds")} hold`,
    `${count(findings, "differs")} differ`,
    `${count(findings, "untried") - hidden} could not be tried`,
    ...(hidden > 0 ? [`${hidden} need --write`] : []),
  ];
  return `${table([["RESULT", "REQUEST", "SENTENCE", "REASON"], ...rows])}\n\n${counts.join(", ")}`;
}
