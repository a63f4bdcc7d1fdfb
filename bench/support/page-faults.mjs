const failures = ["tests/web/open-checkout.long.test.ts"];

/** Faults of the pages, with the tests that must see them. */
export const pageFaults = {
  "failed pages": [
    [
      "a failed page after a payment is called an error",
      "web/pages/failure.tsx",
      'if (status === "succeeded") return [messages.paid, messages.paid_how] as const;',
      "",
      ...failures,
    ],
    [
      "a failed page does not follow the payment",
      "web/pages/failure.tsx",
      "if (isPending && tries < triesMax)",
      "if (isPending && tries < 1)",
      ...failures,
    ],
    [
      "the page for failures is not loaded ahead",
      "web/main.tsx",
      "setTimeout(() => void loadFailurePage().catch(() => undefined), failureDelayMs);",
      "void loadFailurePage;",
      ...failures,
    ],
    [
      "a failed page stays when another is opened",
      "web/router.tsx",
      "<Boundary key={page.path}>",
      "<Boundary>",
      ...failures,
    ],
    [
      "the page for failures speaks English alone",
      "web/pages/failure.tsx",
      'const codes = [lang === "en" ? "" : lang, language, "en"]',
      'const codes = [lang === "en" ? "" : "", language && "en"]',
      ...failures,
    ],
  ],
};
