// The dashboard of a secured tuner: it asks for a token, and offers what the token's role may do.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Browser, seriousFaults } from "./browser.mjs";
import { Farm, patienceMs } from "./farm.mjs";

const farm = new Farm(process.env.PROGRAMS);
let browser;

before(async () => {
  await farm.startSecured();
  browser = await Browser.launch();
});
after(async () => {
  await browser?.close();
  await farm.stopAll();
});

// The farm's own authority has signed the certificate, which this browser does not know.
const open = async () => {
  const page = await browser.page({ ignoreHTTPSErrors: true });
  await page.goto(farm.url);
  await page.getByText("This tuner wants a token").waitFor();
  return page;
};
const enter = async (page, token) => {
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Open" }).click();
};

test("without a token, or with a wrong one, nothing is shown but what is wrong", async () => {
  const page = await open();
  assert.deepEqual(await seriousFaults(page), []);
  await enter(page, "tft-0000000000000000000000000000000000000000");
  await page.getByRole("alert").waitFor();
  assert.equal(await page.getByText("Jobs", { exact: true }).count(), 1); // the link
  await page.context().close();
});

test("a viewer sees jobs and may change none; a user may submit", async () => {
  for (const [role, may] of [["viewer", 0], ["user", 1]]) {
    const page = await open();
    await enter(page, farm.token(role));
    await page.getByText("No job was submitted yet.").waitFor();
    await page.getByText(`· ${role}`).waitFor();
    assert.equal(await page.getByText("Tune a network").count(), may, role);
    await page.getByRole("link", { name: "Devices" }).click();
    await page.getByText("No device has joined", { exact: false }).waitFor();
    assert.ok(!page.url().includes("tft-"));
    await page.reload();
    await page.getByText("No device has joined", { exact: false }).waitFor(); // the tab keeps its token
    await page.getByRole("button", { name: "Forget token" }).click();
    await page.getByText("This tuner wants a token").waitFor();
    await page.context().close();
  }
});

test("a token that is revoked shows nothing any more", async () => {
  const page = await open();
  await enter(page, farm.token("viewer"));
  await page.getByText("No job was submitted yet.").waitFor();
  for (const { id } of farm.run("tuner", "token", "--list", "--json", "--server", farm.server, "--tls", farm.ada).trim().split("\n").flatMap((line) => JSON.parse(line)))
    farm.run("tuner", "token", "--revoke", id, "--server", farm.server, "--tls", farm.ada);
  await page.getByText("This tuner wants a token").waitFor({ timeout: patienceMs });
  await page.context().close();
});
