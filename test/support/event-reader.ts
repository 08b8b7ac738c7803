import { EventEmitter, once } from 'node:events';
import { connect } from 'node:net';

/** An event as the API shows it. */
export interface RunEvent {
  event_type: string;
  run_id: string;
  ref_id: string | null;
  execution_id: string | null;
  occurred_at: string;
  sequence: number;
}

const PATIENCE_MS = 20_000;

/** Reads a stream of server-sent events, and nothing but what they are specified to be. */
export class EventReader {
  readonly events: RunEvent[] = [];
  readonly ids: string[] = [];
  comments = 0;
  /** The stream was cut off. */
  failed = false;
  /** Resolves when the stream has ended, however that came about. */
  readonly ended: Promise<void>;
  private readonly changed = new EventEmitter();

  private constructor(
    readonly headers: Headers,
    body: ReadableStream<Uint8Array>,
    private readonly abort: AbortController,
  ) {
    this.ended = this.read(body).catch(() => {
      this.failed = true;
    });
  }

  static async open(url: string, headers: Record<string, string>): Promise<EventReader> {
    const abort = new AbortController();
    const response = await fetch(url, { headers, signal: abort.signal });
    if (response.status !== 200 || response.body === null) throw new Error(await response.text());
    return new EventReader(response.headers, response.body, abort);
  }

  /** A reader that asks and then takes nothing off its socket. */
  static async connectOnly(
    origin: string,
    path: string,
    headers: Record<string, string>,
  ): Promise<{ closed: Promise<void> }> {
    const { hostname, port } = new URL(origin);
    const socket = connect({ host: hostname, port: Number(port) });
    await once(socket, 'connect');
    socket.pause();
    const lines = Object.entries({ Host: hostname, ...headers }).map(([name, value]) => `${name}: ${value}`);
    socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
    socket.on('error', () => undefined);
    // What is not read is not noticed: ask in writing until the other side has gone.
    const probing = setInterval(() => socket.write('\r\n'), 50);
    const closed = new Promise<void>((resolve) => {
      socket.on('close', () => {
        clearInterval(probing);
        resolve();
      });
    });
    return { closed };
  }

  async until(count: number): Promise<void> {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    while (this.events.length < count) {
      await once(this.changed, 'change', { signal }).catch((cause: unknown) => {
        throw new Error(`${String(this.events.length)} of ${String(count)} events came`, { cause });
      });
    }
  }

  leave(): void {
    this.abort.abort();
  }

  private async read(body: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    let text = '';
    for await (const chunk of body) {
      text += decoder.decode(chunk, { stream: true });
      for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
        this.take(text.slice(0, end).split('\n'));
        text = text.slice(end + 2);
      }
      this.changed.emit('change');
    }
  }

  private take(lines: string[]): void {
    for (const line of lines) {
      if (line.startsWith(':')) this.comments += 1;
      else if (line.startsWith('id: ')) this.ids.push(line.slice(4));
      else if (line.startsWith('data: ')) this.events.push(JSON.parse(line.slice(6)) as RunEvent);
    }
  }
}
