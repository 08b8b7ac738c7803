import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/** What a derived key is for; keys of different purposes have nothing in common. */
export type KeyPurpose = 'cursor' | 'object-url' | 'workload-token';

/** One of the 32-byte keys that HKDF-SHA-256 (RFC 5869) derives from the encryption key, a different one for each purpose. */
export const deriveKey = (encryptionKey: Buffer, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', encryptionKey, '', `millwright ${purpose}`, 32));

/** Keys derived from the encryption key, one for each purpose, and signatures made with them. */
export class Keyring {
  private readonly keys = new Map<KeyPurpose, Buffer>();

  /** @param encryptionKey 32 bytes */
  constructor(private readonly encryptionKey: Buffer) {}

  /** HMAC-SHA-256 of the message, in base64url. */
  sign(purpose: KeyPurpose, message: string): string {
    return createHmac('sha256', this.key(purpose)).update(message).digest('base64url');
  }

  /** Compares in constant time. */
  verify(purpose: KeyPurpose, message: string, signature: string): boolean {
    const expected = Buffer.from(this.sign(purpose, message));
    const actual = Buffer.from(signature);
    return expected.length === actual.length && timingSafeEqual(expected, actual);
  }

  private key(purpose: KeyPurpose): Buffer {
    let key = this.keys.get(purpose);
    if (key === undefined) {
      key = deriveKey(this.encryptionKey, purpose);
      this.keys.set(purpose, key);
    }
    return key;
  }
}
