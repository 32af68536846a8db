"""Pictures: an SVG made elsewhere, as it may stand inside a page among others.

Only shapes and words of it remain: no script, no style sheet that would reach the page's own elements, and no reference
but to its own parts, which get names of its own. Black, white, greys and the palette's colours follow the page's theme.
"""

import re
import xml.etree.ElementTree as ElementTree

from snug_bench.palette import SPARE, STYLES

SPACE = "{http://www.w3.org/2000/svg}"
LINK = "{http://www.w3.org/1999/xlink}href"
SHAPES = {"svg", "g", "defs", "clipPath", "use", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon",
          "text", "tspan"}
COLOUR = re.compile(r"#[0-9a-fA-F]{3,8}\b|\b(?:white|black)\b")
THEME = {"#000000": "currentColor", "black": "currentColor", "#222": "currentColor", "#444": "var(--faint)",
         "#444444": "var(--faint)", "#888": "var(--faint)", "#ddd": "var(--line)", "#dddddd": "var(--line)",
         "#cccccc": "var(--line)", "#d9d9d9": "var(--line)", "#1f77b4": "var(--blue)", "#0072b2": "var(--blue)",
         "#ffffff": "var(--panel)", "white": "var(--panel)"}
THEME |= {style.light: f"light-dark({style.light}, {style.dark})" for style in (*STYLES.values(), *SPARE)}


def inline_svg(source: str, name: str, label: str) -> str:
    """`name` tells the picture's parts from those of others in the page. Raises ValueError for what is no picture."""
    try:
        root = ElementTree.fromstring(source)
    except ElementTree.ParseError as error:
        raise ValueError(f"{name}: no SVG: {error}") from None
    view = re.fullmatch(r"\s*(?:-?[\d.]+[\s,]+){3}[\d.]+\s*", root.get("viewBox", ""))
    if root.tag != f"{SPACE}svg" or not view:
        raise ValueError(f"{name}: no SVG with a viewBox")
    keep_shapes(root, name)
    for sized in ("width", "height", "style", "font-family"):
        root.attrib.pop(sized, None)
    root.set("class", "plot")
    root.set("role", "img")
    root.set("aria-label", label)
    return ElementTree.tostring(root, encoding="unicode")


def keep_shapes(element: ElementTree.Element, name: str) -> None:
    element.tag = element.tag.removeprefix(SPACE)
    element.attrib = {("href" if key == LINK else key): own(key, value, name) for key, value in element.attrib.items()
                      if is_harmless(key, value)}
    for child in list(element):
        if isinstance(child.tag, str) and child.tag.removeprefix(SPACE) in SHAPES:
            keep_shapes(child, name)
        else:
            element.remove(child)


def is_harmless(key: str, value: str) -> bool:
    if key in ("href", LINK):
        return value.startswith("#")
    return "{" not in key and not key.lower().startswith("on") and not re.search(r"url\((?!#)|@import|\\", value)


def own(key: str, value: str, name: str) -> str:
    """The attribute's value with the picture's own names and the theme's colours."""
    if key == "id":
        return f"{name}-{value}"
    if key in ("href", LINK):
        return f"#{name}-{value[1:]}"
    value = value.replace("url(#", f"url(#{name}-")
    if key in ("style", "fill", "stroke"):
        return COLOUR.sub(lambda found: THEME.get(found[0].lower(), found[0]), value)
    return value
