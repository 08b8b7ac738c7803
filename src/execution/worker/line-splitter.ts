const LINE_LIMIT_CHARACTERS = 4096;

/** Cuts a text stream into lines; what a line has beyond 4096 characters is dropped. */
export class LineSplitter {
  private line = '';

  constructor(private readonly onLine: (line: string) => void) {}

  push(text: string): void {
    const [rest = '', ...lines] = text.split('\n');
    this.extend(rest);
    for (const next of lines) {
      this.end();
      this.extend(next);
    }
  }

  /** Hands out what came after the last line feed. */
  end(): void {
    if (this.line !== '') this.onLine(this.line);
    this.line = '';
  }

  private extend(text: string): void {
    this.line += text.slice(0, LINE_LIMIT_CHARACTERS - this.line.length);
  }
}
