import type { FastifyInstance } from "fastify";
import { describeAnswer, describeFailure, type Schema } from "../../../shared/answer-schemas.ts";
import { describeCatalog } from "../../../shared/catalog/schema.ts";
import { commandAnswers, describeCommandAnswer, getSchemaName } from "../../../shared/command-answers/index.ts";
import type { Contract } from "../../../shared/contract.ts";
import { schemasPath, schemasVersion } from "../../../shared/schemas-path.ts";

/** The published schemas by their names, each made when it is asked for. */
function listSchemas(contract: Contract): Map<string, () => object> {
  const answers = Object.entries(contract).flatMap(([resource, operations]) =>
    Object.entries(operations).flatMap(([key, op]): [string, () => object][] =>
      op.response && !op.file && op.access.by !== "customer" && !resource.startsWith("portal")
        ? [[`${resource}.${key}`, () => ({ title: `${resource}.${key}`, ...describeAnswer(op) })]]
        : [],
    ),
  );
  const byHand = Object.keys(commandAnswers).map((command): [string, () => object] => [
    getSchemaName(command),
    () => ({ title: `floe ${command} --json`, ...describeCommandAnswer(command) }),
  ]);
  return new Map<string, () => object>([
    ["floe.yaml", describeCatalog],
    ["error", (): Schema => ({ title: "A failed command", ...describeFailure() })],
    ...answers,
    ...byHand,
  ]);
}

const hourSeconds = 3600;

/**
 * `GET /schemas/v1/`: the JSON Schemas of `floe.yaml`, of what the command line answers with `--json`, and of its errors. Only names of the
 * list have a schema, and each is made once.
 */
export function addSchemas(app: FastifyInstance, contract: Contract, address: string): void {
  const schemas = listSchemas(contract);
  const kept = new Map<string, string>();
  const getAddress = (name: string): string => `${address}${schemasPath}/${name}.json`;
  const list = JSON.stringify({
    version: schemasVersion,
    schemas: Object.fromEntries([...schemas.keys()].map((name) => [name, getAddress(name)])),
  });
  const cacheControl = `public, max-age=${hourSeconds}`;
  app.get(`${schemasPath}/`, (_request, reply) =>
    reply.type("application/json; charset=utf-8").header("Cache-Control", cacheControl).send(list),
  );
  for (const [name, describe] of schemas)
    app.get(`${schemasPath}/${name}.json`, (_request, reply) => {
      const text = kept.get(name) ?? JSON.stringify({ $id: getAddress(name), ...describe() });
      kept.set(name, text);
      // Editors of a browser read it from another site; it is the same for everybody.
      return reply
        .type("application/schema+json; charset=utf-8")
        .header("Cache-Control", cacheControl)
        .header("Access-Control-Allow-Origin", "*")
        .send(text);
    });
}
