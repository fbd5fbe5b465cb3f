import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/**
 * What lies over the page. It opens before the next key, however soon that comes, and gives the focus back to what had it
 * when it is gone.
 */
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
      // Of a dialog that is gone this comes late, when the next one may be open.
      onClose={({ currentTarget }) => currentTarget.isConnected && close()}
    >
      {children}
    </dialog>
  );
}
