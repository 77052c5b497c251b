// A place of the program: its file and lines first, then what is there.
import type { Place } from "../model";
import { location, placeName, whole } from "../text/place";

/** Text of the recorded program may hold anything; it is kept apart from the text around it (`bdi`). */
export function PlaceName({ place, brief }: { place: Place; brief?: boolean }) {
  const where = location(place);
  const name = placeName(place);
  return (
    <span class="place" title={whole(place)}>
      <bdi class="where">{where}</bdi>
      {!brief && name !== where && (
        <>
          {" "}
          <bdi class="what">{name}</bdi>
        </>
      )}
    </span>
  );
}
