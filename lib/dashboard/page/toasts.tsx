import { useRef, useState } from "preact/hooks";
import { sentenceOf } from "./api.ts";
import { Action } from "./controls.tsx";

/** What can be done about a message while it is shown. */
interface Deed {
  readonly label: string;
  readonly run: () => Promise<unknown>;
  readonly forget?: () => Promise<unknown>;
}

interface Toast {
  readonly number: number;
  readonly text: string;
  readonly isProblem: boolean;
  readonly deed: Deed | undefined;
}

const mostShown = 3;
/** An error takes longer to read, and a state that can be brought back is kept so long. */
const shown_ms = { said: 6_000, problem: 15_000, deed: 30_000 };

export type Say = (text: string, deed?: Deed) => void;

/** What was done, and what failed: the newest first, few at a time, each for some seconds. */
export function useToasts() {
  const [toasts, setToasts] = useState<readonly Toast[]>([]);
  const last = useRef(0);
  const drop = (number: number) => setToasts((before) => before.filter((one) => one.number !== number));
  const add = (text: string, isProblem: boolean, given?: Deed) => {
    const number = ++last.current;
    const end = () => {
      drop(number);
      void given?.forget?.();
    };
    const timer = setTimeout(end, shown_ms[given ? "deed" : isProblem ? "problem" : "said"]);
    const run = async () => {
      clearTimeout(timer);
      await given?.run();
      drop(number);
    };
    const deed = given && { ...given, run };
    setToasts((before) => [{ number, text, isProblem, deed }, ...before].slice(0, mostShown));
  };
  return {
    toasts,
    say: (text: string, deed?: Deed) => add(text, false, deed),
    tell: (error: unknown) => add(sentenceOf(error), true),
  };
}

export const Toasts = ({ of }: { of: readonly Toast[] }) => (
  <div class="toasts" role="status">
    {of.map(({ number, text, isProblem, deed }) => (
      <p key={number} class={isProblem ? "said problem" : "said"} role={isProblem ? "alert" : undefined}>
        {text}
        {deed && (
          <Action kind="quiet" run={deed.run}>
            {deed.label}
          </Action>
        )}
      </p>
    ))}
  </div>
);
