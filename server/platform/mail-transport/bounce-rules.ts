/** What answers of mail servers and notices of mail services say about an address (MAIL-01, MAIL-02). */

export type Bounce = {
  address: string;
  /** `hard`: the address takes no mail. `soft`: this mail was not taken. */
  kind: "hard" | "soft";
  /** The enhanced status (RFC 3463) or the SMTP code; null where the notice has none. */
  code: string | null;
  reason: string;
};

const reasonMax = 300;
const bouncesMax = 1000;
const statusPattern = /\b([245]\.\d{1,3}\.\d{1,3})\b/;
/** The address is wrong, moved away or disabled. Other refusals are of the mail, such as for its size or its sender. */
const hardStatus = /^5\.(?:1\.(?:1|2|3|6|10)|2\.1)$/;
const hardCodes = new Set([550, 551, 553]);

const cleanReason = (text: string): string =>
  text
    .replace(/[\p{C}\p{Z}]+/gu, " ")
    .trim()
    .slice(0, reasonMax);

/** Whether an answer of a mail server means that the address takes no mail at all. */
export function describeRefusedAddress(code: number, text: string): Pick<Bounce, "kind" | "code"> {
  const status = statusPattern.exec(text)?.[1];
  const isHard = code >= 500 && (status === undefined ? hardCodes.has(code) : hardStatus.test(status));
  return { kind: isHard ? "hard" : "soft", code: status ?? String(code) };
}

type Fields = Record<string, unknown>;
const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const readText = (value: unknown): string => (typeof value === "string" ? value : "");
const listOf = (value: unknown): Fields[] => (Array.isArray(value) ? value.filter(isFields) : []);

function buildBounce(address: unknown, isHard: boolean, status: unknown, reason: unknown): Bounce[] {
  // A notice may name the address with its type or in brackets.
  const [found] = /[^\s<>;,"]+@[^\s<>;,"]+/.exec(readText(address)) ?? [];
  if (found === undefined || found.length > 320) return [];
  const text = readText(reason);
  const code = statusPattern.exec(`${readText(status)} ${text}`)?.[1] ?? null;
  return [{ address: found.toLowerCase(), kind: isHard ? "hard" : "soft", code, reason: cleanReason(text) }];
}

/** Amazon SES, inside of a notification of SNS or without one. */
function readSes(body: Fields): Bounce[] {
  const { bounce, complaint } = body;
  if (isFields(bounce))
    return listOf(bounce.bouncedRecipients).flatMap(({ emailAddress, status, diagnosticCode }) =>
      buildBounce(emailAddress, bounce.bounceType === "Permanent", status, diagnosticCode),
    );
  if (isFields(complaint))
    return listOf(complaint.complainedRecipients).flatMap(({ emailAddress }) =>
      buildBounce(emailAddress, true, "", "The recipient complained about the mail."),
    );
  return [];
}

const postmarkHard = new Set(["HardBounce", "BadEmailAddress", "ManuallyDeactivated", "SpamComplaint"]);
const readPostmark = ({ Email, Type, Description, Details }: Fields): Bounce[] =>
  buildBounce(Email, postmarkHard.has(readText(Type)), Details, `${readText(Description)} ${readText(Details)}`);

function readSendGrid({ event, type, email, status, reason }: Fields): Bounce[] {
  if (event === "spamreport") return buildBounce(email, true, "", "The recipient complained about the mail.");
  return event === "bounce" || event === "dropped"
    ? buildBounce(email, event === "bounce" && type !== "blocked", status, reason)
    : [];
}
function readMailgun({ "event-data": data }: Fields): Bounce[] {
  if (!isFields(data) || data.event !== "failed") return [];
  const delivery = isFields(data["delivery-status"]) ? data["delivery-status"] : {};
  const reason = readText(delivery.message) || readText(delivery.description);
  return buildBounce(data.recipient, data.severity === "permanent", delivery["enhanced-code"], reason);
}
/** The plain form, for every other service. */
const readPlain = ({ address, kind, code, reason }: Fields): Bounce[] =>
  kind === "hard" || kind === "soft" ? buildBounce(address, kind === "hard", code, reason) : [];

function readOne(body: Fields): Bounce[] {
  if (body.Type === "Notification") {
    const message = parseJson(readText(body.Message));
    return isFields(message) ? readSes(message) : [];
  }
  if ("bounce" in body || "complaint" in body) return readSes(body);
  if ("RecordType" in body) return readPostmark(body);
  if ("event-data" in body) return readMailgun(body);
  return "event" in body ? readSendGrid(body) : readPlain(body);
}

/** A report of a mail server (RFC 3464), as a mailbox receives it: each recipient has a block of fields. */
function readReport(text: string): Bounce[] {
  const blocks = text
    .replaceAll("\r\n", "\n")
    .replace(/\n[ \t]+/g, " ")
    .split(/\n{2,}/);
  return blocks.flatMap((block) => {
    const readField = (name: string): string => new RegExp(`^${name}:[ \\t]*(.*)$`, "im").exec(block)?.[1] ?? "";
    if (readField("Action").trim().toLowerCase() !== "failed") return [];
    const status = readField("Status");
    const reason = readField("Diagnostic-Code");
    return buildBounce(
      readField("Final-Recipient") || readField("Original-Recipient"),
      hardStatus.test(status.trim()),
      status,
      reason,
    );
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Read a notice: JSON of a mail service, or the report of a mail server. What is neither has no bounce. */
export function readNotice(text: string): Bounce[] {
  const body = parseJson(text);
  const found =
    body === undefined ? readReport(text) : (Array.isArray(body) ? listOf(body) : listOf([body])).flatMap(readOne);
  return found.slice(0, bouncesMax);
}

/** The address by which an operator confirms a subscription of Amazon SNS: it is logged, and not called. */
export function readConfirmationUrl(text: string): string | undefined {
  const body = parseJson(text);
  if (!isFields(body) || body.Type !== "SubscriptionConfirmation") return undefined;
  const url = readText(body.SubscribeURL);
  return /^https:\/\/sns\.[\w.-]+\.amazonaws\.com\//.test(url) ? url : undefined;
}
