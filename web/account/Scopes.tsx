import { scopes } from "../../shared/scopes.ts";

type Level = "" | "read" | "write";
/** What is chosen, by resource. */
export type Access = Record<string, Level>;

const resources = [...new Set(scopes.map((scope) => scope.split(":")[0] ?? ""))];
const has = (resource: string, action: string): boolean => scopes.some((scope) => scope === `${resource}:${action}`);
const formatWords = (resource: string): string => {
  const text = resource.replaceAll("_", " ");
  return text.slice(0, 1).toUpperCase() + text.slice(1);
};

/** The scopes of what is chosen; writing includes reading. */
export const listChosenScopes = (access: Access): string[] =>
  Object.entries(access).flatMap(([resource, level]) => (level === "" ? [] : [`${resource}:${level}`]));

/** What a key may do, resource by resource. */
export function ScopeFields({ access, change }: { access: Access; change: (access: Access) => void }) {
  return (
    <fieldset className="scopes">
      <legend className="legend">What it may do</legend>
      {resources.map((resource) => (
        <label key={resource}>
          {formatWords(resource)}
          <span className="control select">
            <select
              value={access[resource] ?? ""}
              onChange={({ target }) => change({ ...access, [resource]: target.value as Level })}
            >
              <option value="">Nothing</option>
              {has(resource, "read") && <option value="read">Read</option>}
              {has(resource, "write") && <option value="write">Read, write</option>}
            </select>
          </span>
        </label>
      ))}
    </fieldset>
  );
}
