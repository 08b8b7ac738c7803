import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { WebSocket, WebSocketServer } from 'ws';

/** What becomes of a message: `cut` also ends the connection on which it came. */
export type Fate = 'deliver' | 'twice' | 'cut';

/**
 * Where the message is: before the service has it, or after the service has handled it and before its answer is through. A message of
 * the websocket has no answer; it is caught before.
 */
type Moment = 'before' | 'after';

interface Trap {
  name: string;
  moment: Moment;
  spring: () => Fate | Promise<Fate>;
}

/**
 * Stands between the service and a worker with its runners, and knows their messages by name: the type of a message of the websocket,
 * the path below `/v1/` of a call, with `{id}` where an id stands.
 */
export class MessageProxy {
  private readonly server = createServer((incoming, response) => {
    this.forward(incoming, response).catch(() => response.destroy());
  });
  private readonly sockets = new WebSocketServer({ noServer: true });
  private readonly traps = new Set<Trap>();

  private constructor(private readonly target: URL) {
    this.server.on('upgrade', (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
      this.join(incoming, socket, head);
    });
  }

  static async to(serviceUrl: string): Promise<MessageProxy> {
    const proxy = new MessageProxy(new URL(serviceUrl));
    proxy.server.listen(0, '127.0.0.1');
    await once(proxy.server, 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Resolves when the next message of this name is there and `spring` has said what becomes of it. */
  next(moment: Moment, name: string, spring: () => Fate | Promise<Fate>): Promise<void> {
    return new Promise((resolve, reject) => {
      const trap: Trap = {
        name,
        moment,
        spring: async () => {
          try {
            const fate = await spring();
            resolve();
            return fate;
          } catch (error) {
            reject(error instanceof Error ? error : new Error(String(error)));
            return 'cut';
          }
        },
      };
      this.traps.add(trap);
    });
  }

  async close(): Promise<void> {
    this.cutWorkers();
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  /** Ends the connections of the workers, without a good-bye. */
  cutWorkers(): void {
    for (const socket of this.sockets.clients) socket.terminate();
  }

  private async fateOf(moment: Moment, name: string): Promise<Fate> {
    for (const trap of this.traps) {
      if (trap.moment !== moment || trap.name !== name) continue;
      this.traps.delete(trap);
      return trap.spring();
    }
    return 'deliver';
  }

  private async forward(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const name = new URL(incoming.url ?? '', this.target).pathname
      .replace(/^\/v1\//, '')
      .replace(/[0-9a-f-]{36}/, '{id}');
    const body = await buffer(incoming);
    if ((await this.fateOf('before', name)) === 'cut') return void response.destroy();
    const outgoing = request(new URL(incoming.url ?? '', this.target), {
      method: incoming.method,
      headers: incoming.headers,
    });
    outgoing.on('error', () => response.destroy());
    response.on('close', () => outgoing.destroy());
    outgoing.end(body);
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
    if ((await this.fateOf('after', name)) === 'cut') return void response.destroy();
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.on('error', () => response.destroy());
    answer.pipe(response);
  }

  private join(incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
    const url = new URL(incoming.url ?? '', this.target);
    url.protocol = 'ws:';
    const kept = Object.entries(incoming.headers).filter(([name]) => /^(authorization|x-)/.test(name));
    const service = new WebSocket(url, { headers: Object.fromEntries(kept) });
    service.on('error', () => socket.destroy());
    // The worker may be gone before the service has answered: nobody would end that connection.
    socket.once('close', () => service.terminate());
    service.once('open', () => {
      this.sockets.handleUpgrade(incoming, socket, head, (worker) => {
        this.relay(service, worker);
        this.relay(worker, service);
      });
    });
  }

  /** One after the other, as they came. */
  private relay(from: WebSocket, to: WebSocket): void {
    let queue = Promise.resolve();
    const cut = (): void => {
      from.terminate();
      to.terminate();
    };
    from.on('ping', (data: Buffer) => to.ping(data));
    from.on('error', () => undefined);
    from.on('close', () => to.terminate());
    from.on('message', (data: Buffer) => {
      queue = queue.then(async () => {
        const text = data.toString();
        const fate = await this.fateOf('before', (JSON.parse(text) as { type: string }).type);
        if (fate === 'cut') return cut();
        for (let times = fate === 'twice' ? 2 : 1; times > 0; times--) {
          if (to.readyState === WebSocket.OPEN) to.send(text);
        }
      });
    });
  }
}
