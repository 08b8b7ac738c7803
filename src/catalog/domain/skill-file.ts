import { VFile } from 'vfile';
import { matter } from 'vfile-matter';
import { YAMLParseError } from 'yaml';

/** What a SKILL.md says, or in words why it cannot be used. */
export type SkillFile =
  | { outcome: 'parsed'; name: string; description: string; body: string }
  | { outcome: 'malformed'; name: string; error: string };

export const MAX_SKILL_FILE_BYTES = 256 * 1024;
/** Of all SKILL.md of one repository. */
export const MAX_SKILL_BYTES = 8 * 1024 * 1024;
/** In UTF-16 units. The parser compares every key with every other, so its work grows with the square of this: 16 Ki could take 0.3 s. */
const MAX_FRONT_MATTER = 8 * 1024;
const MAX_NAME = 64;
const MAX_DESCRIPTION = 1024;
const MAX_COMPATIBILITY = 500;
/** An alias of an alias of an alias grows exponentially; a skill has use for a few at most. */
const MAX_ALIASES = 20;

const NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const OPENING = /^---(\r?\n|\r)/;
const CLOSING = /(\r?\n|\r)---(\r?\n|\r|$)/;

/**
 * Reads a SKILL.md by the public Agent Skills specification (agentskills.io/specification): YAML front matter with `name` and
 * `description`, then the instructions. Fields that the specification does not know are left alone.
 *
 * @param content undefined when it is larger than {@link MAX_SKILL_FILE_BYTES}, or past {@link MAX_SKILL_BYTES} in its repository
 * @param directory name of the directory that the file lies in, which the specification wants to be the skill's name;
 *   undefined at the root of a repository, whose directory is named by whoever clones it
 * @param fallbackName what a malformed skill is listed under when it does not tell its name
 */
export function parseSkillFile(
  content: Uint8Array | undefined,
  directory: string | undefined,
  fallbackName: string,
): SkillFile {
  const malformed = (error: string, name = fallbackName): SkillFile => ({
    outcome: 'malformed',
    name,
    error,
  });
  if (content === undefined) {
    return malformed(
      `The file is larger than ${MAX_SKILL_FILE_BYTES / 1024} KiB, or the repository's skills are larger than ${MAX_SKILL_BYTES / 1024} KiB together`,
    );
  }
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(content);
  } catch {
    return malformed('The file is not UTF-8 text');
  }
  if (text.includes('\0')) return malformed('The file contains a NUL character');
  if (!OPENING.test(text)) {
    return malformed('The front matter is missing: the first line must be ---');
  }
  if (!CLOSING.test(text.slice(0, MAX_FRONT_MATTER))) {
    return malformed(`The front matter does not end: no line --- within ${MAX_FRONT_MATTER} characters`);
  }
  const file = new VFile({ value: text });
  try {
    matter(file, { strip: true, yaml: { maxAliasCount: MAX_ALIASES, logLevel: 'error' } });
  } catch (error) {
    return malformed(`The front matter is not valid YAML: ${yamlReason(error)}`);
  }
  const fields: unknown = file.data.matter;
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) {
    return malformed('The front matter must be a mapping of names to values');
  }
  const { name, description, ...optional } = fields as Record<string, unknown>;
  if (name === undefined || name === null) return malformed('`name` is missing');
  if (typeof name !== 'string' || name.length > MAX_NAME || !NAME.test(name)) {
    return malformed(
      `\`name\` must be 1 to ${MAX_NAME} lowercase letters, digits and single hyphens, not at its ends`,
    );
  }
  if (directory !== undefined && name !== directory) {
    return malformed(`\`name\` must be that of the directory, \`${directory}\``, name);
  }
  if (description === undefined || description === null) return malformed('`description` is missing', name);
  if (!isText(description, MAX_DESCRIPTION) || description.trim() === '') {
    return malformed(`\`description\` must be text of 1 to ${MAX_DESCRIPTION} characters`, name);
  }
  const wrong = wrongOptionalField(optional);
  if (wrong !== undefined) return malformed(wrong, name);
  return { outcome: 'parsed', name, description: description.trim(), body: String(file).trim() };
}

function wrongOptionalField(fields: Record<string, unknown>): string | undefined {
  const { license, compatibility, metadata, 'allowed-tools': allowedTools } = fields;
  const absent = (value: unknown): boolean => value === undefined || value === null;
  if (!absent(license) && typeof license !== 'string') return '`license` must be text';
  if (!absent(compatibility) && (!isText(compatibility, MAX_COMPATIBILITY) || compatibility === '')) {
    return `\`compatibility\` must be text of 1 to ${MAX_COMPATIBILITY} characters`;
  }
  if (!absent(metadata) && (typeof metadata !== 'object' || Array.isArray(metadata))) {
    return '`metadata` must be a mapping of names to values';
  }
  const isTools =
    typeof allowedTools === 'string' ||
    (Array.isArray(allowedTools) && allowedTools.every((tool) => typeof tool === 'string'));
  if (!absent(allowedTools) && !isTools) return '`allowed-tools` must be text or a list of texts';
  return undefined;
}

/** Counts code points, not UTF-16 units. */
const isText = (value: unknown, maxCharacters: number): value is string =>
  typeof value === 'string' && Array.from(value).length <= maxCharacters;

/** The parser's first sentence, with the line in the file; its further lines draw the place. */
function yamlReason(error: unknown): string {
  if (error instanceof RangeError) return 'it is nested too deeply';
  if (!(error instanceof Error)) return 'it cannot be read';
  const sentence = (error.message.split('\n')[0] ?? '').replace(/ at line \d+, column \d+:?$/, '');
  const line = error instanceof YAMLParseError ? error.linePos?.[0].line : undefined;
  // The front matter begins on the second line of the file.
  return line === undefined ? sentence : `${sentence} (line ${line + 1})`;
}
