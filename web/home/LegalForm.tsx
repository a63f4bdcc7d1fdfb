import { type FormEvent, useCallback, useEffect, useRef, useState } from "react";
import { type AddressField, describeFailure, type Faults, readFaults } from "../checkout-form.ts";
import { useI18n } from "../i18n/i18n.tsx";
import { Address } from "../parts/Address.tsx";
import { Button } from "../parts/Button.tsx";
import { Field, TextField } from "../parts/Field.tsx";
import { Notice } from "../parts/Notice.tsx";
import { useQuery } from "../use-query.ts";
import { Command } from "./Command.tsx";
import type { Failure, OrganizationSettings } from "./calls.ts";
import { useHome } from "./home-context.ts";
import { type LegalField, type LegalValues, readLegalValues, writeLegalChanges, writeLegalCommand } from "./legal.ts";
import { useHomeMessages } from "./messages.tsx";

const modes = {
  country: "optional",
  line1: "optional",
  line2: "optional",
  city: "optional",
  postal_code: "optional",
  state: "optional",
} as const satisfies Record<AddressField, string>;

const ownFields = ["legal_name", "tax_id", "terms_url", "privacy_url", "imprint"] as const;
type OwnFaults = Partial<Record<(typeof ownFields)[number], string>>;

/** What the server refused, by field; the rest belongs to the address or to the whole form. */
function sortFaults(failure: Failure, describe: (rest: Failure) => Faults): { own: OwnFaults; rest: Faults } {
  const own: OwnFaults = {};
  const others = failure.faults.filter(({ loc, msg }) => {
    const field = ownFields.find((name) => loc.includes(name));
    if (field) own[field] ??= msg;
    return field === undefined;
  });
  const isSorted = failure.faults.length > 0 && others.length === 0;
  return { own, rest: isSorted ? {} : describe({ ...failure, faults: others }) };
}

type Props = {
  settings: OrganizationSettings;
  etag: string | undefined;
  done: () => void;
  left: () => void;
  loadAgain: () => void;
};

/** The details as they are stored, to be changed; written only if the organization has not changed meanwhile. */
function Form({ settings, etag, done, left, loadAgain }: Props) {
  const { messages: common } = useI18n();
  const messages = useHomeMessages();
  const { calls, reload } = useHome();
  const [before] = useState(() => readLegalValues(settings));
  const [values, setValues] = useState<LegalValues>(before);
  const [own, setOwn] = useState<OwnFaults>({});
  const [faults, setFaults] = useState<Faults>({});
  const [isContested, setIsContested] = useState(false);
  const [busy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    const wanted = attempt > 0 ? '[aria-invalid="true"]' : "input";
    form.current?.querySelector<HTMLElement>(wanted)?.focus();
  }, [attempt]);

  const change = (patch: Partial<LegalValues>): void => {
    setValues((known) => ({ ...known, ...patch }));
    const cleared = Object.fromEntries(Object.keys(patch).map((field) => [field, undefined]));
    setOwn((known) => ({ ...known, ...cleared }));
    setFaults((known) => ({ ...known, ...cleared }));
  };
  const save = async (): Promise<void> => {
    const body = writeLegalChanges(before, values);
    if (body === undefined) return done();
    const answer = await calls.updateSettings(settings.id, etag, body);
    if (answer.ok) {
      await reload();
      return done();
    }
    if (answer.failure.status === 412) return setIsContested(true);
    const sorted = sortFaults(answer.failure, (rest) => readFaults(rest, common));
    setOwn(sorted.own);
    setFaults(sorted.rest);
    setAttempt((count) => count + 1);
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (busy) return;
    const urls = (["terms_url", "privacy_url"] as const).filter(
      (field) => values[field].trim() !== "" && !/^https:\/\/\S+$/i.test(values[field].trim()),
    );
    if (urls.length > 0) {
      setOwn(Object.fromEntries(urls.map((field) => [field, messages.must_be_https])));
      setAttempt((count) => count + 1);
      return;
    }
    setBusy(true);
    void save().finally(() => setBusy(false));
  };
  const build = (field: LegalField) => ({
    name: field,
    value: values[field],
    error: own[field as keyof OwnFaults],
    onChange: ({ target }: { target: { value: string } }) => change({ [field]: target.value }),
  });
  return (
    <form ref={form} className="stack legal-form" noValidate onSubmit={submit} aria-busy={busy}>
      <div className="fields">
        <Field
          optional={common.optional}
          label={messages.legal_fields.legal_name}
          autoComplete="organization"
          {...build("legal_name")}
        />
        <Address modes={modes} values={values} errors={faults} change={change} settle={change} />
        <Field
          optional={common.optional}
          label={messages.legal_fields.tax_id}
          autoComplete="off"
          {...build("tax_id")}
        />
        <Field
          optional={common.optional}
          label={messages.legal_fields.terms_url}
          type="url"
          placeholder="https://"
          autoComplete="off"
          {...build("terms_url")}
        />
        <Field
          optional={common.optional}
          label={messages.legal_fields.privacy_url}
          type="url"
          placeholder="https://"
          autoComplete="off"
          {...build("privacy_url")}
        />
        <TextField optional={common.optional} label={messages.legal_fields.imprint} rows={3} {...build("imprint")} />
      </div>
      {faults.form && <Notice tone="fault">{faults.form}</Notice>}
      {isContested && (
        <Notice tone="fault">
          <p>{messages.changed_elsewhere}</p>
          <button type="button" className="plain" onClick={loadAgain}>
            {messages.load_again}
          </button>
        </Notice>
      )}
      <div className="row">
        <Button quiet onClick={left}>
          {messages.back}
        </Button>
        <Button type="submit" busy={busy}>
          {messages.save}
        </Button>
      </div>
      <Command text={writeLegalCommand(before, values)} />
    </form>
  );
}

/** The form, once the details are known; they are read again each time it is opened. */
export default function LegalForm({ done, left }: { done: () => void; left: () => void }) {
  const { messages: common } = useI18n();
  const { calls, overview } = useHome();
  const [version, setVersion] = useState(0);
  const { value, failure, etag, reload } = useQuery(
    useCallback(() => calls.settings(overview.organization_id), [calls, overview.organization_id]),
  );
  const loadAgain = async (): Promise<void> => {
    await reload();
    setVersion((count) => count + 1);
  };
  if (failure) return <Notice tone="fault">{describeFailure(failure, common)}</Notice>;
  if (!value) return null;
  return <Form key={version} settings={value} etag={etag} done={done} left={left} loadAgain={() => void loadAgain()} />;
}
