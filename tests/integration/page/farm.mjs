// Owns: a farm on loopback: tracker, one agent, and the tuner with its dashboard, each in a process of its own.
import { spawn, execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, createWriteStream } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const patienceMs = 180_000; // a test fails by what is wrong, not by what else the machine does
export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Until `ask` answers something; throws what `what` says once patience is lost. */
export async function until(what, ask, ms = patienceMs) {
  for (const end = Date.now() + ms; Date.now() < end; await sleep(100)) {
    const answer = await ask();
    if (answer) return answer;
  }
  throw new Error(`not in ${ms / 1000} s: ${typeof what === "function" ? what() : what}`);
}

export class Farm {
  constructor(programs) {
    this.programs = programs;
    this.folder = mkdtempSync(join(tmpdir(), "tunefarm-page-"));
    this.running = new Map();
  }

  path(name) {
    return join(this.folder, name);
  }

  run(program, ...args) {
    return execFileSync(join(this.programs, program), args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  }

  log(name) {
    return readFileSync(this.path(`${name}.log`), "utf8");
  }

  /** Starts a daemon; resolves to what its log says by then. */
  async start(name, ready, program, ...args) {
    const log = createWriteStream(this.path(`${name}.log`), { flags: "a" });
    await new Promise((resolve) => log.once("open", resolve));
    const child = spawn(join(this.programs, program), args, { stdio: ["ignore", log, log] });
    this.running.set(name, child);
    return until(() => `${name} started; its log:\n${this.log(name)}`, () => {
      if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}:\n${this.log(name)}`);
      return ready.exec(this.log(name));
    });
  }

  async stop(name, signal = "SIGTERM") {
    const child = this.running.get(name);
    if (!child) return;
    this.running.delete(name);
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    if (await Promise.race([gone.then(() => true), sleep(30_000)])) return;
    child.kill("SIGKILL");
    await gone;
    throw new Error(`${name} did not end in 30 s:\n${this.log(name)}`);
  }

  async startAgent() {
    const cpu = /Cpus_allowed_list:.*?(\d+)\n/.exec(readFileSync("/proc/self/status", "utf8"))[1]; // the last
    await this.start("agent", /serves the tracker/, "device_agent", "--tracker", this.tracker, "--key", "bench", "--cpus", cpu, "--without-sandbox", "missing", "--state-dir", this.path("agent"));
  }

  async startAll() {
    [, this.tracker] = await this.start("tracker", /listening on (127\.0\.0\.1:\d+)/, "tracker", "serve", "--listen", "127.0.0.1:0", "--state", this.path("tracker.db"));
    await this.startAgent();
    [, this.url] = await this.start("tuner", /dashboard at (http:\S+)/, "tuner", "serve", "--db", this.path("tune.db"), "--tracker", this.tracker, "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0");
  }

  /** Tracker and tuner with mutual TLS, without a device; the tuner's commands then take `--tls` of a member. */
  async startSecured() {
    const ca = this.path("ca");
    const admin = join(ca, "admin");
    this.run("tracker", "ca", "init", "--dir", ca);
    const [, port] = await this.start("tracker", /listening on \S+:(\d+)/, "tracker", "serve", "--tls", ca, "--listen", "localhost:0", "--state", this.path("tracker.db"));
    this.tracker = `localhost:${port}`;
    const joinAs = (name, ...role) => {
      const token = this.run("tracker", "ca", "token", ...role, "--tls", admin, "--tracker", this.tracker).trim();
      this.run("tuner", "join", "--tracker", this.tracker, "--token", token, "--tls", this.path(name));
      return this.path(name);
    };
    const tuner = joinAs("tuner.tls", "--role", "tuner", "--host", "localhost");
    [, this.url] = await this.start("tuner", /dashboard at (https:\S+)/, "tuner", "serve", "--db", this.path("tune.db"), "--tracker", this.tracker, "--listen", "localhost:0", "--tls", tuner, "--http", "localhost:0");
    this.server = `localhost:${/listening on \S+:(\d+)/.exec(this.log("tuner"))[1]}`;
    this.ada = joinAs("ada.tls", "--role", "user", "--name", "ada");
  }

  /** A token of Ada's with that role. */
  token(role) {
    return this.run("tuner", "token", "--role", role, "--server", this.server, "--tls", this.ada).trim();
  }

  async stopAll() {
    const faults = [];
    for (const name of ["tuner", "agent", "tracker"]) await this.stop(name).catch((fault) => faults.push(fault));
    rmSync(this.folder, { recursive: true, force: true });
    if (faults.length > 0) throw faults[0];
  }

  /** A call of the HTTP API. */
  async call(method, request = {}) {
    const response = await fetch(`${this.url}api/v1/${method}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(request) });
    if (!response.ok) throw new Error(`${method}: ${await response.text()}`);
    return response.json();
  }
}
