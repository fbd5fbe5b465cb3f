import assert from "node:assert/strict";
import { test } from "node:test";
import type { Options } from "../../lib/index.ts";
import { browser, noBrowser } from "../helpers/browser.ts";
import { controlsOf, dashboardPage, findingsOf } from "../helpers/dashboard-page.ts";
import { mailServer } from "../helpers/mail-server.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";

test("an invitation says how its mail went: kept, refused with the reason, sent again", {
  skip: noBrowser,
}, async (t) => {
  const { open } = await browser(t);
  const peopleOf = async (options: Options) => {
    const here = await listeningWorld(t, options);
    const page = await dashboardPage(t, open, `http://127.0.0.1:${here.port}`, "/people");
    const controls = controlsOf(page);
    const invite = async () => {
      await controls.button("Invite").click();
      await controls.fill("Email", "grace@acme.test");
      await controls.submit("Invite");
    };
    return { here, page, invite, ...controls };
  };

  const without = await peopleOf({});
  await without.invite();
  await without.sees("The mail is stored but not sent: no mail server is set (option mail.url).");

  const server = await mailServer(t);
  server.refusals.push({ at: "recipient", code: 550, says: "5.1.1 no such <b>user</b>" });
  const url = `smtp://127.0.0.1:${server.port}`;
  const { here, page, invite, button, sees } = await peopleOf({ mail: { url }, outbound: { send: true } });
  await invite();
  await sees("The mail is waiting to be sent");
  await here.service.settle();
  await sees("The mail was not sent: the mail server 127.0.0.1");
  await sees("refused the address: 550 5.1.1 no such <b>user</b>");
  assert.deepEqual(await findingsOf(page), []);
  await button("Send again").click();
  await sees("The mail is waiting to be sent");
  await here.service.settle();
  await sees("The mail was sent.");
  assert.equal(server.received.length, 1);
});
