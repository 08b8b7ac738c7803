import { describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { SealedValueError, SecretBox } from './secret-box.js';

const [key, otherKey] = [randomBytes(32), randomBytes(32)];
const box = new SecretBox(key);

describe('SecretBox', () => {
  it.each(['x', 'ü💥\n', 'x'.repeat(65_536)])('opens what it sealed', (value) => {
    expect(box.open('secret:1', box.seal('secret:1', value))).toBe(value);
  });

  it('seals the same value differently each time, and never in clear', () => {
    const [one, two] = [box.seal('a', 'hunter2-hunter2'), box.seal('a', 'hunter2-hunter2')];
    expect(one.ciphertext.equals(two.ciphertext)).toBe(false);
    expect(one.ciphertext.includes('hunter2')).toBe(false);
  });

  it('opens nothing in another context', () => {
    const sealed = box.seal('secret:1', 'x');
    expect(() => box.open('secret:2', sealed)).toThrow(SealedValueError);
  });

  it('opens nothing of which a byte has changed or is missing', () => {
    const { ciphertext, keyId } = box.seal('a', 'abc');
    for (let index = 0; index < ciphertext.length; index++) {
      const forged = Buffer.from(ciphertext);
      forged.writeUInt8(forged.readUInt8(index) ^ 1, index);
      expect(() => box.open('a', { ciphertext: forged, keyId })).toThrow(SealedValueError);
      const cut = ciphertext.subarray(0, index);
      expect(() => box.open('a', { ciphertext: cut, keyId })).toThrow(SealedValueError);
    }
  });

  it('says which key it lacks', () => {
    const other = new SecretBox(otherKey);
    expect(() => box.open('a', other.seal('a', 'x'))).toThrow(other.keyId);
  });

  it('opens with the key of before, and seals with the present one', () => {
    const rotated = new SecretBox(otherKey, key);
    expect(rotated.open('a', box.seal('a', 'x'))).toBe('x');
    expect(rotated.seal('a', 'x').keyId).toBe(rotated.keyId);
    expect(rotated.previousKeyId).toBe(box.keyId);
  });

  it('has no key of before when both are the same', () => {
    expect(new SecretBox(key, key).previousKeyId).toBeUndefined();
  });

  it('names keys by fingerprints that are stable and hold nothing of them', () => {
    expect(box.keyId).toMatch(/^[0-9a-f]{16}$/);
    expect(new SecretBox(key).keyId).toBe(box.keyId);
    expect(key.toString('hex')).not.toContain(box.keyId);
  });
});
