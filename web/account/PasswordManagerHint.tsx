/** Tells password managers whose password stands beside it; nobody sees or reaches it. */
export function PasswordManagerHint({ email }: { email: string }) {
  return (
    <span className="hidden" aria-hidden="true">
      <input type="text" autoComplete="username" value={email} readOnly tabIndex={-1} />
    </span>
  );
}
