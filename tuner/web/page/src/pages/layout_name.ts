// Owns: layouts as people write them: "NCHW16c" for "0,1,2,3,1:16", as compiler/tensor/layout_name.cpp.

const axesOf: Record<number, string> = { 3: "NCW", 4: "NCHW", 5: "NCDHW" };

/** "-": row-major. What is no plain order or block stays as it is. */
export function layoutName(text: string): string {
  if (text === "") return "-";
  const parts = text.split(",").map((part) => part.split(":"));
  if (parts.some(([axis, size]) => !/^[0-7]$/.test(axis) || !/^\d*$/.test(size ?? ""))) return text;
  const axes = axesOf[Math.max(...parts.map(([axis]) => Number(axis))) + 1] ?? "ABCDEFGH";
  return parts.map(([axis, size]) => (size === undefined ? axes[Number(axis)] : `${size}${axes[Number(axis)].toLowerCase()}`)).join("");
}
