import { inputOf, literalOf, withoutSecrets } from "../forms/call-forms.ts";
import type { RecordedCall } from "../recorded-call.ts";
import { advanceLine, type Before, beforeWriter } from "./recorded-before.ts";
import { type Actor, fileOf } from "./recorded-file.ts";
import {
  collectionOf,
  createNames,
  creationOf,
  type Form,
  featureOf,
  identifiersIn,
  isRecord,
  isRunning,
  type Names,
} from "./recorded-names.ts";

/** A write, with its result and the service's time. */
export interface Step {
  readonly call: RecordedCall;
  readonly actor: Actor;
  readonly at: number;
  readonly answer: unknown;
  readonly problem: string | undefined;
  /** For the acceptance of an invitation: the address of its mail. */
  readonly mailTo?: string | undefined;
}

export interface Recording extends Before {
  readonly endedAt: number;
  readonly steps: readonly Step[];
  /** The final state of each record in the steps, or the error of reading it. */
  readonly ends: readonly { readonly id: string; readonly status?: unknown; readonly problem?: string | undefined }[];
  /** Whether the test needs more than the default first owner: another person acted, or the plan has to be larger. */
  readonly needsSeed: boolean;
  /** For a recording of a real service: nothing leaves the test, and it ends when all work has ended. */
  readonly isOfService?: boolean;
}

const madeBy = ({ call, answer }: Step): readonly string[] =>
  call.method === "POST" && isRecord(answer) && typeof answer["id"] === "string" ? [answer["id"]] : [];

/** The source of a test that repeats the recording on a service of its own. */
export function recordedTest(recording: Recording, form: Form): string {
  const { startedAt, endedAt, steps, known, ends, needsSeed, isOfService = false } = recording;
  const names = createNames();
  const actors = [...new Map(steps.map(({ actor }) => [actor.user_id, actor])).values()];
  const clients = new Map(
    actors.map(({ user_id, role }, i): [string, string] => [user_id, needsSeed ? `${role}${i + 1}` : "client"]),
  );
  const [first = "client"] = clients.values();
  const before = beforeWriter(recording, names, first);
  const made = new Set(steps.flatMap(madeBy).filter((id) => !known.has(id)));
  const isMade = (id: string) => creationOf(collectionOf(id)) || collectionOf(id) === "invitations";
  const lines = before.all([...known.keys()].filter((id) => !made.has(id) && isMade(id)));
  if (lines.length > 0) {
    lines.unshift("// What was there before.");
    lines.push("", "// What was done.");
  }
  const faults: string[] = [];
  let at = startedAt;
  const advanceTo = (time: number) => {
    if (time > at) lines.push(advanceLine(time - at));
    at = Math.max(at, time);
  };
  for (const step of steps) {
    const { call, actor, problem } = step;
    advanceTo(isClock(call) ? at : step.at);
    if (isClock(call)) {
      // A move to what was due at once moves no time.
      const now = (step.answer as { now?: unknown } | undefined)?.now;
      if (typeof now === "string" && Date.parse(now) <= at) lines.push("await service.settle();");
      continue;
    }
    const { id: endpoint = "", dlv } = call.params;
    if (dlv !== undefined) before.delivery(dlv, call.id?.split(".")[0] ?? "", endpoint);
    for (const id of identifiersIn(inputOf(call))) before.declare(id);
    lines.push(...before.take());
    const text =
      call.id === undefined
        ? controlText(step, names)
        : `${clients.get(actor.user_id)}.${call.id}(${names.argument(inputOf(call))})`;
    const id = madeBy(step).find((one) => !names.has(one));
    const place = call.path.startsWith("/_svc/faults") ? faults : lines;
    if (problem !== undefined) place.push(`await assert.rejects(${text}, { code: ${literalOf(problem)} });`);
    else place.push(id === undefined ? `await ${text};` : `const ${names.nameFor(id, wordOf(call))} = await ${text};`);
  }
  advanceTo(endedAt);
  // The recorded service may have finished sooner, under other limits.
  if (isOfService && !ends.some(({ id, status }) => isRunning(id, { status })))
    lines.push("await service.clock.runUntilIdle();");
  const reads = ends.filter(({ id }) => names.has(id));
  if (reads.length > 0) lines.push("", "// What came of it.");
  for (const { id, status, problem } of reads) {
    const get = `${first}.${featureOf(id)}.get({ id: ${names.get(id)}.id })`;
    lines.push(
      problem === undefined
        ? `assert.equal((await ${get}).status, ${literalOf(status)});`
        : `await assert.rejects(${get}, { code: ${literalOf(problem)} });`,
    );
  }
  if (faults.length > 0) lines.push("", "// They come last, since no call of the dashboard meets them.", ...faults);
  const people = [...known.values()].map(({ record }) => record);
  const title = form.title?.trim() || (isOfService ? "recorded from a service" : "recorded on the dashboard");
  const { secrets } = names;
  return fileOf({ lines, startedAt, needsSeed, actors, clients, people, secrets, title, isStrict: isOfService, form });
}

const isClock = ({ path }: RecordedCall) => /^\/_svc\/(clock\/\w+|settle)$/.test(path);
const wordOf = ({ path }: RecordedCall) => /^\/_svc\/(scenario|fault)s$/.exec(path)?.[1];

/** The source of a call to the control interface, made in process. */
function controlText({ call: { method, path, body }, mailTo }: Step, names: Names): string {
  const [, kind] = /^\/_svc\/(scenarios|faults)$/.exec(path) ?? [];
  if (method === "POST" && kind) return `service.${kind}.add(${literalOf(body, names.written)})`;
  const json = (of: string) => `, headers: { "content-type": "application/json" }, body: JSON.stringify(${of})`;
  if (path === "/_svc/invitations/accept" && mailTo !== undefined && isRecord(body)) {
    const token = `(await (await service.fetch("/_svc/mail")).json()).data.findLast(({ to }) => to === ${literalOf(mailTo)}).token`;
    return `(await service.fetch(${literalOf(path)}, { method: "POST"${json(`{ token: ${token}, name: ${literalOf(body["name"])} }`)} })).json()`;
  }
  const given = body === undefined ? "" : json(literalOf(withoutSecrets(body), names.written));
  return `service.fetch(${names.path(path)}, { method: ${literalOf(method)}${given} })`;
}
