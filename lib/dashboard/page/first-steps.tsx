import { useState } from "preact/hooks";
import { api, session } from "./api.ts";
import { Action } from "./controls.tsx";
import { Copy } from "./parts.tsx";
import { scopeRefusal } from "./permissions.ts";
import { origin } from "./router.ts";
import { Section, Status } from "./ui.tsx";

interface Step {
  readonly text: string;
  readonly isDone: boolean;
  readonly command: string;
  readonly hint?: string;
}

/** What is there already. A step is ticked once it is done, no matter by which tool. */
interface Begun {
  readonly project_id: string | undefined;
  readonly hasDeployment: boolean;
  readonly hasWebhook: boolean;
}

function stepsOf({ project_id, hasDeployment, hasWebhook }: Begun, key: string): readonly Step[] {
  const post = (path: string, body: object) =>
    `curl -H "Authorization: Bearer ${key}" -H 'Content-Type: application/json' -d '${JSON.stringify(body)}' ${origin}/v1/${path}`;
  const source = { type: "git", repo: "acme/web" };
  const deployment = { project_id: project_id ?? "proj_…", environment: "production", source };
  return [
    {
      text: "Create a project",
      isDone: project_id !== undefined,
      command: post("projects", { name: "web", region: "eu-west-1" }),
    },
    { text: "Deploy it", isDone: hasDeployment, command: post("deployments", deployment) },
    {
      text: "Get notified of events",
      isDone: hasWebhook,
      // Only dev has an inbox.
      ...(session.value?.mode === "dev"
        ? { command: post("webhooks", { url: "https://hook.inbox.test/", events: ["*"] }) }
        : {
            command: post("webhooks", { url: "https://your-server.example/hooks", events: ["*"] }),
            hint: "Put the address of your own program into it.",
          }),
    },
  ];
}

/** The first three calls. With a key in them, they can be copied and run as they are. */
export function FirstSteps({ begun }: { begun: Begun }) {
  const [key, setKey] = useState<string>();
  const steps = stepsOf(begun, key ?? "$SVC_API_KEY");
  const needed =
    begun.project_id === undefined ? "Create the project first: this command needs its identifier." : undefined;
  if (steps.every(({ isDone }) => isDone)) return null;
  const add = (
    <Action
      reason={key === undefined ? scopeRefusal("users:write") : "The commands have a key."}
      run={async () => setKey((await api.keys.create({ name: "first steps" })).key)}
    >
      Put a key into the commands
    </Action>
  );
  return (
    <Section title="First steps" actions={add}>
      <ol class="steps">
        {steps.map(({ text, isDone, command, hint }) => (
          <li key={text} class={isDone ? "done" : undefined}>
            <div class="section-head">
              <span class="row">
                <strong>{text}</strong> {isDone && <Status of="completed" />}
              </span>
              <Copy text={command} reason={command.includes("…") ? needed : undefined}>
                Copy
              </Copy>
            </div>
            {hint && <p class="hint">{hint}</p>}
            <pre>{command}</pre>
          </li>
        ))}
      </ol>
    </Section>
  );
}
