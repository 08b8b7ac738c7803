const LINE_FEED = 0x0a;

/** JSON lines, kept in memory and only ever added to. */
export class Transcript {
  private readonly chunks: Buffer[] = [];
  private length = 0;

  /** `earlier` is what previous runs of the conversation wrote; it is kept as it is. */
  constructor(earlier: Buffer = Buffer.alloc(0)) {
    this.add(earlier);
    if (earlier.length > 0 && earlier.at(-1) !== LINE_FEED) this.add(Buffer.of(LINE_FEED));
  }

  get sizeBytes(): number {
    return this.length;
  }

  bytes(): Promise<Buffer> {
    return Promise.resolve(Buffer.concat(this.chunks));
  }

  protected append(line: object): void {
    this.add(Buffer.from(`${JSON.stringify(line)}\n`));
  }

  protected add(bytes: Buffer): void {
    this.chunks.push(bytes);
    this.length += bytes.length;
  }
}
