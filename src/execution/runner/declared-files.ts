import { lstat, readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import type { SecretMask } from './secret-mask.js';

/** Under the workspace: what lies here when a turn ends is to be kept. */
export const ARTIFACTS_DIR = '.millwright/artifacts';

/** What an artifact takes. */
const MAX_BYTES = 100 * 1024 * 1024;
/** Of a turn: a run has at most 100 artifacts of all kinds. */
const MAX_FILES = 50;

const MEDIA_TYPES: Record<string, string> = {
  '.csv': 'text/csv',
  '.html': 'text/html',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.json': 'application/json',
  '.log': 'text/plain',
  '.md': 'text/markdown',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain',
  '.zip': 'application/zip',
};

export interface DeclaredFile {
  /** Below {@link ARTIFACTS_DIR}, with slashes; values of secrets are masked in it. */
  path: string;
  mimeType: string;
  bytes: Buffer;
}

/** The files that an agent declares to be results, by putting them into {@link ARTIFACTS_DIR}. */
export class DeclaredFiles {
  /** Size and time of change by path: what was given out once is given out again only when it has changed. */
  private readonly known = new Map<string, string>();

  constructor(
    private readonly mask: SecretMask,
    private readonly directory = join(process.cwd(), ARTIFACTS_DIR),
  ) {}

  /**
   * What is new or has changed since the last call. Links are left out, they may lead anywhere; so is what is too large. The
   * values of secrets are masked.
   */
  async *changed(): AsyncGenerator<DeclaredFile> {
    const entries = await readdir(this.directory, { recursive: true }).catch(() => []);
    let count = 0;
    for (const path of entries.sort()) {
      const file = join(this.directory, path);
      const stat = await lstat(file);
      const version = `${stat.size} ${stat.mtimeMs}`;
      if (!stat.isFile() || stat.size > MAX_BYTES || this.known.get(path) === version) continue;
      count += 1;
      if (count > MAX_FILES) return;
      this.known.set(path, version);
      yield {
        path: this.mask.apply(path),
        mimeType: MEDIA_TYPES[extname(path).toLowerCase()] ?? 'application/octet-stream',
        bytes: this.mask.applyToBytes(await readFile(file)),
      };
    }
  }
}
