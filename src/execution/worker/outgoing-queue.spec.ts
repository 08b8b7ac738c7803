import { describe, expect, it } from '@jest/globals';
import type { WorkerMessage } from '../protocol/worker-messages.js';
import { OutgoingQueue, type SendFrame } from './outgoing-queue.js';

function message(id: string): WorkerMessage {
  return { type: 'task_completed', data: { task_id: id, message: '' } };
}

/** A connection that takes a number of frames, then fails. */
function connection(frames: number): { send: SendFrame; sent: string[] } {
  const sent: string[] = [];
  const send: SendFrame = async (frame) => {
    if (sent.length >= frames) throw new Error('closed');
    sent.push((JSON.parse(frame) as WorkerMessage).data.task_id);
  };
  return { send, sent };
}

describe('OutgoingQueue', () => {
  it('keeps messages for the first connection, in order', async () => {
    const queue = new OutgoingQueue();
    queue.push(message('1'));
    queue.push(message('2'));
    const { send, sent } = connection(10);
    queue.attach(send);
    queue.push(message('3'));
    await queue.whenEmpty();
    expect(sent).toEqual(['1', '2', '3']);
  });

  it('sends again on the next connection what one could not take', async () => {
    const queue = new OutgoingQueue();
    const first = connection(1);
    const second = connection(10);
    queue.attach(first.send);
    for (const id of ['1', '2', '3']) queue.push(message(id));
    await new Promise((resolve) => setImmediate(resolve));
    queue.attach(second.send);
    await queue.whenEmpty();
    expect([first.sent, second.sent]).toEqual([['1'], ['2', '3']]);
  });

  it('does not let an old connection take the place of a new one', async () => {
    const queue = new OutgoingQueue();
    const old = connection(10);
    const current = connection(10);
    queue.attach(old.send);
    queue.attach(current.send);
    queue.detach(old.send);
    queue.push(message('1'));
    await queue.whenEmpty();
    expect(current.sent).toEqual(['1']);
  });

  it('refuses the 257th', () => {
    const queue = new OutgoingQueue();
    const accepted = Array.from({ length: 257 }, (_, index) => queue.push(message(String(index))));
    expect(accepted.indexOf(false)).toBe(256);
  });
});
