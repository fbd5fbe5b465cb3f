import { inspect } from "node:util";

const place = ({ file = "" }) =>
  file
    .replaceAll("\\", "/")
    .replace(/^.*\/(?=test\/)/, "")
    .replace(/\.js$/, ".ts");

const late_minutes = 15;

/** Names each test that runs for long, because one that never ends would not be reported. */
function watchLateTests() {
  const running = new Map();
  const keyOf = ({ file, line, column, name }) => `${file}:${line}:${column} ${name}`;
  const tell = () => {
    for (const [data, since] of running.values())
      if (Date.now() - since >= late_minutes * 60_000)
        process.stderr.write(`${place(data)}: ${data.name} still runs after ${late_minutes} minutes\n`);
  };
  setInterval(tell, late_minutes * 60_000).unref();
  return ({ type, data }) => {
    // The runner calls a process by its file. It lasts as long as its tests.
    if (type === "test:dequeue" && data.name !== data.file) running.set(keyOf(data), [data, Date.now()]);
    if (type === "test:pass" || type === "test:fail") running.delete(keyOf(data));
  };
}

/**
 * A short report: failures with their errors, skipped tests, and the counts. What programs and libraries print beside
 * the tests is shown at the end, if a test failed.
 */
export default async function* reporter(events) {
  const names = [];
  const printed = new Map();
  let hasFailed = false;
  const watch = watchLateTests();
  for await (const { type, data } of events) {
    watch({ type, data });
    if (type === "test:stderr" || type === "test:stdout")
      printed.set(data.file, (printed.get(data.file) ?? "") + data.message);
    if (type === "test:diagnostic" && /^(Error|Warning): /.test(data.message))
      yield `\n✖ ${place(data)}: after the end of a test\n  ${data.message}\n\n`;
    else if (type === "test:diagnostic" && data.nesting === 0) yield `ℹ ${data.message}\n`;
    if (type === "test:start") names.splice(data.nesting, names.length, data.name);
    if (type === "test:pass" && data.skip !== undefined)
      yield `﹣ ${place(data)}: ${names.join(" › ")} # ${data.skip}\n`;
    if (type === "test:fail") hasFailed = true;
    // If a subtest fails, its parent fails too. Only the subtest reports the reason.
    if (type !== "test:fail" || data.details.error.failureType === "subtestsFailed") continue;
    const { error, duration_ms } = data.details;
    const lines = inspect(error.cause ?? error, { depth: 6 }).split("\n");
    // A process that dies names no test. How it ended, and what it printed last, say why.
    if (error.exitCode !== undefined)
      lines.push(
        `exit code ${error.exitCode}, signal ${error.signal}`,
        ...(printed.get(data.file) ?? "").split("\n").slice(-30),
      );
    const text = lines.filter((line) => line !== "").join("\n  ");
    yield `\n✖ ${place(data)}: ${names.join(" › ")} (${Math.round(duration_ms)} ms)\n  ${text}\n\n`;
  }
  if (hasFailed) for (const [file, text] of printed) yield `Printed by ${place({ file })}:\n${text}\n`;
}
