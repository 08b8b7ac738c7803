import { describe, expect, it } from '@jest/globals';
import { type CapturedScorer, cutToBytes, MAX_REASON_BYTES, ruleOn, type Verdict } from './verdict.js';

const scorer = (scorerId: number): CapturedScorer => ({
  scorerId,
  labels: [
    { value: 'good', score: 0.5 },
    { value: 'bad', score: 0.4 },
  ],
  passingScore: 0.5,
});

const rule = (...verdicts: Verdict[]) => ruleOn(verdicts, [scorer(1), scorer(2)]);

describe('a verdict', () => {
  it.each([
    ['good', 0.5, true],
    ['bad', 0.4, false],
  ])('%s is worth %d: passed is %s', (classification, score, passed) => {
    expect(rule({ scorerId: 1, classification, reason: 'Why' })).toEqual([
      {
        outcome: 'accepted',
        score: { scorerId: 1, failed: false, classification, score, passed, reason: 'Why' },
      },
    ]);
  });

  it('can say that the judge could not grade', () => {
    expect(rule({ scorerId: 1, failed: true, reason: 'Nothing there' })).toEqual([
      {
        outcome: 'accepted',
        score: {
          scorerId: 1,
          failed: true,
          classification: null,
          score: null,
          passed: null,
          reason: 'Nothing there',
        },
      },
    ]);
  });

  it.each<[string, Verdict, RegExp]>([
    ['by another scorer', { scorerId: 3, classification: 'good' }, /not dispatched/],
    ['with another label', { scorerId: 1, classification: 'Good' }, /one of "good", "bad"/],
    ['without a label', { scorerId: 1, reason: 'Why' }, /required unless failed/],
    ['with an empty label', { scorerId: 1, classification: '' }, /one of/],
    [
      'that failed and has a label',
      { scorerId: 1, failed: true, classification: 'good' },
      /no classification/,
    ],
  ])('%s is rejected', (_, verdict, error) => {
    expect(rule(verdict)).toEqual([
      { outcome: 'rejected', scorerId: verdict.scorerId, error: expect.stringMatching(error) },
    ]);
  });

  it('stands the first time that its scorer is named, or not at all', () => {
    const outcomes = rule(
      { scorerId: 1, classification: 'good' },
      { scorerId: 1, classification: 'bad' },
      { scorerId: 2, classification: 'nonsense' },
      { scorerId: 2, classification: 'good' },
    ).map(({ outcome }) => outcome);
    expect(outcomes).toEqual(['accepted', 'rejected', 'rejected', 'rejected']);
  });
});

describe('a reason', () => {
  it.each([
    ['a', 8192],
    ['é', 8192],
    ['€', 8190],
    ['😀', 8192],
  ])('of many %s is cut to %d bytes, whole characters all', (character, bytes) => {
    const cut = cutToBytes(character.repeat(9000), MAX_REASON_BYTES);
    expect(Buffer.byteLength(cut)).toBe(bytes);
    expect(cut.replaceAll(character, '')).toBe('');
  });

  it('is not cut where it has just the length', () => {
    const text = 'é'.repeat(MAX_REASON_BYTES / 2);
    expect(cutToBytes(text, MAX_REASON_BYTES)).toBe(text);
    expect(cutToBytes(`x${text}`, MAX_REASON_BYTES)).toBe(`x${text.slice(0, -1)}`);
  });
});
