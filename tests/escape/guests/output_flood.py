# guest: prints without end
# source: engineer-man/piston #301, #465; python-discord/snekbox PR #81; DOMjudge/domjudge #207
# attacks: the memory of the supervisor that collects it
# walls: OutputLimit
# observer: output_kept
# oracle: the supervisor's peak of memory, and what it kept
# status: limit
# credit: "name": "output"
# options: --output 1KiB
import sys

for _ in range(512):
    sys.stdout.write("x" * 65536)
