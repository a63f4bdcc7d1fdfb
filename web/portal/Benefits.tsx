import { Markdown } from "../parts/Markdown.tsx";
import { Notice } from "../parts/Notice.tsx";
import type { Grant } from "./calls.ts";
import { Part } from "./Part.tsx";
import type { Asked } from "./place.ts";
import { usePortalWords } from "./speech.tsx";

function One({ grant }: { grant: Grant }) {
  const words = usePortalWords();
  const { benefit, error } = grant;
  const note = benefit.type === "custom" ? benefit.properties.note : null;
  return (
    <li className="card stack">
      <h3>{benefit.description}</h3>
      {error && <Notice>{error.type === "BenefitActionRequiredError" ? words.connect : words.grant_failed}</Notice>}
      {note && (
        <div className="prose">
          <Markdown text={note} />
        </div>
      )}
    </li>
  );
}

/** What was given with what a customer bought; once each, however often it was bought. */
export function Benefits({ asked }: { asked: Asked<Grant[]> }) {
  const words = usePortalWords();
  return (
    <Part id="benefits" title={words.benefits} asked={asked}>
      {(grants) => (
        <ul className="stack bare">
          {[...new Map(grants.map((grant) => [grant.benefit_id, grant])).values()].map((grant) => (
            <One key={grant.id} grant={grant} />
          ))}
        </ul>
      )}
    </Part>
  );
}
