import { createHash } from 'node:crypto';

const SAMPLE_BITS = 48;

/**
 * Whether a scorer samples a run. It follows from the two ids alone, so replicas agree and a repeated question has the same answer; and
 * the scorers of one agent choose independently of each other.
 *
 * @param rate from 0 (none) to 1 (all). A run that is sampled at one rate is sampled at every higher one
 */
export const isSampled = (runId: string, scorerId: number, rate: number): boolean =>
  createHash('sha256')
    .update(`${runId}:${String(scorerId)}`)
    .digest()
    .readUIntBE(0, SAMPLE_BITS / 8) <
  rate * 2 ** SAMPLE_BITS;
