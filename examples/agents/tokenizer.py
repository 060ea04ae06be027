"""Counts tokens with a named tokenizer, which tools/tokenizer has put into build/tokenizer."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "build/tokenizer"
_LOCK = json.loads((Path(__file__).resolve().parent / "package-lock.json").read_text())
NAME = f"gpt-tokenizer {_LOCK['packages']['node_modules/gpt-tokenizer']['version']} (o200k_base)"


class Tokenizer:
    """One node process that counts for us, until close(). It ends with us in any case."""

    def __init__(self) -> None:
        if not (HERE / "installed").exists():
            raise SystemExit("the tokenizer is not there: run tools/tokenizer, which fetches it with npm")
        program = Path(__file__).resolve().parent / "count_tokens.mjs"
        command = ["node", str(program), str(HERE / "node_modules")]
        self._node = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.count = cache(self._count)

    def _count(self, text: str) -> int:
        assert self._node.stdin and self._node.stdout
        self._node.stdin.write(json.dumps(text) + "\n")
        self._node.stdin.flush()
        said = self._node.stdout.readline()
        if not said:
            raise SystemExit(f"the tokenizer ended with {self._node.wait()}")
        return int(said)

    def close(self) -> None:
        assert self._node.stdin and self._node.stdout
        self._node.stdin.close()
        self._node.wait(10)
        self._node.stdout.close()
