import { useState } from "preact/hooks";
import { Button } from "./controls.tsx";

/** Code to copy. */
export function Code({ text, name }: { readonly text: string | undefined; readonly name: string }) {
  const [copied, setCopied] = useState<string>();
  if (text === undefined) return <p class="hint">No command makes this call. Use curl or TypeScript.</p>;
  const copy = () => navigator.clipboard.writeText(text).then(() => setCopied(text));
  return (
    <div class="code">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be reachable by the keyboard */}
      <section class="code-text" tabIndex={0} aria-label={name}>
        <pre>{text}</pre>
      </section>
      <Button onClick={copy}>{copied === text ? "Copied" : "Copy"}</Button>
    </div>
  );
}
