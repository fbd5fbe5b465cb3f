import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import { sentenceOf } from "./api.ts";
import { Icon, type IconName } from "./icon.tsx";
import { refreshAll } from "./live.ts";
import { Modal } from "./modal.tsx";

interface ButtonProps {
  readonly children: string;
  /** Why the button cannot be used. With a reason it is disabled and shows the reason. */
  readonly reason?: string | undefined;
  /** While busy the button keeps the focus, so that keyboard users do not lose their place. */
  readonly isBusy?: boolean;
  /** Whether the button's menu or form is open. */
  readonly isExpanded?: boolean;
  /** `danger` opens a confirmation, `destroy` confirms it; `time` moves the clock. */
  readonly kind?: "main" | "danger" | "destroy" | "quiet" | "time";
  readonly icon?: IconName;
  /** Whether only the icon shows; the name is for screen readers and the tooltip. */
  readonly isIcon?: boolean;
  readonly type?: "button" | "submit";
  readonly onClick?: () => unknown;
}

export function Button({
  children,
  reason,
  isBusy,
  isExpanded,
  kind,
  icon,
  isIcon,
  type = "button",
  onClick,
}: ButtonProps) {
  const id = useId();
  return (
    <span class="button-place" title={reason ?? (isIcon ? children : undefined)}>
      <button
        type={type}
        class={isIcon ? `${kind} icon-only` : kind}
        disabled={reason !== undefined}
        aria-disabled={isBusy || undefined}
        aria-expanded={isExpanded}
        aria-describedby={reason === undefined ? undefined : id}
        onClick={onClick}
      >
        {icon && <Icon of={icon} />}
        {isIcon ? <span class="unseen">{children}</span> : children}
      </button>
      {reason !== undefined && (
        <span id={id} class="unseen">
          {reason}
        </span>
      )}
    </span>
  );
}

/** A button that calls the service and shows an error if the call fails. */
export function Action({
  run,
  ...button
}: Omit<ButtonProps, "onClick" | "type"> & { readonly run: () => Promise<unknown> }) {
  const { isBusy, error, start } = useWork(run);
  return (
    <span class="action">
      <Button {...button} isBusy={isBusy} onClick={start} />
      <Problem error={error} />
    </span>
  );
}

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
  return { isBusy, error, start };
}

export const Problem = ({ error }: { readonly error: unknown }) =>
  error === undefined ? null : (
    <p class="problem" role="alert">
      {sentenceOf(error)}
    </p>
  );

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly hint?: string;
  readonly type?: "text" | "email" | "password" | "search" | "url";
  readonly required?: boolean;
  readonly list?: readonly string[];
}

export function Field({ label, value, onInput, hint, type = "text", required, list }: FieldProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        // Preact's types allow a suggestion list only for a literal type.
        {...({ type } as { type: "text" })}
        value={value}
        required={required}
        autocomplete="off"
        spellcheck={false}
        list={list && `${id}-list`}
        aria-describedby={hint && `${id}-hint`}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
      {list && (
        <datalist id={`${id}-list`}>
          {list.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
      )}
      {hint && (
        <small id={`${id}-hint`} class="hint">
          {hint}
        </small>
      )}
    </div>
  );
}

interface SelectProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly onChange: (value: string) => void;
  readonly reason?: string | undefined;
  readonly isBare?: boolean;
}

export function Select({ label, value, options, onChange, reason, isBare }: SelectProps) {
  const id = useId();
  return (
    <div class={isBare ? "field bare" : "field"} title={reason}>
      <label for={id} class={isBare ? "unseen" : undefined}>
        {label}
      </label>
      <select
        id={id}
        value={value}
        disabled={reason !== undefined}
        aria-describedby={reason === undefined ? undefined : `${id}-reason`}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
      >
        {options.map(([one, text]) => (
          <option key={one} value={one} selected={one === value}>
            {text}
          </option>
        ))}
      </select>
      {reason !== undefined && (
        <span id={`${id}-reason`} class="unseen">
          {reason}
        </span>
      )}
    </div>
  );
}

/** A button that opens a form over the page. The form closes after `run`, unless it rejects. */
export function FormDialog({
  label,
  reason,
  kind,
  submit = label,
  onOpen,
  run,
  children,
}: {
  readonly label: string;
  readonly reason?: string | undefined;
  readonly kind?: ButtonProps["kind"];
  readonly submit?: string;
  /** Fills the form with the stored values. */
  readonly onOpen?: () => void;
  readonly run: () => Promise<unknown>;
  readonly children: ComponentChildren;
}) {
  const [isOpen, setOpen] = useState(false);
  const close = () => setOpen(false);
  const { isBusy, error, start } = useWork(async () => {
    await run();
    close();
  });
  return (
    <>
      <Button
        {...(kind && { kind })}
        reason={reason}
        onClick={() => {
          onOpen?.();
          setOpen(true);
        }}
      >
        {label}
      </Button>
      {isOpen && (
        <Modal label={label} close={close}>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              void start();
            }}
          >
            <h2>{label}</h2>
            {children}
            <Problem error={error} />
            <div class="row end">
              <Button kind="quiet" onClick={close}>
                Close
              </Button>
              <Button type="submit" kind="main" isBusy={isBusy}>
                {submit}
              </Button>
            </div>
          </form>
        </Modal>
      )}
    </>
  );
}

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
