// Owns: two programs of a kernel beside each other: schedule, loop IR and assembly, with what differs marked.
import { useMemo, useState } from "preact/hooks";
import { useAnswer } from "../api/live";
import type { Program } from "../api/messages";
import { count } from "../format";
import { Fault, Loading, Switch } from "../ui/parts";
import { type Pair, fold, pair } from "./side_by_side";
import "./programs.css";

type Part = keyof Program & ("schedule" | "ir" | "assembly");
const mostLines = 400;
const marks = { same: " ", changed: "~", removed: "−", added: "+" };

export interface Choice {
  row: number; // 0: the default schedule
  name: string;
}

/** Compiles both when it is shown. */
export function ComparePrograms(props: { kernelId: string; target: string; left: Choice; right: Choice }) {
  const left = useAnswer("Reports/ShowProgram", { kernelId: props.kernelId, row: props.left.row });
  const right = useAnswer("Reports/ShowProgram", { kernelId: props.kernelId, row: props.right.row });
  const [part, setPart] = useState<Part>("ir");
  const [all, setAll] = useState(false);
  const error = left.error ?? right.error;
  return (
    <>
      <div class="program-bar">
        <Switch<Part> label="Which text" value={part} onChange={setPart} options={[["schedule", "Schedule"], ["ir", "Loop IR"], ["assembly", codeOf(props.target)]]} />
        <label class="small"><input type="checkbox" checked={all} onChange={(event) => setAll(event.currentTarget.checked)} /> unfold all</label>
      </div>
      {error && <Fault error={error} />}
      {error && <p><button onClick={() => { left.again(); right.again(); }}>Ask again</button></p>}
      {!error && (!left.value || !right.value) && <Loading what="both programs; they are being compiled" />}
      {left.value && right.value && (
        <Sides key={part} left={scheduleLines(left.value[part], part)} right={scheduleLines(right.value[part], part)} leftName={props.left.name} rightName={props.right.name} all={all} />
      )}
    </>
  );
}

/** What its machine code is shown as: for a GPU, what its driver or NVRTC compiles. */
const codeOf = (target: string): string => (target.startsWith("opencl") ? "OpenCL C" : target.startsWith("cuda") ? "CUDA C" : "Assembly");

/** A schedule is one line; a step a line reads better. */
const scheduleLines = (text: string, part: Part): string => (part === "schedule" && !text.includes("\n") ? text.replaceAll(/;\s*/g, ";\n") : text);

function Sides(props: { left: string; right: string; leftName: string; rightName: string; all: boolean }) {
  const pairs = useMemo(() => pair(props.left, props.right), [props.left, props.right]);
  const pieces = useMemo(() => (props.all ? [{ pairs }] : fold(pairs)), [pairs, props.all]);
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const [most, setMost] = useState(mostLines);
  const differ = pairs.filter((one) => one.kind !== "same").length;
  let room = props.all ? Infinity : most;
  let left = 0;
  return (
    <>
      <p class="muted small">{differ === 0 ? "Both are the same." : `${count(differ)} of ${count(pairs.length)} lines differ.`}</p>
      <div class="sides" role="region" aria-label={`${props.leftName} beside ${props.rightName}`} tabIndex={0}>
        <table>
          <caption class="visually-hidden">{props.leftName} beside {props.rightName}</caption>
          <thead>
            <tr>
              <th scope="col"><span class="visually-hidden">Line</span></th><th scope="col">{props.leftName}</th>
              <th scope="col"><span class="visually-hidden">Line</span></th><th scope="col">{props.rightName}</th>
            </tr>
          </thead>
          <tbody>
            {pieces.map((piece, i) => {
              if ("folded" in piece && !open.has(i)) {
                if (room <= 0) {
                  left += piece.folded.length;
                  return null;
                }
                return (
                  <tr class="folded" key={i}>
                    <td colSpan={4}>
                      <button class="link" onClick={() => setOpen(new Set([...open, i]))}>⋯ {count(piece.folded.length)} lines that both have</button>
                    </td>
                  </tr>
                );
              }
              const lines = "folded" in piece ? piece.folded : piece.pairs;
              const shown = lines.slice(0, Math.max(0, room));
              room -= shown.length;
              left += lines.length - shown.length;
              return shown.map((line, at) => <Line key={`${i}.${at}`} of={line} />);
            })}
          </tbody>
        </table>
      </div>
      {left > 0 && <p class="more"><button onClick={() => setMost(most + 1000)}>Show more ({count(left)} lines)</button></p>}
    </>
  );
}

function Line(props: { of: Pair }) {
  const { kind, left, right } = props.of;
  const side = (of: { number: number; text: string } | undefined, mark: string) => [
    <td class="n" data-mark={of ? mark : " "}>{of?.number ?? ""}</td>,
    <td class={of ? "" : "none"}>{of?.text ?? ""}</td>,
  ];
  return (
    <tr class={kind}>
      {side(left, kind === "added" ? " " : kind === "changed" ? marks.removed : marks[kind])}
      {side(right, kind === "removed" ? " " : kind === "changed" ? marks.added : marks[kind])}
    </tr>
  );
}
