#!/usr/bin/python3
"""Threads that compute in Python, of which one at a time has the global lock. With a dose of 0 the work is done by an
extension that gives the lock up."""

import hashlib
import sys
import threading

DOSE = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
THREADS = int(sys.argv[2]) if len(sys.argv) > 2 else 2
WORK = 6_000_000


def turn(n):
    total = 0
    for i in range(n):
        total += i
    return total


def digest(n):
    return hashlib.sha256(bytes(n)).hexdigest()


def main():
    share = WORK // THREADS
    work = turn if DOSE > 0 else digest
    size = share if DOSE > 0 else 50 * share
    made = [threading.Thread(target=work, args=(size,)) for _ in range(THREADS)]
    for thread in made:
        thread.start()
    for thread in made:
        thread.join()


main()
