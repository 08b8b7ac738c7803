import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DEFINITION_FOLDERS, FACTORY_FILE } from '../automations/domain/parse-definition.js';
import { UsageError } from './errors.js';

/**
 * Reads the files of a definition: `factory.yaml`, and everything below its folders. What lies beside them, such as a README, is none
 * of its files.
 *
 * @returns text by path, with `/` between its parts
 * @throws UsageError when the directory or a file cannot be read
 */
export async function readDefinitionDirectory(directory: string): Promise<Record<string, string>> {
  try {
    const entries = await readdir(directory, { withFileTypes: true });
    const files = entries.some(({ name }) => name === FACTORY_FILE) ? [FACTORY_FILE] : [];
    for (const { name } of entries) {
      if (DEFINITION_FOLDERS.includes(name)) files.push(...(await filesBelow(directory, name)));
    }
    const texts = files.map(async (file) => [file, await readText(join(directory, file))] as const);
    return Object.fromEntries(await Promise.all(texts));
  } catch (error) {
    if (error instanceof UsageError || !isFileError(error)) throw error;
    throw new UsageError(`${error.path ?? directory} cannot be read (${error.code}).`, { cause: error });
  }
}

async function filesBelow(directory: string, folder: string): Promise<string[]> {
  const files: string[] = [];
  for (const entry of await readdir(join(directory, folder), { withFileTypes: true })) {
    const path = `${folder}/${entry.name}`;
    // Hidden files are the editor's and the operating system's.
    if (entry.name.startsWith('.')) continue;
    if (entry.isDirectory()) files.push(...(await filesBelow(directory, path)));
    else files.push(path);
  }
  return files;
}

async function readText(path: string): Promise<string> {
  const bytes = await readFile(path);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new UsageError(`${path} is not UTF-8 text.`, { cause });
  }
}

const isFileError = (error: unknown): error is NodeJS.ErrnoException & { code: string } =>
  error instanceof Error && 'code' in error && typeof error.code === 'string';
