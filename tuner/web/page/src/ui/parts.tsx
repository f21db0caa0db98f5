// Owns: the small parts that all pages are made of.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useState } from "preact/hooks";
import { ApiError } from "../api/client";

export type Tone = "good" | "warn" | "bad" | "info" | "";

export function Card(props: { title: ComponentChildren; end?: ComponentChildren; children: ComponentChildren; class?: string }) {
  const id = useId();
  return (
    <section class={`card ${props.class ?? ""}`} aria-labelledby={id}>
      <header>
        <h2 id={id}>{props.title}</h2>
        {props.end && <div class="end">{props.end}</div>}
      </header>
      {props.children}
    </section>
  );
}

/** State is told by sign and word, not by colour alone. */
export function Pill(props: { tone: Tone; sign: string; children: ComponentChildren; live?: boolean }) {
  return (
    <span class={`pill ${props.tone} ${props.live ? "live" : ""}`}>
      <span class="dot" aria-hidden="true">{props.sign}</span>
      {props.children}
    </span>
  );
}

export function Stats(props: { children: ComponentChildren }) {
  return <dl class="stats">{props.children}</dl>;
}

export function Stat(props: { name: string; children: ComponentChildren; note?: ComponentChildren }) {
  return (
    <div class="stat">
      <dt>{props.name}</dt>
      <dd>
        {props.children}
        {props.note && <small>{props.note}</small>}
      </dd>
    </div>
  );
}

export function Facts(props: { of: [string, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {props.of.filter(([, value]) => value !== undefined && value !== "").map(([name, value]) => [<dt>{name}</dt>, <dd>{value}</dd>])}
    </dl>
  );
}

/** One choice of few. */
export function Switch<T extends string>(props: { label: string; value: T; options: [T, string][]; onChange: (to: T) => void }) {
  const name = useId();
  return (
    <fieldset class="switch">
      <legend class="visually-hidden">{props.label}</legend>
      {props.options.map(([value, text]) => (
        <label key={value}>
          <input type="radio" name={name} checked={value === props.value} onChange={() => props.onChange(value)} />
          <span>{text}</span>
        </label>
      ))}
    </fieldset>
  );
}

export function Field(props: { label: string; children: ComponentChildren; wide?: boolean }) {
  return (
    <label class={`field ${props.wide ? "wide" : ""}`}>
      <span>{props.label}</span>
      {props.children}
    </label>
  );
}

/** What went wrong, in the service's own words. */
export function Fault(props: { error?: Error; stale?: boolean }) {
  if (!props.error) return null;
  const away = props.error instanceof ApiError && props.error.code === "UNAVAILABLE";
  return (
    <p class={`notice ${away && props.stale ? "warn" : "bad"}`} role="alert">
      {props.error.message}
      {away && props.stale && "; what you see is as it was last told. Trying again."}
    </p>
  );
}

export function Loading(props: { what: string }) {
  // What comes at once needs no words, which would only flicker.
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 400);
    return () => clearTimeout(timer);
  }, []);
  return <p class="empty" role="status">{late ? `Loading ${props.what} …` : "\u00a0"}</p>;
}

/** A share of one as a bar with its number. */
export function Share(props: { of: number; text: string }) {
  return (
    <span class="with-bar">
      <span class="num">{props.text}</span>
      <span class="bar" aria-hidden="true">
        <span style={{ width: `${Math.min(1, Math.max(0, props.of)) * 100}%` }} />
      </span>
    </span>
  );
}

/** Heading of a page, and its name in the browser's tab. */
export function Title(props: { children: ComponentChildren; page: string }) {
  useEffect(() => {
    document.title = `${props.page} · Tunefarm`;
  }, [props.page]);
  return <h1>{props.children}</h1>;
}
