// Owns: the frame around all pages: navigation, theme, who one is, and the page that the address names.
import { useEffect, useRef } from "preact/hooks";
import { hasToken, setToken, wantsToken } from "./api/client";
import { answered, report } from "./api/embedded";
import type { DescribeJobRequest } from "./api/messages";
import { moment } from "./format";
import { DevicesPage } from "./pages/devices";
import { JobPage } from "./pages/job";
import { JobsPage } from "./pages/jobs";
import { KernelPage } from "./pages/kernel";
import { NetworkPage } from "./pages/network";
import { RecordsPage } from "./pages/records";
import { ReportPage } from "./pages/report";
import { TokenPage } from "./pages/token";
import { jobLink, route } from "./router";
import { openSession, session } from "./session";
import { type Theme, setTheme, theme } from "./theme";
import { Switch, Title } from "./ui/parts";

function Logo() {
  return (
    <svg width="22" height="22" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="#0072b2" />
      <path d="M6 9h7v5h6v5h7" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round" stroke-linejoin="round" />
      <circle cx="26" cy="24" r="2.6" fill="#e69f00" />
    </svg>
  );
}

function Navigation() {
  const page = route.value.page;
  const of = page === "job" || page === "network" || page === "kernel" ? "jobs" : page;
  const jobs = report ? answered<DescribeJobRequest>("Reports/DescribeJob") : [];
  const links: [string, string, string][] = report
    ? [["jobs", "#/", "Report"], ...jobs.slice(0, 8).map(({ jobId }): [string, string, string] => [`job${jobId}`, jobLink(jobId), `Job ${jobId}`])]
    : [["jobs", "#/jobs", "Jobs"], ["devices", "#/devices", "Devices"], ["records", "#/records", "Records"]];
  return (
    <nav aria-label="Pages">
      {links.map(([name, href, text]) => (
        <a key={name} href={href} aria-current={name === of ? (name === page ? "page" : "true") : undefined}>{text}</a>
      ))}
    </nav>
  );
}

function Who() {
  if (report) return <span class="muted small who">made {moment(report.made)}</span>;
  const who = session.value;
  if (!who) return null;
  return (
    <>
      <span class="muted small who" title={`tuner ${who.version}`}>{who.secured ? `${who.name || "?"} · ${who.role}` : "open to this machine"}</span>
      {who.secured && hasToken() && (
        <button class="plain small" onClick={() => { setToken(""); wantsToken.value = ""; }}>Forget token</button>
      )}
    </>
  );
}

function Page() {
  const { page, id } = route.value;
  if (wantsToken.value !== undefined) return <TokenPage />;
  switch (page) {
    case "jobs": return report ? <ReportPage /> : <JobsPage />;
    case "job": return <JobPage key={id} id={id} />;
    case "network": return <NetworkPage key={id} id={id} />;
    case "kernel": return <KernelPage key={id} id={id} />;
    case "devices": return <DevicesPage />;
    case "records": return <RecordsPage />;
    case "unknown": return <><Title page="Not found">There is no such page</Title><p><a href="#/jobs">All jobs</a></p></>;
  }
}

export function App() {
  const main = useRef<HTMLElement>(null);
  const first = useRef(true);
  const { page, id } = route.value;
  useEffect(() => void openSession(), []);
  useEffect(() => {
    if (first.current) first.current = false;
    else {
      scrollTo(0, 0);
      main.current?.focus({ preventScroll: true });
    }
  }, [page, id]);
  return (
    <>
      <header class="top">
        <a class="skip" href={location.hash || "#/jobs"} onClick={(event) => { event.preventDefault(); main.current?.focus(); }}>To the content</a>
        <div class="top-inner">
          <a class="brand" href="#/jobs"><Logo /> Tunefarm</a>
          <Navigation />
          <div class="end">
            <Who />
            <Switch<Theme> label="Colours" value={theme.value} onChange={setTheme} options={[["system", "Auto"], ["light", "Light"], ["dark", "Dark"]]} />
          </div>
        </div>
      </header>
      <main ref={main} tabIndex={-1}><Page /></main>
      {!report && (
        <footer class="muted small">
          Tunefarm {session.value?.version} · <a href="api/">HTTP API</a> · <a href="licenses.md">Licenses</a>
        </footer>
      )}
    </>
  );
}
