import { useI18n } from "../i18n/i18n.tsx";
import type { Delay } from "../use-delay.ts";

/** What is said to a buyer whose payment takes long. */
export function Waiting({ delay, email }: { delay: Delay; email: string }) {
  const { messages } = useI18n();
  return (
    <p className="soft" role="status">
      {delay === "long" && messages.slow}
      {delay === "very_long" && messages.very_slow(email)}
    </p>
  );
}
