import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** What happens to the next COMMIT that comes by. */
export type CommitFate =
  /** It is executed, and the connection is cut before the answer is through. */
  | 'answer lost'
  /** The connection is cut before it reaches the server. */
  | 'request lost';

/** Stands between an application and PostgreSQL, and cuts connections at the worst of moments. */
export class DatabaseProxy {
  private readonly server = createServer((client) => this.join(client));
  private fate: CommitFate | undefined;
  /** Commits whose connection was cut. */
  cuts = 0;

  private constructor(private readonly target: URL) {}

  static async to(databaseUrl: string): Promise<DatabaseProxy> {
    const proxy = new DatabaseProxy(new URL(databaseUrl));
    await new Promise<void>((resolve) => proxy.server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    const url = new URL(this.target);
    url.port = String((this.server.address() as AddressInfo).port);
    return url.href;
  }

  cutNextCommit(fate: CommitFate): void {
    this.fate = fate;
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.server.close(() => resolve()));
  }

  private join(client: Socket): void {
    const server = connect(Number(this.target.port), this.target.hostname);
    let holdsAnswer = false;
    const cut = (): void => {
      this.cuts += 1;
      client.destroy();
      server.destroy();
    };
    client.on('data', (bytes) => {
      if (this.fate === undefined || !bytes.includes('COMMIT')) return void server.write(bytes);
      const fate = this.fate;
      this.fate = undefined;
      if (fate === 'request lost') return cut();
      holdsAnswer = true;
      server.write(bytes);
    });
    server.on('data', (bytes) => {
      if (holdsAnswer) cut();
      else client.write(bytes);
    });
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      one.on('error', () => other.destroy());
      one.on('close', () => other.destroy());
    }
  }
}
