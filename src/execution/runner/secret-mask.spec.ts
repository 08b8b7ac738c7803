import { describe, expect, it } from '@jest/globals';
import { SecretMask } from './secret-mask.js';

describe('SecretMask', () => {
  it('removes every value, wherever it stands', () => {
    const mask = new SecretMask(['hunter2-hunter2', 's3cr3t-token']);
    expect(mask.apply('a=hunter2-hunter2 b="s3cr3t-token", hunter2-hunter2')).toBe('a=*** b="***", ***');
  });

  it('removes a value that contains another one as a whole', () => {
    expect(new SecretMask(['abcdef', 'abcdefghi']).apply('abcdefghi')).toBe('***');
  });

  it('removes the lines of a key that is printed indented', () => {
    const key = '-----BEGIN KEY-----\nMIIEvQIBADANBg\n-----END KEY-----\n';
    expect(new SecretMask([key]).apply('  MIIEvQIBADANBg')).toBe('  ***');
  });

  it('treats a value as text, and leaves short ones alone', () => {
    expect(new SecretMask(['a.b.c.d', 'yes']).apply('aXbXcXd yes a.b.c.d')).toBe('aXbXcXd yes ***');
  });

  it.each(['utf8', 'utf16le'] as const)(
    'removes values from bytes in %s, and changes no other',
    (encoding) => {
      const mask = new SecretMask(['schlüssel-4711']);
      const around = Buffer.from([0xff, 0x00, 0xc3]);
      const bytes = (text: string) => Buffer.concat([around, Buffer.from(text, encoding), around]);
      expect(mask.applyToBytes(bytes('a=schlüssel-4711'))).toEqual(bytes('a=***'));
    },
  );
});
