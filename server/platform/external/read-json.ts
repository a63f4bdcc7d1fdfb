/** Reading a small JSON document of an address that a seller named, within limits of time and size. */
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { assertOutsideTransaction } from "../db/open-transaction.ts";
import { createCallSignal } from "../jobs/deadline.ts";
import { findRefusal, type OutboundPolicy, wrapLookup } from "./outbound.ts";

const timeoutMs = 5000;
const bytesMax = 256 * 1024;

/** A document that cannot be read, in words for the seller. Nothing of its text is in them. */
export class UnreadableDocumentError extends Error {
  override readonly name = "UnreadableDocument";
}

/**
 * Read a JSON document. The address is checked as webhooks are, when the connection is made, and must begin with https except on a
 * developer's own machine. Redirects are not followed: they could lead to an address that was not checked.
 */
export async function readJson(address: string, reach: OutboundPolicy): Promise<unknown> {
  assertOutsideTransaction("a document of a seller's address");
  const url = new URL(address);
  const isSecure = url.protocol === "https:";
  const refusal = findRefusal(address, reach);
  if (refusal !== undefined) throw new UnreadableDocumentError(refusal);
  if (!isSecure && !reach.private_allowed) throw new UnreadableDocumentError("The address must begin with https://.");
  const text = await readText(url, reach);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new UnreadableDocumentError(`${url.host} did not answer with JSON.`);
  }
}

function readText(url: URL, reach: OutboundPolicy): Promise<string> {
  const signal = createCallSignal(timeoutMs);
  const send = url.protocol === "https:" ? requestHttps : requestHttp;
  return new Promise((done, fail) => {
    const rejectWith = (why: string) => fail(new UnreadableDocumentError(why));
    const request = send(
      url,
      { headers: { accept: "application/json" }, lookup: wrapLookup(url.href, reach), signal, agent: false },
      (response) => {
        if (response.statusCode !== 200) {
          response.destroy();
          return rejectWith(`${url.host} answered with status ${response.statusCode ?? 0}.`);
        }
        const chunks: Buffer[] = [];
        let size = 0;
        response.on("data", (chunk: Buffer) => {
          size += chunk.length;
          if (size <= bytesMax) return void chunks.push(chunk);
          response.destroy();
          rejectWith(`${url.host} answered with more than ${bytesMax / 1024} kB.`);
        });
        response.on("end", () => done(Buffer.concat(chunks).toString("utf8")));
        response.on("error", handleFailure);
      },
    );
    const handleFailure = (error: NodeJS.ErrnoException) =>
      rejectWith(
        signal.aborted
          ? `${url.host} did not answer within ${timeoutMs / 1000} seconds.`
          : `${url.host} cannot be reached (${error.name === "RefusedAddress" ? error.message : (error.code ?? error.name)}).`,
      );
    request.on("error", handleFailure);
    request.end();
  });
}
