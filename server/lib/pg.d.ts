/** What is used of the driver, which comes without types. */
declare module "pg" {
  export class Client {
    constructor(options: { connectionString: string; connectionTimeoutMillis?: number });
    connect(): Promise<void>;
    end(): Promise<void>;
    query(text: string, values?: unknown[]): Promise<unknown>;
    on(event: "error", listener: (error: Error) => void): this;
  }
  export class PoolClient extends Client {
    release(): void;
  }
  export class Pool {
    constructor(options: {
      connectionString: string;
      max: number;
      connectionTimeoutMillis: number;
      idleTimeoutMillis: number;
      keepAlive: boolean;
    });
    connect(): Promise<PoolClient>;
    end(): Promise<void>;
    on(event: "connect", listener: (client: PoolClient) => void): this;
    on(event: "error", listener: (error: Error) => void): this;
  }
  const pg: { Client: typeof Client; Pool: typeof Pool };
  export default pg;
}
