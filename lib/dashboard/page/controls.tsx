import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon, type IconName } from "./icon.tsx";
import { FormProblems, Labelled, type Labels, placed, requireFilled, useValue } from "./labelled.tsx";
import { Modal } from "./modal.tsx";
import { Failure, Problem, useWork } from "./work.tsx";

export interface ButtonProps {
  readonly children: string;
  /** Why the button cannot be used. With a reason it is disabled and shows the reason. */
  readonly reason?: string | undefined;
  /** While busy the button keeps the focus, so that keyboard users do not lose their place. */
  readonly isBusy?: boolean;
  /** Whether the button's menu or form is open. */
  readonly isExpanded?: boolean;
  /** For one of several choices: whether it is chosen now. */
  readonly isPressed?: boolean;
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
  isPressed,
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
        aria-pressed={isPressed}
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
  const { isBusy, error, start, forget } = useWork(run);
  return (
    <span class="action" onFocusOut={forget}>
      <Button {...button} isBusy={isBusy} onClick={start} />
      <Failure error={error} />
    </span>
  );
}

interface FieldProps extends Labels {
  /** In a `Form` the field finds its value by its name. */
  readonly value?: string;
  readonly onInput?: (value: string) => void;
  readonly type?: "text" | "email" | "password" | "search" | "url";
  readonly required?: boolean;
  readonly list?: readonly string[];
}

export const Field = ({ value, onInput, type = "text", required, list, ...labels }: FieldProps) => {
  const [shown, set] = useValue(labels, value);
  return (
    <Labelled {...labels}>
      {(field) => (
        <>
          <input
            {...field}
            // Preact's types allow a suggestion list only for a literal type.
            {...({ type } as { type: "text" })}
            value={shown}
            required={required}
            autocomplete="off"
            spellcheck={false}
            list={list && `${field.id}-list`}
            onInput={({ currentTarget }) => (onInput ?? set)(currentTarget.value)}
          />
          {list && (
            <datalist id={`${field.id}-list`}>
              {list.map((one) => (
                <option key={one} value={one} />
              ))}
            </datalist>
          )}
        </>
      )}
    </Labelled>
  );
};

interface SelectProps extends Labels {
  readonly value?: string;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly onChange?: (value: string) => void;
}

export const Select = ({ value, options, onChange, ...labels }: SelectProps) => {
  const [shown, set] = useValue(labels, value);
  return (
    <Labelled {...labels}>
      {(field) => (
        <select {...field} value={shown} onChange={({ currentTarget }) => (onChange ?? set)(currentTarget.value)}>
          {options.map(([one, text]) => (
            <option key={one} value={one} selected={one === shown}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Labelled>
  );
};

export interface FormDialogProps {
  readonly label: string;
  readonly title?: string;
  readonly reason?: string | undefined;
  readonly kind?: ButtonProps["kind"];
  readonly icon?: IconName;
  readonly submit?: string;
  /** Fills the form with the stored values. */
  readonly onOpen?: () => void;
  readonly run: () => Promise<unknown>;
  readonly children: ComponentChildren;
}

/**
 * A button that opens a form over the page. The form closes after `run`, unless it rejects. Of kind `danger` it confirms
 * what cannot be taken back: every such button is red, here and in the dialog.
 */
export function FormDialog({
  label,
  title = label,
  reason,
  kind,
  icon,
  submit = label,
  onOpen,
  run,
  children,
}: FormDialogProps) {
  const [isOpen, setOpen] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  /** Whether somebody went on typing while the form was being sent. */
  const isTyped = useRef(false);
  const { isBusy, error, start, forget } = useWork(async () => {
    isTyped.current = false;
    requireFilled(form.current);
    await run();
    setOpen(false);
  });
  const close = () => {
    forget();
    setOpen(false);
  };
  const problems = placed(error, form.current);
  useLayoutEffect(() => {
    if (!isTyped.current) problems.first?.focus();
  }, [error]);
  return (
    <>
      <span class="action" onFocusOut={forget}>
        <Button
          {...(kind && { kind })}
          {...(icon && { icon })}
          reason={reason}
          isBusy={isBusy && !isOpen}
          onClick={() => {
            if (isBusy) return;
            forget();
            onOpen?.();
            setOpen(true);
          }}
        >
          {label}
        </Button>
        {!isOpen && <Failure error={error} />}
      </span>
      {isOpen && (
        <Modal label={label} close={close}>
          <form
            ref={form}
            noValidate
            onInput={() => {
              isTyped.current = true;
            }}
            onSubmit={(event) => {
              event.preventDefault();
              void start();
            }}
          >
            <h2>{title}</h2>
            <FormProblems.Provider value={problems.fields}>{children}</FormProblems.Provider>
            <Problem error={problems.rest} />
            <div class="row end">
              <Button kind="quiet" onClick={close}>
                Close
              </Button>
              <Button type="submit" kind={kind === "danger" ? "destroy" : "main"} isBusy={isBusy}>
                {submit}
              </Button>
            </div>
          </form>
        </Modal>
      )}
    </>
  );
}
