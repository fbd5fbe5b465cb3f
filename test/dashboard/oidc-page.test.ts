import assert from "node:assert/strict";
import { test } from "node:test";
import { browser, noBrowser } from "../helpers/browser.ts";
import { signingIn } from "../helpers/signing-in.ts";

test("in a browser: to the issuer, back to the same page, out, and a refusal", { skip: noBrowser }, async (t) => {
  const { at, origin } = await signingIn(t);
  const page = await (await browser(t)).open(`${origin}/dashboard/projects`);
  await page.getByLabel("API key").waitFor();
  await page.getByRole("button", { name: "Sign in with Acme ID" }).click();
  const signIn = async (login: string) => {
    await page.getByPlaceholder("Enter any login").fill(login);
    await page.getByPlaceholder("and password").fill("any");
    await page.getByRole("button", { name: "Sign-in" }).click();
    await page.getByRole("button", { name: "Continue" }).click();
  };
  await signIn("dora");
  await page.waitForURL(`${origin}/dashboard/projects`);
  await page.getByRole("heading", { name: "Projects" }).waitFor();
  await page.getByText("dora", { exact: false }).first().waitFor();
  // The page keeps its session, after a reload too.
  await page.reload();
  await page.getByRole("heading", { name: "Projects" }).waitFor();
  const cookies = await page.context().cookies(`${origin}/dashboard`);
  const session = cookies.find(({ name }) => /^svc_\d+$/.test(name));
  assert.deepEqual([session?.httpOnly, session?.sameSite], [true, "Strict"]);

  // An open page would load itself again without its session, and interrupt the next navigation.
  await page.goto("about:blank");
  await page.context().clearCookies();
  at.accounts.set("mallory", { email: "mallory@evil.test" });
  await page.goto(`${origin}/dashboard`);
  await page.getByRole("button", { name: "Sign in with Acme ID" }).click();
  await signIn("mallory");
  await page.getByRole("heading", { name: "You are not signed in" }).waitFor();
  await page.getByText("Ask an owner or admin of acme to invite this address").waitFor();
  await page.getByRole("link", { name: "Sign in again" }).click();
  await page.getByRole("button", { name: "Sign in with Acme ID" }).waitFor();
});
