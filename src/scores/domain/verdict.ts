import { type Label, passes } from './scorer.js';

/** What a judge says about a run, by one scorer. */
export interface Verdict {
  scorerId: number;
  /** The value of a label. */
  classification?: string;
  reason?: string;
  /** It could not grade. */
  failed?: boolean;
}

/** A scorer of an evaluation as it was captured. */
export interface CapturedScorer {
  scorerId: number;
  labels: Label[];
  passingScore: number;
}

/** A verdict that stands. */
export interface Score {
  scorerId: number;
  failed: boolean;
  classification: string | null;
  score: number | null;
  passed: boolean | null;
  reason: string | null;
}

export type Ruling =
  { outcome: 'accepted'; score: Score } | { outcome: 'rejected'; scorerId: number; error: string };

/** Bytes in UTF-8. */
export const MAX_REASON_BYTES = 8 * 1024;

/** Rules on each verdict by itself, in their order: of several by one scorer only the first can stand. */
export function ruleOn(verdicts: Verdict[], captured: CapturedScorer[]): Ruling[] {
  const scorers = new Map(captured.map((scorer) => [scorer.scorerId, scorer]));
  const seen = new Set<number>();
  return verdicts.map((verdict) => {
    const isRepeated = seen.has(verdict.scorerId);
    seen.add(verdict.scorerId);
    const { scorerId } = verdict;
    if (isRepeated)
      return { outcome: 'rejected', scorerId, error: 'The scorer stands in this request before' };
    const scorer = scorers.get(scorerId);
    if (scorer === undefined)
      return { outcome: 'rejected', scorerId, error: 'The scorer was not dispatched with this judge run' };
    const score = scoreOf(verdict, scorer);
    return typeof score === 'string'
      ? { outcome: 'rejected', scorerId, error: score }
      : { outcome: 'accepted', score };
  });
}

/** @returns what is wrong with the verdict, as text */
function scoreOf(
  { scorerId, classification, reason, failed = false }: Verdict,
  { labels, passingScore }: CapturedScorer,
): Score | string {
  const kept = reason === undefined ? null : cutToBytes(reason, MAX_REASON_BYTES);
  if (failed) {
    if (classification !== undefined) return 'A failed evaluation has no classification';
    return { scorerId, failed, classification: null, score: null, passed: null, reason: kept };
  }
  if (classification === undefined) return 'classification is required unless failed is true';
  const label = labels.find(({ value }) => value === classification);
  if (label === undefined) {
    return `classification must be one of ${labels.map(({ value }) => JSON.stringify(value)).join(', ')}`;
  }
  return {
    scorerId,
    failed,
    classification,
    score: label.score,
    passed: passes(label.score, passingScore),
    reason: kept,
  };
}

/** The beginning of the text, as many whole characters as there is room for. */
export function cutToBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  let end = maxBytes;
  // Bytes 10xxxxxx go on with a character that began before.
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end);
}
