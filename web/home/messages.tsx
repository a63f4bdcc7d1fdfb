import type { ReactNode } from "react";
import { type HomeMessages, messages } from "../../shared/messages/en/home.ts";
import { createPageMessages, PageMessagesProvider, usePageMessages } from "../i18n/page-messages.tsx";

const set = createPageMessages(
  messages,
  import.meta.glob<{ messages: HomeMessages }>([
    "../../shared/messages/*/home.ts",
    "!../../shared/messages/en/home.ts",
  ]),
);

export const useHomeMessages = (): HomeMessages => usePageMessages(set);

export const HomeMessagesProvider = (shown: { before: ReactNode; children: ReactNode }) => (
  <PageMessagesProvider set={set} {...shown} />
);
