/** What is used of the package that speaks to keychains. */
export type Keyring = Pick<typeof import("@napi-rs/keyring"), "AsyncEntry">;
