import { useCallback, useEffect, useRef, useState } from "react";
import { AsyncList } from "../account/AsyncList.tsx";
import { type Key, type KeyOwner, keys } from "../account/account-api.ts";
import { Confirm } from "../account/Confirm.tsx";
import { getSentence, useForm } from "../account/form.ts";
import { formatDay } from "../account/format.ts";
import { AccountPage, Section } from "../account/Layout.tsx";
import { type Access, listChosenScopes, ScopeFields } from "../account/Scopes.tsx";
import { useQuery } from "../account/use-query.ts";
import { useStore } from "../account/use-store.ts";
import { organizations } from "../auth-client.ts";
import { Button } from "../parts/Button.tsx";
import { Field, SelectField } from "../parts/Field.tsx";
import { Notice } from "../parts/Notice.tsx";
import { focusHeading } from "../router.tsx";

const daySeconds = 24 * 60 * 60;
const lifetimes = [
  { text: "30 days", seconds: 30 * daySeconds },
  { text: "90 days", seconds: 90 * daySeconds },
  { text: "1 year", seconds: 365 * daySeconds },
  { text: "It does not expire", seconds: 0 },
];

/** A key that was just made: the one time that it can be seen. */
function Shown({ name, value, done }: { name: string; value: string; done: () => void }) {
  const [copied, setCopied] = useState<boolean>();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    heading.current?.focus();
    return focusHeading;
  }, []);
  const copy = async (): Promise<void> => {
    // A page that is not served over TLS may not write to the clipboard.
    const written = navigator.clipboard?.writeText(value).then(
      () => true,
      () => false,
    );
    setCopied((await written) ?? false);
  };
  return (
    <section className="notice good kept" aria-label={`The key ${name}`}>
      <h3 ref={heading} tabIndex={-1}>
        Keep the key now: it is not shown again
      </h3>
      <div className="secret">
        <code>{value}</code>
        <Button quiet onClick={() => void copy()}>
          Copy
        </Button>
      </div>
      <div className="row">
        <Button onClick={done}>I have kept it</Button>
        <span role="status" className="small">
          {copied === undefined ? "" : copied ? "Copied." : "It cannot be copied from here: select it by hand."}
        </span>
      </div>
    </section>
  );
}

function NewKey({
  owner,
  made,
  left,
}: {
  owner: KeyOwner;
  made: (key: Key & { key: string }) => void;
  left: () => void;
}) {
  const form = useForm({ name: "", expires: String(lifetimes[1]?.seconds), reach: "all" });
  const [access, setAccess] = useState<Access>({});
  useEffect(() => {
    form.ref.current?.querySelector("input")?.focus();
    return focusHeading;
  }, [form.ref]);
  const submit = form.submit(
    ({ name, reach }) => ({
      ...(name.trim() === "" && { name: "Say what it is for." }),
      ...(reach === "some" && listChosenScopes(access).length === 0 && { reach: "Choose at least one thing below." }),
    }),
    async ({ name, expires, reach }) => {
      const answer = await keys.create({
        ...owner,
        name: name.trim(),
        ...(Number(expires) > 0 && { expiresIn: Number(expires) }),
        ...(reach === "some" && { scopes: listChosenScopes(access) }),
      });
      if (!answer.ok) return form.faultsOf(answer.failure, [[/NAME/, "name"]]);
      made(answer.value);
      return undefined;
    },
  );
  return (
    <form
      ref={form.ref}
      className="stack new-key"
      noValidate
      aria-label="New key"
      onSubmit={(event) => void submit(event)}
    >
      <h3>New key</h3>
      {form.faults.form && <Notice tone="fault">{form.faults.form}</Notice>}
      <div className="fields">
        <Field label="Name" hint="What it is for." autoComplete="off" required {...form.field("name")} />
        <SelectField label="Expires after" {...form.field("expires")}>
          {lifetimes.map(({ text, seconds }) => (
            <option key={seconds} value={seconds}>
              {text}
            </option>
          ))}
        </SelectField>
        <SelectField label="It may" {...form.field("reach")}>
          <option value="all">do all that you may do</option>
          <option value="some">do only what is chosen here</option>
        </SelectField>
      </div>
      {form.values.reach === "some" && <ScopeFields access={access} change={setAccess} />}
      <div className="row">
        <Button type="submit" busy={form.busy}>
          Make the key
        </Button>
        <Button quiet onClick={left}>
          Cancel
        </Button>
      </div>
    </form>
  );
}

