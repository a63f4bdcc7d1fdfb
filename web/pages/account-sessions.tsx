import { useCallback, useState } from "react";
import { readBrowserName } from "../../shared/browsers.ts";
import { AsyncList } from "../account/AsyncList.tsx";
import { type Device, devices, type SignedInPlace, sessions } from "../account/account-api.ts";
import { Confirm } from "../account/Confirm.tsx";
import { getSentence } from "../account/form.ts";
import { formatMoment } from "../account/format.ts";
import { AccountPage, Section } from "../account/Layout.tsx";
import { useQuery } from "../account/use-query.ts";
import type { Result } from "../api.ts";
import { Button } from "../parts/Button.tsx";

type Asking = {
  title: string;
  action: string;
  text: string;
  act: () => Promise<Result<unknown>>;
  /** True where one's own session ends with it. */
  own?: boolean;
};

const getName = ({ clientName, clientId }: Device): string => clientName ?? clientId;

function Places({ own }: { own: string }) {
  const places = useQuery(sessions.list);
  const listed = useQuery(devices.list);
  const [asking, setAsking] = useState<Asking>();
  const reload = useCallback(() => Promise.all([places.reload(), listed.reload()]), [places.reload, listed.reload]);

  const owned = new Set(listed.value?.map(({ id }) => id));
  // A device's session is shown with the devices.
  const shown = places.value
    ?.filter(({ id }) => !owned.has(id))
    .sort((a, b) => Number(b.id === own) - Number(a.id === own) || b.updatedAt.localeCompare(a.updatedAt));
  const end = (place: SignedInPlace): Asking => ({
    title: `Sign out ${readBrowserName(place.userAgent)}?`,
    action: "Sign out",
    text: "It is signed out at once.",
    act: () => sessions.revoke(place.token),
  });
  const disconnect = (device: Device): Asking => ({
    title: `Disconnect ${getName(device)}?`,
    action: "Disconnect",
    text: "It is signed out at once. To come back it has to be approved anew.",
    act: () => devices.revoke(device.id),
  });
  const others: Asking = {
    title: "Sign out everywhere else?",
    action: "Sign out the others",
    text: "Every other browser and every device is signed out at once. You stay signed in here.",
    act: sessions.revokeOthers,
  };
  const all: Asking = { ...others, title: "Sign out everywhere?", action: "Sign out everywhere", own: true };
  return (
    <>
      <Section title="Where you are signed in">
        <AsyncList label="Where you are signed in" value={shown} fault={places.fault} none="Nowhere.">
          {shown?.map((place) => (
            <li key={place.id}>
              <div>
                <strong>{readBrowserName(place.userAgent)}</strong>{" "}
                {place.id === own && <span className="tag">This one</span>}
                <p className="soft small">
                  {place.ipAddress ? `${place.ipAddress} · ` : ""}since {formatMoment(place.createdAt)}
                  {place.impersonatedBy ? " · by an administrator" : ""}
                </p>
              </div>
              {place.id !== own && (
                <Button
                  quiet
                  aria-label={`Sign out ${readBrowserName(place.userAgent)}, ${formatMoment(place.createdAt)}`}
                  onClick={() => setAsking(end(place))}
                >
                  Sign out
                </Button>
              )}
            </li>
          ))}
        </AsyncList>
        <div className="row">
          <Button quiet onClick={() => setAsking(others)}>
            Sign out everywhere else
          </Button>
          <Button
            quiet
            onClick={() =>
              setAsking({
                ...all,
                text: "Every browser and every device is signed out at once, this one too.",
                act: sessions.revokeAll,
              })
            }
          >
            Sign out everywhere
          </Button>
        </div>
      </Section>
      <Section title="Devices">
        <AsyncList label="Devices" value={listed.value} fault={listed.fault} none="No terminal or device is connected.">
          {listed.value?.map((device) => (
            <li key={device.id}>
              <div>
                <strong>{getName(device)}</strong>
                <p className="soft small">
                  {device.ipAddress ? `${device.ipAddress} · ` : ""}since {formatMoment(device.createdAt)}
                  {device.scope ? ` · ${device.scope.split(/\s+/).join(", ")}` : ""}
                </p>
              </div>
              <Button
                quiet
                aria-label={`Disconnect ${getName(device)}, ${formatMoment(device.createdAt)}`}
                onClick={() => setAsking(disconnect(device))}
              >
                Disconnect
              </Button>
            </li>
          ))}
        </AsyncList>
      </Section>
      {asking && (
        <Confirm
          title={asking.title}
          action={asking.action}
          left={() => setAsking(undefined)}
          confirmed={async () => {
            const answer = await asking.act();
            if (!answer.ok) return getSentence(answer.failure);
            if (asking.own) location.assign("/sign-in");
            else await reload();
            return undefined;
          }}
        >
          {asking.text}
        </Confirm>
      )}
    </>
  );
}

/** Where one is signed in: browsers and devices, each of which can be signed out. */
export default function AccountSessionsPage() {
  return <AccountPage title="Sessions and devices">{({ session: { id } }) => <Places own={id} />}</AccountPage>;
}
