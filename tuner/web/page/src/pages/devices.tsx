// Owns: the farm: its devices, who holds them, how steady they are; who waits, and why.
import { useState } from "preact/hooks";
import { useAnswer } from "../api/live";
import type { Device, Reservation, Slot, UserUsage, WaitingRequest } from "../api/messages";
import { bytes, count, digits, duration, moment, percent, time } from "../format";
import { Sparkline } from "../plots/sparkline";
import { Card, Fault, Loading, Pill, Title } from "../ui/parts";
import { type Column, Table } from "../ui/table";
import { isHeld, stateOf, temperatureOf, whyItWaits } from "./device_state";
import { useDevices } from "./use_devices";

const everyMs = 2000;

export function DevicesPage() {
  const { devices, error } = useDevices(everyMs);
  const waiting = useAnswer("Operators/ListWaiting", {}, everyMs);
  const reservations = useAnswer("Operators/ListReservations", {}, 10_000);
  const [search, setSearch] = useState("");
  if (!devices) return error ? <><Title page="Devices">Devices</Title><Fault error={error} /></> : <Loading what="devices" />;
  const found = devices.filter((device) => [device.deviceId, device.deviceKey, device.facts?.cpuModel, device.agentAddress, ...Object.entries(device.labels).map(([name, value]) => `${name}=${value}`)].join(" ").toLowerCase().includes(search.toLowerCase()));
  const online = devices.filter((device) => device.online).length;
  const slots = devices.filter((device) => device.online).flatMap((device) => device.slots);
  return (
    <>
      <div class="head">
        <Title page="Devices">Devices</Title>
        <p class="muted">{count(online)} of {count(devices.length)} online, {count(slots.filter(isHeld).length)} of {count(slots.length)} slots held</p>
      </div>
      <Fault error={error} stale />
      <Card title="Devices" end={<input type="search" aria-label="Search devices" placeholder="Search id, key, CPU, label" value={search} onInput={(event) => setSearch(event.currentTarget.value)} />}>
        <Table caption="Devices" stack columns={columns} rows={found} id={(device) => device.deviceId} empty={devices.length > 0 ? "No device matches." : "No device has joined. Start one: device_agent --tracker HOST:PORT --key KEY"} />
      </Card>
      <Card title="Who waits, and why">
        {waiting.error ? <Fault error={waiting.error} /> : (
          <Table caption="Requests that wait" stack columns={waitingColumns(devices)} rows={waiting.value?.requests ?? []} id={(_, i) => i} empty="Nobody waits for a device." />
        )}
      </Card>
      <div class="grid">
        <Card title="Shares">
          <Table caption="Use by user" stack columns={userColumns} rows={waiting.value?.users ?? []} id={(user) => user.user} empty="Nobody has used the farm lately." />
        </Card>
        <Card title="Reservations">
          <Table caption="Reservations" stack columns={reservationColumns} rows={reservations.value?.reservations ?? []} id={(one) => one.id} empty="No device is reserved." />
        </Card>
      </div>
    </>
  );
}

function Holder(props: { slot: Slot; only: boolean }) {
  const { slot } = props;
  const queue = [Number(slot.queued) > 0 && `${slot.queued} queued`, Number(slot.unacknowledged) > 0 && `${slot.unacknowledged} not stored yet`, Number(slot.answered) > 0 && `${slot.answered} answered`].filter(Boolean).join(", ");
  return (
    <div class="slot">
      {!props.only && <span class="muted num small">{slot.slot}</span>}
      {isHeld(slot) ? (
        <span>
          {slot.purpose || slot.user || slot.holder}
          <span class="muted small"> {[slot.purpose && slot.user, `for ${duration(Number(slot.heldMs) / 1000)}`, queue].filter(Boolean).join(" · ")}</span>
        </span>
      ) : <span class="muted">free</span>}
    </div>
  );
}

