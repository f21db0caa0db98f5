"""How tuning stands, and showing it: one line on a terminal, a curve in a notebook."""

import contextlib
import html
import shutil
import sys
import time

_PIPE_EVERY_S = 10.0
_BAR_CELLS = 20


class Progress:
    """The progress of a tuning run.

    trials: measured candidates. failures: those without a time. trials_per_second, elapsed_s, remaining_s (None: unknown).
    best_ns: the sum of the kernels' best times, weighted by their number of runs in the network; None until each kernel has one.
    untuned_ns: the same sum for untuned schedules; None if not all were measured.
    phase: "measuring", "finals" (the best candidates are measured again) or "over". share: spent share of the budget, 0 to 1;
        None: unknown.
    tasks: a dict for each kernel: label, weight, trials, best_ns, untuned_ns (0: none yet), …
    curve: (elapsed_s, best_ns) for each new best_ns.
    """

    def __init__(self, trial_limit=None):
        self.trials = self.failures = 0
        self.trials_per_second = self.elapsed_s = 0.0
        self.remaining_s = self.best_ns = self.untuned_ns = None
        self.phase = "measuring"
        self.tasks = []
        self.curve = []
        self.share = None
        self._trial_limit = trial_limit

    def update(self, line):
        """Updates the progress from a line of `tuner tune --json`."""
        self.trials, self.failures = line["trials"], line["failures"]
        self.trials_per_second, self.elapsed_s = line["trials_per_second"], line["elapsed_s"]
        self.remaining_s = line.get("remaining_s")
        self.phase = line["phase"].removeprefix("PHASE_").lower()
        self.tasks = line["tasks"]
        self.set_best(_sum(self.tasks, "best_ns"), _sum(self.tasks, "untuned_ns"))
        shares = [self.trials / self._trial_limit] if self._trial_limit else []
        if self.remaining_s is not None:
            shares.append(self.elapsed_s / max(self.elapsed_s + self.remaining_s, 1e-9))
        self.share = 1.0 if self.phase == "over" else min(max(shares), 1.0) if shares else None

    def set_best(self, best_ns, untuned_ns):
        """Sets the best time and the untuned time, in nanoseconds or None."""
        self.untuned_ns = untuned_ns
        if best_ns is not None and best_ns != self.best_ns:
            self.curve.append((self.elapsed_s, best_ns))
        self.best_ns = best_ns

    def __str__(self):
        parts = []
        if self.share is not None:
            filled = round(self.share * _BAR_CELLS)
            parts.append(f"{100 * self.share:3.0f}%|{'█' * filled}{' ' * (_BAR_CELLS - filled)}|")
        parts.append(f"{self.trials} trials")
        if self.failures:
            parts.append(f"{self.failures} failed")
        if self.phase == "finals":
            parts.append("measuring the best again")
        elif self.phase == "measuring":
            parts.append(f"{self.trials_per_second:.1f}/s")
        if self.remaining_s and self.phase != "over":
            parts.append(f"{_clock(self.remaining_s)} left")
        if self.best_ns:
            change = f" ({100 * (self.best_ns / self.untuned_ns - 1):+.0f}%)" if self.untuned_ns else ""
            parts.append(f"best {duration(self.best_ns)}{change}")
        return "  ".join(parts)


def _sum(tasks, key):
    used = [task for task in tasks if task["weight"] > 0]
    if not used or any(task[key] <= 0 for task in used):
        return None
    return sum(task["weight"] * task[key] for task in used)


def _clock(seconds):
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def duration(ns):
    """"12.3 us" for 12300 nanoseconds."""
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= scale:
            return f"{ns / scale:.3g} {unit}" if ns < 1e3 * scale else f"{ns / scale:.0f} {unit}"
    return f"{ns:.3g} ns"


def curve_svg(progress, width=640, height=220):
    """The best time against the elapsed time as an SVG drawing, with a dashed line for the untuned time."""
    points = list(progress.curve)
    times = [ns for _, ns in points] + ([progress.untuned_ns] if progress.untuned_ns else [])
    caption = html.escape(str(progress))
    text = 'font-family="sans-serif" font-size="12" fill="#808080"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" role="img" aria-label="{caption}">',
             f'<text x="8" y="16" {text}>{caption}</text>']
    if times:
        left, right, top, bottom = 72, width - 12, 32, height - 28
        last_s = max(progress.elapsed_s, points[-1][0] if points else 0.0, 1e-9)
        least, most = min(times), max(times)
        margin = 0.08 * (most - least) or 0.05 * most

        def x(seconds):
            return round(left + (right - left) * seconds / last_s, 1)

        def y(ns):
            return round(bottom - (bottom - top) * (ns - least + margin) / (most - least + 2 * margin), 1)

        parts.append(f'<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="#808080"/>')
        for ns in {least, most}:
            parts.append(f'<text x="{left - 6}" y="{y(ns) + 4}" text-anchor="end" {text}>{duration(ns)}</text>')
        parts.append(f'<text x="{right}" y="{height - 8}" text-anchor="end" {text}>{_clock(last_s)}</text>')
        if progress.untuned_ns:
            parts.append(f'<path d="M{left} {y(progress.untuned_ns)}H{right}" stroke="#d55e00" stroke-dasharray="5 4"/>')
            parts.append(f'<text x="{right}" y="{y(progress.untuned_ns) - 5}" text-anchor="end" {text}>untuned</text>')
        if points:
            steps = f"M{x(points[0][0])} {y(points[0][1])}" + "".join(f"H{x(s)}V{y(ns)}" for s, ns in points[1:])
            parts.append(f'<path d="{steps}H{x(last_s)}" fill="none" stroke="#0072b2" stroke-width="2"/>')
    return "".join(parts) + "</svg>"


def _in_notebook():
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and "IPKernelApp" in getattr(shell, "config", {})


class _Notebook:
    def __init__(self):
        from IPython.display import HTML, display
        self._html = HTML
        self._handle = display(HTML("<svg></svg>"), display_id=True)

    def show(self, progress):
        self._handle.update(self._html(curve_svg(progress)))

    def close(self, progress):
        self.show(progress)


class _Terminal:
    def __init__(self):
        self._width = 0

    def show(self, progress):
        text = str(progress)[:max(shutil.get_terminal_size().columns - 1, 1)]
        sys.stderr.write("\r" + text.ljust(self._width))
        sys.stderr.flush()
        self._width = len(text)

    def close(self, progress):
        if self._width:  # something was shown
            self.show(progress)
            sys.stderr.write("\n")


class _Pipe:
    def __init__(self):
        self._due = time.monotonic() + _PIPE_EVERY_S
        self._told = None

    def show(self, progress):
        self._told = False
        if time.monotonic() >= self._due:
            self.close(progress)

    def close(self, progress):
        if self._told is False:  # something is new
            print(progress, file=sys.stderr, flush=True)
        self._told = True
        self._due = time.monotonic() + _PIPE_EVERY_S


class _Silence:
    def show(self, progress):
        pass

    def close(self, progress):
        pass


@contextlib.contextmanager
def shown(progress, wanted=True):
    """A function that shows the progress again: on a terminal in one line that is updated, in a notebook as a curve, into a
    pipe every ten seconds; `wanted` False: nowhere."""
    view = _Silence() if not wanted else _Notebook() if _in_notebook() else _Terminal() if sys.stderr.isatty() else _Pipe()
    try:
        yield lambda: view.show(progress)
    finally:
        view.close(progress)
