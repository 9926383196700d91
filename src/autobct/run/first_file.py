"""The TOML file that `autobct init` writes: commented, valid, and it runs."""

from __future__ import annotations

FIRST_FILE = """\
# What `autobct run` does with this file: it runs your program again and again, each time with other parameters,
# and stops when one more run is not worth its price.  Run it again after an interruption, and it goes on.

# The program: a list of arguments, or one text that is split at spaces.  No shell is involved, so nothing in a
# parameter is ever interpreted.  {name} becomes the value of a parameter; there are also {params_json},
# {params_file}, {run_dir}, {run}, {repeat} and {seed}.  This one stands in for a training: replace it by yours,
# e.g. ["python", "train.py", "--depth", "{depth}", "--rate={rate}"]
command = [
    "python3", "-c",
    "import math, sys; d, r = int(sys.argv[1]), float(sys.argv[2]); print(0.9 - 0.004 * (d - 8)**2 - 0.05 * math.log10(r / 0.03)**2)",
    "{depth}", "{rate}",
]
# directory = "."              # where it runs, as seen from this file
# repeats = 1                  # trainings per run: the score is their mean, the cost their sum

# What running it is worth to you: so much score for so much time.
price = "0.01 per 30s"

score_range = [0.5, 1.0]       # about what you expect from the worst and from the best parameters; may be left out
# cost_range = [1, 60]         # the same for the cost of one run, in seconds
# direction = "maximize"       # or "minimize", for a loss
# recall = true                # use the best model of all; false: the last one, as in the paper
# seed = 0

# [env]                        # added to the environment
# OMP_NUM_THREADS = "1"

[space]                        # what to tune
depth = { type = "int", low = 1, high = 20 }                     # also: log = true, step = 2
rate = { type = "float", low = 0.001, high = 1.0, log = true }   # also: step = 0.1 instead of log
# kind = { type = "categorical", choices = ["a", "b"] }

# The score is the last line of output: a number, or JSON with "score" in it.  Or:
# [score]
# key = "metrics.accuracy"                       # where it is in the JSON
# file = "{run_dir}/score.json"                  # the last line of a file instead
# pattern = 'accuracy: (?P<score>[0-9.]+)'       # the last match in the output

[cost]
measure = "wall"               # seconds on the clock; "cpu": of processor time, children included; "told": by the program
# key = "cost"                 # for "told": key, file and pattern as for the score

[limits]                       # hard caps; only these may be changed before going on with a tuning
timeout = "10min"              # for a single training; it is then ended with everything it has started
max_runs = 30
# max_cost = "2h"              # for all runs together
# deadline = "8h"              # from each start of autobct run; or a moment: 2030-01-31T18:00:00
# output = 16777216            # bytes kept of what a run prints
"""
