"""Draws bench.json as bench.svg and bench.png. Runs in a box, by `casemate bench --out DIR`."""

import json
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

OURS = "#1f6f5c"
THEIRS = "#b8bfc6"
INK = "#24292f"
QUIET = "#6e7781"
WORSE = "#b35900"
TITLES = {
    "hot_print": "print(1), in a hot slot",
    "pandas_job": "import pandas, group, print, in a hot slot",
    "cold_run": "print(1), a whole cold casemate run",
    "hot_gvisor": "print(1), in a hot slot with a kernel of its own",
    "sustained_gvisor": "print(1) in gVisor, runs per second on all cores, everything charged",
    "hot_gvisor_shared": "print(1), in a hot slot of a sandbox that runs of a tenant share",
    "sustained_gvisor_shared": "print(1) in such sandboxes, runs per second on all cores, everything charged",
    "memory_gvisor_slot": "memory of one more that waits, with a kernel of its own",
    "hot_microvm": "print(1), in a hot slot on an emulated machine of its own",
    "restore_microvm": "print(1), on a machine restored for it, against one booted for it",
    "sustained_microvm": "print(1) on machines, runs per second on all cores, everything charged",
    "memory_microvm_slot": "memory of one more machine that waits",
    "sustained": "print(1), runs per second on all cores, everything charged",
    "memory_hot_slot": "memory of one more that waits",
    "callbacks_1": "calls per second, one after another",
    "callbacks_1_durable": "calls per second, one after another, both records of each on the disk first",
    "callbacks_64": "calls per second of 64 threads",
    "callbacks_64_durable": "calls per second of 64 threads, both records of each on the disk first",
}
NAMES = {
    "python3": "python3, no isolation",
    "bwrap": "bubblewrap + python3",
    "runc": "runc + python3",
    "runsc": "runsc (gVisor) + python3",
    "none_live": "casemate, none waiting",
    "nginx": "http.client to nginx, no record",
}

Row = dict[str, Any]


def shown(number: float) -> str:
    """A number with two or three digits that count."""
    for least, digits in ((100, 0), (10, 1)):
        if number >= least:
            return f"{number:.{digits}f}"
    return f"{number:.2f}"


def title_of(row: Row) -> str:
    """What a panel shows."""
    if row["measure"] == "live_1000":
        memory = row["ours"]["unit"] == "MiB"
        return f"memory of {row['live']} that wait" if memory else f"print(1), in a hot slot, while {row['live']} wait"
    return TITLES.get(row["measure"], row["measure"])


def our_name(row: Row) -> str:
    """Our arm, with how many slots wait where that is what differs from the other."""
    if row["peer"] == "none_live":
        return f"casemate, {row['live']} waiting"
    where = {"gvisor": "in gVisor", "microvm": "in a microvm"}
    return "casemate, " + next((where[rung] for rung in where if rung in row["measure"]), "jailed")


def draw(axes: Axes, rows: list[Row]) -> None:
    """One measure: our bar, and one for each peer with how far it is from ours."""
    unit = rows[0]["ours"]["unit"]
    names = [our_name(rows[0])] + [NAMES.get(row["peer"], row["peer"]) for row in rows]
    values = [rows[0]["ours"]["p50"]] + [row["theirs"]["p50"] for row in rows]
    ratios = [None] + [row["ratio"] for row in rows]
    places = range(len(names))
    axes.barh(places, values, color=[OURS] + [THEIRS] * len(rows), height=0.72)
    logarithmic = max(values) > 20 * min(values)
    if logarithmic:
        axes.set_xscale("log")
        axes.set_xlim(min(values) / 2.2, max(values) * 9)
    else:
        axes.set_xlim(0, max(values) * 1.45)
    for place, value, ratio in zip(places, values, ratios, strict=True):
        text = axes.annotate(
            f"{shown(value)} {unit}",
            (value, place),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            color=INK,
            fontsize=9.5,
        )
        if ratio is not None:
            note, color = f"  {shown(round(ratio, 2))}×", OURS if ratio >= 1 else WORSE
            axes.annotate(note, (1, 0.5), xycoords=text, va="center", color=color, fontsize=9.5, fontweight="bold")
    axes.set_yticks(list(places), names, fontsize=9.5, color=INK)
    axes.get_yticklabels()[0].set_fontweight("bold")
    axes.invert_yaxis()
    axes.set_title(
        title_of(rows[0]) + (" (log scale)" if logarithmic else "") + (" (more is better)" if unit.endswith("/s") else ""),
        loc="left",
        fontsize=10.5,
        color=INK,
        fontweight="bold",
        pad=6,
    )
    axes.tick_params(length=0, labelbottom=False, which="both")
    for side in axes.spines.values():
        side.set_visible(False)


def panels_of(rows: list[Row]) -> list[list[Row]]:
    """The rows by measure and unit, in the order of the document."""
    panels: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        panels.setdefault((row["measure"], row["ours"]["unit"]), []).append(row)
    return list(panels.values())


def footer(document: dict[str, Any]) -> str:
    """What has to be known to read the plot."""
    host = document["host"]
    lines = [
        "Median of each arm; in bold, how many times better casemate does. Arms take turns on one machine with the",
        "same interpreter and flags; output and exit code of every sample were checked, fresh state by a canary.",
        f"{host['cpus']} processors, Linux {host['kernel']}" + (", --quick" if document["quick"] else "") + ".",
    ]
    left_out = [one["measure"] + (f"/{one['peer']}" if one["peer"] else "") for one in document["skipped"]]
    if left_out:
        lines[-1] += f" Not measured: {', '.join(left_out[:3])}" + (", …" if len(left_out) > 3 else "") + "."
    return "\n".join(lines)


def main() -> None:
    """Reads bench.json where it stands and draws beside it."""
    with open("bench.json", encoding="utf-8") as file:
        document = json.load(file)
    panels = panels_of(document["rows"])
    matplotlib.rcParams["svg.hashsalt"] = "casemate"  # the same rows, the same file
    matplotlib.rcParams["font.family"] = "DejaVu Sans"
    heights = [len(rows) + 1 + 0.9 for rows in panels] or [1]
    figure = Figure(figsize=(9, 0.29 * sum(heights) + 0.9), facecolor="white")
    grid = figure.subplots(len(heights), 1, squeeze=False, gridspec_kw={"height_ratios": heights})
    for axes, rows in zip(grid[:, 0], panels, strict=False):
        draw(axes, rows)
    figure.text(0.012, 0.008, footer(document), fontsize=8, color=QUIET, va="bottom", linespacing=1.4)
    height = figure.get_figheight()
    figure.subplots_adjust(left=0.235, right=0.985, top=1 - 0.32 / height, bottom=0.78 / height, hspace=0.42)
    figure.savefig("bench.svg", metadata={"Date": None})
    figure.savefig("bench.png", dpi=160)


main()
