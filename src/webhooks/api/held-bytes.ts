const MEBIBYTE = 1024 * 1024;
/** Bytes of bodies that a process holds at a time. */
export const MAX_HELD_BYTES = 128 * MEBIBYTE;

/** Counts the bytes of the bodies that are held, so that senders together cannot fill the process, however many they are. */
export class HeldBytes {
  private held = 0;

  /** What one request holds. */
  forRequest(): BodyMemory {
    let taken = 0;
    return {
      take: (bytes) => {
        if (this.held + bytes > MAX_HELD_BYTES) return false;
        this.held += bytes;
        taken += bytes;
        return true;
      },
      giveBack: () => {
        this.held -= taken;
        taken = 0;
      },
    };
  }
}

export interface BodyMemory {
  /** @returns whether there was room */
  take(bytes: number): boolean;
  /** All that was taken. */
  giveBack(): void;
}
