import { useRef, useState } from "preact/hooks";
import { sentenceOf } from "./api.ts";

interface Toast {
  readonly number: number;
  readonly text: string;
  readonly isProblem: boolean;
}

const mostShown = 3;
/** An error takes longer to read. */
const shown_ms = { said: 6_000, problem: 15_000 };

/** What was done, and what failed: the newest first, few at a time, each for some seconds. */
export function useToasts() {
  const [toasts, setToasts] = useState<readonly Toast[]>([]);
  const last = useRef(0);
  const add = (text: string, isProblem: boolean) => {
    const number = ++last.current;
    setToasts((before) => [{ number, text, isProblem }, ...before].slice(0, mostShown));
    const end = () => setToasts((before) => before.filter((one) => one.number !== number));
    setTimeout(end, isProblem ? shown_ms.problem : shown_ms.said);
  };
  return {
    toasts,
    say: (text: string) => add(text, false),
    tell: (error: unknown) => add(sentenceOf(error), true),
  };
}

export const Toasts = ({ of }: { of: readonly Toast[] }) => (
  <div class="toasts" role="status">
    {of.map(({ number, text, isProblem }) => (
      <p key={number} class={isProblem ? "said problem" : "said"} role={isProblem ? "alert" : undefined}>
        {text}
      </p>
    ))}
  </div>
);
