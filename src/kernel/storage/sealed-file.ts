import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { Problem } from '../errors/problem.js';
import type { ByteRange } from './object-storage.js';

/**
 * A file that knows what was written into it:
 *
 *     content · digests · footer
 *     digests = SHA-256 of each block of 64 KiB of the content, the last one being as long as it is
 *     footer  = length of the content (8 bytes, big-endian) · SHA-256 of that and the digests (32) · MAGIC (8)
 *
 * The checksums lie in the file itself, so that one rename brings both. A reader checks each block before it hands out a byte of it: to
 * read a part costs no more than that part, and a file that was cut off, overwritten or rotted is found out wherever it is read.
 */
const BLOCK_BYTES = 64 * 1024;
const DIGEST_BYTES = 32;
const LENGTH_BYTES = 8;
const MAGIC = Buffer.from('MWOBJ\0\0\x01', 'latin1');
const FOOTER_BYTES = LENGTH_BYTES + DIGEST_BYTES + MAGIC.length;

/** The file is not what was written. */
export class DamagedObjectError extends Problem {
  constructor(what: string) {
    super('internal_error', {
      detail: 'The stored object is damaged',
      retryable: false,
      cause: new Error(`damaged object: ${what}`),
    });
  }
}

/**
 * Writes content and checksums to the file and flushes both to the disk.
 *
 * @returns the length of the content
 * @throws Problem 413 when the content is longer than `maxBytes`
 */
export async function writeSealed(
  file: FileHandle,
  content: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<number> {
  const digests: Buffer[] = [];
  let block = createHash('sha256');
  let inBlock = 0;
  let length = 0;
  for await (const chunk of content) {
    length += chunk.length;
    if (length > maxBytes) {
      throw new Problem('payload_too_large', { detail: `at most ${String(maxBytes)} bytes` });
    }
    for (let start = 0; start < chunk.length;) {
      const part = chunk.subarray(start, start + BLOCK_BYTES - inBlock);
      block.update(part);
      inBlock += part.length;
      start += part.length;
      if (inBlock === BLOCK_BYTES) {
        digests.push(block.digest());
        block = createHash('sha256');
        inBlock = 0;
      }
    }
    await writeAll(file, chunk);
  }
  if (inBlock > 0) digests.push(block.digest());
  await writeAll(file, sealOf(length, Buffer.concat(digests)));
  await file.sync();
  return length;
}

async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    done += (await file.write(bytes, done, bytes.length - done)).bytesWritten;
  }
}

function sealOf(length: number, digests: Buffer): Buffer {
  const lengthBytes = Buffer.alloc(LENGTH_BYTES);
  lengthBytes.writeBigUInt64BE(BigInt(length));
  return Buffer.concat([digests, lengthBytes, digestOfSeal(lengthBytes, digests), MAGIC]);
}

const digestOfSeal = (length: Buffer, digests: Buffer): Buffer =>
  createHash('sha256').update(length).update(digests).digest();

/** An open file whose checksums have been read. */
export class SealedFile {
  private constructor(
    private readonly file: FileHandle,
    private readonly digests: Buffer,
    readonly length: number,
    /** Of other content, another one. */
    readonly etag: string,
  ) {}

  /**
   * @throws the error of the file system, such as ENOENT
   * @throws DamagedObjectError when the file has no whole checksums
   */
  static async open(path: string): Promise<SealedFile> {
    const file = await open(path, constants.O_RDONLY);
    try {
      const { size } = await file.stat();
      const footer = await readAt(file, size - FOOTER_BYTES, FOOTER_BYTES);
      if (!footer?.subarray(-MAGIC.length).equals(MAGIC)) throw new DamagedObjectError('no footer');
      const length = Number(footer.readBigUInt64BE());
      const digestsLength = Math.ceil(length / BLOCK_BYTES) * DIGEST_BYTES;
      if (length + digestsLength + FOOTER_BYTES !== size) throw new DamagedObjectError('wrong length');
      const digests = await readAt(file, length, digestsLength);
      const digest = footer.subarray(LENGTH_BYTES, LENGTH_BYTES + DIGEST_BYTES);
      if (!digests || !digestOfSeal(footer.subarray(0, LENGTH_BYTES), digests).equals(digest)) {
        throw new DamagedObjectError('wrong checksums');
      }
      return new SealedFile(file, digests, length, digest.toString('base64url'));
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  close(): Promise<void> {
    return this.file.close();
  }

  /** Reads the range and closes the file, however that ends. */
  read({ start, end }: ByteRange = { start: 0, end: this.length - 1 }): Readable {
    let position = start;
    const next = async (): Promise<Buffer | null> => {
      if (position > end) return null;
      const index = Math.floor(position / BLOCK_BYTES);
      const block = await this.readBlock(index);
      const from = position - index * BLOCK_BYTES;
      const bytes = block.subarray(from, Math.min(block.length, end + 1 - index * BLOCK_BYTES));
      position += bytes.length;
      return bytes;
    };
    return new Readable({
      highWaterMark: BLOCK_BYTES,
      read() {
        next().then(
          (bytes) => this.push(bytes),
          (error: unknown) => this.destroy(error as Error),
        );
      },
      destroy: (error, done) => {
        this.file.close().then(() => done(error), done);
      },
    });
  }

  private async readBlock(index: number): Promise<Buffer> {
    const start = index * BLOCK_BYTES;
    const block = await readAt(this.file, start, Math.min(BLOCK_BYTES, this.length - start));
    const digest = this.digests.subarray(index * DIGEST_BYTES, (index + 1) * DIGEST_BYTES);
    if (!block || !createHash('sha256').update(block).digest().equals(digest)) {
      throw new DamagedObjectError(`block ${String(index)}`);
    }
    return block;
  }
}

/** Undefined when the file ends before. */
async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer | undefined> {
  if (position < 0) return undefined;
  const buffer = Buffer.allocUnsafeSlow(length);
  for (let done = 0; done < length;) {
    const { bytesRead } = await file.read(buffer, done, length - done, position + done);
    if (bytesRead === 0) return undefined;
    done += bytesRead;
  }
  return buffer;
}
