// Owns: comparing the database with records in a file, or two files with each other.
import { useState } from "preact/hooks";
import { bytes, count, time } from "../format";
import { type Compared, compare, meanRatio } from "../records/compare";
import { bestHere, save } from "../records/here";
import { kernelIdOf } from "../records/kernel_id";
import { readBest } from "../records/lines";
import { kernelLink } from "../router";
import { Card, Fault, Pill } from "../ui/parts";
import { type Column, Table } from "../ui/table";

interface Result {
  left: string;
  right: string;
  rows: Compared[];
  ids: Map<string, string>;
}

const verdicts = {
  left: ["good", "▲"],
  right: ["warn", "▼"],
  same: ["", "≈"],
  "only left": ["", "◂"],
  "only right": ["", "▸"],
} as const;

export function CompareCard() {
  const [over, setOver] = useState(false);
  const [busy, setBusy] = useState("");
  const [error, setError] = useState<Error>();
  const [result, setResult] = useState<Result>();
  const [abort, setAbort] = useState<AbortController>();

  const take = async (files: File[]) => {
    if (files.length === 0) return;
    const stop = new AbortController();
    abort?.abort();
    setAbort(stop);
    setError(undefined);
    setResult(undefined);
    try {
      const read = async (file: File) => {
        try {
          return (await readBest(file, (done) => setBusy(`Reading ${file.name}: ${bytes(done)} of ${bytes(file.size)}`), stop.signal)).best;
        } catch (failure) {
          throw stop.signal.aborted ? failure : new Error(`${file.name}, ${(failure as Error).message}`);
        }
      };
      const right = await read(files.at(-1)!);
      const left = files.length > 1 ? await read(files[0]) : await bestHere(right, (done) => setBusy(`Asking for ${count(done)} of ${count(right.size)} kernels`), stop.signal);
      const rows = compare(left, right);
      const ids = new Map(await Promise.all(rows.map(async (row): Promise<[string, string]> => [row.key, (files.length === 1 && row.left && (await kernelIdOf(row.left.problem))) || ""])));
      setResult({ left: files.length > 1 ? files[0].name : "this database", right: files.at(-1)!.name, rows, ids });
    } catch (failure) {
      if (!stop.signal.aborted) setError(failure as Error);
    }
    if (!stop.signal.aborted) setBusy("");
  };

  return (
    <Card title="Compare" end={result && <button onClick={() => save(new Blob([table(result)], { type: "text/csv" }), "comparison.csv")}>Save as CSV</button>}>
      <div
        class={`drop ${over ? "over" : ""}`}
        onDragOver={(event) => { event.preventDefault(); setOver(true); }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => { event.preventDefault(); setOver(false); void take([...(event.dataTransfer?.files ?? [])].slice(0, 2)); }}
      >
        {busy || (
          <>
            Drop what <code class="mono">tuner export</code> wrote of another database or another version of the compiler (two files are compared with each
            other), or{" "}
            <label>
              choose files
              <input class="visually-hidden" type="file" multiple accept=".jsonl,.ndjson,.json" onChange={(event) => void take([...(event.currentTarget.files ?? [])].slice(0, 2))} />
            </label>
          </>
        )}
      </div>
      <Fault error={error} />
      {result && <Summary of={result} />}
      {result && <Table caption="Comparison" stack columns={columns(result)} rows={result.rows.slice(0, 500)} id={(row) => row.key} empty="The file has no ok measurement." />}
    </Card>
  );
}

function Summary(props: { of: Result }) {
  const { rows, left, right } = props.of;
  const mean = meanRatio(rows);
  const counted = (verdict: Compared["verdict"]) => rows.filter((row) => row.verdict === verdict).length;
  return (
    <p class="summary" role="status">
      {count(rows.length)} kernels: {left} is faster for {count(counted("left"))}, {right} for {count(counted("right"))}; too close to call {count(counted("same"))}; only in {left}{" "}
      {count(counted("only left"))}, only in {right} {count(counted("only right"))}.
      {mean !== undefined && ` On average (geometric mean) ${right} takes ${mean.toFixed(3)} of the time of ${left}.`}
    </p>
  );
}

const binding: Column<Compared> = { head: "Binding", cell: (row) => <span class="clip mono" title={(row.left ?? row.right)!.problem.binding}>{(row.left ?? row.right)!.problem.binding}</span> };

const columns = (of: Result): Column<Compared>[] => [
  { head: "Kernel", cell: (row) => (of.ids.get(row.key) ? <a href={kernelLink(of.ids.get(row.key)!)}>{row.label}</a> : row.label) },
  ...(of.rows.some((row) => (row.left ?? row.right)!.problem.binding) ? [binding] : []),
  { head: "Target", cell: (row) => <span class="clip mono">{(row.left ?? row.right)!.problem.target}</span> },
  { head: "Device class", cell: (row) => (row.left ?? row.right)!.deviceClass },
  { head: of.left, right: true, cell: (row) => (row.left ? <span title={row.left.schedule}>{time(row.left.ns)} <span class="muted small">±{bounds(row.left)}</span></span> : "–") },
  { head: of.right, right: true, cell: (row) => (row.right ? <span title={row.right.schedule}>{time(row.right.ns)} <span class="muted small">±{bounds(row.right)}</span></span> : "–") },
  { head: "Ratio", right: true, cell: (row) => (row.ratio === undefined ? "–" : row.ratio.toFixed(3)) },
  {
    head: "Faster",
    cell: (row) => {
      const [tone, sign] = verdicts[row.verdict];
      const text = { left: of.left, right: of.right, same: "bounds overlap", "only left": `only ${of.left}`, "only right": `only ${of.right}` }[row.verdict];
      return <Pill tone={tone} sign={sign}>{text}</Pill>;
    },
  },
];

const bounds = (of: { ns: number; lowNs: number; highNs: number }): string => `${(((of.highNs - of.lowNs) / 2 / of.ns) * 100).toFixed(1)}\u202f%`;

const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;

function table(of: Result): string {
  const head = ["kernel", "binding", "target", `${of.left} ns`, `${of.right} ns`, "ratio", "verdict"].map(quoted).join(",");
  const rows = of.rows.map((row) => {
    const problem = (row.left ?? row.right)!.problem;
    return [quoted(row.label), quoted(problem.binding), quoted(problem.target), row.left?.ns ?? "", row.right?.ns ?? "", row.ratio ?? "", quoted(row.verdict)].join(",");
  });
  return `${[head, ...rows].join("\n")}\n`;
}
