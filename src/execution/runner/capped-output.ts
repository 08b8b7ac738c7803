export interface CapturedOutput {
  /** Valid Unicode without NUL; a line in the middle says how much is missing, if anything is. */
  text: string;
  /** Bytes that were written and are not in `text`. */
  truncatedBytes: number;
}

/**
 * Keeps the first and the last bytes of a stream, half of the cap each, in memory that never exceeds the cap (which is at
 * least 2).
 */
export class CappedOutput {
  private readonly head: Buffer;
  private headLength = 0;
  /** A ring: once it is full, `tailWritten % tail.length` is its oldest byte. */
  private readonly tail: Buffer;
  private tailWritten = 0;

  constructor(capBytes: number) {
    this.head = Buffer.allocUnsafe(Math.ceil(capBytes / 2));
    this.tail = Buffer.allocUnsafe(Math.floor(capBytes / 2));
  }

  append(chunk: Buffer): void {
    const intoHead = chunk.copy(this.head, this.headLength);
    this.headLength += intoHead;
    if (intoHead < chunk.length) this.appendToTail(chunk.subarray(intoHead));
  }

  finish(): CapturedOutput {
    const head = this.head.subarray(0, this.headLength);
    if (this.tailWritten <= this.tail.length) {
      return {
        text: decode(Buffer.concat([head, this.tail.subarray(0, this.tailWritten)])),
        truncatedBytes: 0,
      };
    }
    const oldest = this.tailWritten % this.tail.length;
    const tail = Buffer.concat([this.tail.subarray(oldest), this.tail.subarray(0, oldest)]);
    const start = withoutCutCharacterAtEnd(head);
    const end = withoutCutCharacterAtStart(tail);
    const truncatedBytes = head.length + this.tailWritten - start.length - end.length;
    return {
      text: `${decode(start)}\n[… ${truncatedBytes} bytes left out …]\n${decode(end)}`,
      truncatedBytes,
    };
  }

  private appendToTail(chunk: Buffer): void {
    const kept = chunk.subarray(Math.max(0, chunk.length - this.tail.length));
    const position = (this.tailWritten + chunk.length - kept.length) % this.tail.length;
    const beforeWrap = kept.copy(this.tail, position);
    kept.copy(this.tail, 0, beforeWrap);
    this.tailWritten += chunk.length;
  }
}

/** PostgreSQL's text and jsonb refuse NUL. */
function decode(bytes: Buffer): string {
  return bytes.toString('utf8').replaceAll('\0', '\uFFFD');
}

/** UTF-8: a character has at most three continuation bytes, 10xxxxxx. */
function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0b1100_0000) === 0b1000_0000;
}

function withoutCutCharacterAtStart(bytes: Buffer): Buffer {
  let start = 0;
  while (start < 3 && isContinuation(bytes[start])) start += 1;
  return bytes.subarray(start);
}

function withoutCutCharacterAtEnd(bytes: Buffer): Buffer {
  let lead = bytes.length - 1;
  while (lead > bytes.length - 4 && isContinuation(bytes[lead])) lead -= 1;
  const first = bytes[lead] ?? 0;
  const characterLength = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
  return lead + characterLength > bytes.length ? bytes.subarray(0, Math.max(0, lead)) : bytes;
}
