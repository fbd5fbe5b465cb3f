import { Code } from "../code.tsx";
import { Action, Button } from "../controls.tsx";
import { Modal } from "../modal.tsx";
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
      {recordedFile.value !== undefined && <Result file={recordedFile.value} />}
    </>
  );
}

function Result({ file }: { readonly file: string }) {
  const close = () => {
    recordedFile.value = undefined;
  };
  const save = () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([file], { type: "text/typescript" }));
    link.download = "recorded.test.ts";
    link.click();
    URL.revokeObjectURL(link.href);
  };
  return (
    <Modal label="The recorded test" class="broad" close={close}>
      <div class="stack">
        <h2>The recorded test</h2>
        <p class="hint">It starts a service of its own, repeats your steps, and checks how everything ended.</p>
        <Code text={file} name="recorded.test.ts" />
        <div class="row end">
          <Button kind="quiet" onClick={close}>
            Close
          </Button>
          <Button kind="main" onClick={save}>
            Save the test
          </Button>
        </div>
      </div>
    </Modal>
  );
}
