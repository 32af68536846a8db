"""What the server holds: keys of mixed sizes, most of which go, so that a survivor lies on most pages."""

import random
from collections.abc import Iterator

SMALLEST, LARGEST = 16, 4096
HASH_EACH = 20  # one key in so many is a hash, in a block that grows as its fields come
FIELDS = 12
SURVIVING = 0.3


class Store:
    """Its keys have numbers. Those below `survivors` stay: they are set in an order of chance among the others."""

    def __init__(self, keys: int, seed: int) -> None:
        self.keys = keys
        self.survivors = int(keys * SURVIVING)
        self.random = random.Random(seed)

    def fill(self) -> Iterator[tuple[str, ...]]:
        for number in self.random.sample(range(self.keys), self.keys):
            yield self.set_command(number)
            if number % HASH_EACH == 0:
                yield from (("HSET", f"hash:{number}", f"field{n}", "h" * self.random.randint(1, 60)) for n in range(FIELDS))

    def thin_out(self) -> Iterator[tuple[str, ...]]:
        for number in self.random.sample(range(self.survivors, self.keys), self.keys - self.survivors):
            yield "DEL", name_of(number), f"hash:{number}"

    def overwrite(self, count: int) -> Iterator[tuple[str, ...]]:
        """Values of other sizes for as many of the survivors."""
        for _ in range(count):
            yield self.set_command(self.random.randrange(self.survivors))

    def set_command(self, number: int) -> tuple[str, str, str]:
        # Sizes uniform in their logarithm: as many values of 16 to 32 bytes as of 2 to 4 KiB.
        size = int(SMALLEST * (LARGEST / SMALLEST) ** self.random.random())
        return "SET", name_of(number), chr(ord("a") + number % 26) * size

    def is_whole(self, number: int, value: bytes) -> bool:
        return SMALLEST <= len(value) <= LARGEST and value == bytes([ord("a") + number % 26]) * len(value)


def name_of(number: int) -> str:
    return f"key:{number:012d}"  # as redis-benchmark writes key:__rand_int__
