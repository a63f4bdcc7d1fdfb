import { Shell } from "../parts/Shell.tsx";

/** Where a failed sign-in ends; the words are the specification's. */
export default function ErrorPage() {
  const code = new URLSearchParams(location.search).get("error") || "Unknown";
  return (
    <Shell title="Authentication Error">
      <div className="card stack">
        <h1>Authentication Error</h1>
        <p>
          We encountered an issue while processing your request. Please try again or contact the application owner if
          the problem persists.
        </p>
        <p className="soft">
          Error Code: <code>{code}</code>
        </p>
        <a className="button" href="/">
          Return to Application
        </a>
      </div>
    </Shell>
  );
}
