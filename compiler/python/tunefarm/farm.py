"""Jobs of a running tuner, whose devices measure."""

from . import models, programs, recorded
from .progress import Progress, shown


class Job(dict):
    """A snapshot of a tuner's job: `job["state"]` or `job.state`. Use `refresh` for its current state.

    Among others: job (its number), state ("queued", "running", "paused", "done", "failed", "cancelled"), detail (one line),
    model, target, device, slots, submitter, trials, created_unix_ns, budget, progress (a dict, or None).
    """

    def __init__(self, farm, values):
        super().__init__(values)
        self._farm = farm

    @property
    def id(self):
        """Its number."""
        return self["job"]

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"a job has no '{name}'; it has: {', '.join(self)}") from None

    def refresh(self):
        """The current state of the job, as a new Job."""
        return self._farm.job(self.id)

    def watch(self, on_progress=None, progress=True):
        """Follows the job to its end; see Farm.watch."""
        return self._farm.watch(self.id, on_progress, progress)

    def pause(self):
        """Stops the job until it is resumed."""
        return self._farm.pause(self.id)

    def resume(self):
        """Resumes the paused job."""
        return self._farm.resume(self.id)

    def cancel(self):
        """Ends the job; its measurements are kept."""
        return self._farm.cancel(self.id)

    def __repr__(self):
        return f"<Job {self.id}: {self['model']}, {self['state']}{', ' + self['detail'] if self['detail'] else ''}>"


class Farm:
    """A running tuner (`tuner serve`): `tf.Farm("host:7191").submit("net.onnx", device="desk", minutes=5).watch()`.

    server: its HOST:PORT. tls: folder of your certificate (`tuner join`), for a secured tuner. Calls raise Error with one line
    if the tuner does not answer, rejects the call, or has no such job.
    """

    def __init__(self, server="127.0.0.1:7191", tls=None):
        self.server, self.tls = server, tls

    def _options(self):
        return programs.options(server=self.server, tls=self.tls)

    def submit(self, model, device, minutes=None, *, trials=None, target="host", threads=1, dims=None, at=None, inputs=None,
               allow=None, strategy=None, seed=None, until_gain=None, slots=None, selector=None, priority=None):
        """Submits a network for tuning, and returns the Job.

        device: the class of the devices that measure (an agent's --key). slots: the maximum number of slots. selector: only
        devices with these labels, such as "room=lab3,!shared". priority: -10 to 10; higher runs first. The others: as in `tune`.
        """
        with models.model_file(model) as path:
            reply = programs.run_json(
                "tuner", "submit", path, "--device", device, "--json", *self._options(),
                *programs.options(target=target, minutes=minutes, trials=trials, threads=threads, strategy=strategy, seed=seed,
                                  until_gain=until_gain, slots=slots, selector=selector, priority=priority),
                *programs.network_options(dims, at, inputs, allow))
        return self.job(reply["job"])

    def jobs(self):
        """All jobs of the tuner, as a list of Job."""
        return [Job(self, line) for line in programs.run_lines("tuner", "jobs", "--json", *self._options())]

    def job(self, id):
        """One job. Raises LookupError if there is no job with that number."""
        for job in self.jobs():
            if job.id == id:
                return job
        raise LookupError(f"the tuner at {self.server} has no job {id}")

    def watch(self, id, on_progress=None, progress=True):
        """Follows a job to its end, and returns it; check its state.

        on_progress: called about once a second with a Progress. If it returns False, watching ends, but the job continues.
        progress: show the progress, like `tune`. Ctrl-C stops watching and raises KeyboardInterrupt; the job continues.
        """
        stand = Progress()
        ended = None
        with shown(stand, progress) as show:
            child = programs.Child("tuner", "watch", id, "--json", *self._options())
            stopped = False
            for line in child.json_lines():
                if "state" in line:
                    ended = line
                    line = line["progress"]
                if line:
                    stand.update(line)
                    show()
                    if on_progress and on_progress(stand) is False and not stopped:
                        stopped = True
                        child.stop()
            child.end(accepted=(0, 1, 3, 130) if ended or stopped else (0,))
        return Job(self, ended) if ended else self.job(id)

    def _change(self, command, ids):
        changed = [Job(self, line) for line in programs.run_lines("tuner", command, *ids, "--json", *self._options())]
        return changed[0] if len(ids) == 1 else changed

    def pause(self, *ids):
        """Stops jobs until they are resumed. Returns the Job, or a list for several."""
        return self._change("pause", ids)

    def resume(self, *ids):
        """Resumes paused jobs. Returns the Job, or a list for several."""
        return self._change("resume", ids)

    def cancel(self, *ids):
        """Ends jobs; their measurements are kept. Returns the Job, or a list for several."""
        return self._change("cancel", ids)

    @property
    def db(self):
        """The address of the tuner's records, as the argument `db` of `compile`, `records` and `best`."""
        return f"tuner://{self.server}"

    def records(self, **options):
        """The tuner's measurements as rows; see `records`."""
        return recorded.records(self.db, tls=self.tls, **options)

    def compile(self, model, target="host", **options):
        """Compiles a network with the tuner's schedules; see `compile`."""
        return models.compile(model, target, self.db, tls=self.tls, **options)

    def __repr__(self):
        return f"<Farm {self.server}>"
