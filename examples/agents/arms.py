"""Three agents that are given the same task and the same grants, and differ in how they call.

They are scripts: what the model writes is written here beforehand, and nothing is learnt of what a model would do. What
they read is real: every result comes out of the capabilities, judged and recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from box import Boxes
from transcript import Conversation

SYSTEM = "You answer questions about a company's books with the tools that you have. Be exact; answer in one line."
RUN_PROGRAM = {
    "name": "run_program",
    "description": "Runs a Python program in a fresh box and gives what it prints. `from casemate import tools` has functions:\n",
    "input_schema": {"type": "object", "required": ["program"], "properties": {"program": {"type": "string"}}},
}


@dataclass(frozen=True)
class Task:
    """What all arms are to do. Names in `calls` are those of the capabilities."""

    user: str
    tools: list[dict[str, Any]]  # as an API wants them: name, description, input_schema
    calls: list[dict[str, Any]]  # name, input
    answer: Callable[[list[str]], str]  # of who reads the results of `calls` itself
    program: str
    reads: Callable[[str], str]  # the answer of who reads what the program printed


@dataclass(frozen=True)
class Did:
    """How an arm went: what was said, what it answered, and the run of its one program."""

    said: Conversation
    answer: str
    run_id: str = ""
    printed: str = ""


def numbered(calls: list[dict[str, Any]], first: int = 1) -> list[dict[str, Any]]:
    return [{"id": f"call_{first + n}", **call} for n, call in enumerate(calls)]


def in_turns(task: Task, turns: list[list[dict[str, Any]]], make: Callable[[list[dict[str, Any]]], list[str]]) -> Did:
    """Calls as tools are called, so many in each turn, and an answer of what was read in the last one."""
    said = Conversation(SYSTEM, task.tools, task.user)
    for calls in turns:
        said.says(calls=calls)
        said.gets(calls, make(calls))
    answer = task.answer(said.results)
    said.says(answer)
    return Did(said, answer)


def serial(task: Task, make: Callable[[list[dict[str, Any]]], list[str]]) -> Did:
    """One call in each turn."""
    return in_turns(task, [[call] for call in numbered(task.calls)], make)


def batched(task: Task, make: Callable[[list[dict[str, Any]]], list[str]]) -> Did:
    """All calls in one turn."""
    return in_turns(task, [numbered(task.calls)], make)


def code(task: Task, boxes: Boxes, described: str) -> Did:
    """One program in one turn, and an answer of what it printed."""
    tool = RUN_PROGRAM | {"description": f"{RUN_PROGRAM['description']}{described}"}
    said = Conversation(SYSTEM, [tool], task.user)
    calls = numbered([{"name": "run_program", "input": {"program": task.program}}])
    said.says(calls=calls)
    outcome = boxes.run(task.program)
    printed = str(outcome["stdout"]["text"])
    said.gets(calls, [printed])
    answer = task.reads(printed)
    said.says(answer)
    return Did(said, answer, str(outcome["run_id"]), printed)
