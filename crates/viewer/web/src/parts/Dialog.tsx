// A dialog over the page; Escape closes it.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

interface Props {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}

export function Dialog({ title, onClose, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={onClose} onClick={(event) => event.target === dialog.current && onClose()}>
      <header class="dialog-head">
        <h2 id={id}>{title}</h2>
        <button type="button" class="small" onClick={onClose}>
          Close
        </button>
      </header>
      {children}
    </dialog>
  );
}
