import { useState } from "preact/hooks";
import { Action, Button, Field, Select } from "../controls.tsx";
import { Modal } from "../modal.tsx";
import { Code, save } from "../parts.tsx";
import { type Form, type Runner, runners } from "./recorded-names.ts";
import { recorded, recordedFile, startRecording, stopRecording } from "./recording.ts";

/** Records the next steps and turns them into a test (`dev`). */
export function Recorder() {
  const count = recorded.value;
  return (
    <>
      {count === undefined ? (
        <Action kind="quiet" icon="record" run={startRecording}>
          Record
        </Action>
      ) : (
        <span class="row recording">
          <span class="hint" role="status">
            <i class="dot" aria-hidden="true" /> Recording: {count} {count === 1 ? "call" : "calls"}
          </span>
          <Action kind="danger" icon="stop" run={stopRecording}>
            Stop
          </Action>
        </span>
      )}
      {recordedFile.value !== undefined && <Result fileFor={recordedFile.value} />}
    </>
  );
}

function Result({ fileFor }: { fileFor: (form: Form) => string }) {
  const [runner, setRunner] = useState<Runner>("node:test");
  const [hasTimers, setTimers] = useState(false);
  const [title, setTitle] = useState("");
  const file = fileFor({ runner, hasTimers, title });
  const close = () => {
    recordedFile.value = undefined;
  };
  return (
    <Modal label="The recorded test" class="broad" close={close}>
      <div class="stack">
        <h2>The recorded test</h2>
        <p class="hint">It starts a service of its own, repeats your steps, and checks how everything ended.</p>
        <Field label="Name of the test" value={title} onInput={setTitle} placeholder="recorded on the dashboard" />
        <Select
          label="Test runner"
          value={runner}
          options={Object.keys(runners).map((name) => [name, name])}
          onChange={(name) => setRunner(name as Runner)}
        />
        <Select
          label="setTimeout of your code"
          value={hasTimers ? "coupled" : "real"}
          options={[
            ["real", "takes real time"],
            ["coupled", "moves with the clock of the service"],
          ]}
          onChange={(value) => setTimers(value === "coupled")}
        />
        <Code text={file} name="recorded.test.ts" />
        <div class="row end">
          <Button kind="quiet" onClick={close}>
            Close
          </Button>
          <Button kind="main" onClick={() => save(file, "recorded.test.ts")}>
            Save the test
          </Button>
        </div>
      </div>
    </Modal>
  );
}
