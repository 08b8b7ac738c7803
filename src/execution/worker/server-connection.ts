import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import type { WorkerMessage } from '../protocol/worker-messages.js';
import { OutgoingQueue, type SendFrame } from './outgoing-queue.js';
import { RedialDelay } from './redial-delay.js';
import type { WorkerLogger } from './worker-logger.js';

const SECOND = 1000;
const PING_EVERY_MS = 30 * SECOND;
const SILENCE_LIMIT_MS = 60 * SECOND;
const HANDSHAKE_TIMEOUT_MS = 10 * SECOND;
const CLOSE_TIMEOUT_MS = 1 * SECOND;
const NORMAL_CLOSURE = 1000;

/** Sent when dialling, so that cancellations name an execution and the server knows how many runs fit. */
const CAPABILITIES_HEADER = 'X-Warp-Worker-Capabilities';
const SLOTS_HEADER = 'X-Millwright-Worker-Slots';

export interface ServerConnectionOptions {
  /** Root of the server, `http:` or `https:`. */
  url: string;
  apiKey: string;
  workerId: string;
  slots: number;
  /** Longest wait between dials, in milliseconds. */
  redialCapMs: number;
  logger: WorkerLogger;
  onText: (text: string) => void;
}

/**
 * Keeps one websocket to the server open until it is closed, dialling again whenever one ends. A connection on which
 * nothing was heard for 60 s, not even the answer to a ping, is dead and dropped.
 */
export class ServerConnection {
  private readonly outgoing = new OutgoingQueue();
  private readonly redialDelay: RedialDelay;
  private readonly closing = new AbortController();
  private socket: WebSocket | undefined;
  /** Why the last connection failed, or could not be made. */
  private lastProblem: string | undefined;

  constructor(private readonly options: ServerConnectionOptions) {
    this.redialDelay = new RedialDelay(options.redialCapMs);
  }

  open(): void {
    void this.keepOpen();
  }

  /** The message waits while there is no connection. */
  send(message: WorkerMessage): void {
    if (this.outgoing.push(message)) return;
    const { type, data } = message;
    this.options.logger.error(
      { type, runId: data.task_id },
      'Message to the server lost: too many are waiting',
    );
  }

  /** Resolves when everything is sent, or after `limitMs`. */
  async flush(limitMs: number): Promise<void> {
    await Promise.race([this.outgoing.whenEmpty(), sleep(limitMs, undefined, { ref: false })]);
  }

  async close(): Promise<void> {
    this.closing.abort();
    const { socket } = this;
    if (socket === undefined || socket.readyState === WebSocket.CLOSED) return;
    const closed = closeOf(socket);
    socket.close(NORMAL_CLOSURE);
    await Promise.race([closed, sleep(CLOSE_TIMEOUT_MS, undefined, { ref: false })]);
    socket.terminate();
  }

  private async keepOpen(): Promise<void> {
    while (!this.isClosed()) {
      const livedMs = await this.connectOnce();
      if (this.isClosed()) return;
      const delayMs = this.redialDelay.afterEnd(livedMs);
      const details = { reason: this.lastProblem, redialInMs: delayMs };
      this.options.logger.warn(details, 'No connection to the server');
      await sleep(delayMs, undefined, { signal: this.closing.signal }).catch(() => undefined);
    }
  }

  private isClosed(): boolean {
    return this.closing.signal.aborted;
  }

  /** Resolves when the connection has ended: to the time it was open, in milliseconds, or undefined when it never was. */
  private async connectOnce(): Promise<number | undefined> {
    const { workerId, apiKey, slots, logger, onText } = this.options;
    const socket = new WebSocket(websocketUrl(this.options.url, workerId), {
      headers: {
        Authorization: `Bearer ${apiKey}`,
        [CAPABILITIES_HEADER]: 'execution-scoped-cancellation-v1',
        [SLOTS_HEADER]: String(slots),
      },
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      perMessageDeflate: false,
    });
    this.socket = socket;
    const send: SendFrame = (frame) =>
      new Promise((resolve, reject) => {
        socket.send(frame, (error) => (error ? reject(error) : resolve()));
      });
    let openedAt: number | undefined;

    socket.on('open', () => {
      openedAt = performance.now();
      logger.info({ workerId }, 'Connected to the server');
      watchOver(socket);
      this.outgoing.attach(send);
    });
    socket.on('message', (data: Buffer) => onText(data.toString()));
    this.lastProblem = undefined;
    socket.on('error', (error) => (this.lastProblem = error.message));
    await closeOf(socket);
    this.outgoing.detach(send);
    return openedAt === undefined ? undefined : performance.now() - openedAt;
  }
}

/** Unlike `once` of node:events, not upset by an error before the close. */
function closeOf(socket: WebSocket): Promise<void> {
  return new Promise((resolve) => {
    socket.once('close', () => resolve());
  });
}

function websocketUrl(root: string, workerId: string): URL {
  const url = new URL('v1/selfhosted/worker/ws', root.endsWith('/') ? root : `${root}/`);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  url.searchParams.set('worker_id', workerId);
  return url;
}

/** Pings, and drops the connection when it stays silent. */
function watchOver(socket: WebSocket): void {
  const silence = setTimeout(() => socket.terminate(), SILENCE_LIMIT_MS);
  const ping = setInterval(() => socket.ping(), PING_EVERY_MS);
  const heard = (): void => void silence.refresh();
  socket.on('message', heard).on('ping', heard).on('pong', heard);
  socket.once('close', () => {
    clearTimeout(silence);
    clearInterval(ping);
  });
}
