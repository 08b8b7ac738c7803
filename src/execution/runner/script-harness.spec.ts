import { describe, expect, it } from '@jest/globals';
import { describeFailure } from './script-harness.js';

describe('describeFailure', () => {
  it('says which command failed and what it said last', () => {
    expect(describeFailure(2, 3, 7, 'trying\nno such file\n\n')).toBe(
      'Command 2 of 3 exited with code 7: no such file',
    );
  });

  it('says no more than there is', () => {
    expect(describeFailure(1, 1, 1, '')).toBe('The command exited with code 1');
    expect(describeFailure(1, 2, 1, ' \n')).toBe('Command 1 of 2 exited with code 1');
  });

  it('shortens a long line, without cutting a character', () => {
    const summary = describeFailure(1, 1, 1, '😀'.repeat(300));
    expect(summary).toBe(`The command exited with code 1: ${'😀'.repeat(199)}…`);
  });
});
