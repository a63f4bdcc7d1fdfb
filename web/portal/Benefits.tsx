import { type ReactNode, useCallback, useState } from "react";
import { formatBytes } from "../../shared/bytes.ts";
import { useI18n } from "../i18n/i18n.tsx";
import { Button } from "../parts/Button.tsx";
import { Markdown } from "../parts/Markdown.tsx";
import { Notice } from "../parts/Notice.tsx";
import { type QueryState, useQuery } from "../use-query.ts";
import { Account, getPlatform, Returned } from "./Account.tsx";
import type { Failure, Grant, LicenseKey } from "./calls.ts";
import { usePortalMessages } from "./messages.tsx";
import { Dialog, Part, Refused } from "./Part.tsx";
import { usePlace } from "./portal-context.ts";

/** The files that came with a purchase, each by an address that is good for an hour. */
function Files({ benefit_id }: { benefit_id: string }) {
  const messages = usePortalMessages();
  const { portal } = usePlace();
  const { value, failure } = useQuery(useCallback(() => portal.files(benefit_id), [portal, benefit_id]));
  return (
    <>
      <Refused failure={failure} />
      <ul className="items">
        {value?.items.map(({ id, file }) => (
          <li key={id}>
            <div>
              {file.name} <span className="soft small">{formatBytes(file.size)}</span>
            </div>
            <a className="button quiet" href={file.download.url} download={file.name}>
              {messages.download}
              <span className="hidden"> {file.name}</span>
            </a>
          </li>
        ))}
      </ul>
    </>
  );
}

/** Asks whether a key is to be replaced by another one, and says what that does. */
function ReplaceKey({
  license,
  left,
  replaced,
}: {
  license: LicenseKey;
  left: () => void;
  replaced: () => Promise<unknown>;
}) {
  const messages = usePortalMessages();
  const { portal } = usePlace();
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<Failure>();
  const replace = async (): Promise<void> => {
    setBusy(true);
    const answer = await portal.replaceKey(license.id);
    if (answer.ok) {
      await replaced();
      return left();
    }
    setRefused(answer.failure);
    setBusy(false);
  };
  return (
    <Dialog title={messages.replace_key_title} left={left}>
      <p className="soft">{messages.replace_key_how(license.display_key)}</p>
      <Refused failure={refused} />
      <div className="row">
        <Button quiet onClick={left}>
          {messages.cancel_action}
        </Button>
        <Button danger busy={busy} onClick={() => void replace()}>
          {messages.replace_key}
        </Button>
      </div>
    </Dialog>
  );
}

/** A key, and beneath it where this one is in use. */
function Key({
  license,
  replaced,
  children,
}: {
  license: LicenseKey;
  replaced: () => Promise<unknown>;
  children: ReactNode;
}) {
  const { day, locale } = useI18n();
  const messages = usePortalMessages();
  const { me } = usePlace();
  const [copied, setCopied] = useState<string>();
  const [replacing, setReplacing] = useState(false);
  const count = (number: number): string => new Intl.NumberFormat(locale).format(number);
  return (
    <li>
      <div>
        <code>{license.key}</code>
        <p className="soft small">
          {license.expires_at && `${messages.key_until(day(new Date(license.expires_at)))} `}
          {license.limit_usage !== null && messages.key_uses(count(license.usage), count(license.limit_usage))}
        </p>
      </div>
      <div className="row">
        <Button
          quiet
          onClick={() => void navigator.clipboard.writeText(license.key).then(() => setCopied(license.key))}
        >
          <span aria-live="polite">{copied === license.key ? messages.copied : messages.copy}</span>
        </Button>
        {/* Somebody of a team asks who runs it. */}
        {me && (
          <Button
            quiet
            aria-label={`${messages.replace_key}: ${license.display_key}`}
            onClick={() => setReplacing(true)}
          >
            {messages.replace_key}
          </Button>
        )}
      </div>
      {children}
      {replacing && <ReplaceKey license={license} left={() => setReplacing(false)} replaced={replaced} />}
    </li>
  );
}

