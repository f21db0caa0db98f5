// Owns: all kernels of the database: search, compare with other records, export.
import { useEffect, useState } from "preact/hooks";
import { useAnswer } from "../api/live";
import { count } from "../format";
import { exportAll, save } from "../records/here";
import { route, setQuery } from "../router";
import { Card, Fault, Loading, Title } from "../ui/parts";
import { Table } from "../ui/table";
import { CompareCard } from "./compare_card";
import { kernelColumns } from "./kernel_table";

const pageSize = 50;
const typingMs = 250;

export function RecordsPage() {
  const [typed, setTyped] = useState(route.value.query.get("search") ?? "");
  const [search, setSearch] = useState(typed);
  const [tokens, setTokens] = useState<string[]>([""]); // of the pages up to this one
  useEffect(() => {
    const timer = setTimeout(() => {
      if (typed === search) return;
      setSearch(typed);
      setTokens([""]);
      setQuery({ search: typed });
    }, typingMs);
    return () => clearTimeout(timer);
  }, [typed]);
  const answer = useAnswer("Reports/ListKernels", { search, pageSize, pageToken: tokens.at(-1) });
  const [last, setLast] = useState(answer.value);
  useEffect(() => answer.value && setLast(answer.value), [answer.value]);
  const shown = answer.value ?? last; // the page before stays while the next one comes
  const first = (tokens.length - 1) * pageSize;
  return (
    <>
      <div class="head">
        <Title page="Records">Records</Title>
        {shown && <p class="muted" role="status">{count(shown.total)} {shown.total === 1 ? "kernel" : "kernels"}{search && ` with “${search}”`}</p>}
        <div class="actions"><ExportButton /></div>
      </div>
      <Fault error={answer.error} stale={shown !== undefined} />
      <Card
        title="Kernels"
        end={<input type="search" aria-label="Search kernels" placeholder="Label, operator, target, device" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />}
      >
        {shown ? (
          <>
            <Table caption="Kernels" stack columns={kernelColumns(undefined)} rows={shown.kernels} id={(row) => row.kernelId} empty={search ? "No kernel matches." : "No kernel was measured yet."} />
            {(tokens.length > 1 || shown.nextPageToken) && (
              <nav class="pages" aria-label="Pages of kernels">
                <button disabled={tokens.length === 1} onClick={() => setTokens(tokens.slice(0, -1))}>Back</button>
                <span class="num muted">{count(first + 1)} – {count(first + shown.kernels.length)} of {count(shown.total)}</span>
                <button disabled={!shown.nextPageToken} onClick={() => setTokens([...tokens, shown.nextPageToken])}>Next</button>
              </nav>
            )}
          </>
        ) : !answer.error && <Loading what="kernels" />}
      </Card>
      <CompareCard />
    </>
  );
}

function ExportButton() {
  const [told, setTold] = useState<number>();
  const [error, setError] = useState<Error>();
  const [abort, setAbort] = useState<AbortController>();
  const run = async () => {
    const stop = new AbortController();
    setAbort(stop);
    setError(undefined);
    setTold(0);
    try {
      save(await exportAll(setTold, stop.signal), "records.jsonl");
    } catch (failure) {
      if (!stop.signal.aborted) setError(failure as Error);
    }
    setTold(undefined);
  };
  return (
    <>
      {told === undefined ? <button onClick={run}>Export JSON lines</button> : <button onClick={() => abort?.abort()}>Stop ({count(told)} records)</button>}
      <Fault error={error} />
    </>
  );
}
