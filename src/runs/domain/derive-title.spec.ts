import { describe, expect, it } from '@jest/globals';
import { deriveTitle } from './derive-title.js';

describe('deriveTitle', () => {
  it.each([
    ['Fix the build', 'Fix the build'],
    ['\n\n  # Nightly backup  \nmore', 'Nightly backup'],
    ['```bash\nuname -a\n```', 'uname -a'],
    ['- first\n- second', 'first'],
    ['', 'Untitled run'],
    ['```bash\n```', 'Untitled run'],
  ])('of %j is %j', (prompt, title) => {
    expect(deriveTitle(prompt)).toBe(title);
  });

  it('is at most 100 characters long and never splits one', () => {
    expect(deriveTitle('😀'.repeat(101))).toBe(`${'😀'.repeat(99)}…`);
    expect(deriveTitle('😀'.repeat(100))).toBe('😀'.repeat(100));
  });
});
