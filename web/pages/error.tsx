import { Shell } from "../parts/Shell.tsx";

type Way = { why: string; action: string; href: string };

const again: Way = {
  why: "The sign-in was begun somewhere else, or too long ago, so it could not be finished here.",
  action: "Sign in again",
  href: "/sign-in",
};
const used: Way = {
  why: "This link was used already, or is too old.",
  action: "Ask for a new one",
  href: "/forgot-password",
};
const taken: Way = {
  why: "There is an account with this e-mail address, and it is not linked to that service. Sign in the way you did before; then link the service under “Ways to sign in”.",
  action: "Sign in the other way",
  href: "/sign-in?next=%2Faccount%2Fsign-in",
};

/** What happened, and how to go on, by the code that a failed sign-in ends with. */
const ways: Record<string, Way> = {
  account_not_linked: taken,
  "email_doesn't_match": {
    ...taken,
    why: "That service knows you by another e-mail address than your account here has, so it was not linked.",
    action: "To my ways to sign in",
    href: "/account/sign-in",
  },
  account_already_linked_to_different_user: {
    why: "That service is linked to another account here already.",
    action: "To my ways to sign in",
    href: "/account/sign-in",
  },
  access_denied: {
    why: "You, or the service, said no. Nothing was changed.",
    action: "Choose another way to sign in",
    href: "/sign-in",
  },
  signup_disabled: {
    why: "There is no account with this address, and nobody can make one here on their own. Ask for an invitation.",
    action: "Sign in with another account",
    href: "/sign-in",
  },
  email_not_found: {
    why: "That service did not tell your e-mail address, without which there can be no account.",
    action: "Choose another way to sign in",
    href: "/sign-in",
  },
  state_mismatch: again,
  state_not_found: again,
  please_restart_the_process: again,
  invalid_token: used,
  token_expired: used,
};

/** Where a failed sign-in ends; the title, the sentence and the code are the specification's. */
export default function ErrorPage() {
  const code = new URLSearchParams(location.search).get("error") || "Unknown";
  const known = code.toLowerCase();
  const way = Object.hasOwn(ways, known) ? ways[known] : undefined;
  return (
    <Shell title="Authentication Error">
      <div className="card stack">
        <h1>Authentication Error</h1>
        {way && <p>{way.why}</p>}
        <p className={way ? "soft" : undefined}>
          We encountered an issue while processing your request. Please try again or contact the application owner if
          the problem persists.
        </p>
        <p className="soft">
          Error Code: <code>{code}</code>
        </p>
        {way && (
          <a className="button" href={way.href}>
            {way.action}
          </a>
        )}
        <a className={way ? "button quiet" : "button"} href="/">
          Return to Application
        </a>
      </div>
    </Shell>
  );
}
