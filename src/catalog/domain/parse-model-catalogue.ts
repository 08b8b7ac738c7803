import { LineCounter, parseDocument, type YAMLError } from 'yaml';
import { z } from 'zod';
import {
  DISABLE_REASONS,
  type Model,
  MODEL_HARNESSES,
  MODEL_PROVIDERS,
  type ModelCatalogue,
  SCRIPT,
} from './model.js';

/** What is wrong with a catalogue. */
export interface CatalogueProblem {
  /** Counted from 1; undefined where no place in the text is at fault. */
  line?: number;
  /** Such as `models[2].provider: Invalid option: …`. */
  message: string;
}

export type ParsedCatalogue =
  { outcome: 'parsed'; catalogue: ModelCatalogue } | { outcome: 'invalid'; problems: CatalogueProblem[] };

type Path = (string | number)[];

const text = (maximum: number) => z.string().min(1).max(maximum);
const usd = z.number().min(0);

const modelSchema: z.ZodType<Model> = z.strictObject({
  id: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,127}$/, 'must be 1 to 128 of A-Z a-z 0-9 . _ : / @ -'),
  display_name: text(100),
  provider: z.enum(MODEL_PROVIDERS),
  harness: z.array(z.enum(MODEL_HARNESSES)).min(1),
  vision_supported: z.boolean(),
  description: text(1000).optional(),
  reasoning_level: text(32).optional(),
  cost: z.strictObject({ input_usd_per_million_tokens: usd, output_usd_per_million_tokens: usd }).optional(),
  disabled: z.enum(DISABLE_REASONS).optional(),
});

const catalogueSchema = z
  .strictObject({ default: z.string().default(SCRIPT.id), models: z.array(modelSchema).max(1000) })
  .superRefine(({ models }, context) => {
    for (const [index, { id }] of models.entries()) {
      if (models.findIndex((model) => model.id === id) < index) {
        context.addIssue({ code: 'custom', path: ['models', index, 'id'], message: 'is there twice' });
      }
    }
  })
  .transform((given) =>
    given.models.some(({ id }) => id === SCRIPT.id) ? given : { ...given, models: [SCRIPT, ...given.models] },
  )
  .superRefine((catalogue, context) => {
    const chosen = catalogue.models.find(({ id }) => id === catalogue.default);
    if (chosen !== undefined && chosen.disabled === undefined) return;
    const message = chosen === undefined ? 'must be the id of one of the models' : 'is a disabled model';
    context.addIssue({ code: 'custom', path: ['default'], message });
  });

/** Reads a catalogue of models in YAML; the model `script` is added to one that has not got it. */
export function parseModelCatalogue(yaml: string): ParsedCatalogue {
  const lines = new LineCounter();
  const document = parseDocument(yaml, { lineCounter: lines, prettyErrors: false });
  const lineAt = (offset: number): number => lines.linePos(offset).line;
  if (document.errors.length > 0) {
    const toProblem = ({ pos, message }: YAMLError) => ({ line: lineAt(pos[0]), message });
    return { outcome: 'invalid', problems: document.errors.map(toProblem) };
  }
  let content: unknown;
  try {
    content = document.toJS();
  } catch (error) {
    // An alias without its anchor, or too many of them.
    return {
      outcome: 'invalid',
      problems: [{ message: error instanceof Error ? error.message : String(error) }],
    };
  }
  const parsed = catalogueSchema.safeParse(content);
  if (parsed.success) return { outcome: 'parsed', catalogue: parsed.data };

  /** The line of what the path leads to or, where it leads nowhere, of the closest thing around it. */
  const lineOf = (path: Path): number | undefined => {
    for (let length = path.length; length > 0; length--) {
      const node: unknown = document.getIn(path.slice(0, length), true);
      if (typeof node === 'object' && node !== null && 'range' in node && Array.isArray(node.range)) {
        return lineAt(Number(node.range[0]));
      }
    }
    return undefined;
  };
  return {
    outcome: 'invalid',
    problems: parsed.error.issues.map((issue) => {
      const path = issue.path.filter((part) => typeof part !== 'symbol');
      const unknownKey = issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
      const field = path.length === 0 ? '' : `${nameOf(path)}: `;
      return { line: lineOf([...path, ...unknownKey]), message: field + issue.message };
    }),
  };
}

const nameOf = (path: Path): string =>
  path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : index === 0 ? part : `.${part}`))
    .join('');
