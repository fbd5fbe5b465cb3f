import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** A dialog over the page. No key press reaches the page below, and the focus returns when it closes. */
export function Modal({
  label,
  close,
  children,
  ...more
}: {
  readonly label: string;
  readonly close: () => void;
  readonly class?: string;
  readonly children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
  }, []);
  return (
    <dialog
      {...more}
      ref={dialog}
      aria-label={label}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      // The event of a closed dialog may arrive late, when the next dialog is already open.
      onClose={({ currentTarget }) => currentTarget.isConnected && close()}
    >
      {children}
    </dialog>
  );
}
