import { version } from "../../lib/kernel/version.ts";
import type { Finding } from "./trial.ts";

/** Escapes text for XML and removes control characters that XML forbids. */
const escaped = (text: string) =>
  text
    .replaceAll(/[^\P{Cc}\t\n\r]/gu, "\ufffd")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");

export function junitOf(findings: readonly Finding[], url: string): string {
  const count = (result: Finding["result"]) => findings.filter((finding) => finding.result === result).length;
  const cases = findings.map(({ chapter, sentence, result, reason, request_id }) => {
    const id = request_id === null ? "" : ` (${request_id})`;
    const message = escaped(`${reason ?? ""}${id}`);
    const inner =
      result === "holds"
        ? ""
        : result === "differs"
          ? `<failure message="${message}"/>`
          : `<skipped message="${message}"/>`;
    return `    <testcase classname="${escaped(chapter)}" name="${escaped(sentence)}">${inner}</testcase>`;
  });
  const counts = `tests="${findings.length}" failures="${count("differs")}" skipped="${count("untried")}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="svc-server verify ${version()}">`,
    `  <testsuite name="${escaped(url)}" ${counts}>`,
    ...cases,
    "  </testsuite>",
    "</testsuites>",
    "",
  ].join("\n");
}
