import { useState } from "preact/hooks";
import type { Environment, LogEntry } from "../../../client/generated/records.ts";
import { api } from "../api.ts";
import { Button, Field, FormDialog } from "../controls.tsx";
import { clockOf, instantOf, lengthOf } from "../format-time.ts";
import { Form } from "../forms/form.tsx";
import { useCall, useRead } from "../live.ts";
import { Block, Facts, Records } from "../parts.tsx";
import { refusal } from "../permissions.ts";
import { Empty, Loading, Section, Status, Text, Time } from "../ui.tsx";
import { readLog } from "./log-pages.ts";

interface Part {
  readonly project_id: string;
  readonly of: Environment;
}

const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
function bytesText(bytes: number): string {
  const step = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  return `${(bytes / 1024 ** step).toFixed(step === 0 ? 0 : 1)} ${units[step]}`;
}

/** What only an environment with a runtime has: protection, folder, `/data`, workers, schedules. */
export function Beside({ project_id, of }: Part) {
  const { data_bytes, restarts, workers = [], schedules = [] } = of;
  if (data_bytes === undefined) return null;
  return (
    <>
      <Protection project_id={project_id} of={of} />
      <Root project_id={project_id} of={of} />
      <Section title="Data and workers">
        <Facts
          of={{
            "/data": data_bytes === null ? "not measured yet" : bytesText(data_bytes),
            Restarts: restarts ? (
              <>
                {restarts.count} since <Time at={restarts.since} />
              </>
            ) : (
              "no release is live"
            ),
            Workers:
              workers.length === 0 ? (
                <span class="hint">None. Other lines of the Procfile define workers.</span>
              ) : (
                workers.map((name) => <Text key={name} of={name} class="tag mono" />)
              ),
          }}
        />
      </Section>
      <Section title="Schedules">
        <Schedules of={schedules} />
        <Runs project_id={project_id} of={of} hasSchedules={schedules.length > 0} />
      </Section>
    </>
  );
}

const Schedules = ({ of }: { of: NonNullable<Environment["schedules"]> }) =>
  of.length === 0 ? (
    <Empty>
      The live release has no schedule. Schedules are listed in <code>svc.json</code>, under <code>schedules</code>.
    </Empty>
  ) : (
    <Records
      of={of}
      empty=""
      columns={{
        Schedule: ({ name }) => <Text of={name} />,
        "When (UTC)": ({ cron }) => <span class="mono">{cron}</span>,
        Command: ({ command }) => <Text of={command.slice(0, 200)} class="mono" />,
        Timeout: ({ timeout_s }) => lengthOf(timeout_s * 1000).replace(/ 0 \w$/, ""),
        "Next (UTC)": ({ next_at }) => <time dateTime={next_at}>{instantOf(next_at)}</time>,
      }}
    />
  );

/** The last runs with their output. */
function Runs({ project_id, of: { name }, hasSchedules }: Part & { hasSchedules: boolean }) {
  const [shown, setShown] = useState<string>();
  const { data, error } = useCall("environments.runs", { id: project_id, name, per_page: 20 }, project_id);
  if (data?.data.length === 0 && !hasSchedules) return null;
  const run = data?.data.find(({ id }) => id === shown);
  return (
    <>
      <h3>Last runs</h3>
      <Records
        of={data?.data}
        error={error}
        empty="No schedule has run yet."
        columns={{
          State: ({ status }) => <Status of={status} />,
          Schedule: (one) => <Text of={one.name} />,
          Started: ({ started_at }) => <Time at={started_at} />,
          Took: ({ started_at, ended_at }) =>
            ended_at !== null && lengthOf(Date.parse(ended_at) - Date.parse(started_at)),
          "Exit code": ({ exit_code }) => exit_code,
          "": ({ id }) => (
            <Button kind="quiet" isExpanded={shown === id} onClick={() => setShown(shown === id ? undefined : id)}>
              Output
            </Button>
          ),
        }}
      />
      {run && <Output project_id={project_id} environment={name} of={run} />}
    </>
  );
}

interface Run {
  readonly id: string;
  readonly name: string;
  readonly started_at: string;
  readonly ended_at: string | null;
}

/** A line may reach the log shortly after its run has ended. */
const late_ms = 2_000;

const isOf =
  ({ name, started_at, ended_at }: Run) =>
  ({ message, timestamp }: LogEntry): boolean =>
    message.startsWith(`[${name}] `) &&
    timestamp >= started_at &&
    (ended_at === null || Date.parse(timestamp) <= Date.parse(ended_at) + late_ms);

/** The lines that a run wrote to the environment's log. */
function Output({ project_id, environment, of }: { project_id: string; environment: string; of: Run }) {
  const { data, error } = useRead(
    `output ${of.id} ${of.ended_at}`,
    (signal) => readLog((at) => api.environments.logs({ id: project_id, name: environment, ...at }, { signal })),
    ({ id }) => id === `${project_id} ${environment}`,
  );
  if (!data) return <Loading error={error} />;
  const lines = data.filter(isOf(of));
  if (lines.length === 0) return <Empty>The log has no output from this run.</Empty>;
  const text = lines.map(({ timestamp, message }) => `${clockOf(timestamp)}  ${message.slice(of.name.length + 3)}`);
  return <Block of={text.join("\n")} label={`Output of ${of.name}`} />;
}

/** The user name and password that visitors need to reach the app. */
function Protection({ project_id, of }: Part) {
  const reason = refusal("deployments:write");
  const put = (protect: { user: string; password: string } | null) =>
    api.environments.put({ id: project_id, name: of.name, protect });
  const { protect } = of;
  const edit = (
    <span class="row">
      {protect && (
        <FormDialog
          label="Remove protection"
          title="Remove the protection?"
          kind="danger"
          reason={reason}
          run={() => put(null)}
        >
          <p>Anyone who has the address can then reach the app.</p>
        </FormDialog>
      )}
      <Form
        label={protect ? "Change protection" : "Protect"}
        submit="Save"
        reason={reason}
        start={{ user: protect?.user ?? "", password: "" }}
        run={({ user, password }) => put({ user: user.trim(), password })}
      >
        <p class="hint">Visitors enter both to reach the app. It takes effect immediately, without a deployment.</p>
        <Field label="User" required />
        <Field label="Password" type="password" hint="Only a hash is stored." required />
      </Form>
    </span>
  );
  return (
    <Section title="Protection" actions={edit}>
      {protect ? (
        <p>
          Visitors sign in as <Text of={protect.user} />.
        </p>
      ) : (
        <p class="hint">Anyone who has the address can reach the app.</p>
      )}
    </Section>
  );
}

/** The folder of the repository to build. */
function Root({ project_id, of: { name, root } }: Part) {
  const edit = (
    <Form
      label="Edit folder"
      submit="Save"
      reason={refusal("deployments:write")}
      start={{ root: root ?? "" }}
      run={(values) => api.environments.put({ id: project_id, name, root: values.root.trim() || null })}
    >
      <Field label="Folder" name="root" hint="Such as apps/web; empty for the whole repository." />
    </Form>
  );
  return (
    <Section title="Folder" actions={edit}>
      {root ? (
        <p class="mono">
          <Text of={root} />
        </p>
      ) : (
        <p class="hint">The whole repository is built.</p>
      )}
    </Section>
  );
}
