"""Reports for people: lines, bars and tables, drawn by rich and written in one go.

Text from a history (tool names, reasons) is shown as text: no markup, no escape sequences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from lithify.cli.exits import MISSING_EXTRA, CliError
from lithify.cli.sink import write_text
from lithify.cli.text import clean, count

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console, RenderableType

__all__ = ["Page"]

BAR_WIDTH = 30
_FULL, _WARM = 1.0, 0.75  # above the limit; above the default trigger of the first layer


class Page:
    """What a command has to say to a person. Nothing is written before `print`."""

    def __init__(self, stream: TextIO) -> None:
        """Make a page for `stream`. Raises `CliError` when rich is not installed."""
        try:
            from rich.console import Console  # noqa: PLC0415 (an extra)
        except ModuleNotFoundError as error:
            raise CliError(
                "the report needs the package rich: pip install 'lithify[cli]', or ask for --json or --quiet",
                MISSING_EXTRA,
            ) from error
        self._stream = stream
        self._console: Console = Console(file=stream, highlight=False, emoji=False, markup=False)
        self._parts: list[RenderableType] = []

    def line(self, text: str = "", style: str = "") -> None:
        """Add a line of text, wrapped at the width of the page."""
        from rich.text import Text  # noqa: PLC0415

        self._parts.append(Text(clean(text), style))

    def bars(
        self, rows: Iterable[tuple[str, int]], whole: int, *, note: str = "", warn: bool = False
    ) -> None:
        """Add one bar for each (label, tokens), as a share of `whole`; `warn` colours what is nearly full."""
        from rich.table import Table  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415

        grid = Table.grid(padding=(0, 2))
        grid.add_column(no_wrap=True)
        grid.add_column(justify="right", no_wrap=True)
        grid.add_column(no_wrap=True, width=BAR_WIDTH)
        grid.add_column(justify="right", no_wrap=True)
        for label, tokens in rows:
            share = tokens / whole if whole else 0.0
            bar = Text(self._bar(share), _style(share) if warn else "cyan")
            grid.add_row(clean(label), count(tokens), bar, f"{share:.1%}{note}")
        self._parts.append(grid)

    def table(self, columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]]) -> None:
        """Add a table; a column is (title, `left` or `right`). The last one takes what room is left."""
        from rich import box  # noqa: PLC0415
        from rich.table import Table  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for position, (title, side) in enumerate(columns):
            last = position == len(columns) - 1
            table.add_column(title, justify="right" if side == "right" else "left", no_wrap=not last)
        for row in rows:
            table.add_row(*(Text(clean(cell)) for cell in row))
        self._parts.append(table)

    def print(self) -> None:
        """Write the page."""
        with self._console.capture() as captured:
            for part in self._parts:
                self._console.print(part)
        lines = (line.rstrip(" ") for line in captured.get().split("\n"))
        write_text(self._stream, "\n".join(lines))

    def _bar(self, share: float) -> str:
        """Return a bar; whatever is not nothing shows at least one mark, and only a full one looks full."""
        marks = min(BAR_WIDTH, max(1 if share > 0 else 0, int(share * BAR_WIDTH)))
        full, rest = ("#", ".") if self._console.options.ascii_only else ("█", "░")
        return full * marks + rest * (BAR_WIDTH - marks)


def _style(share: float) -> str:
    if share > _FULL:
        return "red"
    return "yellow" if share > _WARM else "green"
