import type { ReactNode } from "react";
import { type ConfirmationMessages, messages } from "../../shared/messages/en/confirmation.ts";
import { createPageMessages, loadPageMessages, PageMessagesProvider, usePageMessages } from "../i18n/page-messages.tsx";

const set = createPageMessages(
  messages,
  import.meta.glob<{ messages: ConfirmationMessages }>([
    "../../shared/messages/*/confirmation.ts",
    "!../../shared/messages/en/confirmation.ts",
  ]),
);

/** Loads the texts ahead, so that nothing has to be loaded once the money is taken. */
export const loadConfirmationMessages = (locale: string): Promise<unknown> => loadPageMessages(set, locale);

export const useConfirmationMessages = (): ConfirmationMessages => usePageMessages(set);

export const ConfirmationMessagesProvider = (shown: { before: ReactNode; children: ReactNode }) => (
  <PageMessagesProvider set={set} {...shown} />
);
