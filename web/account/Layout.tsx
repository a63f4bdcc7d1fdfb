import { type ReactNode, useState } from "react";
import { type Session, signing } from "../auth-client.ts";
import { Notice } from "../parts/Notice.tsx";
import { Frame, Shell } from "../parts/Shell.tsx";
import { getSentence } from "./form.ts";
import { Link } from "./Link.tsx";
import { useSignedIn } from "./use-store.ts";
import "../account.css";

const views = [
  { href: "/account", text: "Profile" },
  { href: "/account/sign-in", text: "Signing in" },
  { href: "/account/sessions", text: "Sessions and devices" },
  { href: "/account/keys", text: "API keys" },
  { href: "/account/delete", text: "Delete account" },
];

function SignOut() {
  const [fault, setFault] = useState<string>();
  const leave = async (): Promise<void> => {
    const answer = await signing.out();
    // Loaded anew, so that nothing of this person stays in the page.
    if (answer.ok) location.assign("/sign-in");
    else setFault(getSentence(answer.failure));
  };
  return (
    <>
      <button type="button" className="plain" onClick={() => void leave()}>
        Sign out
      </button>
      {fault && <Notice tone="fault">{fault}</Notice>}
    </>
  );
}

/** The page around every part of the account: who it is, and the way to the other parts. */
export function AccountPage({ title, children }: { title: string; children: (signed: Session) => ReactNode }) {
  const signed = useSignedIn();
  if (!signed) return <Frame />;
  const { user } = signed;
  return (
    <Shell
      title={title}
      wide
      aside={
        <div className="who">
          <span className="soft small">{user.isAnonymous ? "Guest" : user.email}</span>
          <SignOut />
        </div>
      }
    >
      <div className="account">
        <nav aria-label="Account">
          <ul>
            {views.map(({ href, text }) => (
              <li key={href}>
                <Link href={href} aria-current={location.pathname === href ? "page" : undefined}>
                  {text}
                </Link>
              </li>
            ))}
          </ul>
        </nav>
        <div className="stack">
          <h1>{title}</h1>
          {user.isAnonymous && (
            <Notice>
              You are here as a guest, and lose what is here once you sign out. <a href="/sign-up">Sign up</a> to keep
              it.
            </Notice>
          )}
          {children(signed)}
        </div>
      </div>
    </Shell>
  );
}

/** One matter on a page, under a heading of its own. */
export function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="card stack matter" aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}
