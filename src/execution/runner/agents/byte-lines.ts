const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** Takes what the lines of a stream turn out to be. */
export interface LineSink {
  /** @param line without its line break; never empty */
  line(line: Buffer): void;
  /** A line went beyond the cap; nothing of it is kept. */
  overlong(bytes: number): void;
}

/** Cuts a stream of bytes into lines, in memory that never exceeds the cap by more than one chunk. */
export class ByteLines {
  private parts: Buffer[] = [];
  private length = 0;

  constructor(
    private readonly sink: LineSink,
    private readonly capBytes: number,
  ) {}

  push(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      this.extend(chunk.subarray(start, end));
      this.end();
      start = end + 1;
    }
    this.extend(chunk.subarray(start));
  }

  /** Hands out what came after the last line break. */
  end(): void {
    const { parts, length } = this;
    this.parts = [];
    this.length = 0;
    if (length > this.capBytes) return this.sink.overlong(length);
    const whole = Buffer.concat(parts);
    const line = whole.at(-1) === CARRIAGE_RETURN ? whole.subarray(0, -1) : whole;
    if (line.length > 0) this.sink.line(line);
  }

  private extend(bytes: Buffer): void {
    this.length += bytes.length;
    if (this.length > this.capBytes) this.parts = [];
    else this.parts.push(bytes);
  }
}
