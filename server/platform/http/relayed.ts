import type { Readable } from "node:stream";
import type { FastifyRequest } from "fastify";

/** A request as it came, for a provider that hands it on: without what was read out of it. */
export type SentRequest = {
  /** Path and query, with their escapes. */
  url: string;
  body: Buffer | undefined;
  headers: FastifyRequest["headers"];
  id: string;
  /** Aborts when the caller leaves. */
  gone: AbortSignal;
};

/** An answer that another service of the same wire contract gave: passed on without a second encoding. */
export class Relayed {
  readonly status: number;
  /** Undefined where it has no body. */
  readonly json: unknown;
  readonly headers: Record<string, string>;
  /** A file, in place of JSON. */
  readonly stream: Readable | undefined;
  constructor(status: number, json: unknown, headers: Record<string, string> = {}, stream?: Readable) {
    this.status = status;
    this.json = json;
    this.headers = headers;
    this.stream = stream;
  }
}

type Asked = Pick<FastifyRequest, "headers" | "query" | "body" | "params">;

/** What the routes of the contract need where requests are handed on to another service. */
export type Relay = {
  /** The same request with this server's id for the organization that the other service knows by another. */
  renameOrganization(asked: Asked): Asked;
  /** Whether an organization is the one whose data the other service has. */
  isServed(organization_id: string): boolean;
};
