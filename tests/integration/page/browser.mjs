// Owns: Debian's Chromium with the dashboard in it; what goes wrong there, for a test to look at.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";
import { patienceMs } from "./farm.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// As root there is no sandbox; the others keep Chromium from asking hosts of its own for anything.
const flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

export class Browser {
  static async launch() {
    return new Browser(await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: flags }));
  }

  constructor(browser) {
    this.browser = browser;
    this.faults = []; // errors of scripts, of the console, of the content policy
    this.hosts = new Set(); // of all requests
  }

  async page(options = {}) {
    const context = await this.browser.newContext({ viewport: { width: 1280, height: 860 }, colorScheme: "light", ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(patienceMs);
    await page.addInitScript(() => addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`)));
    page.on("pageerror", (error) => this.faults.push(`${page.url()}: ${error.message}`));
    page.on("console", (message) => message.type() === "error" && this.faults.push(`${page.url()}: ${message.text()}`));
    page.on("request", (request) => /^https?:/.test(request.url()) && this.hosts.add(new URL(request.url()).host));
    return page;
  }

  close() {
    return this.browser.close();
  }
}

/** What axe finds on the page that is serious or worse, in words. */
export async function seriousFaults(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  return violations
    .filter((one) => one.impact === "serious" || one.impact === "critical")
    .map((one) => `${one.id}: ${one.nodes.map((node) => `${node.target} ${node.failureSummary}`).join("; ")}`);
}

/** Milliseconds from the address to the first content. */
export async function firstPaint(page, url) {
  await page.goto("about:blank");
  await page.goto(url);
  await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length > 0);
  return page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime);
}
