import type { z } from 'zod';
import { isStorableText, REFUSED_KEYS } from '../../kernel/storable-text.js';
import type { Definition, DefinitionError, Located } from './definition.js';
import {
  agentFileSchema,
  automationFileSchema,
  factoryFileSchema,
  MAX_LONG_TEXT,
  scorerFileSchema,
  webhookFileSchema,
} from './definition-schemas.js';
import type { FieldPath } from './field-path.js';
import { asInFile } from './file-prompt.js';
import { fieldErrors } from './parse-triggers.js';
import { parseYaml, type YamlSource } from './yaml-source.js';

export type ParsedDefinition =
  { outcome: 'parsed'; definition: Definition } | { outcome: 'invalid'; errors: DefinitionError[] };

export const FACTORY_FILE = 'factory.yaml';
/** Where its other files are. */
export const DEFINITION_FOLDERS = ['webhooks', 'automations', 'agents', 'scorers'];
const WEBHOOK_FILE = /^webhooks\/([^/]+)\.yaml$/;
const AUTOMATION_FILE = /^automations\/([^/]+)\/automation\.md$/;
const AGENT_FILE = /^agents\/([^/]+)\/agent\.md$/;
const SCORER_FILE = /^scorers\/([^/]+)\/scorer\.md$/;

const MAX_FILES = 1000;
const MAX_FILE_CHARACTERS = 256 * 1024;
/** In one answer, and of one file: finding a line takes as long as the file. */
const MAX_ERRORS = 100;
/** Deeper than anything that a schema or a filter allows. */
const MAX_DEPTH = 64;
/** Names are file names: of webhooks and factories, too, where they are made by the API. */
const NAME = /^(?![\s.])[^/\\\p{Cc}]{0,99}[^/\\\p{Cc}\s]$/u;

/**
 * Reads the files of a definition: `factory.yaml`, `webhooks/<name>.yaml`, `automations/<name>/automation.md`,
 * `agents/<name>/agent.md` and `scorers/<name>/scorer.md`. It looks at nothing but the files: whether the secrets, webhooks and agents that they name are there is
 * for whoever applies them.
 *
 * @param files text by path, relative to the directory, with `/` between its parts
 */
export function parseDefinition(files: Record<string, string>): ParsedDefinition {
  const paths = Object.keys(files).sort();
  if (paths.length > MAX_FILES) {
    return invalid([{ file: '', line: 1, field: 'files', message: `must be at most ${MAX_FILES} files` }]);
  }
  const parser = new DefinitionParser(files);
  const definition: Omit<Definition, 'factory'> & { factory?: Definition['factory'] } = {
    webhooks: [],
    automations: [],
    agents: [],
    scorers: [],
  };
  for (const file of paths) {
    const webhook = WEBHOOK_FILE.exec(file)?.[1];
    const automation = AUTOMATION_FILE.exec(file)?.[1];
    const agent = AGENT_FILE.exec(file)?.[1];
    const scorer = SCORER_FILE.exec(file)?.[1];
    if (file === FACTORY_FILE) definition.factory = parser.yaml(file, factoryFileSchema, {});
    else if (webhook !== undefined)
      push(definition.webhooks, parser.yaml(file, webhookFileSchema, { name: webhook }));
    else if (automation !== undefined) {
      push(definition.automations, parser.markdown(file, automationFileSchema, automation));
    } else if (agent !== undefined) push(definition.agents, parser.markdown(file, agentFileSchema, agent));
    else if (scorer !== undefined) push(definition.scorers, parser.markdown(file, scorerFileSchema, scorer));
    else {
      parser.refuse(
        file,
        'is no definition file: those are factory.yaml, webhooks/<name>.yaml, automations/<name>/automation.md, agents/<name>/agent.md and scorers/<name>/scorer.md',
      );
    }
  }
  if (!paths.includes(FACTORY_FILE)) parser.refuse(FACTORY_FILE, 'is missing; it may be empty');
  const { webhooks, automations, agents, scorers } = definition;
  for (const kind of [webhooks, automations, agents, scorers]) parser.refuseTwins(kind);
  const { factory } = definition;
  if (parser.errors.length > 0 || factory === undefined) return invalid(parser.errors);
  return { outcome: 'parsed', definition: { ...definition, factory } };
}

class DefinitionParser {
  readonly errors: DefinitionError[] = [];

  constructor(private readonly files: Record<string, string>) {}

  refuse(file: string, message: string, line = 1): void {
    this.errors.push({ file, line, field: '', message });
  }

