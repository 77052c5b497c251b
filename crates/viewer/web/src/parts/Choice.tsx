// Choices that are part of the address: a list to pick from, or buttons beside each other.
import { changed, go } from "../state/route";
import type { Route } from "../state/route";

interface Props {
  label: string;
  route: Route;
  /** Name in the address. */
  name: string;
  value: string;
  options: [value: string, words: string][];
  /** This value is not written into the address. */
  otherwise: string;
}

export function Pick({ label, route, name, value, options, otherwise }: Props) {
  return (
    <label>
      {label}
      <select value={value} onChange={(event) => go(changed(route, { [name]: event.currentTarget.value === otherwise ? null : event.currentTarget.value }))}>
        {options.map(([option, words]) => (
          <option value={option} selected={option === value}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}

export function Group({ label, route, name, value, options, otherwise }: Props) {
  return (
    <fieldset>
      <legend>{label}</legend>
      <div class="group">
        {options.map(([option, words]) => (
          <a class="choice" href={changed(route, { [name]: option === otherwise ? null : option })} aria-current={option === value ? "true" : undefined}>
            {words}
          </a>
        ))}
      </div>
    </fieldset>
  );
}
