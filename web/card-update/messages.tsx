import type { ReactNode } from "react";
import { type CardUpdateMessages, messages } from "../../shared/messages/en/card-update.ts";
import { createPageMessages, PageMessagesProvider, usePageMessages } from "../i18n/page-messages.tsx";

const set = createPageMessages(
  messages,
  import.meta.glob<{ messages: CardUpdateMessages }>([
    "../../shared/messages/*/card-update.ts",
    "!../../shared/messages/en/card-update.ts",
  ]),
);

export const useCardUpdateMessages = (): CardUpdateMessages => usePageMessages(set);

export const CardUpdateMessagesProvider = (shown: { before: ReactNode; children: ReactNode }) => (
  <PageMessagesProvider set={set} {...shown} />
);
