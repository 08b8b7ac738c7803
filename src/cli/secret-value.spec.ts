import { describe, expect, it } from '@jest/globals';
import { readSecretValue } from './secret-value.js';
import { Terminal } from './terminal.js';

class FakeTerminal extends Terminal {
  readonly isInteractive: boolean;

  /** @param input what is piped in, or what a person types, line by line */
  constructor(private readonly input: string | string[]) {
    super();
    this.isInteractive = Array.isArray(input);
  }

  show(): void {
    throw new Error('a value is never shown');
  }

  say(): void {
    throw new Error('a value is never said');
  }

  askHidden(): Promise<string> {
    return Promise.resolve(Array.isArray(this.input) ? (this.input.shift() ?? '') : '');
  }

  readInput(): Promise<string> {
    return Promise.resolve(String(this.input));
  }
}

const read = (input: string | string[], twice = false): Promise<string> =>
  readSecretValue(new FakeTerminal(input), { twice });

describe('the value of a secret', () => {
  it.each([
    ['s3cr3t', 's3cr3t'],
    ['s3cr3t\n', 's3cr3t'],
    ['s3cr3t\r\n', 's3cr3t'],
    ['two\nlines\n\n', 'two\nlines\n'],
    [' spaces ', ' spaces '],
  ])('%j from a pipe is %j', async (input, value) => {
    expect(await read(input, true)).toBe(value);
  });

  it('is typed once, or twice the same', async () => {
    expect(await read(['s3cr3t', 'other'])).toBe('s3cr3t');
    expect(await read(['s3cr3t', 's3cr3t'], true)).toBe('s3cr3t');
  });

  it('is refused when the second is another', async () => {
    await expect(read(['s3cr3t', 's3cr3T'], true)).rejects.toThrow(
      'The two values differ. Nothing was changed.',
    );
  });

  it.each([[''], ['\n'], [['']]])('%j is none', async (input) => {
    await expect(read(input)).rejects.toThrow('empty');
  });
});
