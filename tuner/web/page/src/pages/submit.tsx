// Owns: the form that submits a network: drop its file, say for what it is.
import { useEffect, useMemo, useState } from "preact/hooks";
import { submit } from "../api/client";
import { bytes } from "../format";
import { jobLink } from "../router";
import { session } from "../session";
import { Card, Fault, Field } from "../ui/parts";
import { type Typed, specOf } from "./submit_spec";
import { useDevices } from "./use_devices";

const empty: Typed = { name: "", owner: "", deviceKey: "", target: "host", threads: "1", minutes: "10", trials: "", dims: "", at: "", priority: "0", slots: "", numerics: [] };

export function SubmitCard(props: { onSubmitted: () => void }) {
  const [file, setFile] = useState<File>();
  const [over, setOver] = useState(false);
  const take = (of: FileList | null | undefined) => of?.[0] && setFile(of[0]);
  return (
    <Card title="Tune a network">
      <div
        class={`drop ${over ? "over" : ""}`}
        onDragOver={(event) => { event.preventDefault(); setOver(true); }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => { event.preventDefault(); setOver(false); take(event.dataTransfer?.files); }}
      >
        {file ? <><strong>{file.name}</strong> <span class="num">{bytes(file.size)}</span> · </> : "Drop an ONNX file here, or "}
        <label>
          {file ? "choose another" : "choose one"}
          <input class="visually-hidden" type="file" accept=".onnx" onChange={(event) => take(event.currentTarget.files)} />
        </label>
      </div>
      {file && <Form key={file.name} file={file} onDone={(sent) => { setFile(undefined); if (sent) props.onSubmitted(); }} />}
    </Card>
  );
}

function Form(props: { file: File; onDone: (sent: boolean) => void }) {
  const { devices } = useDevices(5000);
  const [typed, setTyped] = useState<Typed>({ ...empty, name: props.file.name.replace(/\.onnx$/i, "") });
  const [error, setError] = useState<Error>();
  const [busy, setBusy] = useState(false);
  const keys = useMemo(() => {
    const found = new Map<string, number>();
    for (const device of devices ?? []) found.set(device.deviceKey, (found.get(device.deviceKey) ?? 0) + (device.online ? device.slots.length : 0));
    return [...found].sort(([a], [b]) => (a < b ? -1 : 1));
  }, [devices]);
  useEffect(() => {
    if (keys.length > 0 && !keys.some(([key]) => key === typed.deviceKey)) setTyped((old) => ({ ...old, deviceKey: keys[0][0] }));
  }, [keys]);
  const text = (name: keyof Typed & string) => ({
    value: typed[name] as string,
    onInput: (event: Event) => setTyped({ ...typed, [name]: (event.currentTarget as HTMLInputElement).value }),
  });
  const send = async (event: Event) => {
    event.preventDefault();
    setError(undefined);
    setBusy(true);
    try {
      const { jobId } = await submit(specOf(typed), session.value?.secured ? "" : typed.owner, props.file);
      props.onDone(true);
      location.hash = jobLink(jobId);
    } catch (failure) {
      setError(failure as Error);
    }
    setBusy(false);
  };
  return (
    <form class="form submit" onSubmit={send}>
      <Field label="Name"><input required {...text("name")} /></Field>
      <Field label="Device key">
        {keys.length > 0 ? (
          <select value={typed.deviceKey} onChange={(event) => setTyped({ ...typed, deviceKey: event.currentTarget.value })}>
            {keys.map(([key, slots]) => <option value={key}>{key} ({slots === 1 ? "1 slot" : `${slots} slots`} online)</option>)}
          </select>
        ) : (
          <input required {...text("deviceKey")} placeholder="as in tracker devices" />
        )}
      </Field>
      <Field label="Target"><input required {...text("target")} placeholder="host, or x86_64:cpu=haswell" /></Field>
      <Field label="Minutes (empty: no limit)"><input type="number" min="0" step="any" {...text("minutes")} /></Field>
      <Field label="Trials (empty: no limit)"><input type="number" min="0" step="1" {...text("trials")} /></Field>
      {!session.value?.secured && <Field label="Owner (your name)"><input {...text("owner")} autocomplete="username" /></Field>}
      <details class="wide">
        <summary>More: sizes, threads, priority, numerics</summary>
        <div class="form">
          <Field label="Dimensions, a line each"><textarea rows={3} {...text("dims")} placeholder={"batch=8\nheight=32..512:32"} /></Field>
          <Field label="Sizes of ranges with kernels of their own, a line each"><textarea rows={3} {...text("at")} placeholder="height=224,width=224" /></Field>
          <Field label="Threads of each kernel"><input type="number" min="1" step="1" {...text("threads")} /></Field>
          <Field label="Priority, −10 to 10"><input type="number" min="-10" max="10" step="1" {...text("priority")} /></Field>
          <Field label="Slots at once (empty: its share)"><input type="number" min="0" step="1" {...text("slots")} /></Field>
          <fieldset class="field checks">
            <legend class="muted small">Numerics that it may use</legend>
            {["winograd", "bf16", "fp16", "tf32"].map((name) => (
              <label key={name}>
                <input
                  type="checkbox"
                  checked={typed.numerics.includes(name)}
                  onChange={() => setTyped({ ...typed, numerics: typed.numerics.includes(name) ? typed.numerics.filter((one) => one !== name) : [...typed.numerics, name] })}
                />{" "}
                {name}
              </label>
            ))}
          </fieldset>
        </div>
      </details>
      <div class="wide buttons">
        <button class="primary" disabled={busy}>{busy ? `Sending ${bytes(props.file.size)} …` : "Submit"}</button>
        <button type="button" class="plain" onClick={() => props.onDone(false)}>Discard</button>
      </div>
      <div class="wide"><Fault error={error} /></div>
    </form>
  );
}
