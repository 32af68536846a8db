"""The parts of a profile in pprof's format that name functions, read without pprof."""


class PprofFile:
    """`locations`: by number, the mapping and the names of its functions, innermost first. `mappings`: by number, the path, and
    whether it says that all functions, files and lines are there."""

    def __init__(self, data):
        fields = list(messages(data))
        texts = [value.decode() for number, value in fields if number == 6]
        functions = {one.get(1): texts[one.get(2, 0)] for one in (dict(messages(value)) for number, value in fields if number == 5)}
        self.mappings = {}
        self.locations = {}
        for number, value in fields:
            if number == 3:
                one = dict(messages(value))
                self.mappings[one[1]] = (texts[one.get(5, 0)], [bool(one.get(fact)) for fact in (7, 8, 9)])
            if number == 4:
                one = dict(messages(value))
                names = [functions[dict(messages(line))[1]] for field, line in messages(value) if field == 4]
                self.locations[one[1]] = (one.get(2, 0), names)
        self.names = {name for _, names in self.locations.values() for name in names}

    def has(self, function):
        """Whatever it is in."""
        return any(name.endswith(function) for name in self.names)


def number_at(data, at):
    number = shift = 0
    while True:
        number |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return number, at


def messages(data):
    at = 0
    while at < len(data):
        key, at = number_at(data, at)
        value, at = number_at(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        elif key & 7 != 0:
            raise ValueError(f"field {key >> 3} has type {key & 7}")
        yield key >> 3, value
