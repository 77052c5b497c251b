#!/usr/bin/python3
"""Keys are counted once each; whether one was seen is looked up in a list."""

import sys

DOSE = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0


class Keys:
    def __init__(self, limit):
        self.seen = []
        self.limit = limit

    def add(self, key):
        for known in self.seen[: self.limit]:
            if known == key:
                return False
        self.seen.append(key)
        return True


def numbers(n):
    x = 1
    for _ in range(n):
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF
        yield x % 1000


def main():
    keys = Keys(int(1000 * DOSE))
    added = 0
    for key in numbers(60000):
        added += keys.add(key)
    print(added)


main()
