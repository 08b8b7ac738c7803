const NEWLINE = 10;

/**
 * Takes apart what `git cat-file --batch` prints, chunk by chunk: for each object a line `{id} {type} {size}`, its bytes and a
 * newline. The bytes of an object beyond a limit are skipped, not kept.
 */
export class GitBatchReader {
  /** By object id; without those beyond a limit and those that do not exist. */
  readonly contents = new Map<string, Buffer>();
  private header = '';
  /** The object whose bytes come now, with the newline after them. */
  private current: { objectId: string; parts: Buffer[] | undefined; missing: number } | undefined;
  private total = 0;

  constructor(
    private readonly maxBytesEach: number,
    private readonly maxBytes: number,
  ) {}

  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.current === undefined) {
        const end = chunk.indexOf(NEWLINE, at);
        this.header += chunk.toString('latin1', at, end === -1 ? chunk.length : end);
        if (end === -1) return;
        at = end + 1;
        this.begin();
      } else {
        const part = chunk.subarray(at, at + this.current.missing);
        at += part.length;
        this.current.missing -= part.length;
        this.current.parts?.push(part);
        if (this.current.missing === 0) this.end(this.current);
      }
    }
  }

  private begin(): void {
    const [, objectId, size] = /^([0-9a-f]+) blob (\d+)$/.exec(this.header) ?? [];
    this.header = '';
    if (objectId === undefined) return;
    const bytes = Number(size);
    const isKept = bytes <= this.maxBytesEach && this.total + bytes <= this.maxBytes;
    if (isKept) this.total += bytes;
    this.current = { objectId, parts: isKept ? [] : undefined, missing: bytes + 1 };
  }

  private end({ objectId, parts }: { objectId: string; parts: Buffer[] | undefined }): void {
    if (parts !== undefined) this.contents.set(objectId, Buffer.concat(parts).subarray(0, -1));
    this.current = undefined;
  }
}
