import type { ReactNode } from "react";
import { type MetricsMessages, messages } from "../../shared/messages/en/metrics.ts";
import { createPageMessages, PageMessagesProvider, usePageMessages } from "../i18n/page-messages.tsx";

const set = createPageMessages(
  messages,
  import.meta.glob<{ messages: MetricsMessages }>([
    "../../shared/messages/*/metrics.ts",
    "!../../shared/messages/en/metrics.ts",
  ]),
);

export const useMetricsMessages = (): MetricsMessages => usePageMessages(set);

export const MetricsMessagesProvider = (shown: { before: ReactNode; children: ReactNode }) => (
  <PageMessagesProvider set={set} {...shown} />
);
