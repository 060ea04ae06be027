"""The programs of the other tests once more, in slots: only what a zygote decides for all is left out."""

from __future__ import annotations

import unittest

import engine
import test_artifacts
import test_ends
import test_program
import test_report
import test_results
import test_streams
import test_tools
from slots import SlotEngine

_MODULES = (test_artifacts, test_ends, test_program, test_report, test_results, test_streams, test_tools)


def load_tests(
    loader: unittest.TestLoader, _tests: unittest.TestSuite, _pattern: object
) -> unittest.TestSuite:
    """Each case of a RunnerTest, by a class of its own that has a zygote for an engine."""
    suite = unittest.TestSuite()
    for module in _MODULES:
        for name, case in vars(module).items():
            if (
                isinstance(case, type)
                and issubclass(case, engine.RunnerTest)
                and case is not engine.RunnerTest
            ):
                hot = type(f"{module.__name__}.{name}", (case,), {"new_engine": staticmethod(SlotEngine)})
                suite.addTest(loader.loadTestsFromTestCase(hot))
    return suite


if __name__ == "__main__":
    unittest.main()
