import type { ReactNode } from "react";
import { type CancellationMessages, messages } from "../../shared/messages/en/cancellation.ts";
import { createPageMessages, PageMessagesProvider, usePageMessages } from "../i18n/page-messages.tsx";

const set = createPageMessages(
  messages,
  import.meta.glob<{ messages: CancellationMessages }>([
    "../../shared/messages/*/cancellation.ts",
    "!../../shared/messages/en/cancellation.ts",
  ]),
);

export const useCancellationMessages = (): CancellationMessages => usePageMessages(set);

export const CancellationMessagesProvider = (shown: { before: ReactNode; children: ReactNode }) => (
  <PageMessagesProvider set={set} {...shown} />
);
