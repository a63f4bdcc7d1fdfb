/** What is used of this package. It is optional, and may be missing where no binary of it is built for the machine. */
declare module "@napi-rs/keyring" {
  export class AsyncEntry {
    constructor(service: string, username: string, options?: { linux?: { store: "secret-service" | "keyutils" } });
    setPassword(password: string, signal?: AbortSignal): Promise<void>;
    getPassword(signal?: AbortSignal): Promise<string | null>;
    deletePassword(signal?: AbortSignal): Promise<boolean>;
  }
}
