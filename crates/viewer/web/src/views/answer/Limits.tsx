// What a reader must know before the figures, and what could not be measured.
import type { Diagnosis } from "../../model";
import { Panel } from "../../parts/Panel";
import { scalingName } from "../../text/words";

export function Limits({ diagnosis }: { diagnosis: Diagnosis }) {
  return (
    <Panel title="What this rests on">
      <dl class="facts">
        <dt>Program</dt>
        <dd>
          <bdi class="code">{diagnosis.program}</bdi>
        </dd>
        <dt>MPI library</dt>
        <dd>
          <bdi>{diagnosis.mpi_library || "none"}</bdi>
        </dd>
        <dt>Scaling</dt>
        <dd>
          {scalingName(diagnosis.scaling)}
          {!diagnosis.scaling_certain && " (not certain)"}; {diagnosis.scaling_reason}
        </dd>
        <dt>Recordings</dt>
        <dd>
          {diagnosis.scales.map((scale, i) => (
            <>
              {i > 0 && ", "}
              <bdi class="code">{scale.run}</bdi>
            </>
          ))}
        </dd>
      </dl>
      <Sentences title="Before you read the figures" list={diagnosis.notes} />
      <Sentences title="What could not be measured" list={diagnosis.missing} none="Nothing is missing." />
    </Panel>
  );
}

/** A sentence in which what stands between backquotes is code. */
function WithCode({ text }: { text: string }) {
  return <>{text.split("`").map((part, i, all) => (i % 2 === 1 && i < all.length - 1 ? <code>{part}</code> : part))}</>;
}

function Sentences({ title, list, none }: { title: string; list: readonly string[]; none?: string }) {
  if (list.length === 0 && !none) return null;
  return (
    <>
      <h3>{title}</h3>
      {list.length === 0 ? (
        <p>{none}</p>
      ) : (
        <ul class="sentences">
          {list.map((sentence) => (
            <li>
              <WithCode text={sentence} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
