import { expect, test } from "vitest";
import {
  describeRefusedAddress,
  readConfirmationUrl,
  readNotice,
} from "../../server/platform/mail-transport/bounce-rules.ts";

test.each([
  [550, "550 5.1.1 No such user", "hard", "5.1.1"],
  [550, "550 No such user here", "hard", "550"],
  [551, "User not local", "hard", "551"],
  [553, "553 5.1.3 Bad address", "hard", "5.1.3"],
  [550, "550 5.2.1 Mailbox disabled", "hard", "5.2.1"],
  [552, "552 5.2.2 Mailbox full", "soft", "5.2.2"],
  [550, "550 5.7.1 Your message looks like spam", "soft", "5.7.1"],
  [554, "554 Transaction failed", "soft", "554"],
  [450, "450 4.2.1 Try later", "soft", "4.2.1"],
  [450, "450 5.1.1 A code that contradicts", "soft", "5.1.1"],
])("MAIL-01: %i with %j is a %s bounce", (code, text, kind, status) => {
  expect(describeRefusedAddress(code, text)).toEqual({ kind, code: status });
});

const ses = {
  notificationType: "Bounce",
  bounce: {
    bounceType: "Permanent",
    bouncedRecipients: [
      { emailAddress: "Ada@Example.com", status: "5.1.1", diagnosticCode: "smtp; 550 5.1.1 unknown" },
    ],
  },
};
const report = [
  "From: mailer-daemon@mx.example.com",
  'Content-Type: multipart/report; report-type=delivery-status; boundary="b"',
  "",
  "--b",
  "Content-Type: message/delivery-status",
  "",
  "Reporting-MTA: dns; mx.example.com",
  "",
  "Final-Recipient: rfc822; ada@example.com",
  "Action: failed",
  "Status: 5.1.1",
  "Diagnostic-Code: smtp; 550 5.1.1",
  "  User unknown",
  "",
  "Final-Recipient: rfc822; late@example.com",
  "Action: delayed",
  "Status: 4.4.1",
  "",
  "--b--",
].join("\r\n");
test.each<[string, string, [string, string][]]>([
  ["Amazon SES", JSON.stringify(ses), [["ada@example.com", "hard"]]],
  ["Amazon SNS", JSON.stringify({ Type: "Notification", Message: JSON.stringify(ses) }), [["ada@example.com", "hard"]]],
  [
    "a transient bounce of SES",
    JSON.stringify({ bounce: { ...ses.bounce, bounceType: "Transient" } }),
    [["ada@example.com", "soft"]],
  ],
  [
    "a complaint",
    JSON.stringify({ complaint: { complainedRecipients: [{ emailAddress: "a@b.c" }] } }),
    [["a@b.c", "hard"]],
  ],
  [
    "Postmark",
    JSON.stringify({ RecordType: "Bounce", Type: "HardBounce", Email: "ada@example.com", Description: "Unknown" }),
    [["ada@example.com", "hard"]],
  ],
  [
    "Postmark, soft",
    JSON.stringify({ RecordType: "Bounce", Type: "SoftBounce", Email: "ada@example.com" }),
    [["ada@example.com", "soft"]],
  ],
  [
    "SendGrid",
    JSON.stringify([
      { event: "bounce", type: "bounce", email: "ada@example.com", status: "5.1.1", reason: "550 unknown" },
      { event: "bounce", type: "blocked", email: "b@example.com", reason: "spam" },
      { event: "delivered", email: "c@example.com" },
    ]),
    [
      ["ada@example.com", "hard"],
      ["b@example.com", "soft"],
    ],
  ],
  [
    "Mailgun",
    JSON.stringify({ "event-data": { event: "failed", severity: "permanent", recipient: "ada@example.com" } }),
    [["ada@example.com", "hard"]],
  ],
  [
    "the plain form",
    JSON.stringify({ address: "ada@example.com", kind: "hard", reason: "x" }),
    [["ada@example.com", "hard"]],
  ],
  ["a report of a mail server", report, [["ada@example.com", "hard"]]],
  ["a delivery", JSON.stringify({ RecordType: "Delivery", Email: 7 }), []],
  ["no address", JSON.stringify({ address: "nobody", kind: "hard" }), []],
  ["another kind", JSON.stringify({ address: "a@b.c", kind: "other" }), []],
  ["nothing", "", []],
  ["null", "null", []],
  ["a number", "7", []],
  ["lists in lists", "[[[]], null, 3]", []],
  ["text", "Hello.", []],
])("MAIL-02: a notice of %s", (_, text, expected) => {
  expect(readNotice(text).map(({ address, kind }) => [address, kind])).toEqual(expected);
});

test("MAIL-02: a notice has at most 1,000 bounces, of short reasons without control characters", () => {
  const one = { address: "a@b.c", kind: "soft", reason: `x\u001b[2J${"y".repeat(1000)}` };
  const read = readNotice(JSON.stringify(Array(3000).fill(one)));
  expect(read).toHaveLength(1000);
  expect(read[0]?.reason).not.toContain("\u001b");
  expect(read[0]?.reason.length).toBeLessThanOrEqual(300);
});

test.each([
  ["https://sns.eu-west-1.amazonaws.com/?Action=Confirm", true],
  ["https://evil.example.com/?sns.eu-west-1.amazonaws.com/", false],
  ["http://sns.eu-west-1.amazonaws.com/", false],
])("MAIL-02: a confirmation of %s is shown to the operator: %s", (url, isShown) => {
  const text = JSON.stringify({ Type: "SubscriptionConfirmation", SubscribeURL: url });
  expect(readConfirmationUrl(text)).toBe(isShown ? url : undefined);
});
