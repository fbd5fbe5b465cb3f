import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import { sentenceOf } from "./api.ts";
import { refreshAll } from "./live.ts";

/** Runs a write, one at a time. Afterwards the page reads all its data again. */
export function useWork(run: () => Promise<unknown>) {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const start = async () => {
    if (isBusy) return;
    setBusy(true);
    setError(undefined);
    try {
      await run();
    } catch (problem) {
      setError(problem);
    }
    setBusy(false);
    refreshAll();
  };
  const forget = () => {
    if (!isBusy) setError(undefined);
  };
  return { isBusy, error, start, forget };
}

export const Problem = ({ error }: { error: unknown }) =>
  error === undefined ? null : (
    <p class="problem" role="alert">
      {sentenceOf(error)}
    </p>
  );

/** Shows the errors of the buttons below it, where they have no room of their own. */
export const Tell = createContext<((error: unknown) => void) | undefined>(undefined);

/** The error of a button, below it. */
export function Failure({ error }: { error: unknown }) {
  const tell = useContext(Tell);
  useEffect(() => {
    if (error !== undefined) tell?.(error);
  }, [error]);
  return tell ? null : <Problem error={error} />;
}
