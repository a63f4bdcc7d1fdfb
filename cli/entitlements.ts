const grantColumns = [
  ...["customer.email:name", "benefit.description", "is_granted:flag", "error.message", "benefit.type"],
  ...["created_at:date", "id:key"],
];
/** Of benefits, and of those who were given one. */
export const benefitColumns = {
  columns: ["description:name", "type:state", "created_at:date", "id:id", "visibility"],
  columnsOf: { grants: grantColumns.filter((column) => !column.startsWith("benefit.")) },
};

/** What customers were given of what they bought. */
export const entitlementViews = {
  benefitGrants: {
    name: "benefit-grants",
    summary: "Benefits that customers hold",
    noun: "benefit grant",
    columns: grantColumns,
    examples: {
      list: ["floe benefit-grants list --customer-id ada@example.com", "floe benefit-grants list --is-granted false"],
      retry: ["floe benefit-grants retry BENEFIT_GRANT_ID"],
    },
  },
  licenseKeys: {
    name: "license-keys",
    summary: "License keys of your customers, and where they are in use",
    noun: "license key",
    namedBy: ["display_key"],
    sample: "C70FC7",
    columns: [
      ...["customer.email:name", "display_key:id", "status:state", "usage", "limit_usage", "limit_activations"],
      ...["expires_at:date", "created_at:date", "id:key"],
    ],
    names: { getActivation: "activation" },
    examples: {
      list: ["floe license-keys list --status granted", "floe license-keys list --all --json key,customer.email"],
      update: [
        "floe license-keys update C70FC7 --status disabled",
        "floe license-keys update LICENSE_KEY_ID --limit-activations 5 --expires-at 2027-12-31T00:00:00Z",
      ],
      validate: ["floe license-keys validate --key KEY --increment-usage 1"],
      activate: ["floe license-keys activate --key KEY --label laptop"],
      deactivate: ["floe license-keys deactivate --key KEY --activation-id ACTIVATION_ID"],
      lease: ["floe license-keys lease --key KEY --seconds 86400 --usage-budget 100"],
    },
  },
};