function Drift(props: { slot: Slot; of: string }) {
  const { golden } = props.slot;
  if (!golden || golden.samples.length === 0) return <span class="muted">–</span>;
  const times = golden.samples.map((sample) => Number(sample.timeNs)).filter((ns) => ns > 0);
  const known = golden.baselineNs > 0;
  const drift = `${golden.drift >= 0 ? "+" : "−"}${percent(Math.abs(golden.drift))}`;
  return (
    <div class="slot">
      <Sparkline values={times} base={golden.baselineNs} label={`Golden kernel on ${props.of}: ${times.map((ns) => time(ns)).join(", ")}`} />
      <span class={`num small ${known && Math.abs(golden.drift) > 0.05 ? "drifting" : "muted"}`}>{known ? drift : "no baseline yet"}</span>
    </div>
  );
}

const columns: Column<Device>[] = [
  {
    head: "Device",
    cell: (device) => (
      <span>
        <strong class="name">{device.deviceId}</strong>
        <span class="block muted small">{[device.facts?.cpuModel, device.facts && `${device.facts.cores} cores`, device.facts && bytes(Number(device.facts.memoryBytes)), ...(device.facts?.gpus.map((gpu) => gpu.model) ?? [])].filter(Boolean).join(", ")}</span>
        <span class="block small">{Object.entries(device.labels).map(([name, value]) => <span class="label mono">{value ? `${name}=${value}` : name}</span>)}</span>
      </span>
    ),
  },
  { head: "Key", cell: (device) => device.deviceKey },
  {
    head: "State",
    wide: true,
    cell: (device) => {
      const state = stateOf(device);
      return (
        <span class="state-cell">
          <Pill tone={state.tone} sign={state.sign} live={state.text === "measuring"}>{state.text}</Pill>
          {state.why && <span class="block muted small">{state.why}</span>}
          {device.reservedFor && <span class="block small">reserved for {device.reservedFor}</span>}
        </span>
      );
    },
  },
  { head: "Holder and queue", wide: true, cell: (device) => <div>{device.slots.map((slot) => <Holder key={slot.slot} slot={slot} only={device.slots.length === 1} />)}</div> },
  {
    head: "Temperature",
    right: true,
    cell: (device) => {
      const degrees = temperatureOf(device);
      return degrees === undefined ? "–" : <span class={degrees >= 85 ? "drifting" : ""}>{digits(degrees)} °C</span>;
    },
  },
  { head: "Drift of the golden kernel", wide: true, cell: (device) => <div>{device.slots.map((slot) => <Drift key={slot.slot} slot={slot} of={device.deviceId} />)}</div> },
];

const waitingColumns = (devices: readonly Device[]): Column<WaitingRequest>[] => [
  { head: "Holder", cell: (request) => request.holder },
  { head: "User", cell: (request) => request.user },
  { head: "Key", cell: (request) => request.deviceKey },
  { head: "Priority", right: true, cell: (request) => request.priority },
  { head: "Waited", right: true, cell: (request) => duration(Number(request.waitedMs) / 1000) },
  { head: "Why", wide: true, cell: (request) => whyItWaits(request, devices) },
];

const userColumns: Column<UserUsage>[] = [
  { head: "User", cell: (user) => user.user },
  { head: "Share", right: true, cell: (user) => digits(user.share) },
  { head: "Slots now", right: true, cell: (user) => user.slots },
  { head: "Waiting", right: true, cell: (user) => user.waiting },
  { head: "Lately", right: true, cell: (user) => duration(user.recentSlotSeconds) },
];

const reservationColumns: Column<Reservation>[] = [
  { head: "For", cell: (one) => one.user },
  { head: "Devices", cell: (one) => [one.deviceKey || "any key", one.selector, `${one.devices} now`].filter(Boolean).join(", ") },
  { head: "From", cell: (one) => moment(Number(one.fromUnixMs) / 1000) },
  { head: "Until", cell: (one) => moment(Number(one.untilUnixMs) / 1000) },
  { head: "State", cell: (one) => (one.inForce ? <Pill tone="info" sign="●">in force</Pill> : <Pill tone="" sign="◷">later</Pill>) },
];
