"""Reads an OTF2 archive by the library of its authors, and prints what is in it as JSON."""

import json
import sys
from collections import Counter

import otf2

kinds, regions, bytes_of, last = Counter(), Counter(), Counter(), {}
with otf2.reader.open(sys.argv[1]) as trace:
    for location, event in trace.events:
        kind = type(event).__name__
        kinds[kind] += 1
        assert event.time >= last.get(location.group.name, 0), "times of a location grow"
        last[location.group.name] = event.time
        if kind == "Enter":
            regions[event.region.name] += 1
        if hasattr(event, "msg_length"):
            bytes_of[kind] += event.msg_length
    events = sum(location.number_of_events for location in trace.definitions.locations)
    comms = [len(c.group.members) for c in trace.definitions.comms]
    lines = {r.name: [r.source_file, r.begin_line_number] for r in trace.definitions.regions}
assert events == sum(kinds.values()), "locations have as many events as they say"
print(
    json.dumps(
        {
            "kinds": kinds,
            "regions": regions,
            "bytes": bytes_of,
            "nanoseconds": max(last.values()),
            "comms": comms,
            "lines": lines,
        }
    )
)
