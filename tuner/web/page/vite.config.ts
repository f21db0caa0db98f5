import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { type Plugin, defineConfig } from "vite";

const sha256 = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

// The licenses of all packages of which the bundle has code, as these want it.
function licenses(): Plugin {
  return {
    name: "licenses",
    generateBundle(_, bundle) {
      const packages = new Set<string>();
      for (const one of Object.values(bundle))
        for (const id of one.type === "chunk" ? one.moduleIds : [])
          packages.add(/^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? "");
      packages.delete("");
      const texts = [...packages].sort().map((folder) => {
        const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8")) as Record<string, string>;
        const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
        if (!file) throw new Error(`${name} has no license file`);
        return `# ${name} ${version} (${license})\n\n${readFileSync(`${folder}/${file}`, "utf8").trim()}\n`;
      });
      if (texts.length === 0) throw new Error("no packages found");
      this.emitFile({ type: "asset", fileName: "licenses.md", source: texts.join("\n") });
    },
  };
}

// One file without a request to anything: script and style stand in the page, and its policy allows no others.
function inOneFile(): Plugin {
  return {
    name: "in-one-file",
    enforce: "post",
    generateBundle(_, bundle) {
      const page = Object.values(bundle).find((one) => one.fileName.endsWith(".html"));
      if (page?.type !== "asset") throw new Error("the report's build has no page");
      const policy: Record<string, string[]> = { "script-src": [], "style-src": [] };
      let html = String(page.source).replace(/<link rel="(?:stylesheet|modulepreload|icon)"[^>]*>\s*/g, "").replace(/<script type="module"[^>]*><\/script>\s*/g, "");
      for (const one of Object.values(bundle)) {
        if (one === page) continue;
        delete bundle[one.fileName];
        if (one.type === "chunk") {
          const code = one.code.replaceAll("</script", "<\\/script");
          policy["script-src"].push(sha256(code));
          html = html.replace("</body>", () => `<script type="module">${code}</script></body>`);
        } else if (one.fileName.endsWith(".css")) {
          policy["style-src"].push(sha256(String(one.source)));
          html = html.replace("</head>", () => `<style>${one.source}</style></head>`);
        } else if (one.fileName === "licenses.md") {
          html += `<!--\n${String(one.source).replaceAll("--", "- -")}\n-->\n`;
        }
      }
      const rules = Object.entries(policy).map(([name, hashes]) => `${name} ${hashes.join(" ")}`);
      const meta = `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; ${rules.join("; ")}; img-src data:; base-uri 'none'; form-action 'none'">`;
      page.source = html.replace("<head>", () => `<head>\n    ${meta}`);
    },
  };
}

// `vite build`: what the tuner serves. `vite build --mode report`: the page of `tuner report`, beside it.
export default defineConfig(({ mode }) => {
  const isReport = mode === "report";
  return {
    base: "./",
    build: {
      outDir: "../../../build/page",
      emptyOutDir: !isReport,
      target: "es2022",
      modulePreload: { polyfill: false },
      assetsInlineLimit: isReport ? 100_000 : 0,
      rollupOptions: { input: isReport ? "report.html" : "index.html" },
    },
    plugins: isReport ? [licenses(), inOneFile()] : [licenses()],
    server: { proxy: { "/api": process.env.TUNEFARM_SERVER ?? "http://127.0.0.1:7180" } },
    test: { include: ["tests/**/*.test.ts"] },
  };
});
