"""Puts matplotlib's figures on the manifest: those that are shown, and those left open at the end.

Nothing is imported or patched until the program itself loads matplotlib's Agg backend, which it
does with its first figure; _runner's entry of sys.meta_path sees that and calls watched_spec().
MPLBACKEND stays plain `Agg`, so that programs which the program starts find a backend too.

A failure here is one line on stderr and never changes how the program ends.
"""

from __future__ import annotations

import os
import sys
import warnings

from casemate import _artifacts, _request, _wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any, Optional

_GLYPH = "Glyph "  # how matplotlib's warning about a character without a picture begins
# An image keeps the list of its fonts here; making it costs a first plot a second.
FONT_LISTS = "/usr/share/casemate/matplotlib"
_PICTURES = (".png", ".jpg", ".jpeg", ".svg", ".pdf", ".webp")
# Where fonts for the scripts that the default font lacks come from on Debian, by range of characters.
_FONTS = (
    (0x1100, 0x11FF, "fonts-noto-cjk"),
    (0x2E80, 0xD7FF, "fonts-noto-cjk"),
    (0xF900, 0xFAFF, "fonts-noto-cjk"),
    (0x1F000, 0x1FAFF, "fonts-noto-color-emoji"),
    (0x20000, 0x3FFFF, "fonts-noto-cjk"),
)
_CJK_FAMILIES = (
    "Noto Sans CJK",
    "Noto Serif CJK",
    "WenQuanYi",
    "Source Han",
    "IPAGothic",
    "IPAexGothic",
    "NanumGothic",
)

# The file that a figure was last saved to by the program, while nothing was drawn since.
_saved: Any = None
_told: set[str] = set()


def offer_font_lists() -> None:
    """Puts the image's font lists where matplotlib, about to be imported, looks for its own.

    Links in its configuration directory, which must be a writable one: it passes over others.
    """
    try:
        names = os.listdir(FONT_LISTS)
        directory = os.environ["MPLCONFIGDIR"]
        os.makedirs(directory, exist_ok=True)
        for name in names:
            os.symlink(f"{FONT_LISTS}/{name}", f"{directory}/{name}")
    except (OSError, KeyError):
        pass  # Slower, not less: matplotlib makes the list itself.


def watched_spec(name: str) -> Optional[ModuleSpec]:
    """The spec of the backend module `name`, whose loader lets us in once it has run."""
    from importlib.util import find_spec

    spec = find_spec(name)
    if spec is None or spec.loader is None:
        return spec
    execute = spec.loader.exec_module

    def exec_module(module: ModuleType) -> None:
        execute(module)
        try:
            _enter(module)
        except Exception as error:
            _tell(f"figures will not be kept: {type(error).__name__}: {error}")

    loader: Any = spec.loader
    loader.exec_module = exec_module
    return spec


def _enter(backend: Any) -> None:
    from weakref import WeakKeyDictionary

    global _saved
    _saved = WeakKeyDictionary()
    canvas = backend.FigureCanvasAgg
    print_figure = canvas.print_figure

    def watched_print(self: Any, filename: Any, *args: Any, **options: Any) -> Any:
        with warnings.catch_warnings(record=True) as caught:
            warnings.filterwarnings("always", message=_GLYPH)
            done = print_figure(self, filename, *args, **options)
        _pass_on(caught)
        _note_file(self.figure, filename)
        return done

    watched_print.__doc__ = print_figure.__doc__
    canvas.print_figure = watched_print
    backend.show = _show
    # Layout draws text too. What it would warn of, saving the figure tells, in one line.
    warnings.filterwarnings("ignore", message=_GLYPH)


def _show(*_args: Any, **_options: Any) -> None:
    """plt.show(): keeps each open figure as a picture, then closes it, as closing a window would."""
    _keep(_open_figures(), close=True)


def save_open() -> None:
    """Keeps the figures that the program left open. Called once, at its end."""
    if _saved is None:
        return  # Another backend, by the program's own choice: it knows where its figures go.
    try:
        _keep(_open_figures(), close=False)
    except Exception as error:
        _tell(f"open figures could not be kept: {type(error).__name__}: {error}")


def _open_figures() -> list[Any]:
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    if helpers is None:
        return []
    return [manager.canvas.figure for _, manager in sorted(helpers.Gcf.figs.items())]


