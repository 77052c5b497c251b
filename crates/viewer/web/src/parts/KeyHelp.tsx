// Lists the keys of the page.
import { KEY_HELP } from "../state/keys";
import { Dialog } from "./Dialog";

export function KeyHelp({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <table class="keys">
        <tbody>
          {KEY_HELP.map(([keys, what]) => (
            <tr>
              <th scope="row">{keys}</th>
              <td>{what}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Dialog>
  );
}
