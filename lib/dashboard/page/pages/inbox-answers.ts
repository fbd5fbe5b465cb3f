import type { InboxAnswer } from "../control.ts";
import { listOf } from "../forms/form.tsx";

/** What people may type as answers. */
export const forms = "Statuses, timeout or drop, in order: 500x3, timeout, 200. Or a JSON list.";

export const wordOf = (answer: InboxAnswer | null): string => {
  if (answer === null) return "no answer";
  if (typeof answer === "number") return String(answer);
  return "timeout" in answer ? "timeout" : "drop" in answer ? "drop" : JSON.stringify(answer);
};

const mostShown = 8;
/** Equal answers in a row are one entry, as people may type them: 500x3. */
export function textOf(answers: readonly InboxAnswer[]): string {
  const runs: { word: string; times: number }[] = [];
  for (const word of answers.map(wordOf)) {
    const last = runs.at(-1);
    if (last?.word === word) last.times += 1;
    else runs.push({ word, times: 1 });
  }
  const shown = runs.slice(0, mostShown);
  const rest = answers.length - shown.reduce((sum, { times }) => sum + times, 0);
  const texts = shown.map(({ word, times }) => (times === 1 ? word : `${word}x${times}`));
  return texts.join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}

/** An inbox takes at most so many answers. */
const mostAnswers = 1000;
/** Answers that people often want, as they may type them. */
export const presets: readonly (readonly [string, string])[] = [
  ["", "other answers"],
  [`500x${mostAnswers}`, "500, always"],
  ["500x2", "500 twice"],
  ["timeout", "a time-out"],
  ["drop", "a dropped connection"],
];

/** Parses what a person typed to the format of the control interface, which validates it. */
export function answersOf(text: string): unknown {
  const trimmed = text.trim();
  if (trimmed.startsWith("[")) return JSON.parse(trimmed);
  return listOf(trimmed).flatMap((typed) => {
    const [, word = typed, times = "1"] = /^([^x]+)x(\d{1,4})$/.exec(typed) ?? [];
    return Array(Number(times)).fill(/^(timeout|drop)$/.test(word) ? { [word]: true } : Number(word));
  });
}

export const isGood = (answer: InboxAnswer | null) => {
  const status = typeof answer === "object" && answer && "status" in answer ? answer.status : answer;
  return typeof status === "number" && status < 300;
};
