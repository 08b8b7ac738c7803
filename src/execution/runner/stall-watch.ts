import { killMarkedProcesses } from './process-mark.js';

const MINUTE = 60_000;
/** A longer timer would go off at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Kills the commands of the execution when nothing has been heard of the one that is watched for too long. */
export class StallWatch {
  private readonly timer: NodeJS.Timeout | undefined;

  /** @param stallMinutes 0 = never */
  constructor(stallMinutes: number, onStall: () => void) {
    if (stallMinutes <= 0) return;
    const stall = (): void => {
      this.end();
      killMarkedProcesses();
      onStall();
    };
    this.timer = setTimeout(stall, Math.min(stallMinutes * MINUTE, MAX_TIMER_MS));
  }

  heard(): void {
    this.timer?.refresh();
  }

  end(): void {
    clearTimeout(this.timer);
  }
}

export const stallMessage = (what: string, stallMinutes: number): string =>
  `${what} printed nothing for ${stallMinutes} minutes and was ended`;
