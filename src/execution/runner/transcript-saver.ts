import { setTimeout as sleep } from 'node:timers/promises';
import { ExecutionOverError, type ControlPlane } from './control-plane.js';
import type { Transcript } from './transcript.js';

const SECOND = 1000;
const MIB = 1024 * 1024;

/** What a saver needs of the server. */
export type TranscriptStore = Pick<ControlPlane, 'transcriptTarget' | 'upload'>;

/** Saves a transcript under its conversation: from time to time while it grows, and once more at the end. */
export class TranscriptSaver {
  private savedBytes = 0;

  constructor(
    /** For saves that the next one makes up for: a single attempt. */
    private readonly hasty: TranscriptStore,
    /** For the last save. */
    private readonly patient: TranscriptStore,
    private readonly conversationId: string,
    private readonly transcript: Transcript,
    private readonly wait: (ms: number) => Promise<unknown> = (ms) => sleep(ms),
  ) {}

  /**
   * Saves every few seconds until `work` has settled, and settles like it. A save that fails changes nothing, unless
   * the execution is over: then this rejects with ExecutionOverError, and `work` goes on unheeded.
   */
  async saveDuring<T>(work: Promise<T>): Promise<T> {
    const finished = work.then(() => true);
    const tick = (): Promise<boolean> =>
      this.wait(saveIntervalMs(this.transcript.sizeBytes)).then(() => false);
    while (!(await Promise.race([finished, tick()]))) {
      try {
        await this.save(this.hasty);
      } catch (error) {
        if (error instanceof ExecutionOverError) throw error;
      }
    }
    return work;
  }

  /** Rejects when the transcript could not be saved. */
  async saveFinally(): Promise<void> {
    await this.save(this.patient);
  }

  private async save(store: TranscriptStore): Promise<void> {
    const bytes = await this.transcript.bytes();
    if (bytes.length === this.savedBytes) return;
    const target = await store.transcriptTarget(this.conversationId);
    await store.upload(target, bytes);
    this.savedBytes = bytes.length;
  }
}

/** Every save sends the whole transcript: 3 s between saves, and 3 s more for each MiB. */
export function saveIntervalMs(sizeBytes: number): number {
  return (3 + 3 * Math.floor(sizeBytes / MIB)) * SECOND;
}
