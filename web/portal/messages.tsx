import type { ReactNode } from "react";
import { messages, type PortalMessages } from "../../shared/messages/en/portal.ts";
import { createPageMessages, PageMessagesProvider, usePageMessages } from "../i18n/page-messages.tsx";

const set = createPageMessages(
  messages,
  import.meta.glob<{ messages: PortalMessages }>([
    "../../shared/messages/*/portal.ts",
    "!../../shared/messages/en/portal.ts",
  ]),
);

export const usePortalMessages = (): PortalMessages => usePageMessages(set);

export const PortalMessagesProvider = (shown: { before: ReactNode; children: ReactNode }) => (
  <PageMessagesProvider set={set} {...shown} />
);
