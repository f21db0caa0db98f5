// Owns: asking for the token of a secured tuner.
import { useState } from "preact/hooks";
import { setToken, wantsToken } from "../api/client";
import { openSession, session } from "../session";
import { Field, Title } from "../ui/parts";

export function TokenPage() {
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const why = wantsToken.value;
  const send = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setToken(text.trim());
    await openSession();
    if (session.value) wantsToken.value = undefined;
    setBusy(false);
  };
  return (
    <form class="card token" onSubmit={send}>
      <Title page="Token">This tuner wants a token</Title>
      <p class="muted">
        Make one with <code class="mono">tuner token --role viewer</code>, or ask who runs the farm for one. It is kept until you close this tab.
      </p>
      {why && <p class="notice bad" role="alert">{why}</p>}
      <Field label="Token">
        <input type="password" autocomplete="off" required value={text} placeholder="tft-…" onInput={(event) => setText(event.currentTarget.value)} />
      </Field>
      <div><button class="primary" disabled={busy || !text.trim()}>Open</button></div>
    </form>
  );
}
