import { randomBytes } from 'node:crypto';
import { link, mkdir, readFile, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AppConfig } from '../../config/app-config.js';

const KEY_BYTES = 32;

/** The configured encryption key, or the one in the data directory, which is made on the first start (mode 0600). */
export async function loadEncryptionKey(config: AppConfig): Promise<Buffer> {
  if (config.encryptionKey !== undefined) return config.encryptionKey;
  const path = join(config.dataDir, 'encryption.key');
  await mkdir(config.dataDir, { recursive: true });
  const candidate = `${path}.${String(process.pid)}`;
  await writeFile(candidate, randomBytes(KEY_BYTES).toString('base64'), { mode: 0o600 });
  try {
    // link() fails when the name exists: of two processes that start together one makes the key and both use it.
    await link(candidate, path);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  } finally {
    await unlink(candidate);
  }
  const key = Buffer.from(await readFile(path, 'utf8'), 'base64');
  if (key.length !== KEY_BYTES) throw new Error(`${path} does not hold ${String(KEY_BYTES)} bytes in base64`);
  return key;
}
