// Owns: the one name of a call and its request, under which a report file keeps the answer.

/** What protobuf's JSON leaves out of a request: fields with their default value. */
function isDefault(value: unknown): boolean {
  if (value === undefined || value === null || value === "" || value === 0 || value === "0" || value === false) return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === "object" && Object.keys(value).length === 0;
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, of]) => !isDefault(of)).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, of]) => [name, sorted(of)]));
}

/** `Reports/DescribeJob {"jobId":"3"}`: keys sorted, defaults left out. */
export const keyOf = (method: string, request: object): string => `${method} ${JSON.stringify(sorted(request))}`;
