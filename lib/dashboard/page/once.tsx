import { useId, useState } from "preact/hooks";
import { Button } from "./controls.tsx";

/** A secret that is shown once, ready to copy. */
export function Once({ label, secret }: { readonly label: string; readonly secret: string }) {
  const [isCopied, setCopied] = useState(false);
  const id = useId();
  return (
    <div class="once" role="status">
      <label for={id}>{label}</label>
      <p class="hint">It is shown only once. Copy it now.</p>
      <div class="row">
        <input id={id} class="mono" readOnly value={secret} onFocus={({ currentTarget }) => currentTarget.select()} />
        <Button onClick={() => navigator.clipboard.writeText(secret).then(() => setCopied(true))}>
          {isCopied ? "Copied" : "Copy"}
        </Button>
      </div>
    </div>
  );
}
