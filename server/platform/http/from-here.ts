import type { FastifyRequest } from "fastify";
import ipaddr from "ipaddr.js";

type Headers = FastifyRequest["headers"];

const localHost = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/;
/** What proxies say of whom they ask for, each in its own way. */
const forwarded = /^(x-forwarded-.+|forwarded|via|x-real-ip|cf-connecting-ip)$/;
/** Those that name nothing but an address. */
const addressed = new Set(["x-forwarded-for", "x-real-ip"]);
/** Addresses of machines that are not reached from the internet. */
const insideRanges = new Set(["loopback", "private", "linkLocal", "uniqueLocal", "carrierGradeNat"]);

const isLocalHost = ({ host }: Headers): boolean => localHost.test(host ?? "");

/**
 * Whether a request comes from this machine's own screen. A page elsewhere that points its name at this address says so in
 * the Host header; a proxy on this machine, behind which is everybody, says whom it asks for.
 */
export const isFromHere = ({ headers }: Pick<FastifyRequest, "headers">): boolean =>
  isLocalHost(headers) && !isForwarded({ headers });

/** Whether a proxy says that it passes a request on. */
export const isForwarded = ({ headers }: Pick<FastifyRequest, "headers">): boolean =>
  Object.keys(headers).some((name) => forwarded.test(name));

/** The headers that say where a request comes from. */
export const pickSourceHeaders = ({ headers }: Pick<FastifyRequest, "headers">): Headers =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name === "host" || forwarded.test(name)));

const isInside = (address: string): boolean =>
  ipaddr.isValid(address) && insideRanges.has(ipaddr.process(address).range());

/** Whether a request comes from this machine or its own network: no proxy says that it asks for somebody outside. */
export function isFromInside({ headers }: Pick<FastifyRequest, "headers">): boolean {
  const told = Object.entries(headers).filter(([name]) => forwarded.test(name));
  const addresses = told.flatMap(([, value]) => String(value).split(",")).map((address) => address.trim());
  return isLocalHost(headers) && told.every(([name]) => addressed.has(name)) && addresses.every(isInside);
}
