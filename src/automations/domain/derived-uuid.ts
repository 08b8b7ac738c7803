import { createHash } from 'node:crypto';

/**
 * A UUID version 7 (RFC 9562) that is the same whenever it is made of the same: with the time of `base`, which is a version 7 itself,
 * and bits of a hash of `base` and `name` in the place of random ones.
 */
export function derivedUuid(base: string, name: string): string {
  const time = Buffer.from(base.replaceAll('-', '').slice(0, 12), 'hex');
  const bytes = Buffer.concat([
    time,
    createHash('sha256').update(`${base}:${name}`).digest().subarray(0, 10),
  ]);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const digits = bytes.toString('hex');
  return [
    digits.slice(0, 8),
    digits.slice(8, 12),
    digits.slice(12, 16),
    digits.slice(16, 20),
    digits.slice(20),
  ].join('-');
}
