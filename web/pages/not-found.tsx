import { Shell } from "../parts/Shell.tsx";

/** What an address leads to that nothing lives at. */
export default function NotFoundPage() {
  return (
    <Shell title="Page not found">
      <div className="card stack">
        <h1>There is nothing here</h1>
        <p className="soft">
          No page has the address <code>{location.pathname}</code>.
        </p>
        <a className="button quiet" href="/">
          Go to the start
        </a>
      </div>
    </Shell>
  );
}
