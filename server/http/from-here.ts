import type { FastifyRequest } from "fastify";

const localHost = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/;
/** What proxies say of whom they ask for, each in its own way. */
const forwarded = /^(x-forwarded-.+|forwarded|via|x-real-ip|cf-connecting-ip)$/;

/**
 * Whether a request comes from this machine's own screen. A page elsewhere that points its name at this address says so in
 * the Host header; a proxy on this machine, behind which is everybody, says whom it asks for.
 */
export const isFromHere = ({ headers }: Pick<FastifyRequest, "headers">): boolean =>
  localHost.test(headers.host ?? "") && !Object.keys(headers).some((name) => forwarded.test(name));
