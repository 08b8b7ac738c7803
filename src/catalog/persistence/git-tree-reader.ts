export interface TreeFile {
  /** From the root of the repository. */
  path: string;
  objectId: string;
}

const RECORD = /^100(?:644|755) blob ([0-9a-f]{40,64})\t(.+)$/s;
/** Control characters, and what stands for bytes that are no UTF-8: nobody could write such a path into a request. */
const UNNAMEABLE = /[\p{Cc}\uFFFD]/u;

/**
 * Picks the regular files of one name out of what `git ls-tree -r -z` prints, chunk by chunk: a tree may have a million entries.
 * Links (mode 120000) and submodules (160000) are no regular files.
 */
export class GitTreeReader {
  readonly files: TreeFile[] = [];
  /** There were more. */
  overLimit = false;
  private readonly decoder = new TextDecoder();
  private rest = '';

  constructor(
    private readonly fileName: string,
    private readonly limit: number,
  ) {}

  push(chunk: Buffer): void {
    const records = (this.rest + this.decoder.decode(chunk, { stream: true })).split('\0');
    this.rest = records.pop() ?? '';
    for (const record of records) {
      if (!record.endsWith(`\t${this.fileName}`) && !record.endsWith(`/${this.fileName}`)) continue;
      const [, objectId, path] = RECORD.exec(record) ?? [];
      if (objectId === undefined || path === undefined || UNNAMEABLE.test(path)) continue;
      if (this.files.length === this.limit) this.overLimit = true;
      else this.files.push({ path, objectId });
    }
  }
}
