/** Shorter values are words of every text: masking them would make output unreadable and tell what they are. */
const MIN_LENGTH = 6;
const MASK = '***';

/** Removes the values of secrets from what leaves the machine: transcripts, summaries, notes. */
export class SecretMask {
  private readonly values: string[];

  /** @param secrets values; each line of one that has several is masked too */
  constructor(secrets: string[]) {
    const plain = secrets.flatMap((secret) => [secret, ...secret.split(/\r?\n/)]).map((part) => part.trim());
    // Agents print JSON, and commands print it inside of that.
    const parts = [plain, plain.map(escaped), plain.map(escaped).map(escaped)].flat();
    // The longest first: one value may contain another.
    this.values = [...new Set(parts)]
      .filter((value) => value.length >= MIN_LENGTH)
      .sort((a, b) => b.length - a.length);
  }

  apply(text: string): string {
    return this.values.reduce((masked, value) => masked.replaceAll(value, MASK), text);
  }

  /** Of bytes in any encoding, or none: the values may stand there as UTF-8 or as UTF-16. */
  applyToBytes(bytes: Buffer): Buffer {
    // A character for each byte, so that nothing but the values changes.
    let masked = bytes.toString('latin1');
    for (const encoding of ['utf8', 'utf16le'] as const) {
      const encoded = (text: string): string => Buffer.from(text, encoding).toString('latin1');
      for (const value of this.values) masked = masked.replaceAll(encoded(value), encoded(MASK));
    }
    return Buffer.from(masked, 'latin1');
  }
}

/** The text as it stands in a JSON string. */
const escaped = (text: string): string => JSON.stringify(text).slice(1, -1);
