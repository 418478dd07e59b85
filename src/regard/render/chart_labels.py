"""Labels in charts: how wide they are, and where they fit without touching a line or each other."""

import html
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from regard.core.axes import Float
from regard.render.formulas import scripted, scripted_svg, unscripted

# Text is set at 11 units and grows to 12 on narrow screens; labels reserve space for the larger size.
SIZE, HEIGHT = 12.0, 13.0
# In ems, measured on a wide font.
_WIDTHS = {
    **dict.fromkeys("iljtfrI.,:;|'()[]/·! ", 0.36),
    **dict.fromkeys("0123456789", 0.64),
    **dict.fromkeys("mwMWQ—×→∞−=+≥≤", 0.88),
    "\N{THIN SPACE}": 0.2,
}
# A label nearer than this to another line could be mistaken for that line's.
_NEAR, _FAR, _AWAY = 6.0, 40.0, 3.0
# Texts nearer than this run together.
_GAP = 2.0


@dataclass(frozen=True, kw_only=True)
class Box:
    """A rectangle, y growing downward."""

    left: float
    top: float
    width: float
    height: float = HEIGHT

    def overlaps(self, other: "Box") -> bool:
        """True if the two are so close that they run together."""
        return (
            self.left < other.left + other.width + _GAP
            and other.left < self.left + self.width + _GAP
            and self.top < other.top + other.height + _GAP
            and other.top < self.top + self.height + _GAP
        )

    def distance(self, points: Float[np.ndarray, "point 2"]) -> float:
        """Distance to the nearest of the points: 0 inside, infinity if there are none."""
        if not len(points):
            return np.inf
        aside = np.maximum(np.maximum(self.left - points[:, 0], points[:, 0] - self.left - self.width), 0)
        above = np.maximum(np.maximum(self.top - points[:, 1], points[:, 1] - self.top - self.height), 0)
        return float(np.hypot(aside, above).min())


@dataclass(kw_only=True)
class Canvas:
    """The plot's rectangle and what it already contains: lines, as closely spaced points, and labels."""

    frame: Box
    lines: list[Float[np.ndarray, "_ 2"]] = field(default_factory=list)
    boxes: list[Box] = field(default_factory=list)

    def holds(self, box: Box) -> bool:
        """True if the box is inside the frame and touches no other box."""
        frame = self.frame
        is_inside = (
            frame.left + 2 <= box.left
            and box.left + box.width <= frame.left + frame.width - 2
            and frame.top + 1 <= box.top
            and box.top + box.height <= frame.top + frame.height - 1
        )
        return is_inside and not any(box.overlaps(other) for other in self.boxes)

    def beside(self, own: int, width: float) -> Box | None:
        """The best place for a label next to a line and away from all others, or None."""
        path = self.lines[own]
        others = [line for index, line in enumerate(self.lines) if index != own and len(line)]
        foreign = np.concatenate(others) if others else np.zeros((0, 2))
        best, best_score = None, -np.inf
        for x, y in path[:: max(len(path) // 48, 1)].tolist():
            for box in _around(x, y, width):
                if not self.holds(box) or box.distance(path) < _AWAY:
                    continue
                clear = min(box.distance(foreign), _FAR)
                score = clear - 1.5 * box.distance(path) + 4 * (box.left - self.frame.left) / self.frame.width
                if clear >= _NEAR and score > best_score:
                    best, best_score = box, score
        return best

    def clearest(self, candidates: Sequence[Box]) -> Box | None:
        """The candidate farthest from every line, or None if none fits."""
        points = np.concatenate(self.lines) if self.lines else np.zeros((0, 2))
        fitting = [box for box in candidates if self.holds(box)]
        return max(fitting, key=lambda box: min(box.distance(points), _FAR), default=None)


def _around(x: float, y: float, width: float) -> list[Box]:
    """Boxes above, below and beside a point."""
    gap = _AWAY + 1
    tops = (y - gap - HEIGHT, y + gap)
    return [
        *(Box(left=x - share * width, top=top, width=width) for top in tops for share in (0.0, 0.5, 1.0)),
        Box(left=x + gap, top=y - HEIGHT / 2, width=width),
        Box(left=x - gap - width, top=y - HEIGHT / 2, width=width),
    ]


def width_of(words: str) -> float:
    """An estimate of the words' width that errs on the wide side.

    >>> width_of("ill") < width_of("MMM")
    True
    """
    return SIZE * sum(_WIDTHS.get(character) or _usual_width(character) for character in unscripted(words))


def _usual_width(character: str) -> float:
    is_full_width = ord(character) > 0x2E7F  # Chinese, Japanese and Korean
    return 1.0 if is_full_width else 0.72 if character.isupper() else 0.6


def wrapped(words: str, width: float) -> list[str]:
    """The words in lines that fit the width; a longer word is cut.

    >>> wrapped("one two", 30.0)
    ['one', 'two']
    """
    lines: list[str] = []
    for word in words.split():
        for piece in _pieces(word, width):
            if lines and width_of(f"{lines[-1]} {piece}") <= width:
                lines[-1] += f" {piece}"
            else:
                lines.append(piece)
    return lines


def _pieces(word: str, width: float) -> list[str]:
    pieces = [""]
    for character in word:
        if pieces[-1] and width_of(pieces[-1] + character) > width:
            pieces.append("")
        pieces[-1] += character
    return pieces


def text(words: str, x: float, y: float, *, name: str, anchor: str = "start") -> str:
    """The words with their baseline at y."""
    at = f'x="{x:.1f}" y="{y:.1f}"' + ("" if anchor == "start" else f' text-anchor="{anchor}"')
    return f'<text class="{name}" {at}>{scripted_svg(words)}</text>'


def text_lines(lines: Sequence[str], x: float, y: float, *, anchor: str = "start") -> str:
    """The label of an axis in lines, the first with its baseline at y."""
    return "".join(text(line, x, y + HEIGHT * row, name="chart-axis", anchor=anchor) for row, line in enumerate(lines))


def framed(svg: str, size: tuple[float, float], *, title: str, caption: str = "", kind: str = "chart") -> str:
    """The SVG as a figure with a caption, which describes it to screen readers too."""
    width, height = size
    described = f"<desc>{html.escape(caption)}</desc>" if caption else ""
    return (
        f'<figure class="{kind}"><svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" focusable="false">'
        f"<title>{html.escape(title)}</title>{described}{svg}</svg>"
        f"<figcaption>{f'<b>{scripted(title)}</b> {scripted(caption)}'.rstrip()}</figcaption></figure>"
    )
