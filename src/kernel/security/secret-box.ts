import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { deriveKey } from './keyring.js';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Enough to tell an installation's keys apart; it says nothing about them. */
const KEY_ID_BYTES = 8;

/** What is stored of a value. */
export interface SealedValue {
  /** 12 bytes of nonce, the ciphertext, 16 bytes of tag. */
  ciphertext: Buffer;
  /** The fingerprint of the key that it takes to open it: 16 hexadecimal digits. */
  keyId: string;
}

/** A sealed value that cannot be opened. Its message is for the operator and names the key at most. */
export class SealedValueError extends Error {}

/**
 * Encrypts what must be kept and used but never shown: AES-256-GCM (NIST SP 800-38D) under a key derived from the encryption key. A
 * value is bound to its context as additional data, so that it opens nowhere else. Nonces are random, which section 8.3 allows for
 * 2^32 values of one key.
 */
export class SecretBox {
  /** The key that everything is sealed with. */
  readonly keyId: string;
  /** A key of before that values may still be sealed with; undefined without one. */
  readonly previousKeyId: string | undefined;
  private readonly keys = new Map<string, Buffer>();

  /** @param previous the encryption key of before, 32 bytes like the present one: it opens what it sealed, and seals nothing */
  constructor(encryptionKey: Buffer, previous?: Buffer) {
    this.keyId = this.add(encryptionKey);
    const previousKeyId = previous && this.add(previous);
    this.previousKeyId = previousKeyId === this.keyId ? undefined : previousKeyId;
  }

  /** @param context what the value belongs to, such as `secret:{uid}`: it takes the same one to open it */
  seal(context: string, value: string): SealedValue {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.key(this.keyId), nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(Buffer.from(context));
    const ciphertext = Buffer.concat([
      nonce,
      cipher.update(value, 'utf8'),
      cipher.final(),
      cipher.getAuthTag(),
    ]);
    return { ciphertext, keyId: this.keyId };
  }

  /** @throws SealedValueError when its key is not configured, or when it is not what was sealed in this context */
  open(context: string, { ciphertext, keyId }: SealedValue): string {
    const key = this.key(keyId);
    try {
      const decipher = createDecipheriv(CIPHER, key, ciphertext.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAAD(Buffer.from(context));
      decipher.setAuthTag(ciphertext.subarray(-TAG_BYTES));
      const value = decipher.update(ciphertext.subarray(NONCE_BYTES, -TAG_BYTES));
      return Buffer.concat([value, decipher.final()]).toString('utf8');
    } catch (cause) {
      throw new SealedValueError('it is not what was encrypted here: it was altered or moved', { cause });
    }
  }

  private add(encryptionKey: Buffer): string {
    const keyId = deriveKey(encryptionKey, 'secret-key-id').toString('hex', 0, KEY_ID_BYTES);
    this.keys.set(keyId, deriveKey(encryptionKey, 'secret'));
    return keyId;
  }

  private key(keyId: string): Buffer {
    const key = this.keys.get(keyId);
    if (key === undefined) {
      throw new SealedValueError(
        `it was encrypted with the key ${keyId}, which is neither ENCRYPTION_KEY nor ENCRYPTION_KEY_PREVIOUS`,
      );
    }
    return key;
  }
}
