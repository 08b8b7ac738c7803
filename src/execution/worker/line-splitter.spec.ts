import { describe, expect, it } from '@jest/globals';
import { LineSplitter } from './line-splitter.js';

function split(...chunks: string[]): string[] {
  const lines: string[] = [];
  const splitter = new LineSplitter((line) => lines.push(line));
  for (const chunk of chunks) splitter.push(chunk);
  splitter.end();
  return lines;
}

describe('LineSplitter', () => {
  it('puts lines together from chunks, without empty ones', () => {
    expect(split('a', 'b\nc', '\n\nd\ne')).toEqual(['ab', 'c', 'd', 'e']);
  });

  it('drops the rest of long lines', () => {
    expect(split('x'.repeat(3000), 'x'.repeat(3000), '\ny').map(({ length }) => length)).toEqual([4096, 1]);
  });
});