/** The places where a key is in use, which its owner may free. */
function Activations({
  license: { id, limit_activations },
  administers,
}: {
  license: LicenseKey;
  administers: boolean;
}) {
  const { locale } = useI18n();
  const messages = usePortalMessages();
  const { portal, seller } = usePlace();
  const { value, failure, reload } = useQuery(useCallback(() => portal.licenseKey(id), [portal, id]));
  const [refused, setRefused] = useState<Failure>();
  const [busy, setBusy] = useState<string>();
  if (!value) return <Refused failure={failure} />;
  const count = (number: number): string => new Intl.NumberFormat(locale).format(number);
  const free = async (activation_id: string): Promise<void> => {
    setBusy(activation_id);
    const answer = await portal.deactivate({
      key: value.key,
      organization_id: seller.organization.id,
      activation_id,
    });
    setRefused(answer.ok ? undefined : answer.failure);
    if (answer.ok) await reload();
    setBusy(undefined);
  };
  return (
    <>
      <p className="soft small">
        {messages.activations(
          count(value.activations.length),
          limit_activations === null ? undefined : count(limit_activations),
        )}
      </p>
      <Refused failure={refused} />
      {administers && value.activations.length > 0 && (
        <ul className="items">
          {value.activations.map((activation) => (
            <li key={activation.id}>
              <span>{activation.label}</span>
              <Button
                quiet
                busy={busy === activation.id}
                aria-label={messages.deactivate(activation.label)}
                onClick={() => void free(activation.id)}
              >
                {messages.deactivate_short}
              </Button>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function Keys({ grant }: { grant: Grant }) {
  const { portal } = usePlace();
  const { value, failure, reload } = useQuery(
    useCallback(() => portal.licenseKeys(grant.benefit_id), [portal, grant.benefit_id]),
  );
  const limited = grant.benefit.type === "license_keys" ? grant.benefit.properties.activations : null;
  return (
    <>
      <Refused failure={failure} />
      {value && (
        <ul className="items">
          {value.items.map((license) => (
            <Key key={license.id} license={license} replaced={reload}>
              {limited && (
                <div className="whole">
                  <Activations key={license.key} license={license} administers={limited.enable_customer_admin} />
                </div>
              )}
            </Key>
          ))}
        </ul>
      )}
    </>
  );
}

/** One thing that was given. What it brings is asked for anew with each version of it, such as when a key was replaced elsewhere. */
function One({ grant, version }: { grant: Grant; version: string }) {
  const { locale } = useI18n();
  const messages = usePortalMessages();
  const { benefit, error } = grant;
  const platform = getPlatform(grant);
  const note = benefit.type === "custom" ? benefit.properties.note : null;
  return (
    <li className="card stack">
      <h3>{benefit.description}</h3>
      {error && !platform && <Notice>{messages.grant_failed}</Notice>}
      {platform && !grant.is_revoked && <Account grant={grant} platform={platform} />}
      {note && (
        <div className="prose">
          <Markdown text={note} />
        </div>
      )}
      {grant.is_granted && benefit.type === "meter_credit" && (
        <p className="soft">{messages.credit(new Intl.NumberFormat(locale).format(benefit.properties.units))}</p>
      )}
      {grant.is_granted && benefit.type === "downloadables" && <Files key={version} benefit_id={grant.benefit_id} />}
      {grant.is_granted && benefit.type === "license_keys" && <Keys key={version} grant={grant} />}
    </li>
  );
}

/** Changes with what becomes of the grants of a benefit. */
const getVersion = (grants: readonly Grant[], benefit_id: string): string =>
  JSON.stringify(
    grants
      .filter((one) => one.benefit_id === benefit_id)
      .map(({ modified_at, properties }) => [modified_at, properties]),
  );

/** What was given with what a customer bought; once each, however often it was bought. */
export function Benefits({ asked }: { asked: QueryState<Grant[]> }) {
  const messages = usePortalMessages();
  return (
    <Part id="benefits" title={messages.benefits} asked={asked}>
      {(grants) => (
        <>
          <Returned />
          <ul className="stack bare">
            {[...new Map(grants.map((grant) => [grant.benefit_id, grant])).values()].map((grant) => (
              <One key={grant.id} grant={grant} version={getVersion(grants, grant.benefit_id)} />
            ))}
          </ul>
        </>
      )}
    </Part>
  );
}
