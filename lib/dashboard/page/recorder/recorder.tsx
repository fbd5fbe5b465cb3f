import { Code } from "../code.tsx";
import { Action, Button } from "../controls.tsx";
import { recorded, recordedFile, startRecording, stopRecording } from "./recording.ts";

/** Records the next steps and turns them into a test (`dev`). */
export function Recorder() {
  const count = recorded.value;
  const file = recordedFile.value;
  const save = () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([file ?? ""], { type: "text/typescript" }));
    link.download = "recorded.test.ts";
    link.click();
    URL.revokeObjectURL(link.href);
  };
  return (
    <section aria-label="Record">
      <div class="row">
        {count === undefined ? (
          <Action run={startRecording}>Record</Action>
        ) : (
          <Action kind="main" run={stopRecording}>
            Stop
          </Action>
        )}
        <span class="hint" role="status">
          {count === undefined
            ? "Turns what you do next into a test."
            : `Recording: ${count} ${count === 1 ? "call" : "calls"}`}
        </span>
      </div>
      {file !== undefined && (
        <>
          <Code text={file} name="recorded.test.ts" />
          <div class="row">
            <Button onClick={save}>Save the test</Button>
          </div>
        </>
      )}
    </section>
  );
}
