# guest: prints without end to its standard error, in one line that never ends, of bytes that are no text
# source: opensandbox-group/OpenSandbox PR #1881; python-discord/snekbox PR #81
# attacks: the memory of the supervisor that collects it
# walls: OutputLimit
# observer: output_kept
# oracle: the supervisor's peak of memory, and what it kept
# status: limit
# credit: "name": "output"
# options: --output 1KiB
import os

block = b"\xff\x1b[" * 20000
for _ in range(160):
    os.write(2, block)
