/** What the command line calls itself in the device flow; a public client, which has no secret. */
export const client_id = "floe-cli";
