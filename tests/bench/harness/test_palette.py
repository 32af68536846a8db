"""The palette: no two allocators look alike, on light and dark pages, for the colour-blind as well."""

import tomllib
from itertools import combinations
from pathlib import Path

import pytest
from snug_bench.palette import PAGE_DARK, PAGE_LIGHT, SPARE, STYLES, styles_of

ALL = [*STYLES.values(), *SPARE]
CLEARLY = 10  # hundredths of OKLab; 2 can just be told apart side by side
ALLOCATORS = Path(__file__).parents[3] / "bench" / "harness" / "allocators"
BLINDNESS = {  # Machado, Oliveira, Fernandes 2009, severity 1: what linear RGB becomes
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


def product(matrix, vector):
    return [sum(factor * value for factor, value in zip(line, vector, strict=True)) for line in matrix]


def linear(colour):
    values = [int(colour[at:at + 2], 16) / 255 for at in (1, 3, 5)]
    return [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in values]


def luminance(colour):
    return product([(0.2126, 0.7152, 0.0722)], linear(colour))[0]


def oklab(rgb):
    cones = product(((0.4122214708, 0.5363325363, 0.0514459929), (0.2119034982, 0.6806995451, 0.1073969566),
                     (0.0883024619, 0.2817188376, 0.6299787005)), rgb)
    return product(((0.2104542553, 0.7936177850, -0.0040720468), (1.9779984951, -2.4285922050, 0.4505937099),
                    (0.0259040371, 0.7827717662, -0.8086757660)), [max(each, 0) ** (1 / 3) for each in cones])


def distance(one, other, seen=((1, 0, 0), (0, 1, 0), (0, 0, 1))):
    pair = [oklab([min(max(value, 0), 1) for value in product(seen, linear(colour))]) for colour in (one, other)]
    return 100 * sum((a - b) ** 2 for a, b in zip(*pair, strict=True)) ** 0.5


def test_the_distance_is_what_it_is_meant_to_be():
    assert distance("#000000", "#ffffff") == pytest.approx(100, abs=0.1)
    assert distance("#808080", "#828282") < 1
    assert distance("#ff0000", "#00ff00") > 50 > 25 > distance("#c04000", "#608000", BLINDNESS["deuteranopia"])


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_any_two_colours_differ_clearly(theme):
    near = [(one, other) for one, other in combinations([getattr(style, theme) for style in ALL], 2)
            if distance(one, other) < CLEARLY]
    assert near == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("blindness", BLINDNESS)
def test_any_two_of_one_marker_differ_for_the_colour_blind(theme, blindness):
    near = [(one, other) for one, other in combinations(ALL, 2) if one.marker == other.marker
            and distance(getattr(one, theme), getattr(other, theme), BLINDNESS[blindness]) < CLEARLY]
    assert near == []


@pytest.mark.parametrize(("theme", "page"), [("light", PAGE_LIGHT), ("dark", PAGE_DARK)])
def test_each_stands_out_from_its_page(theme, page):
    """WCAG asks for a contrast of 3 of what is no text."""
    for style in ALL:
        low, high = sorted((luminance(getattr(style, theme)), luminance(page)))
        assert (high + 0.05) / (low + 0.05) >= 3, style


def test_snug_alone_is_a_circle():
    assert [style for style in ALL if style.marker == STYLES["snug"].marker] == [STYLES["snug"]]


def test_every_allocator_of_the_catalogue_has_a_style():
    for file in ALLOCATORS.glob("*.toml"):
        known = tomllib.loads(file.read_text())
        for name in [known["name"], *(f"{known['name']}-{variant}" for variant in known.get("variants", {}))]:
            assert name in STYLES


def test_names_from_a_command_line_look_like_no_other():
    names = ["snug", "mine", "glibc", "yours", *(f"lib{number}" for number in range(17))]
    given = styles_of(names)
    assert list(given) == names and given["snug"] == STYLES["snug"] and given["glibc"] == STYLES["glibc"]
    assert len(set(given.values())) == len(names) == len(ALL)
    assert set(styles_of([*STYLES, *"abcde"])) == {*STYLES, *"abcde"}  # more than there are styles
