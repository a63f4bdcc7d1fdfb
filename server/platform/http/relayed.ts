/** An answer that another service of the same wire contract gave: passed on as it came, without a second encoding. */
export class Relayed {
  readonly status: number;
  readonly json: unknown;
  constructor(status: number, json: unknown) {
    this.status = status;
    this.json = json;
  }
}
