import { describe, expect, it } from '@jest/globals';
import { GitBatchReader } from './git-batch-reader.js';
import { GitTreeReader } from './git-tree-reader.js';

const A = 'a'.repeat(40);
const B = 'b'.repeat(40);
const C = 'c'.repeat(40);

/** In pieces of every size, the last one of a byte each. */
const inChunks = (text: string, size: number): Buffer[] => {
  const bytes = Buffer.from(text);
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );
};

describe.each([10_000, 50, 7, 1])('in chunks of %d bytes', (size) => {
  it('the contents of objects are told apart, and what is too large is skipped', () => {
    const reader = new GitBatchReader(5, 12);
    const printed = `${A} blob 5\na\nbé\n${B} blob 6\n123456\n${C} missing\n${'d'.repeat(40)} blob 0\n\n${'e'.repeat(40)} blob 5\n12345\n${'f'.repeat(40)} blob 3\nabc\n`;
    for (const chunk of inChunks(printed, size)) reader.push(chunk);
    expect([...reader.contents].map(([id, content]) => [id[0], content.toString()])).toEqual([
      ['a', 'a\nbé'],
      ['d', ''],
      ['e', '12345'],
    ]);
  });

  it('the regular files of the name are picked out of a tree, up to the limit', () => {
    const reader = new GitTreeReader('SKILL.md', 2);
    const records = [
      `100644 blob ${A}\tSKILL.md`,
      `100644 blob ${A}\tNOT-SKILL.md`,
      `100644 blob ${A}\tskill.md`,
      `120000 blob ${A}\tlink/SKILL.md`,
      `160000 commit ${A}\tmodule/SKILL.md`,
      `100644 blob ${A}\ta\nb/SKILL.md`,
      `100755 blob ${B}\té/SKILL.md`,
      `100644 blob ${C}\tlast/SKILL.md`,
    ];
    for (const chunk of inChunks(records.map((record) => `${record}\0`).join(''), size)) reader.push(chunk);
    expect(reader.files).toEqual([
      { path: 'SKILL.md', objectId: A },
      { path: 'é/SKILL.md', objectId: B },
    ]);
    expect(reader.overLimit).toBe(true);
  });
});
