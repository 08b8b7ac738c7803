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
  private readonly clients = new Set<Socket>();
  private isAway = false;
  private isFrozen = false;
  private readonly awaited = new Map<(bytes: Buffer) => boolean, () => void>();
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

  /** Those that are open now. */
  get connections(): number {
    return this.clients.size;
  }

  /** Resolves when bytes of which this is true come by on their way to the server. */
  passing(isMeant: (bytes: Buffer) => boolean): Promise<void> {
    return new Promise((resolve) => this.awaited.set(isMeant, resolve));
  }

  cutNextCommit(fate: CommitFate): void {
    this.fate = fate;
  }

  /** The server is away: what is connected is cut off, and nothing else gets through. */
  interrupt(): void {
    this.isAway = true;
    for (const client of this.clients) client.destroy();
  }

  /** The network swallows every byte, and nobody is told. */
  freeze(): void {
    this.isFrozen = true;
  }

  /** What was swallowed stays so: a connection from before is of no use any more. */
  resume(): void {
    if (this.isFrozen) this.interrupt();
    this.isAway = false;
    this.isFrozen = false;
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.server.close(() => resolve()));
  }

  private join(client: Socket): void {
    if (this.isAway) {
      client.destroy();
      return;
    }
    this.clients.add(client);
    client.once('close', () => this.clients.delete(client));
    const server = connect(Number(this.target.port), this.target.hostname);
    let holdsAnswer = false;
    const cut = (): void => {
      this.cuts += 1;
      client.destroy();
      server.destroy();
    };
    client.on('data', (bytes) => {
      if (this.isFrozen) return;
      for (const [isMeant, resolve] of this.awaited) if (isMeant(bytes)) resolve();
      if (this.fate === undefined || !bytes.includes('COMMIT')) return void server.write(bytes);
      const fate = this.fate;
      this.fate = undefined;
      if (fate === 'request lost') return cut();
      holdsAnswer = true;
      server.write(bytes);
    });
    server.on('data', (bytes) => {
      if (this.isFrozen) return;
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
