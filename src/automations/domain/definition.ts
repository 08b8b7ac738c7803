import type { z } from 'zod';
import type {
  agentFileSchema,
  automationFileSchema,
  factoryFileSchema,
  scorerFileSchema,
  webhookFileSchema,
} from './definition-schemas.js';
import type { FieldPath } from './field-path.js';

/** What the files of a directory say that a factory is to be: all of it. */
export interface Definition {
  factory: Located<FactoryFile>;
  webhooks: Located<WebhookFile>[];
  automations: Located<AutomationFile>[];
  agents: Located<AgentFile>[];
  scorers: Located<ScorerFile>[];
}

export type FactoryFile = z.output<typeof factoryFileSchema>;
/** `name` is the file's. */
export type WebhookFile = z.output<typeof webhookFileSchema> & { name: string };
/** `name` is the directory's; the prompt is what follows the front matter. */
export type AutomationFile = z.output<typeof automationFileSchema> & { name: string; prompt: string };
/** `name` is the directory's; the prompt is what follows the front matter. */
export type AgentFile = z.output<typeof agentFileSchema> & { name: string; prompt: string };

/** `name` is the directory's; the prompt, what follows the front matter, is the rubric. */
export type ScorerFile = z.output<typeof scorerFileSchema> & { name: string; prompt: string };

/** What a file says, and where. */
export interface Located<T> {
  file: string;
  value: T;
  /** The error that a field of it is. */
  error: (field: FieldPath, message: string) => DefinitionError;
}

/** What is wrong with a file. */
export interface DefinitionError {
  /** Such as `webhooks/github.yaml`. */
  file: string;
  /** Counted from 1. */
  line: number;
  /** Such as `triggers.0.filter.webhook_ids`; empty for the file itself. */
  field: string;
  message: string;
}

/** As compilers print it, so that editors find the place. */
export const formatDefinitionError = ({ file, line, field, message }: DefinitionError): string =>
  `${file}:${line}: ${field === '' ? '' : `${field}: `}${message}`;
