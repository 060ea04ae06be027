"""Draws the curves of curve.py."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.ticker import FuncFormatter  # noqa: E402

CODE, CALLS, INK, QUIET = "#1f6f5c", "#8a939b", "#24292f", "#6e7781"
TITLES = {"short": "A short result each: a settled amount", "long": "Long results: a ledger, and a settled amount"}


@dataclass(frozen=True)
class Point:
    """Tokens of each arm at so many calls; transcript.py says what `read` is."""

    calls: int
    serial: int
    batched: int
    code: int
    serial_read: int
    code_read: int


def _panel(axes: Axes, title: str, curve: list[Point]) -> None:
    calls = [at.calls for at in curve]
    axes.plot(calls, [at.serial_read for at in curve], color=CALLS, linestyle=":", label="calls one by one, read again each turn")
    axes.plot(calls, [at.serial for at in curve], color=CALLS, label="calls, each text once")
    axes.plot(calls, [at.code_read for at in curve], color=CODE, linestyle=":", label="one program, read again each turn")
    axes.plot(calls, [at.code for at in curve], color=CODE, linewidth=2.2, label="one program, each text once")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(1, max(calls))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.set_title(title, loc="left", fontsize=10.5, color=INK, fontweight="bold")
    axes.set_xlabel("calls", color=INK)
    axes.grid(which="major", color="#e3e7ea", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(which="both", length=0, colors=INK)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    loses = [at.calls for at in curve if at.code >= at.serial]
    if loses:
        axes.axvspan(1, max(loses), color="#b35900", alpha=0.09, linewidth=0)
        told = f"code loses\nup to {max(loses)} calls"
        axes.text(0.02, 0.98, told, transform=axes.transAxes, va="top", fontsize=9, color="#b35900")


def draw(curves: dict[str, list[Point]], folder: Path) -> None:
    """Writes code-mode-tokens.svg and .png."""
    matplotlib.rcParams["svg.hashsalt"] = "casemate"  # the same numbers, the same file
    matplotlib.rcParams["font.family"] = "DejaVu Sans"
    figure = Figure(figsize=(10, 4.4), facecolor="white")
    panels = figure.subplots(1, len(curves), sharey=True, squeeze=False)[0]
    for axes, (name, curve) in zip(panels, curves.items(), strict=True):
        _panel(axes, TITLES[name], curve)
    panels[0].set_ylabel("tokens", color=INK)
    panels[-1].legend(loc="upper left", fontsize=8.5, frameon=False, labelcolor=INK)
    figure.tight_layout()
    folder.mkdir(parents=True, exist_ok=True)
    vector = folder / "code-mode-tokens.svg"
    figure.savefig(vector, metadata={"Date": None})
    vector.write_text("\n".join(line.rstrip() for line in vector.read_text().splitlines()) + "\n")
    figure.savefig(folder / "code-mode-tokens.png", dpi=150)
