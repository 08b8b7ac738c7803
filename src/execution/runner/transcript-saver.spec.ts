import { describe, expect, it } from '@jest/globals';
import { CallRefusedError, ExecutionOverError } from './control-plane.js';
import { ScriptTranscript } from './script-transcript.js';
import { saveIntervalMs, TranscriptSaver, type TranscriptStore } from './transcript-saver.js';

class FakeStore implements TranscriptStore {
  saved: string[] = [];
  failure: Error | undefined;

  async transcriptTarget(conversationId: string): ReturnType<TranscriptStore['transcriptTarget']> {
    return { url: `http://store/${conversationId}`, method: 'PUT', headers: {} };
  }

  async upload(_: unknown, bytes: Uint8Array): Promise<void> {
    if (this.failure !== undefined) throw this.failure;
    this.saved.push(Buffer.from(bytes).toString());
  }
}

/** A saver, and the hand that lets its time pass and its work end. */
function setUp() {
  const store = new FakeStore();
  const transcript = new ScriptTranscript(undefined, (text) => text);
  let pass: () => void = () => undefined;
  const wait = (): Promise<void> => new Promise((resolve) => (pass = resolve));
  const saver = new TranscriptSaver(store, store, 'c', transcript, wait);
  let end: (result: string) => void = () => undefined;
  const work = new Promise<string>((resolve) => (end = resolve));
  return {
    store,
    transcript,
    saver,
    saving: saver.saveDuring(work),
    end,
    async passInterval(): Promise<void> {
      pass();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

describe('TranscriptSaver', () => {
  it('saves what has grown, and ends with the work', async () => {
    const { store, transcript, saving, end, passInterval } = setUp();
    await passInterval();
    expect(store.saved).toHaveLength(0);
    transcript.userMessage('a');
    await passInterval();
    await passInterval();
    expect(store.saved).toHaveLength(1);
    end('result');
    expect(await saving).toBe('result');
  });

  it('makes up for a failed save with the next', async () => {
    const { store, transcript, saver, saving, end, passInterval } = setUp();
    transcript.userMessage('a');
    store.failure = new CallRefusedError(403, 'the upload', Buffer.from('expired'));
    await passInterval();
    store.failure = undefined;
    end('result');
    await saving;
    await saver.saveFinally();
    expect(store.saved).toHaveLength(1);
  });

  it('ends at once when the execution is over', async () => {
    const { store, transcript, saving, passInterval } = setUp();
    transcript.userMessage('a');
    store.failure = new ExecutionOverError(409, 'harness-support/transcript');
    const outcome = expect(saving).rejects.toThrow(ExecutionOverError);
    await passInterval();
    await outcome;
  });

  it('tells when the last save fails', async () => {
    const { store, transcript, saver } = setUp();
    transcript.userMessage('a');
    store.failure = new Error('no space');
    await expect(saver.saveFinally()).rejects.toThrow('no space');
  });
});

describe('saveIntervalMs', () => {
  it('grows with the transcript', () => {
    expect(saveIntervalMs(0)).toBe(3_000);
    expect(saveIntervalMs(1024 * 1024 - 1)).toBe(3_000);
    expect(saveIntervalMs(16 * 1024 * 1024)).toBe(51_000);
  });
});
