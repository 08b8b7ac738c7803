import type { WorkerMessage } from '../protocol/worker-messages.js';

const CAPACITY = 256;

/** Hands a frame to a connection; resolves when it has left this process, rejects when the connection could not take it. */
export type SendFrame = (frame: string) => Promise<void>;

/**
 * The messages to the server, in order, across connections: a message is taken out only after a connection has sent it.
 * Beyond 256 waiting messages new ones are refused.
 */
export class OutgoingQueue {
  private readonly waiting: WorkerMessage[] = [];
  private send: SendFrame | undefined;
  private sending = false;
  private emptied: (() => void)[] = [];

  /** False when the queue is full; the message is then lost. */
  push(message: WorkerMessage): boolean {
    if (this.waiting.length >= CAPACITY) return false;
    this.waiting.push(message);
    void this.pump();
    return true;
  }

  attach(send: SendFrame): void {
    this.send = send;
    void this.pump();
  }

  detach(send: SendFrame): void {
    if (this.send === send) this.send = undefined;
  }

  /** Resolves when nothing waits. */
  whenEmpty(): Promise<void> {
    if (this.waiting.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.emptied.push(resolve));
  }

  private async pump(): Promise<void> {
    if (this.sending) return;
    this.sending = true;
    for (let message = this.waiting[0]; message !== undefined; message = this.waiting[0]) {
      const { send } = this;
      if (send === undefined) break;
      try {
        await send(JSON.stringify(message));
        this.waiting.shift();
      } catch {
        // It stays first, for the next connection.
        this.detach(send);
      }
    }
    this.sending = false;
    if (this.waiting.length === 0) this.emptied.splice(0).forEach((resolve) => resolve());
  }
}