  /** Names that differ in case alone are one name. */
  refuseTwins(files: Located<{ name: string }>[]): void {
    const names = new Map<string, string>();
    for (const { file, value } of files) {
      const twin = names.get(value.name.toLowerCase());
      if (twin !== undefined) this.refuse(file, `has the name of ${twin}: upper and lower case are one`);
      names.set(value.name.toLowerCase(), file);
    }
  }

  yaml<Value extends object, Rest extends object>(
    file: string,
    schema: z.ZodType<Value>,
    rest: Rest,
  ): Located<Value & Rest> | undefined {
    const text = this.textOf(file);
    return text === undefined ? undefined : this.fields(file, schema, rest, text, 1);
  }

  markdown<Value extends object>(
    file: string,
    schema: z.ZodType<Value>,
    name: string,
  ): Located<Value & { name: string; prompt: string }> | undefined {
    const lines = this.textOf(file)?.split(/\r\n|\n|\r/);
    if (lines === undefined) return undefined;
    const end = isFence(lines[0]) ? lines.findIndex((line, index) => index > 0 && isFence(line)) : 0;
    if (end === -1) {
      this.refuse(file, 'The front matter does not end: there is no second line ---');
      return undefined;
    }
    const prompt = asInFile(lines.slice(isFence(lines[0]) ? end + 1 : 0).join('\n'));
    if (prompt.length > MAX_LONG_TEXT) {
      this.refuse(file, `The prompt must have at most ${MAX_LONG_TEXT} characters`, end + 2);
      return undefined;
    }
    return this.fields(file, schema, { name, prompt }, lines.slice(1, Math.max(end, 1)).join('\n'), 2);
  }

  private textOf(file: string): string | undefined {
    const text = this.files[file] ?? '';
    const name = file
      .split('/')
      .at(1)
      ?.replace(/\.yaml$/, '');
    if (name !== undefined && !NAME.test(name)) {
      this.refuse(
        file,
        'has a name that is longer than 100 characters, has a space at an end or a character that is not allowed',
      );
    } else if (text.length > MAX_FILE_CHARACTERS) {
      this.refuse(file, `is larger than ${MAX_FILE_CHARACTERS / 1024} Ki characters`);
    } else if (!isStorableText(text)) {
      this.refuse(file, 'must be valid Unicode without NUL');
    } else {
      return text.replace(/^\u{FEFF}/u, '');
    }
    return undefined;
  }

  private fields<Value extends object, Rest extends object>(
    file: string,
    schema: z.ZodType<Value>,
    rest: Rest,
    yaml: string,
    firstLine: number,
  ): Located<Value & Rest> | undefined {
    const parsed = parseYaml(yaml, firstLine);
    if (parsed.outcome === 'invalid') {
      for (const { line, message } of parsed.errors) this.refuse(file, message, line);
      return undefined;
    }
    const { source } = parsed;
    const error = errorIn(file, source);
    // Before the schema, whose records lose them without a word.
    const keys = refusedKeys(source.value).slice(0, MAX_ERRORS);
    if (keys.length > 0) {
      this.errors.push(...keys.map((path) => error(path, 'is a key that nothing may have')));
      return undefined;
    }
    const checked = schema.safeParse(source.value ?? {});
    if (!checked.success) {
      const issues = checked.error.issues.slice(0, MAX_ERRORS);
      this.errors.push(...issues.flatMap(fieldErrors).map(({ path, message }) => error(path, message)));
      return undefined;
    }
    return { file, value: { ...checked.data, ...rest }, error };
  }
}

function refusedKeys(value: unknown, path: FieldPath = []): FieldPath[] {
  if (typeof value !== 'object' || value === null || path.length > MAX_DEPTH) return [];
  if (Array.isArray(value)) return value.flatMap((item, index) => refusedKeys(item, [...path, index]));
  return Object.entries(value).flatMap(([key, item]) =>
    REFUSED_KEYS.includes(key) ? [[...path, key]] : refusedKeys(item, [...path, key]),
  );
}

const errorIn =
  (file: string, source: YamlSource) =>
  (path: FieldPath, message: string): DefinitionError => ({
    file,
    line: source.lineOf(path),
    field: path.join('.'),
    message,
  });

const isFence = (line: string | undefined): boolean => line?.trimEnd() === '---';

function push<T>(list: T[], item: T | undefined): void {
  if (item !== undefined) list.push(item);
}

const invalid = (errors: DefinitionError[]): ParsedDefinition => ({
  outcome: 'invalid',
  errors: errors
    .sort((a, b) => (a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1))
    .slice(0, MAX_ERRORS),
});
