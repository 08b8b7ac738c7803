/** The URL of the database in use: the configured server's, or the embedded one's. It holds a password: never log it. */
export class DatabaseUrl {
  constructor(readonly value: string) {}

  /** Host, port and name of the database: what may be shown. */
  get description(): string {
    const url = new URL(this.value);
    return `${url.hostname}:${url.port || '5432'}${url.pathname}`;
  }
}