def _keep(figures: list[Any], close: bool) -> None:
    channel = _wire.current
    if channel is not None and not channel.owned() and figures:
        _tell(
            "only the figures of the program's first process are kept; save those of others to files"
        )
        return
    for figure in figures:
        try:
            if channel is not None:
                path = _file_of(figure) or _save(figure)
                _artifacts.send(
                    path, _summary(figure), _artifacts.guess(path), "figure"
                )
        except Exception as error:
            _tell(
                f"a figure could not be kept: {type(error).__name__}: {_artifacts.one_line(str(error))}"
            )
        if close:
            sys.modules["matplotlib._pylab_helpers"].Gcf.destroy_fig(figure)


def _file_of(figure: Any) -> Optional[bytes]:
    """The program's own picture of the figure, so that the reader does not get the same twice."""
    path: Optional[bytes] = _saved.get(figure)
    if path is None or figure.stale or not os.path.isfile(path):
        return None
    return path


def _save(figure: Any) -> bytes:
    directory = os.fsencode(_wire.work) + b"/out"
    os.makedirs(directory, exist_ok=True)
    number = 1
    # A file of that name may be of an earlier run of the task; it is not ours to replace.
    while os.path.lexists(path := directory + b"/figure-%d.png" % number):
        number += 1
    output = _request.create(path)
    try:
        with open(output, "wb") as file:
            figure.savefig(file, format="png", bbox_inches="tight")
    except BaseException:
        os.unlink(path)
        raise
    return path


def _note_file(figure: Any, filename: Any) -> None:
    """Remembers where the program saved a figure itself, if that is a picture beneath /work."""
    _saved.pop(figure, None)
    if isinstance(filename, (str, os.PathLike)) and os.fspath(
        filename
    ).lower().endswith(_PICTURES):
        try:
            _saved[figure] = _artifacts.located(filename)
        except (OSError, ValueError):
            return
        # From here on, anything drawn sets it again.
        figure.stale = False


def _summary(figure: Any) -> str:
    """The figure's title, or its axes' titles, or what its axes are labelled with."""
    texts = [figure._suptitle.get_text()] if getattr(figure, "_suptitle", None) else []
    axes = figure.get_axes()
    if not any(texts):
        texts = [
            axis.get_title(loc) for axis in axes for loc in ("center", "left", "right")
        ]
    if not any(texts):
        pairs = [(axis.get_ylabel(), axis.get_xlabel()) for axis in axes]
        texts = [" by ".join(filter(None, pair)) for pair in pairs]
    return "; ".join(
        dict.fromkeys(" ".join(text.split()) for text in texts if text.strip())
    )


def _pass_on(caught: Any) -> None:
    """Shows the warnings of drawing, those about missing characters as one."""
    missing = []
    for entry in caught:
        text = str(entry.message)
        number = text[len(_GLYPH) :].split(" ", 1)[0]
        if text.startswith(_GLYPH) and "missing from" in text and number.isdigit():
            missing.append(chr(int(number)))
        else:
            warnings.showwarning(
                entry.message,
                entry.category,
                entry.filename,
                entry.lineno,
                entry.file,
                entry.line,
            )
    new = "".join(c for c in dict.fromkeys(missing) if c not in _told)
    if new:
        _told.update(new)
        _tell(_missing_glyphs(new))


def _missing_glyphs(characters: str) -> str:
    import matplotlib
    from matplotlib import font_manager

    family = ", ".join(matplotlib.rcParams["font.family"])
    font = font_manager.FontProperties().get_name()
    shown = characters[:10] + ("..." if len(characters) > 10 else "")
    text = (
        f"the font {font!r} (font.family: {family}) has no picture of {len(characters)} characters of this"
        f" figure ({shown}): they are drawn as boxes"
    )
    installed = sorted(
        {
            f.name
            for f in font_manager.fontManager.ttflist
            if f.name.startswith(_CJK_FAMILIES)
        }
    )
    package = next(
        (p for low, high, p in _FONTS if low <= ord(characters[0]) <= high), None
    )
    if package == "fonts-noto-cjk" and installed:
        return f"{text}; try plt.rcParams['font.family'] = {installed[0]!r}"
    if package:
        return f"{text}; no installed font has them, an operator adds one to the image (such as {package})"
    return text


def _tell(text: str) -> None:
    try:
        sys.stderr.write(f"casemate: {text}\n")
    except (OSError, ValueError, AttributeError):
        pass  # The program closed or replaced stderr; a figure is not worth more.
