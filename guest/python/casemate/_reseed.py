"""Makes every random source of this process anew: forks of one zygote share what they had.

What asks the kernel each time needs nothing: os.urandom, secrets, SystemRandom, uuid4, and numpy's
default_rng(). The seed of str hashes is shared by all slots of a zygote, by design.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def reseed() -> None:
    """After the fork and after the rehearsal. What then is drawn from is drawn by one program."""
    modules: "dict[str, Any]" = sys.modules
    if "random" in modules:
        modules["random"].seed()
    if "numpy.random" in modules:
        modules["numpy.random"].seed()
    if "ssl" in modules:
        # OpenSSL itself sees a fork by the process id, which is 1 in every slot.
        modules["ssl"].RAND_add(os.urandom(32), 32.0)
    if "tempfile" in modules:
        modules["tempfile"]._name_sequence = None
    if "multiprocessing.process" in modules:
        process = modules["multiprocessing.process"]
        key = process.AuthenticationString(os.urandom(32))
        process.current_process()._config["authkey"] = key


def restart_clock() -> None:
    """When the program has come: the time since the start that log records tell is its own."""
    logging = sys.modules.get("logging")
    if logging is not None:
        now = "time_ns" if isinstance(logging._startTime, int) else "time"
        logging._startTime = getattr(sys.modules["time"], now)()
