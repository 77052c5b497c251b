"""Regions inside each other; one is left by an exception."""

from headwater_regions import iteration, region

for step in range(2):
    try:
        with region("step"):
            with region("solve"):
                for i in range(3):
                    sum(range(1000))
                    iteration()
                raise ValueError("left")
    except ValueError as e:
        print(e)
