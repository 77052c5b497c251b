// Says why something is not there. Nothing that is missing looks like zero.
import type { ComponentChildren } from "preact";

export function Missing({ what, why }: { what: string; why: ComponentChildren }) {
  return (
    <p class="missing">
      <strong>– {what}: </strong>
      {why}
    </p>
  );
}
