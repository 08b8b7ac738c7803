/** Wakes an agent that has nothing to do when a message has come. */
export class Inbox {
  private rung = false;
  private wake: (() => void) | undefined;

  /** A message has come. */
  ring(): void {
    this.rung = true;
    this.wake?.();
  }

  /** Resolves when a message has come since the last call, at the latest after the given time. */
  wait(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.wake = undefined;
        this.rung = false;
        resolve();
      };
      const timer = setTimeout(done, withinMs);
      this.wake = done;
      if (this.rung) done();
    });
  }
}
