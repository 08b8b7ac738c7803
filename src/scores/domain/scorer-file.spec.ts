import { describe, expect, it } from '@jest/globals';
import { scorerFileSchema } from './scorer-file.js';

const FILE = {
  agents: ['reviewer'],
  labels: [
    { value: 'yes', score: 1, description: 'All of it' },
    { value: 'no', score: 0 },
  ],
  passing_score: 0.5,
};

const complaints = (change: object): string[] =>
  (scorerFileSchema.safeParse({ ...FILE, ...change }).error?.issues ?? []).map(({ path, message }) =>
    [path.join('.'), message].join(': '),
  );

describe('the front matter of a scorer', () => {
  it('has a sampling rate of 25 % by default', () => {
    expect(scorerFileSchema.parse(FILE)).toEqual({ ...FILE, sampling_rate: 0.25 });
  });

  it.each<[object, RegExp]>([
    [{ agents: [] }, /^agents: /],
    [{ labels: [{ value: 'yes', score: 1 }] }, /^labels: /],
    [{ labels: FILE.labels.map((label) => ({ ...label, score: 1 })) }, /^labels: .* does not reach/],
    [{ labels: FILE.labels.map((label) => ({ ...label, score: 0 })) }, /^labels: .* reaches/],
    [{ labels: FILE.labels.map((label) => ({ ...label, value: 'yes' })) }, /^labels: .* different/],
    [{ labels: [...FILE.labels, { value: 'too much', score: 1.1 }] }, /^labels\.2\.score: /],
    [{ passing_score: undefined }, /^passing_score: /],
    [{ sampling_rate: -0.1 }, /^sampling_rate: /],
    [{ harness: { type: 'nonsense' } }, /^harness\.type: /],
    [{ rubric: 'is what follows the front matter' }, /rubric/],
  ])('is refused with %j', (change, complaint) => {
    expect(complaints(change)[0]).toMatch(complaint);
  });
});