function getReach({ scopes, expiresAt, lastRequest }: Key): string {
  const reach = scopes.length > 3 ? `${scopes.length} scopes` : scopes.join(", ") || "no scopes";
  const end = expiresAt ? `expires on ${formatDay(expiresAt)}` : "does not expire";
  return `${reach} · ${end} · ${lastRequest ? `last used on ${formatDay(lastRequest)}` : "never used"}`;
}

type Made = { id: string; name: string; key: string };

function Keys({ owner }: { owner: KeyOwner }) {
  const ask = useCallback(() => keys.list(owner), [owner]);
  const { value, fault, reload } = useQuery(ask);
  const [making, setMaking] = useState(false);
  const [made, setMade] = useState<Made>();
  const [asking, setAsking] = useState<{ key: Key; how: "rotate" | "revoke" }>();
  const show = (key: Key & { key: string }): void => {
    setMaking(false);
    setMade({ id: key.id, name: key.name ?? "", key: key.key });
    void reload();
  };
  const rotate = async (key: Key): Promise<string | undefined> => {
    const answer = await keys.rotate(key.id);
    if (!answer.ok) return getSentence(answer.failure);
    show(answer.value);
    return undefined;
  };
  const revoke = async (key: Key): Promise<string | undefined> => {
    const answer = await keys.revoke(key.id);
    if (!answer.ok) return getSentence(answer.failure);
    if (made?.id === key.id) setMade(undefined);
    await reload();
    return undefined;
  };
  return (
    <>
      {made && <Shown key={made.key} name={made.name} value={made.key} done={() => setMade(undefined)} />}
      <AsyncList label="Keys" value={value?.apiKeys} fault={fault} none="No keys yet.">
        {value?.apiKeys.map((key) => (
          <li key={key.id}>
            <div>
              <strong>{key.name ?? "Without a name"}</strong> {!key.enabled && <span className="tag off">Off</span>}
              <p className="small">
                <code>{key.start}…</code>
              </p>
              <p className="soft small">{getReach(key)}</p>
            </div>
            <div className="row">
              <Button quiet aria-label={`Renew ${key.name}`} onClick={() => setAsking({ key, how: "rotate" })}>
                Renew
              </Button>
              <Button quiet aria-label={`Revoke ${key.name}`} onClick={() => setAsking({ key, how: "revoke" })}>
                Revoke
              </Button>
            </div>
          </li>
        ))}
      </AsyncList>
      {making ? (
        <NewKey owner={owner} made={show} left={() => setMaking(false)} />
      ) : (
        !fault && (
          <div>
            <Button onClick={() => setMaking(true)}>New key</Button>
          </div>
        )
      )}
      {asking && (
        <Confirm
          title={`${asking.how === "rotate" ? "Renew" : "Revoke"} ${asking.key.name ?? "this key"}?`}
          action={asking.how === "rotate" ? "Renew" : "Revoke"}
          left={() => setAsking(undefined)}
          confirmed={() => (asking.how === "rotate" ? rotate(asking.key) : revoke(asking.key))}
        >
          {asking.how === "rotate"
            ? "It gets a new value, shown once. The old one stays good for a day, so that programs can change over."
            : "Programs that use it stop working at once. This cannot be taken back."}
        </Confirm>
      )}
    </>
  );
}

const own: KeyOwner = { configId: "default" };

function Owners() {
  const { pending, value } = useStore(organizations);
  const [chosen, setChosen] = useState("");
  const [owner, setOwner] = useState<KeyOwner>(own);
  return (
    <Section title="Keys for programs">
      <p className="soft">
        A program that shows a key acts for its owner. A key of your own works in each of your organizations, a key of
        an organization stays when you leave.
      </p>
      <SelectField
        label="Keys of"
        name="owner"
        value={chosen}
        aria-busy={pending}
        onChange={({ target: { value: id } }) => {
          setChosen(id);
          setOwner(id === "" ? own : { configId: "organization", organizationId: id });
        }}
      >
        <option value="">Yourself</option>
        {value?.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </SelectField>
      <Keys key={chosen} owner={owner} />
    </Section>
  );
}

/** Keys for programs: one's own, and those of one's organizations. */
export default function AccountKeysPage() {
  return <AccountPage title="API keys">{() => <Owners />}</AccountPage>;
}
