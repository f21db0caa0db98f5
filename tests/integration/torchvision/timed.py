"""Runs a command: its processes' CPU time in seconds and their largest memory in MiB, as a line of JSON.

A program of its own, because a process's largest memory counts that of the program that started it.
"""

import json
import resource
import subprocess
import sys

done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
if done.returncode != 0:
    sys.exit(1)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"cpu_seconds": used.ru_utime + used.ru_stime, "memory_mib": used.ru_maxrss / 1024}))
